/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/limits.h"
#include "policy/policy.h"
#include "resolver/message.h"
#include "resolver/reply.h"

/*
 * Vetting: what of an upstream's answer may count at all (vet_chain), and
 * what of that a policy permits (vet_reply). Pure functions.
 */

/*
 * Rebuild from @message the chain that leads from @name to its records of @type (RFC 1034, 3.6.2;
 * DNAME: RFC 6672, 3.1). A record off the chain is dropped. TTLs are brought between @ttl_min_s
 * and @ttl_max_s, and down to what is signed. With it goes what proves it: signatures of what it
 * is made of, and signed denials of the zones that it comes through.
 *
 * Gives  0 and @ret_reply, which the caller frees.
 * A DNAME that makes an overlong name ends it with YXDOMAIN (RFC 6672, 2.2).
 *
 * Fails  -ELOOP: more than LIMIT_CHAIN links; -ENOMEM.
 */
int vet_chain(const struct message *message, const struct name *name, uint16_t type,
	      uint32_t ttl_min_s, uint32_t ttl_max_s, struct reply **ret_reply)
	__attribute__((warn_unused_result));

/*
 * Judge the links of @reply, which answers a name that @verdict of @policy allows, against the
 * built-in list. Gives a denial if one of them is denied.
 */
struct policy_verdict vet_links(const struct policy *policy, const struct policy_verdict *verdict,
				const struct reply *reply);

/* What of a reply may be told. */
struct vetted {
	struct policy_verdict verdict; /* a denial: nothing may */
	unsigned n_addresses;
	struct address addresses[LIMIT_ANSWER_ADDRESSES];
	struct policy_verdict verdicts[LIMIT_ANSWER_ADDRESSES]; /* whose grants permit each */
	bool has_origins;
	struct origin origins[LIMIT_ANSWER_ADDRESSES]; /* where each is, if there is [geo] */
};

/*
 * Vet @reply, which answers a name that @verdict of @policy allows, into @ret_vetted: its links
 * against the built-in list, each of its addresses against the grants.
 *
 * The verdict is a denial if a link is, or if there were addresses and none is left.
 */
void vet_reply(const struct policy *policy, const struct policy_verdict *verdict,
	       const struct reply *reply, struct vetted *ret_vetted);
