/* SPDX-License-Identifier: MIT */
#include "resolver/frames.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "resolver/wire.h"

enum { FIRST_BYTES = 4096 };

/* The length of the message at byte @at, which is in use with the one behind it. */
static size_t length_at(const struct frames *frames, size_t at)
{
	return (size_t)frames->bytes[at] << 8 | frames->bytes[at + 1];
}

/* True if each message whose length is there is one. */
static bool are_messages(const struct frames *frames)
{
	for (size_t at = 0; at + 2 <= frames->n; at += 2 + length_at(frames, at))
		if (length_at(frames, at) < WIRE_HEADER)
			return false;
	return true;
}

int frames_add(struct frames *frames, const uint8_t *bytes, size_t len)
{
	size_t left = frames->n - frames->taken;
	size_t size = frames->size > 0 ? frames->size : FIRST_BYTES;

	assert(!frames_whole(frames) && left < 2 + LIMIT_MESSAGE_BYTES);
	if (frames->taken > 0)
		memmove(frames->bytes, frames->bytes + frames->taken, left);
	frames->n = left;
	frames->taken = 0;
	while (size < left + len)
		size *= 2;
	if (size > frames->size) {
		uint8_t *larger = realloc(frames->bytes, size);

		if (larger == NULL)
			return -ENOMEM;
		frames->bytes = larger;
		frames->size = size;
	}
	memcpy(frames->bytes + left, bytes, len);
	frames->n += len;
	return are_messages(frames) ? 0 : -EBADMSG;
}

bool frames_whole(const struct frames *frames)
{
	size_t left = frames->n - frames->taken;

	return left >= 2 && left - 2 >= length_at(frames, frames->taken);
}

bool frames_take(struct frames *frames, const uint8_t **ret_bytes, size_t *ret_len)
{
	if (!frames_whole(frames))
		return false;
	*ret_len = length_at(frames, frames->taken);
	*ret_bytes = frames->bytes + frames->taken + 2;
	frames->taken += 2 + *ret_len;
	return true;
}

void frames_done(struct frames *frames)
{
	free(frames->bytes);
	*frames = (struct frames){ .n = 0 };
}
