/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "lease/rule.h"
#include "lease/transaction.h"

/*
 * Load @ruleset into the kernel, in one transaction on @channel. One that is whole takes the place
 * of the table that was there; another is added to it, and its sets are emptied.
 *
 * Fails  -errno and @err: what was refused, and why. Then nothing has changed.
 */
int encode_load(struct channel *channel, const struct ruleset *ruleset, struct err *err)
	__attribute__((warn_unused_result));
