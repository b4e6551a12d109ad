/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * Memory that is taken piece by piece and given back at once. What a policy
 * is made of lies in one arena, what only its loading needs in another. All
 * zero is an empty arena.
 */
struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	char *at, *end; /* what is free of the first chunk */
};

/* Take @size bytes, zeroed and aligned for any type, from @arena; NULL if there is no memory. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, warn_unused_result));

/* Copy the @len bytes at @bytes, and a NUL, into @arena; NULL if there is no memory. */
char *arena_text(struct arena *arena, const char *bytes, size_t len)
	__attribute__((warn_unused_result));

/* Free all that was taken from @arena; it is empty again. */
void arena_done(struct arena *arena);
