/* SPDX-License-Identifier: MIT */
#include "resolver/ending.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "audit/audit.h"
#include "base/limits.h"
#include "base/loop.h"
#include "resolver/wire.h"
#include "resolver/worker.h"

enum { EDE_TEXT_SIZE = 256 };

static const char *rcode_word(uint16_t rcode)
{
	switch (rcode) {
	case WIRE_NOERROR:
		return "NOERROR";
	case WIRE_FORMERR:
		return "FORMERR";
	case WIRE_NXDOMAIN:
		return "NXDOMAIN";
	case WIRE_NOTIMP:
		return "NOTIMP";
	case WIRE_REFUSED:
		return "REFUSED";
	case WIRE_BADVERS:
		return "BADVERS";
	default:
		return "SERVFAIL";
	}
}

/* Write the record. Fails as audit_write(). */
static int record_ending(struct resolver *resolver, const struct client *client,
			 const struct question *question, uint64_t began_us,
			 const struct ending *ending, uint64_t *ret_id)
{
	bool asked = question->echo_len > 0;
	char type[16] = "";

	if (asked)
		policy_type_print(question->type, type);
	return audit_write(
		resolver->audit,
		&(struct audit_record){
			.action = "query",
			.generation = resolver->generation,
			.agent = &client->address,
			.name = asked ? &question->name : NULL,
			.type = asked ? type : NULL,
			.transport = client_is_tcp(client) ? "tcp" : "udp",
			.verdict = ending->verdict,
			.reason = ending->reason,
			.grant = ending->grant != NULL ? ending->grant->label : NULL,
			.rcode = ending->silent ? NULL : rcode_word(ending->answer.rcode),
			.addresses = ending->answer.addresses,
			.n_addresses = ending->answer.n_addresses,
			.duration_us = loop_exact_us(resolver->loop) - began_us,
			.timed = true,
		},
		ret_id);
}

/*
 * The text of an Extended DNS Error: the reason's word and sentence, the policy line that would
 * have to change, and the record. No byte of it is a stranger's.
 */
static void print_ede(const struct ending *ending, uint64_t id, char text[EDE_TEXT_SIZE])
{
	const char *file = ending->place.file;
	char place[96] = "";

	if (file != NULL && ending->place.line > 0) {
		const char *slash = strrchr(file, '/');

		snprintf(place, sizeof(place), " (%.64s:%u)", slash != NULL ? slash + 1 : file,
			 ending->place.line);
	}
	snprintf(text, EDE_TEXT_SIZE, "%s: %s%s; record %" PRIu64, ending->reason, ending->sentence,
		 place, id);
}

void ending_tell(struct resolver *resolver, struct client *client, const struct question *question,
		 uint64_t began_us, const struct ending *ending)
{
	static const struct ending unrecorded = {
		.answer = { .rcode = WIRE_SERVFAIL, .ede = WIRE_EDE_OTHER },
		.reason = "audit",
		.sentence = "the audit log cannot be written",
	};
	uint8_t bytes[LIMIT_MESSAGE_BYTES];
	char text[EDE_TEXT_SIZE];
	uint64_t id = 0;
	int r = record_ending(resolver, client, question, began_us, ending, &id);

	if (ending->silent)
		return; /* nothing is told to anybody, so nothing may be missing */
	if (r < 0)
		ending = &unrecorded;

	struct answer answer = ending->answer;

	if (ending->sentence != NULL && question->edns) {
		print_ede(ending, id, text);
		answer.ede_text = text;
	}
	size_t limit = client_is_tcp(client) ? sizeof(bytes) : answer_udp_limit(question);

	client_answer(client, bytes, answer_write(question, &answer, bytes, limit));
}
