/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The hash of our tables: a folded multiplication over eight bytes at a time
 * (the construction of wyhash), keyed with a seed, so that who chooses the
 * keys (a client its names, an upstream its addresses) cannot choose their
 * buckets. It is no MAC.
 */

/* Fold the product of @a and @b into 64 bits. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The hash of the @len bytes at @bytes under @seed. */
static inline uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const uint8_t *at = (const uint8_t *)bytes;
	uint64_t h = seed ^ 0x9e3779b97f4a7c15u;
	uint64_t word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = hash_fold(h ^ word, 0xa0761d6478bd642fu);
	}
	word = 0;
	memcpy(&word, at, len);
	h = hash_fold(h ^ word, 0xe7037ed1a0b428dbu ^ len);
	return hash_fold(h ^ seed, 0x8ebc6af09c88c6e3u);
}

/* A seed that nobody else can guess, from the kernel. Never fails: the process ends if it must. */
uint64_t hash_seed(void);
