/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/*
 * How often questions have failed in a row, so that each failure is kept for
 * longer than the one before (RFC 9520, 3.2). A table of one size: what falls
 * on the same row pushes out what was there, and begins anew.
 */
enum {
	FAILURES_ROWS = 1024,
	FAILURE_FIRST_S = 2, /* how long the first is kept ... */
	FAILURE_LAST_S = 30, /* ... and doubled, at most: an outage that is over must not last */
};

/* All zero: none has. */
struct failures {
	struct {
		uint64_t hash;
		uint64_t until_ms; /* a failure after that is a first one again */
		uint32_t kept_s;
	} rows[FAILURES_ROWS];
};

/* Note in @failures that the question of @hash failed at @now_ms; give for how long to keep that. */
uint32_t failures_add(struct failures *failures, uint64_t hash, uint64_t now_ms);

/* Note in @failures that the question of @hash was answered. */
void failures_clear(struct failures *failures, uint64_t hash);
