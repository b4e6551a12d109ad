/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "lease/netlink.h"
#include "lease/transaction.h"

/* Changes of the ruleset by others, which nf_tables tells of. */

/* As netlink_events_open(), for all changes but those that come by @channel. */
int changes_open(const struct channel *channel) __attribute__((warn_unused_result));

/* As netlink_events_read(), with the same @events, @sets, @n_sets and @rules. */
unsigned changes_read(int events, const struct netlink_set *sets, size_t n_sets, bool rules);
