/* SPDX-License-Identifier: MIT */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/loop.h"
#include "lease/guard.h"
#include "lease/lease.h"
#include "lease/map.h"
#include "lease/netlink.h"
#include "policy/policy.h"

/*
 * The mirror: the kernel's sets, kept the same as the table's elements.
 *
 * All of it is behind the table's guard: whoever calls is inside.
 *
 * It commits in groups. What a turn of the loop wants written goes together,
 * on a thread of its own; what comes while that is under way gathers for the
 * next. What an ask waits for goes before what is only restored.
 *
 * An element stands if the kernel has acknowledged it in the present epoch,
 * for as long as is wanted. A new epoch begins whenever the sets may have
 * lost something: someone touched them, they were loaded anew, or a write had
 * failed. Then nothing stands until it has been written again.
 */
struct mirror;

/* What an element is found by. For a set of others, whatever its key does not hold is zero. */
struct element_key {
	uint8_t set; /* number in the mirror */
	uint8_t protocol;
	uint16_t port;
	struct address agent, address;
};
static_assert(sizeof(struct element_key) == 4 + 2 * sizeof(struct address), "it is hashed whole");

/* One element of one set. It stands for all leases of its key, for as long as the longest. */
struct element {
	/* The table's. */
	struct map_node node; /* by key */
	struct heap_node end; /* no later than until_ms */
	struct element_key key;
	uint64_t until_ms; /* only moves later */
	unsigned n_leases;

	/* The mirror's. */
	struct list place;    /* in the queue that says what is to be done with it */
	struct list waits;    /* for it to stand */
	uint64_t sent_ms;     /* the end that is being written */
	uint64_t acked_ms;    /* it was acknowledged until then ... */
	uint64_t acked_epoch; /* ... in this epoch; 0: never */
	bool under_way;       /* being written: it may not be freed */

	uint8_t name_len;
	uint8_t name_wire[]; /* for whom it was made: its comment */
};

/* The first sets of a mirror, in its own table. */
enum { MIRROR_LEASE4, MIRROR_LEASE6, MIRROR_ETHER4, MIRROR_ETHER6, MIRROR_OWN_SETS };

/*
 * Make the mirror of @policy behind @guard, at its home, as lease_table_new() has it.
 *
 * Gives  0 and @ret_mirror, NULL if the policy wants none.
 * Later  @report with @arg.
 */
int mirror_new(struct guard *guard, const struct policy *policy, enum netlink_refresh refresh,
	       lease_report_fn *report, void *arg, struct mirror **ret_mirror, struct err *err)
	__attribute__((warn_unused_result));

/* Free @mirror; NULL is allowed. Elements that are under way may be freed from then on. */
void mirror_free(struct mirror *mirror);

/* True if @mirror writes the set number @set: the mirror may have none of its own. */
bool mirror_writes(const struct mirror *mirror, unsigned set);

/* The sets of others that @mirror pushes to; the first has number MIRROR_OWN_SETS. @ret_n: how many. */
const struct netlink_set *mirror_pushed(const struct mirror *mirror, size_t *ret_n);

/* Take the new @element into @mirror. */
void mirror_add(struct mirror *mirror, struct element *element);

/*
 * Forget @element; asks that wait for it fail.
 *
 * Fails  -EBUSY: it is under way.
 * Later  the asks hear of it, by guard_tell().
 */
int mirror_drop(struct element *element) __attribute__((warn_unused_result));

/* True if the kernel has @element in @mirror now, until @until_ms at least. */
bool mirror_stands(const struct mirror *mirror, const struct element *element, uint64_t until_ms);

/*
 * Have @element, whose end may have moved later, written in @mirror; let @ask wait until it stands
 * until @until_ms.
 *
 * Gives  -EINPROGRESS; or 0 if it stands already.
 * Fails  -ENOMEM.
 */
int mirror_want(struct mirror *mirror, struct element *element, uint64_t until_ms,
		struct lease_ask *ask) __attribute__((warn_unused_result));

/* Notice what others did to the sets of @mirror, as lease_table_poll(). */
void mirror_poll(struct mirror *mirror);

/* At home: do what threads elsewhere have left to be done for @mirror. */
void mirror_work(struct mirror *mirror);

/* Put what there is to say of @mirror into @status. */
void mirror_status(const struct mirror *mirror, struct lease_status *status);
