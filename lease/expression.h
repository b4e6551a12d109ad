/* SPDX-License-Identifier: MIT */
#pragma once

#include <libnftnl/rule.h>
#include "lease/message.h"
#include "lease/rule.h"

/*
 * Add the expressions that say @part to @rule. The anonymous sets that they look into are put into
 * @messages, and so is a failure.
 */
void expression_add(struct messages *messages, struct nftnl_rule *rule,
		    const struct rule_part *part);
