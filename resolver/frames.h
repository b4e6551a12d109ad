/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The messages of a stream, each behind its length (RFC 1035, 4.2.2): put
 * together from pieces as they come. All zero is an empty one.
 */
struct frames {
	uint8_t *bytes;
	size_t n, size; /* in use, and in all */
	size_t taken;   /* of those in use, by frames_take() */
};

/*
 * Add the @len bytes at @bytes to @frames.
 *
 * Given  frames_take() has said that no message is whole.
 * Fails  -EBADMSG: what is there is no message, since it is shorter than a header; -ENOMEM.
 */
int frames_add(struct frames *frames, const uint8_t *bytes, size_t len)
	__attribute__((warn_unused_result));

/*
 * Take the next message that is whole out of @frames.
 *
 * Gives  true, and the message in @ret_bytes and @ret_len until frames_add(); false if none is.
 */
bool frames_take(struct frames *frames, const uint8_t **ret_bytes, size_t *ret_len);

/* True if frames_take() would give a message of @frames. */
bool frames_whole(const struct frames *frames);

/* Free what @frames holds. */
void frames_done(struct frames *frames);
