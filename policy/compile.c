/* SPDX-License-Identifier: MIT */
#include "policy/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "policy/agents.h"
#include "policy/doh.h"
#include "policy/host.h"
#include "policy/origin.h"
#include "policy/list.h"
#include "policy/special.h"

/* What a fault of a file is told about: a host of a section. */
static struct policy_place host_place(const struct draft *draft, const struct host *host)
{
	return (struct policy_place){ draft->place.file, host->line };
}

/* Check that @host is no wider than its grant @d says it may be. */
static void check_host(struct load *load, const struct draft_allow *d, const struct host *host)
{
	struct policy_place place = host_place(&d->draft, host);
	struct name name;

	if (host->kind == HOST_LITERAL) {
		const char *special = network_special(&host->network);

		if (host->network.prefix == 0 && !d->wide)
			load_fault(load, place, "`%s` is every address; this needs `wide = yes`",
				   host->text);
		if (special != NULL && !d->allow_private)
			load_fault(load, place,
				   "`%s` holds special-purpose addresses (%s); this needs "
				   "`private = yes`",
				   host->text, special);
		if (doh_has_address(&host->network.address) && !d->doh)
			load_warn(load, place,
				  "`%s` is a public DNS resolver's, which may be asked over HTTPS",
				  host->text);
	} else if (host->kind == HOST_WILDCARD && !d->wide && host_name(host, &name) &&
		   host_is_public_suffix(&name)) {
		load_fault(load, place,
			   name.labels == 0 ? "`%s` is every name; this needs `wide = yes`"
					    : "`%s` is all below a public suffix; this needs "
					      "`wide = yes`",
			   host->text);
	}
}

static void add_host(struct load *load, struct policy *policy, const struct draft_allow *d,
		     const struct host *host, const struct grant_views *views,
		     const struct policy_grant *grant)
{
	struct policy_place place = host_place(&d->draft, host);
	struct name name;
	int r = 0;

	if (!host_name(host, &name))
		return;
	for (unsigned i = 0; i < views->n && r == 0; i++)
		r = hosts_add_grant(&policy->hosts, views->views[i], &name,
				    host->kind == HOST_WILDCARD, grant);
	if (r == -EEXIST)
		load_warn(load, place, "`%s` is listed twice in this grant", host->text);
	else if (r == -E2BIG)
		load_fault(load, place, "`%s` is listed by more than %d grants of one agent",
			   host->text, LIMIT_GRANTS_PER_HOST);
	else
		load->no_memory |= r < 0;
	if (r == 0 && views->n > 0 && host->kind == HOST_WILDCARD)
		hosts_set_domain(&policy->hosts, &name, host_domain_labels(&name));
}

/* What @d lets an agent ask for in a minute. */
static struct policy_budget make_budget(struct load *load, const struct draft_allow *d)
{
	static const char *const keys[] = { "max_names", "max_labels" };
	const struct host *hosts = d->hosts.items;
	bool wildcard = false;

	for (unsigned i = 0; i < d->hosts.n; i++)
		wildcard |= hosts[i].kind == HOST_WILDCARD;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]) && !wildcard; i++)
		if (schema_line(&d->draft, keys[i]) != 0)
			load_fault(load, schema_place(&d->draft, keys[i]),
				   "`%s` is for names below a wildcard, and the grant `%s` lists "
				   "none; `max_rate` is for any grant",
				   keys[i], d->draft.label);
	return (struct policy_budget){
		.names = (uint32_t)d->max_names,
		.labels = (uint32_t)d->max_labels,
		.rate = d->max_rate,
		.names_place = schema_place(&d->draft, "max_names"),
		.labels_place = schema_place(&d->draft, "max_labels"),
		.rate_place = schema_place(&d->draft, "max_rate"),
	};
}

