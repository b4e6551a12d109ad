/* SPDX-License-Identifier: MIT */
#pragma once

#include "resolver/budget.h"
#include "resolver/cache.h"
#include "resolver/cookie.h"
#include "resolver/listen.h"
#include "resolver/query.h"
#include "resolver/resolver.h"
#include "resolver/upstream.h"

struct crew;

/* A worker: one thread's part of a resolver, and all that hangs on it. The first is the resolver. */
struct resolver {
	struct loop *loop;
	unsigned number;       /* 0: the first */
	struct crew *crew;     /* of the first: the others */
	struct policy *policy; /* the current one, with a reference */
	struct lease_table *leases;
	struct lease_desk *desk; /* where leases are asked for; NULL: on the table's own loop */
	struct audit *audit;
	struct budgets *budgets; /* of all workers: the first's, which is freed last */
	struct cache *cache;
	struct upstreams *upstreams;
	struct listeners *listeners;
	struct list queries; /* of struct query: those that wait */
	unsigned n_queries;  /* how many */
	struct query *spare; /* for the next one, which keeps it only if it must wait */
	struct cookie_key cookie_key;
	uint64_t generation;
};

/*
 * Make worker @number of a resolver on @loop, with its sockets open. What people should know of its
 * upstream servers goes to @report with @arg; NULL: nothing does.
 *
 * Fails  as resolver_open().
 * Owns   a reference to @policy; the caller calls worker_free().
 */
int worker_new(struct loop *loop, struct policy *policy, struct audit *audit, unsigned number,
	       void (*report)(void *arg, const char *text), void *arg, struct resolver **ret_worker,
	       struct err *err) __attribute__((warn_unused_result));

/* Free @worker; NULL is allowed. Queries under way end without an answer. */
void worker_free(struct resolver *worker);
