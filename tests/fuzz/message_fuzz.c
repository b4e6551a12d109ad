/* SPDX-License-Identifier: MIT */
/*
 * An upstream's message: it is read within bounds, and the chain that is made
 * of it goes into an answer that ldns can read.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "resolver/answer.h"
#include "resolver/message.h"
#include "resolver/vet.h"
#include "resolver/wire.h"
#include <ldns/ldns.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer_with(const struct question *question, const struct reply *reply)
{
	static uint8_t bytes[LIMIT_MESSAGE_BYTES];
	const struct answer answer = {
		.rcode = reply->rcode,
		.chain = reply,
		.addresses = reply->addresses,
		.n_addresses = reply->n_addresses,
		.ttl_s = reply->ttl_s,
		.soa = reply->n_addresses == 0 && reply->rcode != WIRE_YXDOMAIN,
		.ede = WIRE_EDE_NONE,
	};
	size_t len = answer_write(question, &answer, bytes, sizeof(bytes));
	ldns_pkt *pkt = NULL;

	assert(ldns_wire2pkt(&pkt, bytes, len) == LDNS_STATUS_OK);
	assert(ldns_pkt_ancount(pkt) >= reply->n_links + reply->n_addresses);
	assert(reply->flags & REPLY_PROVED ||
	       ldns_pkt_ancount(pkt) == reply->n_links + reply->n_addresses);
	assert(ldns_pkt_nscount(pkt) >= answer.soa);
	ldns_pkt_free(pkt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question question = { .type = WIRE_A };
	struct message message;
	struct reply *reply;
	struct cursor c = cursor_over(data, size);

	if (message_read(data, size, true, &message) < 0)
		return 0;
	cursor_take(&c, WIRE_HEADER);
	if (name_read(&c, &question.name) == 0 && message.rcode <= WIRE_RCODE) {
		question.echo_len = (uint16_t)(question.name.len + 4);
		memcpy(question.echo, question.name.wire, question.name.len);
		memcpy(question.echo + question.name.len, "\0\1\0\1", 4);
		for (unsigned type = WIRE_A; type <= WIRE_AAAA; type += WIRE_AAAA - WIRE_A)
			if (vet_chain(&message, &question.name, (uint16_t)type, 5, 3600, &reply) ==
			    0) {
				answer_with(&question, reply);
				free(reply);
			}
	}
	message_done(&message);
	return 0;
}
