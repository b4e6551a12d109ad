/* SPDX-License-Identifier: MIT */
/* A client's message: whatever it is, what is answered to it is a message that ldns can read. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "resolver/answer.h"
#include "resolver/question.h"
#include "resolver/wire.h"
#include <ldns/ldns.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct address address = { 4, { 93, 184, 216, 34 } };
	uint8_t bytes[LIMIT_UDP_ANSWER_BYTES];
	struct question question;
	enum question_fault fault = question_read(data, size, size & 1, &question);

	if (fault == QUESTION_DROP)
		return 0;
	const struct answer answer = {
		.rcode = fault == QUESTION_BADVERS ? WIRE_BADVERS : WIRE_NOERROR,
		.addresses = &address,
		.n_addresses = fault == QUESTION_FINE,
		.soa = fault == QUESTION_CLASS,
		.ede = WIRE_EDE_BLOCKED,
		.ede_text = "a text",
	};
	size_t limit = answer_udp_limit(&question);
	size_t len = answer_write(&question, &answer, bytes, limit);
	ldns_pkt *pkt = NULL;

	assert(len <= limit);
	assert(ldns_wire2pkt(&pkt, bytes, len) == LDNS_STATUS_OK);
	assert(ldns_pkt_qr(pkt) && ldns_pkt_id(pkt) == question.id);
	ldns_pkt_free(pkt);
	return 0;
}
