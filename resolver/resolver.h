/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/audit.h"
#include "base/err.h"
#include "base/loop.h"
#include "lease/lease.h"
#include "policy/policy.h"

/*
 * The DNS server: a filtering forwarder (RFC 1034, 1035; EDNS, RFC 6891;
 * Extended DNS Errors, RFC 8914; DNS over TCP, RFC 7766).
 *
 * listen.c takes messages from clients, query.c is the life of one, and on
 * its way: question.c reads it, policy_judge_name() decides, cache.c and
 * upstream.c know the answer, vet.c rebuilds it, the lease table opens the
 * network, answer.c writes. What an upstream sends is read by message.c, by
 * hand, as what a client sends.
 *
 * It refuses to pass anything on: questions to an upstream and answers to a
 * client are made anew, and nothing goes upstream for a name that the policy
 * does not allow.
 */
struct resolver;

/*
 * Open what [resolver] of @policy says, on @loop, with records to @audit, which must outlive it.
 * What people should know of the upstream servers goes to @report with @arg.
 * An address that another process has is found out here, before anything is done to the kernel's
 * ruleset.
 *
 * Fails  -errno and @err: an address cannot be listened on, or an upstream is this resolver. That
 *        there is no upstream now is no failure: names that are pinned are answered all the same.
 * Owns   a reference to @policy; the caller calls resolver_stop().
 */
int resolver_open(struct loop *loop, struct policy *policy, struct audit *audit,
		  void (*report)(void *arg, const char *text), void *arg,
		  struct resolver **ret_resolver, struct err *err)
	__attribute__((warn_unused_result));

/*
 * Serve what comes to @resolver from the loop's next turn on, with leases from @leases, which must
 * outlive it. Given the loop has not run since resolver_open(). The threads of [resolver] threads
 * are started now, with the privileges that the process has by then.
 *
 * Fails  -errno and @err: a thread cannot be started.
 */
int resolver_serve(struct resolver *resolver, struct lease_table *leases, struct err *err)
	__attribute__((warn_unused_result));

/* Stop and free @resolver; NULL is allowed. Queries under way end without an answer. */
void resolver_stop(struct resolver *resolver);

/* True if @resolver has an upstream server to ask. Without one, only pinned names have addresses. */
bool resolver_has_upstream(const struct resolver *resolver);

/* Put endpoint number @i on which @resolver listens into @ret_endpoint; false behind the last. */
bool resolver_endpoint(const struct resolver *resolver, unsigned i, struct endpoint *ret_endpoint);
