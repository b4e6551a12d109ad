/* SPDX-License-Identifier: MIT */
#include "policy/agents.h"

#include <stdlib.h>
#include <string.h>
#include "base/limits.h"

/*
 * Their grants.
 */

static int compare_labels(const void *a, const void *b)
{
	const struct policy_grant *const *x = a, *const *y = b;

	return strcmp((*x)->label, (*y)->label);
}

/* The grants of @policy by label, until the load is over; NULL if there is no memory. */
static const struct policy_grant **sort_grants(struct load *load, const struct policy *policy)
{
	const struct policy_grant **sorted = load_scratch(load, policy->n_grants * sizeof(void *));

	if (sorted == NULL)
		return NULL;
	for (unsigned i = 0; i < policy->n_grants; i++)
		sorted[i] = policy->grants[i];
	if (policy->n_grants > 1)
		qsort(sorted, policy->n_grants, sizeof(void *), compare_labels);
	return sorted;
}

static const struct policy_grant *
find_grant(const struct policy *policy, const struct policy_grant *const *sorted, const char *label)
{
	const struct policy_grant wanted = { .label = label }, *key = &wanted;
	const struct policy_grant *const *found =
		policy->n_grants > 0
			? bsearch(&key, sorted, policy->n_grants, sizeof(void *), compare_labels)
			: NULL;

	return found != NULL ? *found : NULL;
}

static void miss_grant(struct load *load, const struct policy *policy,
		       const struct value_label *wanted)
{
	const struct policy_grant *nearest = NULL;
	unsigned least = UINT32_MAX;

	for (unsigned i = 0; i < policy->n_grants; i++) {
		unsigned distance = schema_distance(wanted->label, policy->grants[i]->label);

		if (distance < least) {
			least = distance;
			nearest = policy->grants[i];
		}
	}
	if (nearest != NULL)
		load_fault(load, wanted->place, "there is no grant `%s`; the nearest is `%s`",
			   wanted->label, nearest->label);
	else
		load_fault(load, wanted->place, "there is no grant `%s`", wanted->label);
}

