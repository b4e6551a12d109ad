/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SIPHASH_KEY = 16 }; /* bytes */

/*
 * The 64 bits of SipHash-2-4 (Aumasson and Bernstein, 2012) of the @len bytes at @bytes under
 * @key: who does not have the key can neither guess nor make them.
 */
uint64_t siphash(const uint8_t key[SIPHASH_KEY], const uint8_t *bytes, size_t len);
