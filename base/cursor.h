/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A reader over bytes that a stranger sent. The first read past the end
 * marks it broken; from then on every read gives zero and nothing moves, so
 * a parser may run straight through and ask once, at its end.
 */
struct cursor {
	const uint8_t *at, *end;
	bool broken;
};

/* A cursor over the @len bytes at @bytes, which must outlive it. */
static inline struct cursor cursor_over(const void *bytes, size_t len)
{
	return (struct cursor){ (const uint8_t *)bytes, (const uint8_t *)bytes + len, false };
}

/* How many bytes of @c are left; 0 once broken. */
static inline size_t cursor_left(const struct cursor *c)
{
	return c->broken ? 0 : (size_t)(c->end - c->at);
}

/* The next @len bytes of @c, or NULL once broken. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t len)
{
	const uint8_t *taken = c->at;

	if (c->broken || (size_t)(c->end - c->at) < len) {
		c->broken = true;
		return NULL;
	}
	c->at += len;
	return taken;
}

/* The next byte of @c. */
static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *b = cursor_take(c, 1);

	return b != NULL ? b[0] : 0;
}

/* The next 16 bits of @c, in network order. */
static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *b = cursor_take(c, 2);

	return b != NULL ? (uint16_t)(b[0] << 8 | b[1]) : 0;
}

/* The next 32 bits of @c, in network order. */
static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *b = cursor_take(c, 4);

	return b != NULL ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
			 : 0;
}

/* A cursor over the next @len bytes of @c alone; @c steps over them. */
static inline struct cursor cursor_part(struct cursor *c, size_t len)
{
	const uint8_t *b = cursor_take(c, len);

	return b != NULL ? cursor_over(b, len) : (struct cursor){ .broken = true };
}
