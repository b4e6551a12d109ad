/* SPDX-License-Identifier: MIT */
#include "policy/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 65536 };

struct arena_chunk {
	struct arena_chunk *next;
	alignas(max_align_t) char bytes[];
};

/* Put a chunk that holds @size bytes in front of the others. */
static int add_chunk(struct arena *arena, size_t size)
{
	size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	struct arena_chunk *chunk;

	if (room > SIZE_MAX - sizeof(*chunk))
		return -1;
	chunk = calloc(1, sizeof(*chunk) + room);
	if (chunk == NULL)
		return -1;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->at = chunk->bytes;
	arena->end = chunk->bytes + room;
	return 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	const size_t align = alignof(max_align_t);
	void *taken;

	if (size > SIZE_MAX - align)
		return NULL;
	size = size > 0 ? (size + align - 1) / align * align : align;
	if ((size_t)(arena->end - arena->at) < size && add_chunk(arena, size) < 0)
		return NULL;
	taken = arena->at;
	arena->at += size;
	return taken;
}

char *arena_text(struct arena *arena, const char *bytes, size_t len)
{
	char *text = len < SIZE_MAX ? arena_alloc(arena, len + 1) : NULL;

	if (text != NULL)
		memcpy(text, bytes, len);
	return text;
}

void arena_done(struct arena *arena)
{
	while (arena->chunks != NULL) {
		struct arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
	arena->at = arena->end = NULL;
}
