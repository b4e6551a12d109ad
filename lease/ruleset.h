/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "lease/rule.h"
#include "policy/policy.h"

/*
 * Make the ruleset that @policy wants.
 *
 * Gives  0 and @ret_ruleset, NULL if it wants none.
 * Owns   the caller calls ruleset_free(), and keeps @policy as long.
 * Fails  -EINVAL, -ENOMEM and @err.
 */
int ruleset_new(const struct policy *policy, struct ruleset **ret_ruleset, struct err *err)
	__attribute__((warn_unused_result));

/* Free @ruleset; NULL is allowed. */
void ruleset_free(struct ruleset *ruleset);
