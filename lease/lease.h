/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/address.h"
#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/name.h"
#include "policy/policy.h"

/*
 * Leases: what an answered name gives. (agent, address, protocol, port, name,
 * grant, until). No lease, no connection.
 *
 * The table (table.c) is the truth. The mirror (mirror.c) keeps the kernel's
 * nftables sets the same, through netlink.c; an element of a set stands for
 * all leases of one (agent, address, protocol, port), for as long as the
 * longest of them. The mirror commits in groups, on a thread of its own,
 * since another program's transaction can hold the kernel's lock for long.
 *
 * Two promises:
 *  - lease_grant() says that leases stand only once the kernel has said so
 *    for each of their elements, and only as long as nobody has taken them
 *    out of the kernel since;
 *  - a deadline only moves later, until lease_table_free().
 *
 * Sets. The table of [nftables] has four, with timeouts:
 *
 *   lease4  agent . address . protocol . port, both addresses IPv4
 *   lease6  the same, both IPv6
 *   ether4  agent's interface here . its link-layer address . IPv4 address . protocol . port
 *   ether6  the same with an IPv6 address
 *
 * The last two are for an agent whose packets will come from an address that
 * nobody has told us: one that asked over one family and was answered with the
 * other, and any that asked over IPv6, where a host has several addresses and
 * picks one for each destination (RFC 6724, 5; RFC 8981). What all its
 * addresses share is the link, so the agent's link-layer address is looked up
 * when the element is written. An agent that has none (it is behind a router
 * or a tunnel, this host itself, or new on its link) stands in lease6 by the address that it
 * asked from, as ::ffff:a.b.c.d if that is IPv4; or in lease4 as 0.0.0.0. The
 * last two show the lease to people and open nothing, since the kernel
 * forwards no packet from such an address: such an agent must ask over the
 * family that it wants to connect by.
 *
 * Sets of others ([nftables] push) take an address, or address . protocol .
 * port, and know no agents: an element there stands for all of them.
 *
 * Others may change the kernel's ruleset at any time. What they do to our sets
 * and rules is noticed, undone, and reported; what they do to ours while a
 * write is under way voids its acknowledgement. A ruleset that was changed is
 * loaded anew, and its sets are filled from the table; until then new
 * connections are refused. An element that they add stays until it times out:
 * who may do that may also write rules.
 *
 * When the process ends its table stays: closed, but for leases that the
 * kernel ends in their time. The next start takes its place.
 *
 * Threads. The table is at home on one loop. Other threads ask at a desk of
 * their own, and hear of what they asked on their own loop.
 */
struct lease_table;
struct lease_desk;
struct guard;

/* An ask for leases, inside the asker. All zero is one that is not under way. */
struct lease_ask {
	struct lease_desk *desk; /* where it is asked: set before; NULL: on the table's own loop */
	struct guard *guard;     /* of the table: NULL if it is not under way */
	struct list waits;       /* of the table */
	unsigned n_waits;
	int status;
	/* Later, once: 0 if all its leases stand, or the negative errno why they do not. */
	void (*done)(struct lease_ask *ask, int status);
};

/* What to lease: @n_addresses addresses for each port of each of the grants. */
struct lease_wanted {
	struct address agent;
	const struct name *name;
	const struct address *addresses;
	const struct policy_verdict *verdicts; /* one for each address: whose grants allow it */
	unsigned n_addresses;
	uint32_t ttl_s; /* as the answer came: no less than is going to be said; plus the grace */
	int64_t now_s;  /* Unix time: no lease is longer than its grant */
};

struct lease_status {
	bool up; /* the mirror has been written, and nobody has undone it since */
	size_t n_leases, n_elements;
	uint64_t n_commits, n_failures, n_restores;
};

/*
 * Told, on the loop, when the mirror goes down (@status < 0), and when it is whole again (0) after
 * that or after others have changed it; and once a minute while a set is full (-ENFILE), which
 * leaves the mirror up. @text is a sentence. It may not call the table.
 */
