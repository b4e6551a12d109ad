/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A count over a sliding window, in slots of a sixtieth of it. What was
 * counted is forgotten one to one and a sixtieth windows later, never sooner:
 * so no window, wherever it begins, holds more than was allowed in one.
 */
enum { RATE_SLOTS = 60 };

struct rate {
	uint32_t window_ms;
	uint64_t slot; /* the newest, counted from the clock's start */
	uint32_t total;
	uint32_t counts[RATE_SLOTS + 1]; /* of slot number N at N modulo the length */
};

/* Make @rate one over @window_ms milliseconds, with nothing counted. Given that is at least 60. */
void rate_init(struct rate *rate, uint32_t window_ms);

/*
 * Count one more at @now_ms, which never goes back, unless @most were counted in the window.
 *
 * Gives  false if they were; then nothing is counted.
 */
bool rate_count(struct rate *rate, uint32_t most, uint64_t now_ms);
