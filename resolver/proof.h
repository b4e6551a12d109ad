/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cursor.h"
#include "base/limits.h"
#include "base/name.h"

/*
 * What proves an answer to a client that asked with DO (RFC 4035, 3.1): the
 * signatures of its links and addresses, the DNAMEs that its links were made
 * of, and what denies that there is more. We validate nothing: a proof crosses
 * so that the client can. It is a chain of records, in the order in which an
 * answer has them, in bytes of our own behind a reply.
 */

/* Places in an answer, in order. */
enum { PROOF_AUTHORITY = 255 };

/* The place in front of link number @link, counted from 0: of its DNAME. */
static inline unsigned proof_before(unsigned link)
{
	return 2 * link;
}

/* The place behind link number @link; or, if @link is how many there are, behind the addresses. */
static inline unsigned proof_behind(unsigned link)
{
	return 2 * link + 1;
}

struct proof_record {
	uint8_t place;
	uint16_t type;
	const uint8_t *owner; /* in wire form, of owner_len bytes ... */
	uint8_t owner_len;    /* ... or 0: whose the link or the addresses are */
	uint16_t data_len;
	const uint8_t *data; /* without compression */
};

/* A proof in the making. Set used and full to start it. */
struct proof_draft {
	size_t used;
	bool full; /* it would be too large: there is none */
	uint8_t bytes[LIMIT_PROOF_BYTES];
};

/* Add @record to @draft, behind all others. */
void proof_add(struct proof_draft *draft, const struct proof_record *record);

/* Read the next record of @proof. Gives false at its end. */
bool proof_next(struct cursor *proof, struct proof_record *ret_record);

/*
 * Add to @draft what @first proves, and then @second, whose places come @n_links links later; the
 * authority section's at the end.
 */
void proof_join(struct proof_draft *draft, struct cursor first, struct cursor second,
		unsigned n_links);
