/* SPDX-License-Identifier: MIT */
/* The ways out of a query that need nothing but to know what happened. */
#include <errno.h>
#include "resolver/ending.h"
#include "resolver/wire.h"

enum {
	DENIAL_TTL_S = 30, /* how long a client may believe a denial: a policy can change */
	BUDGET_TTL_S = 5,  /* the same, of one that time undoes */
	ANY_TTL_S = 3600,  /* of a record that says nothing of a policy */
};

/* What is no question that could be judged, and what is told of it. */
static const struct fault {
	uint16_t rcode;
	int ede;
	const char *reason, *sentence;
} faults[] = {
	[QUESTION_FORMERR] = { WIRE_FORMERR, WIRE_EDE_NONE, "malformed", NULL },
	[QUESTION_NOTIMP] = { WIRE_NOTIMP, WIRE_EDE_NOT_SUPPORTED, "opcode",
			      "nothing but queries is answered here" },
	[QUESTION_BADVERS] = { WIRE_BADVERS, WIRE_EDE_NONE, "edns-version", NULL },
	[QUESTION_CLASS] = { WIRE_REFUSED, WIRE_EDE_NOT_SUPPORTED, "class",
			     "no class but IN is answered here" },
	[QUESTION_META] = { WIRE_FORMERR, WIRE_EDE_INVALID_QUERY_TYPE, "meta-type",
			    "no record has this type" },
	[QUESTION_OBSOLETE] = { WIRE_NOTIMP, WIRE_EDE_NOT_SUPPORTED, "meta-type",
				"this type is not answered here" },
	[QUESTION_TRANSFER] = { WIRE_REFUSED, WIRE_EDE_NOT_SUPPORTED, "transfer",
				"there is no zone here to transfer" },
	[QUESTION_COOKIE] = { WIRE_NOERROR, WIRE_EDE_NONE, "cookie", NULL },
};

struct ending ending_of_fault(enum question_fault fault, bool cookie_is_bad)
{
	const struct fault *row = &faults[fault];
	bool bad_cookie = fault == QUESTION_COOKIE && cookie_is_bad;

	return (struct ending){
		.answer = { .rcode = bad_cookie ? WIRE_BADCOOKIE : row->rcode, .ede = row->ede },
		.verdict = "error",
		.reason = row->reason,
		.sentence = row->sentence,
	};
}

static bool is_budget(enum policy_reason reason)
{
	return reason == POLICY_REASON_NAMES || reason == POLICY_REASON_LABELS ||
	       reason == POLICY_REASON_RATE;
}

struct ending ending_of_denial(const struct policy_verdict *verdict)
{
	bool stranger = verdict->reason == POLICY_REASON_CLIENT;
	bool budget = is_budget(verdict->reason);
	uint16_t rcode = verdict->exists ? WIRE_NOERROR : WIRE_NXDOMAIN;

	return (struct ending){
		.answer = { .rcode = stranger ? WIRE_REFUSED : rcode,
			    .ttl_s = budget ? BUDGET_TTL_S : DENIAL_TTL_S,
			    .soa = !stranger,
			    .ede = stranger ? WIRE_EDE_PROHIBITED : WIRE_EDE_BLOCKED },
		.verdict = "deny",
		.reason = policy_reason_word(verdict->reason),
		.sentence = policy_reason_sentence(verdict->reason),
		.place = verdict->place,
		.grant = budget ? verdict->grants[0] : NULL,
	};
}

struct ending ending_of_any(const struct policy_verdict *verdict)
{
	return (struct ending){
		.answer = { .ttl_s = ANY_TTL_S, .any = true, .ede = WIRE_EDE_NONE },
		.verdict = "deny",
		.reason = policy_reason_word(POLICY_REASON_TYPE),
		.place = verdict->place,
	};
}

struct ending ending_of_localhost(uint16_t type)
{
	static const struct address loopback4 = { 4, { 127, 0, 0, 1 } };
	static const struct address loopback6 = { 6, { [15] = 1 } };
	struct ending ending = {
		.answer = { .ttl_s = DENIAL_TTL_S, .ede = WIRE_EDE_NONE },
		.verdict = "allow",
		.reason = policy_reason_word(POLICY_REASON_SPECIAL),
	};

	if (type == WIRE_A)
		ending.answer.addresses = &loopback4;
	else if (type == WIRE_AAAA)
		ending.answer.addresses = &loopback6;
	ending.answer.n_addresses = ending.answer.addresses != NULL;
	ending.answer.soa = ending.answer.n_addresses == 0;
	return ending;
}

struct ending ending_of_failure(int ede, const char *reason, const char *sentence)
{
	return (struct ending){
		.answer = { .rcode = WIRE_SERVFAIL, .ede = ede },
		.verdict = "error",
		.reason = reason,
		.sentence = sentence,
	};
}

struct ending ending_of_mirror(int status)
{
	if (status == -ENFILE)
		return ending_of_failure(WIRE_EDE_OTHER, "leases-full",
					 "there is no room for another lease");
	return ending_of_failure(WIRE_EDE_OTHER, "mirror",
				 "the packet filter could not be told to open the address");
}

struct ending ending_of_upstream(int status)
{
	switch (status) {
	case -ETIMEDOUT:
		return ending_of_failure(WIRE_EDE_NO_REACHABLE_AUTHORITY, "upstream-timeout",
					 "no upstream server answered");
	case -EREMOTEIO:
		return ending_of_failure(WIRE_EDE_OTHER, "upstream-failed",
					 "the upstream servers failed");
	case -EKEYREJECTED:
		return ending_of_failure(WIRE_EDE_NETWORK_ERROR, "upstream-untrusted",
					 "no upstream server could prove who it is");
	case -EBUSY:
	case -ENOMEM:
		return ending_of_failure(WIRE_EDE_OTHER, "busy", "too many queries are under way");
	default:
		return ending_of_failure(WIRE_EDE_NETWORK_ERROR, "upstream-unreachable",
					 "no upstream server can be reached");
	}
}
