/* SPDX-License-Identifier: MIT */
#pragma once

#include "resolver/cache.h"
#include "resolver/listen.h"
#include "resolver/query.h"
#include "resolver/resolver.h"
#include "resolver/upstream.h"

/* A resolver, and all that hangs on it. */
struct resolver {
	struct loop *loop;
	struct policy *policy; /* the current one, with a reference */
	struct lease_table *leases;
	struct lease_desk *desk; /* where leases are asked for; NULL: on the table's own loop */
	struct audit *audit;
	struct cache *cache;
	struct upstreams *upstreams;
	struct listeners *listeners;
	struct list queries; /* of struct query: those that wait */
	unsigned n_queries;  /* how many */
	struct query *spare; /* for the next one, which keeps it only if it must wait */
	uint64_t generation;
};
