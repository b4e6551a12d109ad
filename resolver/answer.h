/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/limits.h"
#include "resolver/question.h"
#include "resolver/reply.h"

/*
 * Writing answers. Every answer is made here from chosen parts; nothing that
 * an upstream sent is passed on as bytes.
 */

/* What an answer says. All zero is NOERROR without records. */
struct answer {
	uint16_t rcode;            /* up to 12 bits; above 15 only with OPT */
	const struct reply *chain; /* its CNAME links go first; NULL: none */
	const struct address *addresses;
	unsigned n_addresses;
	uint32_t ttl_s; /* of every record */
	bool edited;    /* the addresses are not those of @chain: nothing is said to prove them */
	bool authentic; /* set AD (RFC 6840, 5.8) */
	bool soa;       /* negative: with an SOA, whose TTL and MINIMUM are ttl_s (RFC 2308, 3) */
	bool any;       /* a HINFO record says that ANY is not answered (RFC 8482, 4.2) */
	int ede;        /* an Extended DNS Error's code, or WIRE_EDE_NONE */
	const char *ede_text; /* its text, never made of a stranger's bytes; NULL: none */
};

/*
 * How long a TCP connection of a client may be silent before it is closed: what we say (RFC 7828,
 * in its units of 100 ms) is what connection.c does.
 */
enum { ANSWER_KEEPALIVE_MS = 10000 };

/* The most bytes that the answer to @question may have over UDP (RFC 6891, 6.2.3; RFC 9715, 3). */
size_t answer_udp_limit(const struct question *question);

/*
 * Write @answer to @question into @bytes, of @limit bytes at most.
 *
 * What does not fit is left out whole and TC is set; the text of the Extended DNS Error goes
 * first. AA is never set: nothing here is authoritative. If the chain has a proof, it goes with
 * it, and a signed SOA in it takes the place of ours. With OPT
 * go the cookie of @question and our time-out, if they were asked for; no other option does.
 *
 * Given  @limit of at least LIMIT_UDP_PLAIN_BYTES.
 * Gives  the answer's length.
 */
size_t answer_write(const struct question *question, const struct answer *answer, uint8_t *bytes,
		    size_t limit);
