/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "lease/rule.h"
#include "policy/policy.h"

/*
 * The border to the kernel: libmnl and libnftnl. It keeps nothing
 * but open sockets; what was asked for, and whether it stands, is the
 * mirror's to know.
 *
 * The kernel serves nf_tables within sendmsg(): when that returns, all
 * replies lie in the socket's queue (tests/kernel/ proves it), and nothing
 * here ever waits for one.
 */
struct netlink;

/* What a key of a set is made of. */
enum netlink_form {
	NETLINK_FORM_LEASE,   /* agent . address . protocol . port */
	NETLINK_FORM_ETHER,   /* agent's link-layer address . address . protocol . port */
	NETLINK_FORM_TUPLE,   /* address . protocol . port */
	NETLINK_FORM_ADDRESS, /* address */
};

/* A kernel set that takes leases. */
struct netlink_set {
	enum netlink_form form;
	uint8_t family;  /* NFPROTO_* of its table */
	uint8_t version; /* 4 or 6: of the address in its keys */
	bool own;        /* it is in our own table */
	const char *table, *name;
	/* NETLINK_FORM_ETHER: the set for an agent that has no link-layer address. */
	const struct netlink_set *otherwise;
};

/* One element to write. */
struct netlink_write {
	const struct netlink_set *set;
	struct address agent, address;
	uint8_t protocol;
	uint16_t port;
	uint8_t name_len;
	const uint8_t *name_wire; /* becomes the comment */
	uint64_t timeout_ms;
	int status;  /* 0: written. -ECANCELED: others in its transaction failed. Else why not. */
	void *owner; /* the caller's */
};

/* How to refresh an element that exists. */
enum netlink_refresh {
	NETLINK_REFRESH_PROBE,  /* whichever the kernel can do */
	NETLINK_REFRESH_UPDATE, /* add it again, with timeout and expiration: since Linux 6.12 */
	NETLINK_REFRESH_RENEW,  /* add, delete and add it in one transaction: always */
};

/* What others did to the sets: bits. */
enum {
	NETLINK_TOUCHED_ELEMENTS = 1, /* elements, or a pushed set, went or changed */
	NETLINK_TOUCHED_RULESET = 2,  /* our table, or what is in it, went or changed */
};

/*
 * Open the lasting sockets, and learn how the kernel wants its elements refreshed, unless
 * @refresh says how.
 *
 * Fails  -errno and @err: no nf_tables, or no right to use it.
 */
int netlink_open(enum netlink_refresh refresh, struct netlink **ret_netlink, struct err *err)
	__attribute__((warn_unused_result));

/* Close @netlink; NULL is allowed. */
void netlink_close(struct netlink *netlink);

/* How @netlink refreshes: never NETLINK_REFRESH_PROBE. */
enum netlink_refresh netlink_refresh(const struct netlink *netlink);

/*
 * Look up the set that @push names.
 *
 * Gives  @ret_set, whose names are those of @push.
 * Fails  -errno and @err: there is none, or leases do not fit into it.
 */
int netlink_set_find(struct netlink *netlink, const struct policy_push *push,
		     struct netlink_set *ret_set, struct err *err)
	__attribute__((warn_unused_result));

/*
 * Write the @n elements of @writes, each with its timeout from now on, in as few transactions as
 * the socket's buffers allow; what exists is refreshed.
 *
 * Gives  0: all stand. The status of each write is set in any case.
 * Fails  -ENFILE: only because sets are full; -ENOENT: a set is gone; -ENOBUFS: an answer was
 *        lost, and what stands is not known; or another negative errno.
 */
int netlink_write(struct netlink *netlink, struct netlink_write *writes, size_t n)
	__attribute__((warn_unused_result));

/*
 * Load @ruleset in one transaction.
 *
 * Gives  0, and in @ret_events a descriptor as netlink_events_open() opens it, which will tell of
 *        every change after this one and not of this one. It was opened just before, so it may
 *        tell of what others did in that moment as well.
 * Fails  -errno and @err: what was refused. Nothing has changed.
 */
int netlink_load(struct netlink *netlink, const struct ruleset *ruleset, int *ret_events,
		 struct err *err) __attribute__((warn_unused_result));

/* Open a descriptor that is readable when someone but @netlink has changed a ruleset. */
int netlink_events_open(const struct netlink *netlink) __attribute__((warn_unused_result));

/*
 * Read what has come in on @events, without waiting, and judge what it did to the @n_sets sets at
 * @sets. With @rules, rules and chains in our own table are ours as well.
 *
 * Gives  the bits of NETLINK_TOUCHED_*; 0: nothing that matters.
 */
unsigned netlink_events_read(int events, const struct netlink_set *sets, size_t n_sets, bool rules);
