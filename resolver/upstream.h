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
 * client sent but the name, the type, and its DO and CD bits.
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
 * `auto`, on @loop. What they say is kept in @cache, which must outlive them; what people should
 * know of them goes to @report with @arg.
 *
 * Fails  -EINVAL and @err: one of them is an address that [resolver] listens on; those that verify
 *        a server asked by TLS cannot be read; -ENOMEM.
 * Owns   a reference to @policy; the caller calls upstreams_free().
 */
int upstreams_new(struct loop *loop, struct policy *policy, struct cache *cache,
		  void (*report)(void *arg, const char *text), void *arg,
		  struct upstreams **ret_upstreams, struct err *err)
	__attribute__((warn_unused_result));

/*
 * Probe @upstreams from the loop's next turn on: whether one asks us, and whether one that did not
 * answer does again.
 */
void upstreams_watch(struct upstreams *upstreams);

/*
 * Let @upstreams and @first, those of another thread, recognize each other's probes: one that comes
 * back may come to either's door. @first must outlive @upstreams.
 */
void upstreams_share(struct upstreams *upstreams, struct upstreams *first);

/*
 * Whether @name, which a client asks for, is one that only an upstream server can know, since it
 * was made up to ask it: then that server asks us, is left out from here on, and this must be asked
 * of nobody.
 */
bool upstreams_recognize(struct upstreams *upstreams, const struct name *name);

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
 * Ask @upstreams for records of @type (A or AAAA; with ASK_DO and ASK_CD) at @name, or join those
 * who ask the same already.
 *
 * Later  @wait->done: a reply; or -ETIMEDOUT: none came; -EREMOTEIO: the servers failed;
 *        -EKEYREJECTED: none of them could prove who it is; -ENETUNREACH and the like: they
 *        cannot be reached.
 * Fails  -ENETUNREACH: there is no upstream server; -EBUSY: too much is under way; -ENOMEM.
 *        Nothing comes later then.
 */
int upstream_ask(struct upstreams *upstreams, const struct name *name, uint32_t type,
		 struct upstream_wait *wait) __attribute__((warn_unused_result));

/* Forget @wait; nothing happens if it is not under way. What was asked still reaches the cache. */
void upstream_forget(struct upstream_wait *wait);
