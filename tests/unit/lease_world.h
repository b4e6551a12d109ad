/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/limits.h"
#include "lease/lease.h"
#include "lease/netlink.h"
#include "tests/replay/scripted.h"
#include "tests/unit/fake_policy.h"

/*
 * A lease table on a scripted clock, thread and kernel.
 *
 * lease_world.c serves lease/netlink.h and the errands of base/loop.h: the
 * kernel is a list of elements with their ends, and an errand waits until the
 * test lets it run. There is one world at a time.
 */

enum { WORLD_ELEMENTS = 8192, WORLD_GRACE_MS = 60000 };

/* An element in the scripted kernel. */
struct world_element {
	struct netlink_write write;
	uint64_t end_ms;
};

struct world_ask {
	struct lease_ask ask;
	unsigned n_done;
	int status;
};

struct world {
	struct policy policy;
	struct loop *loop;
	struct lease_table *table;

	/* The kernel. */
	struct world_element elements[WORLD_ELEMENTS];
	unsigned n_elements;
	unsigned capacity; /* of all sets together; 0: no limit */
	bool gone;         /* the own table is */
	int failure;       /* what every write is answered with */
	int failure_once;  /* what the next one is */
	unsigned touched;  /* what the next look at the events gives */
	unsigned n_writes; /* calls of netlink_write() ... */
	unsigned n_last;   /* ... and of how many elements the last was */
	unsigned n_loads;
	unsigned n_open; /* netlink sockets */

	/* The thread. */
	struct loop_errand *errand; /* given, and not yet done */
	bool ran;
	bool drops; /* it ends before it gets to that errand */

	/* What was reported. */
	unsigned n_reports;
	int report_status;
};

/* Make the table of @world, whose policy is filled in. */
void world_open(struct world *world);

/* Free the table of @world, and check that nothing is left. */
void world_close(struct world *world);

/* What to lease, in words. */
struct world_wish {
	const char *agent, *address, *name;
	uint32_t ttl_s;
	const struct policy_grant *grant; /* NULL: tcp 443, for ever */
};

/* Lease one address in @world for @ask, as @wish says; what is not said is 10.0.0.2, 192.0.2.1 ... */
int world_grant(struct world *world, struct world_ask *ask, struct world_wish wish);

/* Lease the addresses number @first to @first + @n - 1, all of one agent, for @ask in @world. */
int world_grant_many(struct world *world, struct world_ask *ask, unsigned first, unsigned n);

/* End the turn of @world; let the errand that was given, if any, run. False if there was none. */
bool world_run(struct world *world);

/* Let the errand of @world that ran be done. */
void world_finish(struct world *world);

/* Do both until nothing is left to do in @world. */
void world_settle(struct world *world);

/* The element in @world's kernel for @address (that of @agent, if not NULL), still alive; or NULL. */
const struct world_element *world_find(const struct world *world, const char *agent,
				       const char *address);

/* How many elements in @world's kernel are alive. */
unsigned world_alive(const struct world *world);

/* cmocka's set-up and tear-down: @state is a struct world with manage = sets. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* Milliseconds that the element of @world's kernel for @address has left. */
uint64_t world_left_ms(struct world *world, const char *address);

/* Grant @wish in @world, and let the kernel answer; give the answer. */
int world_grant_now(struct world *world, struct world_wish wish);

/* What world_see(), a lease_visit_fn, has seen. */
struct world_seen {
	unsigned n, n_standing;
	struct name name;
	uint64_t left_ms;
};

bool world_see(void *arg, const struct address *agent, const struct address *address,
	       uint8_t protocol, uint16_t port, const struct name *name,
	       const struct policy_grant *grant, uint64_t left, bool stands);