static int compare_places(const void *a, const void *b)
{
	const struct policy_grant *const *x = a, *const *y = b;

	return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* Gather the grants that @d names, in the order of the file. */
static void add_grants(struct load *load, const struct policy *policy, const struct draft_agent *d,
		       const struct policy_grant *const *sorted, struct policy_agent *agent)
{
	const struct value_label *labels = d->allows.items;
	unsigned n = 0;

	agent->grants = load_keep(load, d->allows.n * sizeof(void *));
	for (unsigned i = 0; i < d->allows.n && agent->grants != NULL; i++) {
		const struct policy_grant *grant = find_grant(policy, sorted, labels[i].label);

		if (grant == NULL)
			miss_grant(load, policy, &labels[i]);
		else
			agent->grants[agent->n_grants++] = grant;
	}
	if (agent->n_grants > 1)
		qsort(agent->grants, agent->n_grants, sizeof(void *), compare_places);
	for (unsigned i = 0; i < agent->n_grants; i++)
		if (n > 0 && agent->grants[n - 1] == agent->grants[i])
			load_warn(load, schema_place(&d->draft, "allow"),
				  "`allow` lists the grant `%s` twice", agent->grants[i]->label);
		else
			agent->grants[n++] = agent->grants[i];
	agent->n_grants = n;
}

static bool has_same_grants(const struct policy_agent *a, const struct policy_agent *b)
{
	return a->n_grants == b->n_grants &&
	       (a->n_grants == 0 ||
		memcmp(a->grants, b->grants, a->n_grants * sizeof(void *)) == 0);
}

/* Give each agent a view: that of an earlier one with the same grants, or a new one. */
static void set_views(struct policy *policy, struct policy_agent *agents)
{
	policy->hosts.n_views = 0;
	for (unsigned i = 0; i < policy->n_agents; i++) {
		unsigned like = 0;

		while (like < i && !has_same_grants(&agents[like], &agents[i]))
			like++;
		agents[i].view = like < i ? agents[like].view : policy->hosts.n_views++;
	}
}

/*
 * Where they come from.
 */

/* An IPv4 network that was written as an IPv4-mapped IPv6 one is meant as what it is. */
static struct network unmap(const struct network *network)
{
	struct network plain = *network;

	if (network->prefix >= 96 && address_is_mapped(&network->address)) {
		plain.address = address_from_bytes(network->address.bytes + 12, 4);
		plain.prefix -= 96;
	}
	return plain;
}

/* Whether [resolver] clients, where it was given, holds @network. */
static bool is_client(const struct policy *policy, const struct network *network)
{
	bool held = !policy->clients_bound;

	for (unsigned i = 0; i < policy->n_clients && !held; i++)
		held = policy->clients[i].prefix <= network->prefix &&
		       network_contains(&policy->clients[i], &network->address);
	return held;
}

/* Add what @d says of where @agent comes from to @sources; give how many there are now. */
static unsigned add_sources(struct load *load, const struct policy *policy,
			    const struct draft_agent *d, const struct policy_agent *agent,
			    struct policy_source *sources, unsigned n)
{
	static const struct network everywhere[] = { { .address.family = 4 },
						     { .address.family = 6 } };
	const struct network *networks = d->clients.n > 0 ? d->clients.items : everywhere;
	unsigned n_networks = d->clients.n > 0 ? d->clients.n : 2;

	if (schema_line(&d->draft, "client") == 0 && schema_line(&d->draft, "interface") == 0)
		load_fault(load, d->draft.place, "[agent %s] needs `client` or `interface`",
			   agent->name);
	for (unsigned i = 0; i < n_networks; i++) {
		struct policy_source *source = &sources[n++];
		char text[NETWORK_TEXT_SIZE];

		*source = (struct policy_source){ d->interfaces.items, agent, d->interfaces.n,
						  unmap(&networks[i]) };
		network_print(&source->network, text);
		if (d->clients.n > 0 && !is_client(policy, &source->network))
			load_fault(load, schema_place(&d->draft, "client"),
				   "`%s` is not within [resolver] clients", text);
	}
	return n;
}

static int compare_sources(const void *a, const void *b)
{
	const struct policy_source *x = a, *y = b;
	const struct address *ax = &x->network.address, *ay = &y->network.address;
	int bytes = memcmp(ax->bytes, ay->bytes, sizeof(ax->bytes));

	if (x->network.prefix != y->network.prefix)
		return x->network.prefix > y->network.prefix ? -1 : 1;
	if (ax->family != ay->family)
		return ax->family < ay->family ? -1 : 1;
	if (bytes != 0)
		return bytes;
	if ((x->n_interfaces == 0) != (y->n_interfaces == 0))
		return x->n_interfaces > 0 ? -1 : 1;
	return x->agent->number < y->agent->number ? -1 : x->agent->number > y->agent->number;
}

static bool same_network(const struct network *a, const struct network *b)
{
	return a->prefix == b->prefix && address_equal(&a->address, &b->address);
}

static bool has_interface(const struct policy_source *source, const char *interface)
{
	for (unsigned i = 0; i < source->n_interfaces; i++)
		if (strcmp(source->interfaces[i], interface) == 0)
			return true;
	return false;
}

/* Whether a packet could come from both, and nothing says which counts. */
static bool overlap(const struct policy_source *a, const struct policy_source *b)
{
	bool shared = a->n_interfaces == 0 && b->n_interfaces == 0;

	for (unsigned i = 0; i < a->n_interfaces && !shared; i++)
		shared = has_interface(b, a->interfaces[i]);
	return shared && a->agent != b->agent && same_network(&a->network, &b->network);
}

static void check_sources(struct load *load, const struct drafts *drafts,
			  const struct policy_source *sources, unsigned n)
{
	char text[NETWORK_TEXT_SIZE];

	for (unsigned i = 0; i < n; i++) {
		unsigned j = i;

		while (j > 0 && same_network(&sources[j - 1].network, &sources[i].network) &&
		       !overlap(&sources[j - 1], &sources[i]))
			j--;
		if (j == 0 || !same_network(&sources[j - 1].network, &sources[i].network))
			continue;

		const struct draft *d = &drafts->agents[sources[i].agent->number]->draft;
		bool networks = schema_line(d, "client") != 0;

		network_print(&sources[i].network, text);
		load_fault(load, schema_place(d, networks ? "client" : "interface"),
			   "`%s` is of the agent `%s` too, in line %u",
			   networks ? text : "interface", sources[j - 1].agent->name,
			   sources[j - 1].agent->place.line);
	}
}

/* Note where the sources of each family and prefix lie. */
static void group_sources(struct load *load, struct policy *policy)
{
	struct policy_source_group *groups = load_keep(load, policy->n_sources * sizeof(*groups));
	unsigned n = 0;

	for (unsigned i = 0; i < policy->n_sources && groups != NULL; i++) {
		const struct network *network = &policy->sources[i].network;

		if (n == 0 || groups[n - 1].prefix != network->prefix ||
		    groups[n - 1].family != network->address.family)
			groups[n++] = (struct policy_source_group){ network->address.family,
								    network->prefix, i, 0 };
		groups[n - 1].n++;
	}
	policy->source_groups = groups;
	policy->n_source_groups = n;
}

static void compile_sources(struct load *load, const struct drafts *drafts, struct policy *policy)
{
	struct policy_source *sources;
	unsigned n = 0;

	for (unsigned i = 0; i < drafts->n_agents; i++)
		n += drafts->agents[i]->clients.n > 0 ? drafts->agents[i]->clients.n : 2;
	sources = load_keep(load, n * sizeof(*sources));
	if (sources == NULL)
		return;
	n = 0;
	for (unsigned i = 0; i < policy->n_agents; i++) {
		n = add_sources(load, policy, drafts->agents[i], policy->agents[i], sources, n);
		policy->wants_interface |= drafts->agents[i]->interfaces.n > 0;
	}
	qsort(sources, n, sizeof(*sources), compare_sources);
	check_sources(load, drafts, sources, n);
	policy->sources = sources;
	policy->n_sources = n;
	group_sources(load, policy);
}

/*
 * The whole.
 */

static void add_agents(struct load *load, const struct drafts *drafts, struct policy *policy)
{
	const struct policy_grant **sorted = sort_grants(load, policy);
	struct policy_agent *agents = load_keep(load, drafts->n_agents * sizeof(*agents));

	policy->agents = load_keep(load, drafts->n_agents * sizeof(void *));
	if (sorted == NULL || agents == NULL || policy->agents == NULL)
		return;
	for (unsigned i = 0; i < drafts->n_agents; i++) {
		const struct draft_agent *d = drafts->agents[i];

		agents[i] = (struct policy_agent){ .name = d->draft.label,
						   .number = i,
						   .place = d->draft.place };
		add_grants(load, policy, d, sorted, &agents[i]);
		policy->agents[policy->n_agents++] = &agents[i];
	}
	set_views(policy, agents);
	compile_sources(load, drafts, policy);
}

/* Put the views that each grant is in into @ret_views. */
static void list_views(struct load *load, const struct policy *policy,
		       struct grant_views *ret_views)
{
	unsigned n_views = 0;

	for (unsigned i = 0; i < policy->n_agents; i++) {
		const struct policy_agent *agent = policy->agents[i];

		/* The first agent of each view stands for the others. */
		if (agent->view < n_views)
			continue;
		n_views++;
		for (unsigned j = 0; j < agent->n_grants; j++) {
			struct grant_views *of = &ret_views[agent->grants[j]->number];

			if (of->views == NULL)
				of->views = load_scratch(load, policy->hosts.n_views *
								       sizeof(*of->views));
			if (of->views != NULL)
				of->views[of->n++] = (uint16_t)agent->view;
		}
	}
}

struct grant_views *agents_compile(struct load *load, const struct drafts *drafts,
				   struct policy *policy)
{
	static uint16_t view_of_all[] = { 0 };
	struct grant_views *views = load_scratch(load, policy->n_grants * sizeof(*views));

	if (views == NULL)
		return NULL;
	policy->hosts.n_views = 1;
	if (drafts->n_agents > LIMIT_AGENTS) {
		load_fault(load, drafts->agents[LIMIT_AGENTS]->draft.place,
			   "there are more than %d [agent] sections", LIMIT_AGENTS);
	} else if (drafts->n_agents > 0) {
		add_agents(load, drafts, policy);
		list_views(load, policy, views);
		return views;
	}
	for (unsigned i = 0; i < policy->n_grants; i++)
		views[i] = (struct grant_views){ view_of_all, 1 };
	return views;
}

static void review_interfaces(struct load *load, const struct draft_agent *d,
			      const struct policy_nftables *nftables)
{
	const char *const *interfaces = d->interfaces.items;

	for (unsigned i = 0; i < d->interfaces.n; i++) {
		bool confined = false;

		for (unsigned j = 0; j < nftables->n_interfaces && !confined; j++)
			confined = strcmp(interfaces[i], nftables->interfaces[j]) == 0;
		if (!confined)
			load_warn(load, schema_place(&d->draft, "interface"),
				  "what comes by `%s` is not confined: [nftables] interface does "
				  "not name it",
				  interfaces[i]);
	}
}

void agents_review(struct load *load, const struct drafts *drafts, const struct policy *policy)
{
	bool *had = load_scratch(load, policy->n_grants * sizeof(*had));

	for (unsigned i = 0; i < policy->n_agents && had != NULL; i++)
		for (unsigned j = 0; j < policy->agents[i]->n_grants; j++)
			had[policy->agents[i]->grants[j]->number] = true;
	for (unsigned i = 0; i < policy->n_grants && policy->n_agents > 0 && had != NULL; i++)
		if (!had[i])
			load_warn(load, policy->grants[i]->place, "no agent has the grant `%s`",
				  policy->grants[i]->label);
	for (unsigned i = 0; i < drafts->n_agents; i++)
		if (policy->nftables.manage == POLICY_MANAGE_CHAINS)
			review_interfaces(load, drafts->agents[i], &policy->nftables);
}

/*
 * Finding one.
 */

static bool arrives(const struct policy_source *source, const char *interface)
{
	return source->n_interfaces == 0 || (interface != NULL && has_interface(source, interface));
}

/* The first source of @group, whose addresses are in order, that is not before @address. */
static unsigned find_source(const struct policy *policy, const struct policy_source_group *group,
			    const struct address *address)
{
	unsigned from = group->first, to = group->first + group->n;

	while (from < to) {
		unsigned middle = from + (to - from) / 2;
		const struct address *at = &policy->sources[middle].network.address;

		if (memcmp(at->bytes, address->bytes, sizeof(at->bytes)) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static const struct policy_agent *find_in_group(const struct policy *policy,
						const struct policy_source_group *group,
						const struct address *client, const char *interface)
{
	struct address network = { .family = client->family };
	unsigned whole = group->prefix / 8;

	memcpy(network.bytes, client->bytes, whole);
	if (group->prefix % 8 != 0)
		network.bytes[whole] =
			(uint8_t)(client->bytes[whole] & 0xff00 >> group->prefix % 8);
	for (unsigned i = find_source(policy, group, &network); i < group->first + group->n; i++) {
		const struct policy_source *source = &policy->sources[i];

		if (!address_equal(&source->network.address, &network))
			break;
		if (arrives(source, interface))
			return source->agent;
	}
	return NULL;
}

static bool is_listed(const struct policy *policy, const struct address *client)
{
	for (unsigned i = 0; i < policy->n_clients; i++)
		if (network_contains(&policy->clients[i], client))
			return true;
	return false;
}

/* The agent of @client, an IPv4 or an IPv6 address, where there are [agent] sections. */
static const struct policy_agent *find_agent(const struct policy *policy,
					     const struct address *client, const char *interface)
{
	const struct policy_agent *agent = NULL;

	if (policy->clients_bound && !is_listed(policy, client))
		return NULL;
	for (unsigned i = 0; i < policy->n_source_groups && agent == NULL; i++)
		if (policy->source_groups[i].family == client->family)
			agent = find_in_group(policy, &policy->source_groups[i], client, interface);
	return agent;
}

const struct policy_agent *policy_agent_find(const struct policy *policy,
					     const struct address *client, const char *interface)
{
	struct address plain;

	if (client->family == 6 && address_is_mapped(client)) {
		plain = address_from_bytes(client->bytes + 12, 4);
		client = &plain;
	}
	if (policy->n_agents > 0)
		return find_agent(policy, client, interface);
	return is_listed(policy, client) ? &policy->agent : NULL;
}