/* Gather the hosts of @d that are addresses. */
static void add_literals(struct load *load, const struct draft_allow *d, struct policy_grant *grant)
{
	const struct host *hosts = d->hosts.items;
	struct network *literals;

	for (unsigned i = 0; i < d->hosts.n; i++)
		grant->n_literals += hosts[i].kind == HOST_LITERAL;
	literals = load_keep(load, grant->n_literals * sizeof(*literals));
	grant->literals = literals;
	for (unsigned i = 0; i < d->hosts.n && literals != NULL; i++)
		if (hosts[i].kind == HOST_LITERAL)
			*literals++ = hosts[i].network;
}

static void add_grant(struct load *load, struct policy *policy, const struct draft_allow *d)
{
	struct policy_grant *grant = load_keep(load, sizeof(*grant));

	if (grant == NULL)
		return;
	*grant = (struct policy_grant){
		.label = d->draft.label,
		.owner = d->owner,
		.reason = d->reason,
		.place = d->draft.place,
		.ports = d->ports.items,
		.n_ports = d->ports.n,
		.types = d->types.items,
		.n_types = d->types.n,
		.pins = d->pins.items,
		.n_pins = d->pins.n,
		.number = policy->n_grants,
		.hours = d->hours.items,
		.n_hours = d->hours.n,
		.hours_line = schema_line(&d->draft, "hours"),
		.expires_s = schema_line(&d->draft, "expires") ? d->expires_s : INT64_MAX,
		.allow_private = d->allow_private,
		.allow_doh = d->doh,
		.budget = make_budget(load, d),
	};
	origin_set(load, d, policy, grant);
	add_literals(load, d, grant);
	policy->grants[policy->n_grants++] = grant;
}

static void add_grants(struct load *load, const struct drafts *drafts, struct policy *policy)
{
	policy->grants = load_keep(load, drafts->n_allows * sizeof(void *));
	for (unsigned i = 0; i < drafts->n_allows && policy->grants != NULL; i++)
		add_grant(load, policy, drafts->allows[i]);
}

/* Put the hosts of each grant before the agents that have it. */
static void add_hosts(struct load *load, const struct drafts *drafts,
		      const struct grant_views *views, struct policy *policy)
{
	for (unsigned i = 0; i < policy->n_grants; i++) {
		const struct draft_allow *d = drafts->allows[i];
		const struct host *hosts = d->hosts.items;

		for (unsigned j = 0; j < d->hosts.n; j++) {
			check_host(load, d, &hosts[j]);
			add_host(load, policy, d, &hosts[j], &views[i], policy->grants[i]);
		}
	}
}

/* Denied names on their way from a section or a list into the policy. */
struct denial {
	struct load *load;
	struct policy *policy;
	struct policy_deny *denies; /* the sources so far */
	uint16_t source;            /* number of the last one */
	unsigned n_doh_lists;
};

/* Begin a source of denied names; false, and a fault, if there are too many. */
static bool begin_source(struct denial *to, const struct draft_deny *d,
			 const struct list_file *list)
{
	if (to->source == UINT16_MAX) {
		load_fault(to->load, list != NULL ? list->place : d->draft.place,
			   "there are more than %u [deny] sections and lists", UINT16_MAX);
		return false;
	}
	to->denies[to->source++] = (struct policy_deny){
		.label = d->draft.label,
		.reason = d->reason,
		.place = list != NULL ? (struct policy_place){ list->path, 0 } : d->draft.place,
		.is_list = list != NULL,
	};
	to->policy->n_denies = to->source;
	return true;
}

static void add_denied_hosts(struct denial *to, const struct draft_deny *d)
{
	const struct host *hosts = d->hosts.items;
	struct name name;

	if (d->hosts.n > 0 && !begin_source(to, d, NULL))
		return;
	for (unsigned i = 0; i < d->hosts.n; i++) {
		struct policy_place place = host_place(&d->draft, &hosts[i]);
		int r;

		if (!host_name(&hosts[i], &name)) {
			load_fault(to->load, place,
				   "`%s` is no name; an address is denied unless a grant lists it",
				   hosts[i].text);
			continue;
		}
		r = hosts_add_deny(&to->policy->hosts, &name, hosts[i].kind == HOST_WILDCARD,
				   to->source, 0);
		to->load->no_memory |= r < 0;
		if (r > 0 && !to->denies[r - 1].is_list)
			load_warn(to->load, place, "`%s` is denied twice", hosts[i].text);
	}
}

