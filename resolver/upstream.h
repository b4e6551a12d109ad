/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/name.h"
#include "policy/policy.h"
#include "resolver/cache.h"
#include "resolver/reply.h"

/*
 * Asking upstream servers. A question is asked once however many wait for
 * it; each try has a socket, a port and an id of its own (RFC 5452, 9.2) and a
 * pattern of upper and lower case ("0x20"), and carries nothing of what a
 * client sent but the name and the type.
 */
struct upstreams;

/* A wait for an answer, inside the asker. Give it to list_init() by way of upstream_wait_init(). */
struct upstream_wait {
	struct list node;
	/* Later, once: @reply, valid during the call, or NULL and in @status why not. */
	void (*done)(struct upstream_wait *wait, const struct reply *reply, int status);
};

/*
 * Make the upstream servers of [resolver] in @policy, or of the host's resolv.conf if it says
 * `auto`, on @loop. What they say is kept in @cache, which must outlive them.
 *
 * Fails  -EINVAL and @err: one of them is an address that [resolver] listens on; -ENOMEM.
 */
int upstreams_new(struct loop *loop, const struct policy *policy, struct cache *cache,
		  struct upstreams **ret_upstreams, struct err *err)
	__attribute__((warn_unused_result));

/* True if there is one in @upstreams. */
bool upstreams_any(const struct upstreams *upstreams);

/* Free @upstreams; NULL is allowed. Whoever waits is forgotten. */
void upstreams_free(struct upstreams *upstreams);

/* Make @wait one that is not under way, with @done to call. */
static inline void upstream_wait_init(struct upstream_wait *wait,
				      void (*done)(struct upstream_wait *wait,
						   const struct reply *reply, int status))
{
	list_init(&wait->node);
	wait->done = done;
}

/*
 * Ask @upstreams for records of @type (A or AAAA) at @name, or join those who ask already.
 *
 * Later  @wait->done: a reply; or -ETIMEDOUT: none came; -EREMOTEIO: the servers failed;
 *        -ENETUNREACH and the like: they cannot be reached.
 * Fails  -ENETUNREACH: there is no upstream server; -EBUSY: too much is under way; -ENOMEM.
 *        Nothing comes later then.
 */
int upstream_ask(struct upstreams *upstreams, const struct name *name, uint16_t type,
		 struct upstream_wait *wait) __attribute__((warn_unused_result));

/* Forget @wait; nothing happens if it is not under way. What was asked still reaches the cache. */
void upstream_forget(struct upstream_wait *wait);
