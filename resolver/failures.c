/* SPDX-License-Identifier: MIT */
#include "resolver/failures.h"

uint32_t failures_add(struct failures *failures, uint64_t hash, uint64_t now_ms)
{
	__typeof__(failures->rows[0]) *row = &failures->rows[hash % FAILURES_ROWS];
	uint32_t keep_s = FAILURE_FIRST_S;

	if (row->hash == hash && now_ms < row->until_ms)
		keep_s = row->kept_s * 2 < FAILURE_LAST_S ? row->kept_s * 2 : FAILURE_LAST_S;
	row->hash = hash;
	row->kept_s = keep_s;
	/* Who asks again within as long as it was kept asks in a row. */
	row->until_ms = now_ms + UINT64_C(2000) * keep_s + 10000;
	return keep_s;
}

void failures_clear(struct failures *failures, uint64_t hash)
{
	__typeof__(failures->rows[0]) *row = &failures->rows[hash % FAILURES_ROWS];

	if (row->hash == hash)
		row->until_ms = 0;
}