static void deny_listed(void *user, const struct name *name, bool wildcard, unsigned line)
{
	const struct denial *to = user;

	to->load->no_memory |=
		hosts_add_deny(&to->policy->hosts, name, wildcard, to->source, line) < 0;
}

static void add_denies(struct load *load, const struct drafts *drafts, struct policy *policy)
{
	struct denial to = { .load = load, .policy = policy };
	size_t n = 0;

	for (unsigned i = 0; i < drafts->n_denies; i++)
		n += 1u + drafts->denies[i]->lists.n;
	to.denies = load_keep(load, n * sizeof(*to.denies));
	policy->denies = to.denies;
	for (unsigned i = 0; i < drafts->n_denies && to.denies != NULL; i++) {
		const struct draft_deny *d = drafts->denies[i];
		const struct list_file *lists = d->lists.items;

		if (schema_line(&d->draft, "host") == 0 && schema_line(&d->draft, "list") == 0)
			load_fault(load, d->draft.place, "[deny %s] needs `host` or `list`",
				   d->draft.label);
		add_denied_hosts(&to, d);
		for (unsigned j = 0; j < d->lists.n; j++)
			if (begin_source(&to, d, &lists[j]))
				list_read(load, &lists[j], deny_listed, &to);
	}
}

static void deny_doh(void *user, const struct name *name, bool wildcard, unsigned line)
{
	const struct denial *to = user;

	(void)line;
	if (to->policy->block_doh)
		to->load->no_memory |= hosts_add_doh(&to->policy->hosts, name, wildcard,
						     (uint16_t)to->n_doh_lists) < 0;
}

/* Add the further lists of DoH names, which the built-in one comes before. */
static void add_doh_lists(struct load *load, const struct draft_resolver *d, struct policy *policy)
{
	struct denial to = { .load = load, .policy = policy };
	const struct list_file *lists = d->doh_lists.items;
	struct policy_place *places = load_keep(load, d->doh_lists.n * sizeof(*places));

	policy->doh_lists = places;
	if (d->doh_lists.n > UINT16_MAX)
		load_fault(load, schema_place(&d->draft, "doh_list"),
			   "there are more than %u lists", UINT16_MAX);
	for (unsigned i = 0; i < d->doh_lists.n && i < UINT16_MAX && places != NULL; i++) {
		places[i] = lists[i].place;
		to.n_doh_lists = i + 1;
		list_read(load, &lists[i], deny_doh, &to);
	}
	if (d->doh_lists.n > 0 && !policy->block_doh)
		load_warn(load, schema_place(&d->draft, "doh_list"),
			  "`doh_list` has no effect with `doh = permit`");
}

static int compare_literals(const void *a, const void *b)
{
	const struct policy_literal *x = a, *y = b;
	int bytes = memcmp(x->network.address.bytes, y->network.address.bytes, 16);

	if (x->network.prefix != y->network.prefix)
		return x->network.prefix > y->network.prefix ? -1 : 1;
	if (x->network.address.family != y->network.address.family)
		return x->network.address.family < y->network.address.family ? -1 : 1;
	if (bytes != 0)
		return bytes;
	if (x->view != y->view)
		return x->view < y->view ? -1 : 1;
	/* The order of the file. */
	return x->grants < y->grants ? -1 : x->grants > y->grants;
}

/*
 * Join those of the @n sorted @literals, of one grant each, that are the same network, and put
 * their grants side by side into @grants. Gives how many are left.
 */
