/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "audit/chain.h"

/* How a file of the log ends. */

enum tail_state {
	TAIL_EMPTY,   /* it has no line */
	TAIL_RECORD,  /* with a record, or with a line that says what the file goes on from */
	TAIL_FOREIGN, /* with a line that is no record */
	TAIL_TORN,    /* without a newline */
};

/*
 * Look at the end of the file @fd, and hash with @hasher.
 *
 * Gives  0, @ret_state, and @ret_link: the hash on which a next line hangs, and the number of the
 *        last record; 0 if none was near the end.
 * Fails  -errno: reading failed; -ENOMEM.
 */
int tail_read(int fd, struct chain_hasher *hasher, enum tail_state *ret_state,
	      struct chain_link *ret_link) __attribute__((warn_unused_result));

/*
 * Find what a line hangs on that comes after the line of @len bytes at @text, which has no newline.
 *
 * Gives  true and @ret_link; false if it is no record.
 */
bool tail_link(struct chain_hasher *hasher, const char *text, size_t len,
	       struct chain_link *ret_link);
