/* SPDX-License-Identifier: MIT */
#include "tests/unit/fake_policy.h"

struct policy *policy_ref(struct policy *policy)
{
	policy->refs++;
	return policy;
}

void policy_unref(struct policy *policy)
{
	if (policy != NULL)
		policy->refs--;
}

const struct policy_nftables *policy_nftables(const struct policy *policy)
{
	return &policy->nftables;
}

const struct policy_resolver *policy_resolver(const struct policy *policy)
{
	return &policy->resolver;
}

const struct policy_grant *const *policy_grants(const struct policy *policy, size_t *ret_n)
{
	*ret_n = policy->n_grants;
	return policy->grants;
}
