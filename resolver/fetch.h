/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include "base/list.h"
#include "base/name.h"
#include "resolver/cache.h"
#include "resolver/failures.h"
#include "resolver/server.h"
#include "resolver/upstream.h"

/* Fetches: each is one question to the upstream servers, for all who wait for its answer. */
enum { FETCH_BUCKETS = 1024 };

struct fetch;

struct upstreams {
	struct servers servers;
	struct cache *cache;
	uint32_t ttl_min_s, ttl_max_s;
	struct list fetches[FETCH_BUCKETS];
	unsigned n_fetches;
	uint64_t seed;
	struct failures failures;
};

/* The fetch of @upstreams for records of @type at @name that is under way; NULL if none is. */
struct fetch *fetch_find(struct upstreams *upstreams, const struct name *name, uint32_t type);

/*
 * Begin one.
 *
 * Fails  -ENETUNREACH and the like: no server can be asked; -EBUSY; -ENOMEM.
 */
int fetch_start(struct upstreams *upstreams, const struct name *name, uint32_t type,
		struct fetch **ret_fetch) __attribute__((warn_unused_result));

/* Let @wait hear of @fetch. */
void fetch_join(struct fetch *fetch, struct upstream_wait *wait);

/* End all fetches of @upstreams; whoever waits is forgotten. */
void fetches_end(struct upstreams *upstreams);
