/* SPDX-License-Identifier: MIT */
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include "base/own.h"
#include "policy/compile.h"

static void free_policy(struct policy *policy)
{
	hosts_done(&policy->hosts);
	geo_close(policy->countries);
	geo_close(policy->asns);
	arena_done(&policy->arena);
	free(policy);
}

static void drop_policy(struct policy **policy)
{
	policy_unref(*policy);
}

static void end_load(struct load *load)
{
	arena_done(&load->scratch);
}

static struct policy *new_policy(void)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (policy == NULL)
		return NULL;
	atomic_init(&policy->refs, 1);
	policy->agent.name = "";
	if (hosts_init(&policy->hosts) < 0) {
		free_policy(policy);
		return NULL;
	}
	return policy;
}

/* Make @policy from what was read. */
static int finish(struct load *load, const char *path, const struct read_document *document,
		  struct policy *policy, struct err *err)
{
	struct drafts drafts = { .policy = NULL };
	const char *file = load_keep_text(load, path);

	policy->place = (struct policy_place){ file, 0 };
	if (file != NULL)
		draft_all(load, document, file, &drafts);
	if (!load->no_memory)
		compile_policy(load, &drafts, policy);
	if (!load->no_memory && load->faults->n_errors == 0)
		review_policy(load, &drafts, policy);
	load_sort_faults(load);
	if (load->no_memory)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	if (load->faults->n_errors > 0)
		return err_set(err, -EINVAL, "%s: %zu faults", path, load->faults->n_errors);
	return 0;
}

int policy_load(const char *path, int64_t now_s, struct policy **ret_policy,
		struct policy_faults *faults, struct err *err)
{
	OWN(drop_policy) struct policy *policy = new_policy();
	OWN(end_load) struct load load = { .faults = faults, .now_s = now_s };
	struct read_document document;
	int r;

	*faults = (struct policy_faults){ .n = 0 };
	if (policy == NULL)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	load.keep = &policy->arena;
	r = read_file(&load, path, &document, err);
	if (r == 0)
		r = finish(&load, path, &document, policy, err);
	if (r == 0)
		*ret_policy = steal_ptr(policy);
	return r;
}

int policy_load_text(const char *path, const char *text, size_t len, int64_t now_s,
		     struct policy **ret_policy, struct policy_faults *faults, struct err *err)
{
	OWN(drop_policy) struct policy *policy = new_policy();
	OWN(end_load) struct load load = { .faults = faults, .now_s = now_s, .is_text = true };
	struct read_document document;
	int r;

	*faults = (struct policy_faults){ .n = 0 };
	if (policy == NULL)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	load.keep = &policy->arena;
	read_text(&load, path, text, len, &document);
	r = finish(&load, path, &document, policy, err);
	if (r == 0)
		*ret_policy = steal_ptr(policy);
	return r;
}

struct policy *policy_ref(struct policy *policy)
{
	atomic_fetch_add_explicit(&policy->refs, 1, memory_order_relaxed);
	return policy;
}

void policy_unref(struct policy *policy)
{
	if (policy != NULL &&
	    atomic_fetch_sub_explicit(&policy->refs, 1, memory_order_acq_rel) == 1)
		free_policy(policy);
}

const char *policy_name(const struct policy *policy)
{
	return policy->name;
}

bool policy_observes(const struct policy *policy)
{
	return policy->observes;
}

const struct policy_resolver *policy_resolver(const struct policy *policy)
{
	return &policy->resolver;
}

const struct policy_nftables *policy_nftables(const struct policy *policy)
{
	return &policy->nftables;
}

const struct policy_audit *policy_audit(const struct policy *policy)
{
	return &policy->audit;
}

const struct policy_grant *const *policy_grants(const struct policy *policy, size_t *ret_n)
{
	*ret_n = policy->n_grants;
	return policy->grants;
}

const struct policy_source *policy_sources(const struct policy *policy, size_t *ret_n)
{
	*ret_n = policy->n_sources;
	return policy->sources;
}

const struct policy_agent *policy_agent_at(const struct policy *policy, size_t i)
{
	return i < policy->n_agents ? policy->agents[i] : NULL;
}

bool policy_wants_interface(const struct policy *policy)
{
	return policy->wants_interface;
}

const struct policy_grant *const *
policy_agent_grants(const struct policy *policy, const struct policy_agent *agent, size_t *ret_n)
{
	bool has_all = agent == &policy->agent;

	*ret_n = has_all ? policy->n_grants : agent->n_grants;
	return has_all ? policy->grants : agent->grants;
}

const char *policy_agent_name(const struct policy_agent *agent)
{
	return agent->name;
}

unsigned policy_agent_number(const struct policy_agent *agent)
{
	return agent->number;
}
