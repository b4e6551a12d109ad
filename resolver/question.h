/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/limits.h"
#include "base/name.h"

/*
 * What a client sent, read by hand and in full before anything is decided.
 */
struct question {
	uint16_t id;
	uint16_t flags; /* as they came */
	uint16_t type, class;
	struct name name; /* lower case */

	/* The question's bytes as they came, for the answer: name, type and class. */
	uint8_t echo[NAME_WIRE_MAX + 4];
	uint16_t echo_len; /* 0: there is no question to echo */

	bool edns;         /* an OPT record came, and so one goes back (RFC 6891, 6.1.1) */
	bool dnssec_ok;    /* its DO bit, echoed (RFC 3225, 3) */
	uint16_t udp_size; /* the largest datagram that the client takes */
};

enum question_fault {
	QUESTION_FINE = 0,
	QUESTION_DROP, /* no answer: too short for an id, or itself an answer */
	QUESTION_FORMERR,
	QUESTION_NOTIMP,
	QUESTION_BADVERS,
	QUESTION_REFUSED, /* a class other than IN */
};

/*
 * Read the @len bytes at @bytes of a client into @ret_question.
 *
 * Refused as malformed: QDCOUNT other than 1 (RFC 9619), records in the answer or authority
 * section, a compressed or overlong name, two OPT records, an OPT whose owner is not the root or
 * whose options overrun it (RFC 6891, 6.1), a cookie of impossible length (RFC 7873, 5.2.2),
 * bytes that are left over, and more than LIMIT_QUERY_BYTES.
 *
 * Gives  what is wrong with it; the id, flags and what else could be read are in @ret_question
 *        in any case but QUESTION_DROP.
 */
enum question_fault question_read(const uint8_t *bytes, size_t len, struct question *ret_question);
