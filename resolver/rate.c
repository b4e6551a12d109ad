/* SPDX-License-Identifier: MIT */
#include "resolver/rate.h"

#include <assert.h>

void rate_init(struct rate *rate, uint32_t window_ms)
{
	assert(window_ms >= RATE_SLOTS);
	*rate = (struct rate){ .window_ms = window_ms };
}

bool rate_count(struct rate *rate, uint32_t most, uint64_t now_ms)
{
	uint64_t slot = now_ms * RATE_SLOTS / rate->window_ms;

	for (unsigned n = 0; rate->slot < slot && n <= RATE_SLOTS; n++) {
		uint32_t *count = &rate->counts[++rate->slot % (RATE_SLOTS + 1)];

		rate->total -= *count;
		*count = 0;
	}
	rate->slot = slot;
	if (rate->total >= most)
		return false;
	rate->counts[slot % (RATE_SLOTS + 1)]++;
	rate->total++;
	return true;
}
