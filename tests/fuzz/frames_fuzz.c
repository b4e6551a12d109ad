/* SPDX-License-Identifier: MIT */
/*
 * The stream of an upstream: its bytes come in pieces whose sizes the first
 * byte chooses, and what comes out is the same as if they came in one.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "resolver/frames.h"
#include "resolver/message.h"
#include "resolver/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Hold the @len bytes at @bytes, which came out, against what stands at @at in @data. */
static size_t compare(const uint8_t *data, size_t at, const uint8_t *bytes, size_t len)
{
	struct message message;

	assert(len >= WIRE_HEADER && len == ((size_t)data[at] << 8 | data[at + 1]));
	assert(memcmp(data + at + 2, bytes, len) == 0);
	if (message_read(bytes, len, len % 2 == 0, &message) == 0)
		message_done(&message);
	return at + 2 + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frames frames = { .n = 0 };
	const uint8_t *bytes;
	size_t piece, len, at = 1;

	if (size < 1 + WIRE_HEADER)
		return 0;
	piece = 1u + data[0];
	for (size_t given = 1; given < size; given += piece) {
		size_t left = size - given;

		if (frames_add(&frames, data + given, left < piece ? left : piece) < 0)
			break;
		while (frames_take(&frames, &bytes, &len))
			at = compare(data, at, bytes, len);
		assert(at <= given + piece);
	}
	frames_done(&frames);
	return 0;
}
