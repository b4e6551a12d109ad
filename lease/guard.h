/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "base/loop.h"

/*
 * The guard of a lease table: several threads ask for leases, each at a desk
 * of its own; one, at home, writes them and ends them. Who is inside has the
 * table and its mirror for himself, and stays for some microseconds: nothing
 * in there waits. While there is no desk but the home's, nothing is locked.
 *
 * Timers, watches and tasks are of the home's loop, so a thread that is not at
 * home leaves word of what is to be done there (guard_call_home()).
 */
struct lease_desk {
	struct guard *guard;
	struct loop *loop;
	struct loop_bell bell;
	struct list told; /* asks that have ended, until guard_tell() */
};

struct guard {
	struct lease_desk home;
	struct loop *at; /* whose thread is inside */
	uint64_t now_ms; /* the monotonic time for whoever is inside; never goes back */
	bool shared;
	pthread_mutex_t mutex;
};

/* Make @guard one of a table at home on @loop. */
void guard_init(struct guard *guard, struct loop *loop);

/*
 * Open @desk of @guard on @loop. Given @loop is not running yet.
 *
 * Fails  -ENOMEM or what libuv says.
 */
int guard_desk_open(struct guard *guard, struct lease_desk *desk, struct loop *loop)
	__attribute__((warn_unused_result));

/* Close @desk. Given its thread has ended, or this is it; asks that are told there are forgotten. */
void guard_desk_close(struct lease_desk *desk);

/* Let @guard ask to be told at home, by @called, of what threads elsewhere leave to be done. */
int guard_listen(struct guard *guard, void (*called)(struct loop_bell *bell))
	__attribute__((warn_unused_result));

/* Free what @guard holds. Given nobody is inside, and no desk is open but the home's. */
void guard_done(struct guard *guard);

/* Go inside @guard, on the thread of the loop @at; wait for who is there. */
void guard_enter(struct guard *guard, struct loop *at);

/* Leave @guard. */
void guard_leave(struct guard *guard);

/* True if the thread that is inside @guard is that of the table's own loop. */
static inline bool guard_is_home(const struct guard *guard)
{
	return guard->at == guard->home.loop;
}

/* Have what guard_listen() was given for @guard be called at home. */
void guard_call_home(struct guard *guard);

/* Call the asks of @desk that have ended. Given we are on its thread, and not inside. */
void guard_tell(struct lease_desk *desk);
