/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "lease/lease.h"
#include "resolver/resolver.h"

/*
 * The crew: the workers of a resolver but for the first. Each is a thread with
 * a loop, sockets, a cache and upstreams of its own, and shares the policy,
 * the log and the lease table with the others. The kernel deals clients out
 * among their sockets (SO_REUSEPORT).
 */
struct crew;

/*
 * Make the crew of @first, as many as [resolver] threads of its policy says less that one, with
 * their sockets open. NULL for none.
 *
 * Fails  -errno and @err.
 * Owns   the caller calls crew_free().
 */
int crew_new(struct resolver *first, struct crew **ret_crew, struct err *err)
	__attribute__((warn_unused_result));

/*
 * Start the threads of @crew, which serve with leases from @leases. They have the privileges that
 * the process has now.
 *
 * Fails  -errno and @err; some may serve already.
 */
int crew_serve(struct crew *crew, struct lease_table *leases, struct err *err)
	__attribute__((warn_unused_result));

/* End the threads of @crew and free it; NULL is allowed. Queries under way end without an answer. */
void crew_free(struct crew *crew);
