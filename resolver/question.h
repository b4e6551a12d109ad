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

enum {
	COOKIE_CLIENT = 8,    /* bytes of a client's cookie (RFC 7873, 4) */
	COOKIE_BYTES_MAX = 40 /* with the server's behind it */
};

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
	bool keepalive;    /* over TCP it asked how long we keep the connection (RFC 7828, 3.3) */
	uint16_t udp_size; /* the largest datagram that the client takes */

	/* The client's cookie and, if it has one, ours, as they came; after cookie_renew() those
	 * that go back. */
	uint8_t cookie[COOKIE_BYTES_MAX];
	uint8_t cookie_len; /* 0: no cookie came, and none goes back */
	bool cookie_is_bad; /* cookie_renew(): what came as ours was not */
};

enum question_fault {
	QUESTION_FINE = 0,
	QUESTION_DROP, /* no answer: too short for an id, or itself an answer */
	QUESTION_FORMERR,
	QUESTION_NOTIMP, /* an opcode other than QUERY */
	QUESTION_BADVERS,
	QUESTION_CLASS,    /* a class other than IN */
	QUESTION_META,     /* a type that no query has: 0, OPT, TSIG, NXNAME */
	QUESTION_OBSOLETE, /* a type that stands for an operation: MAILA, MAILB, TKEY */
	QUESTION_TRANSFER, /* AXFR or IXFR */
	QUESTION_COOKIE,   /* no question, but a cookie: it asks for ours (RFC 7873, 5.4) */
};

/*
 * Read the @len bytes at @bytes of a client, who asks over TCP if @tcp is set, into @ret_question.
 *
 * Refused as malformed: QDCOUNT other than 1 (RFC 9619), but for a cookie without a question;
 * records in the answer or authority section, but for the SOA of an IXFR; a compressed or
 * overlong name; two OPT records, an OPT whose owner is not the root or whose options overrun it
 * (RFC 6891, 6.1); a cookie of impossible length (RFC 7873, 5.2.2); over TCP, a keepalive that
 * says a time (RFC 7828, 3.2.1); bytes that are left over, and more than LIMIT_QUERY_BYTES.
 *
 * Of a message with another opcode nothing but its OPT record is looked at: what the rest of it
 * means is for the opcode to say.
 *
 * Gives  what is wrong with it; the id, flags and what else could be read are in @ret_question
 *        in any case but QUESTION_DROP.
 */
enum question_fault question_read(const uint8_t *bytes, size_t len, bool tcp,
				  struct question *ret_question);