static unsigned join_literals(struct load *load, struct policy_literal *literals, unsigned n,
			      const struct policy_grant **grants)
{
	struct policy_literal *last = NULL;
	unsigned joined = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct network network = literals[i].network;
		unsigned view = literals[i].view;
		const struct policy_grant *grant = *literals[i].grants;

		if (last == NULL || last->view != view || last->network.prefix != network.prefix ||
		    !address_equal(&last->network.address, &network.address)) {
			last = &literals[joined++];
			*last = (struct policy_literal){ network, view, grants, 0 };
		} else if (grants[-1] == grant) {
			load_warn(load, grant->place, "an address is listed twice in this grant");
			continue;
		}
		*grants++ = grant;
		if (++last->n_grants > LIMIT_GRANTS_PER_HOST)
			load_fault(load, grant->place,
				   "an address is listed by more than %d grants of one agent",
				   LIMIT_GRANTS_PER_HOST);
	}
	return joined;
}

/* Make the table of the addresses that grants list. */
static void add_all_literals(struct load *load, const struct grant_views *views,
			     struct policy *policy)
{
	const struct policy_grant **grants;
	struct policy_literal *literals;
	unsigned n = 0;

	for (unsigned i = 0; i < policy->n_grants; i++)
		n += policy->grants[i]->n_literals * views[i].n;
	literals = load_keep(load, n * sizeof(*literals));
	grants = load_keep(load, n * sizeof(void *));
	if (literals == NULL || grants == NULL)
		return;
	policy->literals = literals;
	for (unsigned i = 0; i < policy->n_grants; i++)
		for (unsigned j = 0; j < policy->grants[i]->n_literals * views[i].n; j++)
			*literals++ = (struct policy_literal){
				policy->grants[i]->literals[j / views[i].n],
				views[i].views[j % views[i].n], &policy->grants[i], 1
			};
	literals -= n;
	if (n > 1)
		qsort(literals, n, sizeof(*literals), compare_literals);
	policy->n_literals = join_literals(load, literals, n, grants);
}

static void check_upstreams(struct load *load, const struct draft_resolver *d)
{
	const struct endpoint *listen = d->listen.items;
	const struct policy_upstream *upstreams = d->upstreams.items;
	unsigned n_tls = 0;

	for (unsigned i = 0; i < d->upstreams.n; i++) {
		n_tls += upstreams[i].tls;
		for (unsigned j = 0; j < d->listen.n; j++)
			if (endpoint_reaches(&upstreams[i].endpoint, &listen[j]))
				load_fault(load, upstreams[i].place,
					   "an upstream is an endpoint of `listen`: the resolver "
					   "would ask itself");
	}
	for (unsigned i = 0; i < d->upstreams.n; i++)
		if (n_tls > 0 && !upstreams[i].tls)
			load_warn(
				load, upstreams[i].place,
				"an upstream that is not tls:// is asked in plain text when those "
				"that are do not answer");
	if (n_tls == 0 && d->upstream_ca != NULL)
		load_warn(load, schema_place(&d->draft, "upstream_ca"),
			  "`upstream_ca` has no effect without a tls:// upstream");
}

static void set_resolver(struct load *load, const struct draft_resolver *d, struct policy *policy)
{
	const struct endpoint *listen = d->listen.items;

	policy->resolver = (struct policy_resolver){
		.listen = listen,
		.n_listen = d->listen.n,
		.upstreams = d->upstreams.items,
		.upstream_ca = d->upstream_ca,
		.n_upstreams = d->upstreams.n,
		.upstream_auto = d->upstreams.n == 0,
		.listen_default = schema_line(&d->draft, "listen") == 0,
		.ttl_min_s = (uint32_t)d->ttl_min_s,
		.ttl_max_s = (uint32_t)d->ttl_max_s,
		.stale_s = (uint32_t)d->stale_s,
		.cache_entries = (uint32_t)d->cache_entries,
		.threads = (uint32_t)d->threads,
	};
	policy->clients = d->clients.items;
	policy->n_clients = d->clients.n;
	policy->clients_place = schema_place(&d->draft, "clients");
	policy->clients_bound = schema_line(&d->draft, "clients") != 0;
	if (d->ttl_min_s > d->ttl_max_s)
		load_fault(load, schema_place(&d->draft, "ttl_min"),
			   "`ttl_min` is longer than `ttl_max`");
	check_upstreams(load, d);
}

