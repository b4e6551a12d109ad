/* SPDX-License-Identifier: MIT */
#pragma once

#include "policy/compile.h"

/*
 * Agents: from [agent] sections to who a client is. Those that have the same
 * grants share a view (hosts.h).
 */

/* The views that a grant is in: none, if no agent has it. */
struct grant_views {
	uint16_t *views;
	unsigned n;
};

/*
 * Check the [agent] sections of @drafts and build them into @policy, which has its grants, but not
 * yet their hosts, and [resolver].
 *
 * Gives  for each grant its views, until the load is over; NULL, and @load remembers, if there is
 *        no memory.
 */
struct grant_views *agents_compile(struct load *load, const struct drafts *drafts,
				   struct policy *policy);

/* Warn of agents and grants in @drafts that have no effect. */
void agents_review(struct load *load, const struct drafts *drafts, const struct policy *policy);
