/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "policy/policy.h"

/*
 * Make the text that lease_ruleset_print() writes for @policy.
 *
 * Owns   the caller frees @ret_text.
 * Fails  -EINVAL, -ENOMEM and @err.
 */
int ruleset_text(const struct policy *policy, char **ret_text, struct err *err)
	__attribute__((warn_unused_result));
