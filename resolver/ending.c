/* SPDX-License-Identifier: MIT */
#include "resolver/ending.h"

#include <string.h>
#include "audit/audit.h"
#include "base/limits.h"
#include "base/loop.h"
#include "resolver/wire.h"
#include "resolver/worker.h"

enum { EDE_TEXT_SIZE = 256, EDE_PLACE_MAX = 64 };

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
	case WIRE_YXDOMAIN:
		return "YXDOMAIN";
	case WIRE_BADVERS:
		return "BADVERS";
	case WIRE_BADCOOKIE:
		return "BADCOOKIE";
	default:
		return "SERVFAIL";
	}
}

/* Where the addresses of @ending are: as they were judged, or looked up into @room; or NULL. */
static const struct origin *find_origins(const struct policy *policy, const struct ending *ending,
					 struct origin room[LIMIT_ANSWER_ADDRESSES])
{
	if (ending->origins != NULL || !policy_has_geo(policy))
		return ending->origins;
	for (unsigned i = 0; i < ending->answer.n_addresses; i++)
		room[i] = policy_origin_find(policy, &ending->answer.addresses[i]);
	return room;
}

/* Write the record. Fails as audit_write(). */
static int record_ending(struct resolver *resolver, const struct client *client,
			 const struct policy_agent *agent, const struct question *question,
			 uint64_t began_us, const struct ending *ending, uint64_t *ret_id)
{
	const char *who = agent != NULL ? policy_agent_name(agent) : "";
	bool asked = question->echo_len > 0;
	struct origin room[LIMIT_ANSWER_ADDRESSES];
	char type[16] = "";

	if (asked)
		policy_type_print(question->type, type);
	return audit_write(
		resolver->audit,
		&(struct audit_record){
			.action = "query",
			.generation = resolver->generation,
			.agent = &client->address,
			.who = *who != '\0' ? who : NULL,
			.name = asked ? &question->name : NULL,
			.type = asked ? type : NULL,
			.transport = client_is_tcp(client) ? "tcp" : "udp",
			.verdict = ending->verdict,
			.reason = ending->reason,
			.grant = ending->grant != NULL ? ending->grant->label : NULL,
			.rcode = ending->silent ? NULL : rcode_word(ending->answer.rcode),
			.addresses = ending->answer.addresses,
			.n_addresses = ending->answer.n_addresses,
			.origins = find_origins(resolver->policy, ending, room),
			.duration_us = loop_exact_us(resolver->loop) - began_us,
			.timed = true,
		},
		ret_id);
}

/* Append @text, or what fits of it, at @at; give the new end. Room for a NUL is left before @end. */
static char *put(char *at, const char *end, const char *text)
{
	size_t len = strnlen(text, (size_t)(end - 1 - at));

	memcpy(at, text, len);
	return at + len;
}

static char *put_number(char *at, const char *end, uint64_t number)
{
	char digits[21] = "";
	char *first = digits + sizeof(digits) - 1;

	do
		*--first = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	return put(at, end, first);
}

/*
 * The text of an Extended DNS Error: the reason's word and sentence, the policy line that would
 * have to change, and the record. No byte of it is a stranger's. By hand, since it is a third of
 * what a denial costs if snprintf() does it.
 */
static void print_ede(const struct ending *ending, uint64_t id, char text[EDE_TEXT_SIZE])
{
	const char *file = ending->place.file;
	char *at = text, *end = text + EDE_TEXT_SIZE;

	at = put(at, end, ending->reason);
	at = put(at, end, ": ");
	at = put(at, end, ending->sentence);
	if (file != NULL && ending->place.line > 0) {
		const char *slash = strrchr(file, '/');
		/* A name of any length must leave room for what follows. */
		const char *place_end = at + EDE_PLACE_MAX < end ? at + EDE_PLACE_MAX : end;

		at = put(at, end, " (");
		at = put(at, place_end, slash != NULL ? slash + 1 : file);
		at = put(at, end, ":");
		at = put_number(at, end, ending->place.line);
		at = put(at, end, ")");
	}
	at = put(at, end, "; record ");
	at = put_number(at, end, id);
	*at = '\0';
}

void ending_tell(struct resolver *resolver, struct client *client, const struct policy_agent *agent,
		 const struct question *question, uint64_t began_us, const struct ending *ending)
{
	static const struct ending unrecorded = {
		.answer = { .rcode = WIRE_SERVFAIL, .ede = WIRE_EDE_OTHER },
		.reason = "audit",
		.sentence = "the audit log cannot be written",
	};
	uint8_t bytes[LIMIT_MESSAGE_BYTES];
	char text[EDE_TEXT_SIZE];
	uint64_t id = 0;
	int r = record_ending(resolver, client, agent, question, began_us, ending, &id);

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
