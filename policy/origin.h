/* SPDX-License-Identifier: MIT */
#pragma once

#include "policy/compile.h"

/* Conditions on where answered addresses are: [geo], and `country` and `asn` of grants. */

/* Open the databases that @d names, for @policy. */
void origin_open(struct load *load, const struct draft_geo *d, struct policy *policy);

/* Give @grant of @policy the conditions of its draft @d. Given origin_open() was called. */
void origin_set(struct load *load, const struct draft_allow *d, const struct policy *policy,
		struct policy_grant *grant);
