/* SPDX-License-Identifier: MIT */
#pragma once

#include <netinet/in.h>
#include "policy/policy.h"

/*
 * A policy by hand, for tests of what lies above policy/: the few functions
 * that lease/ calls are served from the struct itself.
 */
struct policy_agent {
	const char *name;
	const struct policy_grant *const *grants;
	size_t n_grants;
};

struct policy {
	unsigned refs;
	struct policy_nftables nftables;
	bool observes;
	struct policy_resolver resolver;
	const struct policy_grant *const *grants;
	size_t n_grants;
	const struct policy_agent *agents;
	const struct policy_source *sources;
	size_t n_agents, n_sources;
};