/* Warn of @key of @d if it stands there without an effect, because of @why. */
static void warn_idle(struct load *load, const struct draft_nftables *d, const char *key,
		      const char *why)
{
	if (schema_line(&d->draft, key) != 0)
		load_warn(load, schema_place(&d->draft, key), "`%s` has no effect with %s", key,
			  why);
}

static void set_nftables(struct load *load, const struct draft_nftables *d, struct policy *policy)
{
	/* The order of the words in the schema. */
	static const enum policy_manage manages[] = { POLICY_MANAGE_NO, POLICY_MANAGE_SETS,
						      POLICY_MANAGE_CHAINS };

	policy->nftables = (struct policy_nftables){
		.family = "inet",
		.table = d->table,
		.manage = manages[d->manage],
		.interfaces = d->interfaces.items,
		.n_interfaces = d->interfaces.n,
		.pushes = d->pushes.items,
		.n_pushes = d->pushes.n,
		.size = (uint32_t)d->size,
		.grace_s = (uint32_t)d->grace_s,
	};
	if (policy->nftables.manage == POLICY_MANAGE_CHAINS) {
		if (d->interfaces.n == 0)
			load_fault(
				load, schema_place(&d->draft, "manage"),
				"`manage = chains` needs `interface`: whose traffic is confined");
		return;
	}
	warn_idle(load, d, "interface", "this `manage`; it is for `manage = chains`");
	if (policy->nftables.manage == POLICY_MANAGE_SETS)
		return;
	warn_idle(load, d, "table", "`manage = no`");
	warn_idle(load, d, "size", "`manage = no`");
	if (d->pushes.n == 0)
		warn_idle(load, d, "grace", "`manage = no` and without `push`");
}

static void set_audit(const struct draft_audit *d, struct policy *policy)
{
	policy->audit = (struct policy_audit){
		.log = d->log,
		.on_failure = d->on_failure ? POLICY_ON_FAILURE_CONTINUE : POLICY_ON_FAILURE_DENY,
		.sync = d->sync ? POLICY_SYNC_YES : POLICY_SYNC_NO,
		.rotate_bytes = d->rotate_bytes,
		.keep = (uint32_t)d->keep,
	};
}

/* Addresses that are hosts have no lease, so only rules can open them. */
static void warn_of_literals(struct load *load, const struct policy *policy)
{
	for (unsigned i = 0; i < policy->n_grants; i++)
		if (policy->grants[i]->n_literals > 0 &&
		    policy->nftables.manage != POLICY_MANAGE_CHAINS)
			load_warn(load, policy->grants[i]->place,
				  "hosts of the grant `%s` that are addresses are opened with "
				  "`manage = chains` only",
				  policy->grants[i]->label);
}

void compile_policy(struct load *load, const struct drafts *drafts, struct policy *policy)
{
	const struct grant_views *views;

	if (drafts->policy == NULL || drafts->resolver == NULL || drafts->nftables == NULL ||
	    drafts->audit == NULL || drafts->geo == NULL)
		return;
	policy->name = drafts->policy->name != NULL ? drafts->policy->name : "";
	policy->observes = drafts->policy->observe;
	set_resolver(load, drafts->resolver, policy);
	set_nftables(load, drafts->nftables, policy);
	set_audit(drafts->audit, policy);
	origin_open(load, drafts->geo, policy);
	policy->block_doh = !drafts->resolver->doh_permit;
	if (special_add_all(&policy->hosts) < 0 ||
	    (policy->block_doh && doh_add_all(&policy->hosts) < 0)) {
		load->no_memory = true;
		return;
	}
	add_doh_lists(load, drafts->resolver, policy);
	add_grants(load, drafts, policy);
	views = agents_compile(load, drafts, policy);
	if (views == NULL)
		return;
	add_hosts(load, drafts, views, policy);
	add_denies(load, drafts, policy);
	add_all_literals(load, views, policy);
	warn_of_literals(load, policy);
}
