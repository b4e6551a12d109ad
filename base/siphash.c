/* SPDX-License-Identifier: MIT */
#include "base/siphash.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

/* The @len bytes, 8 at most, from @at on as a little-endian word. */
static uint64_t load(const uint8_t *at, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)at[i] << (8 * i);
	return word;
}

static void mix(struct state *s, unsigned rounds)
{
	while (rounds-- > 0) {
		s->v0 += s->v1;
		s->v1 = rotate(s->v1, 13) ^ s->v0;
		s->v0 = rotate(s->v0, 32);
		s->v2 += s->v3;
		s->v3 = rotate(s->v3, 16) ^ s->v2;
		s->v0 += s->v3;
		s->v3 = rotate(s->v3, 21) ^ s->v0;
		s->v2 += s->v1;
		s->v1 = rotate(s->v1, 17) ^ s->v2;
		s->v2 = rotate(s->v2, 32);
	}
}

static void absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix(s, 2);
	s->v0 ^= word;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY], const uint8_t *bytes, size_t len)
{
	uint64_t k0 = load(key, 8), k1 = load(key + 8, 8);
	struct state s = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du,
			   k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u };
	uint64_t length = (uint64_t)(len & 0xff) << 56;

	for (; len >= 8; bytes += 8, len -= 8)
		absorb(&s, load(bytes, 8));
	absorb(&s, length | load(bytes, len));
	s.v2 ^= 0xff;
	mix(&s, 4);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
