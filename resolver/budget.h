/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include "base/name.h"
#include "policy/policy.h"

/*
 * Budgets: what an agent may ask for within a minute. A wildcard lets whoever
 * asks put data into the labels of the names, for whoever runs the zone to
 * read; so for each agent, grant and registered domain are limited
 *
 *   - how many different names are asked for: in no 60 seconds, wherever they
 *     begin, are there more than `max_names`. A name stays free for as long
 *     as it is asked for again within 60 seconds;
 *   - how many bytes of labels are in them that were not seen before: in no
 *     60 seconds more than `max_labels`. A label has been seen if it has been
 *     at the same place of the tree: with the same labels to its right. So
 *     data cannot be spelled in known labels, and what can be said by known
 *     names is which of the few that are remembered.
 *
 * And, of any grant, `max_rate`: how many questions.
 *
 * What is remembered is bounded by base/limits.h. A label that is forgotten
 * is new again, and costs again. A budget is forgotten once nothing of it was
 * asked for in 60 seconds, at which point it is empty anyway; if there is
 * room for no other before that, the name is denied.
 *
 * One object serves all threads. It outlives policies: what it knows hangs on
 * the names of agents and grants, so that a reload gives nobody a new budget.
 */
struct budgets;

/* Make budgets, all of them untouched. Fails -ENOMEM. */
int budgets_new(struct budgets **ret_budgets) __attribute__((warn_unused_result));

/* Free @budgets; NULL is allowed. */
void budgets_free(struct budgets *budgets);

/*
 * Charge @name, which the agent called @agent asks for and @asked allows, to the budgets of the
 * grants that allow it, at @now_ms of the monotonic clock. Any thread may call this.
 *
 * Given  asked->metered.
 * Gives  @asked with its allowing bits cut down to the grants whose budgets have room; a denial,
 *        RATE, NAMES or LABELS, with the place of the key, if there are none.
 * Never  takes anything that is said by a name that it denies for known.
 */
struct policy_verdict budgets_charge(struct budgets *budgets, const char *agent,
				     const struct policy_verdict *asked, const struct name *name,
				     uint64_t now_ms);
