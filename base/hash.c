/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdlib.h>
#include <sys/random.h>

uint64_t hash_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		abort();
	return seed;
}
