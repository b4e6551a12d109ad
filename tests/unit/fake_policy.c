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

/* A grant of these tests has no hours. */
int64_t policy_grant_until(const struct policy_grant *grant, int64_t now_s)
{
	(void)now_s;
	return grant->expires_s;
}

const struct policy_source *policy_sources(const struct policy *policy, size_t *ret_n)
{
	*ret_n = policy->n_sources;
	return policy->sources;
}

const struct policy_agent *policy_agent_at(const struct policy *policy, size_t i)
{
	return i < policy->n_agents ? &policy->agents[i] : NULL;
}

const char *policy_agent_name(const struct policy_agent *agent)
{
	return agent->name;
}

const struct policy_grant *const *
policy_agent_grants(const struct policy *policy, const struct policy_agent *agent, size_t *ret_n)
{
	(void)policy;
	*ret_n = agent->n_grants;
	return agent->grants;
}

bool policy_observes(const struct policy *policy)
{
	return policy->observes;
}