typedef void lease_report_fn(void *arg, int status, const char *text);

/*
 * Make the table and its mirror for [nftables] of @policy: the ruleset is loaded in place of an
 * older one of the same name, and the sets to push to are looked up and checked. With
 * manage = sets the table is left as it is but for our sets in it.
 *
 * Fails  -errno and @err: what could not be set up, and what would be right. Nothing is left open.
 * Owns   the caller calls lease_table_free(). A reference to @policy is kept, and by each lease one
 *        to the policy of its grant.
 * Later  @report with @arg, from the loop. The thread that writes is started with the first lease,
 *        so that it has the privileges that the process has by then; CAP_NET_ADMIN is needed.
 */
int lease_table_new(struct loop *loop, struct policy *policy, lease_report_fn *report, void *arg,
		    struct lease_table **ret_table, struct err *err)
	__attribute__((warn_unused_result));

/*
 * Free @table; NULL is allowed. Asks that are under way are forgotten. The kernel keeps what was
 * committed until it times out.
 */
void lease_table_free(struct lease_table *table);

/*
 * Lease what is @wanted under @policy.
 *
 * Gives  0: everything stands, answer. -EINPROGRESS: @ask->done is called later.
 * Fails  -ENFILE: the table, an element or a set is full; -ENOMEM; -ETIME: the grant or the lease
 *        has ended; -EIO and the like: the mirror is down. What fails at once does not call back.
 * Owns   nothing: @ask lies in the asker, which calls lease_ask_drop() in its own free. @ask->done
 *        is set by the asker before.
 */
int lease_grant(struct lease_table *table, struct lease_ask *ask, struct policy *policy,
		const struct lease_wanted *wanted) __attribute__((warn_unused_result));

/* Forget @ask; nothing happens if it is not under way. Its leases stay. */
void lease_ask_drop(struct lease_ask *ask);

/*
 * Open a desk of @table for the thread of @loop, which is not running yet.
 *
 * Fails  -ENOMEM, or what libuv says.
 * Owns   the caller calls lease_desk_close() before lease_table_free(), on that thread or after it.
 */
int lease_desk_open(struct lease_table *table, struct loop *loop, struct lease_desk **ret_desk)
	__attribute__((warn_unused_result));

/* Close @desk; NULL is allowed. Given lease_ask_drop() was called for what was asked there. */
void lease_desk_close(struct lease_desk *desk);

/*
 * Notice, at @desk (NULL: on the table's own loop), what others did to the mirror up to now. The resolver calls it after it has received
 * queries and before it answers them, so that an answer never trusts an element that was
 * already gone when the question came.
 */
void lease_table_poll(struct lease_table *table, struct lease_desk *desk);

/*
 * How long an answer may live: the smallest of @ttl_s and what is left of the grants in
 * @verdict at @now_s, in seconds.
 */
uint32_t lease_ttl(const struct policy_verdict *verdict, uint32_t ttl_s, int64_t now_s);

/* How @table is, now. Called on its own loop. */
struct lease_status lease_table_status(struct lease_table *table);

/* Told of one lease; false ends the walk. */
typedef bool lease_visit_fn(void *arg, const struct address *agent, const struct address *address,
			    uint8_t protocol, uint16_t port, const struct name *name,
			    const struct policy_grant *grant, uint64_t left_ms, bool stands);

/*
 * Call @visit with @arg for each lease of @table, in no order. Called on its own loop.
 *
 * Never  may @visit call the table.
 */
void lease_table_visit(struct lease_table *table, lease_visit_fn *visit, void *arg);

/*
 * Write the ruleset that lease_table_new() would load for @policy to @out, as `nft -f` reads it; it
 * would make the same of it. Nothing for manage = no.
 *
 * Fails  -EINVAL and @err: the policy's [nftables] and [resolver] cannot work together; -ENOMEM.
 */
int lease_ruleset_print(const struct policy *policy, FILE *out, struct err *err)
	__attribute__((warn_unused_result));
