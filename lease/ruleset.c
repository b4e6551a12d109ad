/* SPDX-License-Identifier: MIT */
/* What our ruleset says. All names in it are checked here, as rule.c wants it. */
#include "lease/ruleset.h"

#include <assert.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
/* The kernel's headers leave out what glibc's had before them, not the other way round. */
#include <linux/netfilter_ipv4.h>
#include "base/own.h"
#include "lease/lease.h"

enum {
	WORD_MAX = 128,
	INTERFACE_MAX = 15, /* IFNAMSIZ without its NUL */
	MORE_RULES = 32,
	PORT_DNS = 53,
	PORT_DOT = 853,
	NANOSECONDS = 1000000000, /* in a second */
};

/* How DNS of one family reaches the resolver. */
struct dns_door {
	enum { DOOR_SHUT, DOOR_REDIRECT, DOOR_ADDRESS } kind;
	struct endpoint to; /* DOOR_REDIRECT: its port alone */
};

/* A ruleset in the making. */
struct draft {
	struct ruleset *ruleset;
	struct ruleset_chain *chain; /* what rules are added to */
	struct dns_door dns4, dns6;
	bool agents; /* there is a chain that finds them */
	bool out_of_memory;
};

/*
 * Checks.
 */

static bool is_word(const char *text, size_t max)
{
	static const char may_be[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_.-";
	size_t len = strspn(text, may_be);

	return len > 0 && len <= max && text[len] == '\0';
}

static int check_word(const char *key, const char *text, size_t max, struct err *err)
{
	if (is_word(text, max))
		return 0;
	return err_set(
		err, -EINVAL,
		"[nftables] %s: a name of 1 to %zu letters, digits, `_`, `.` and `-` is needed",
		key, max);
}

static int check_names(const struct policy_nftables *nftables, struct err *err)
{
	int r = check_word("table", nftables->table, WORD_MAX, err);

	if (r == 0 && strchr("0123456789.-", nftables->table[0]) != NULL)
		r = err_set(err, -EINVAL, "[nftables] table: it must begin with a letter or `_`");
	for (unsigned i = 0; i < nftables->n_interfaces && r == 0; i++)
		r = check_word("interface", nftables->interfaces[i], INTERFACE_MAX, err);
	return r;
}

static bool is_unspecified(const struct address *address)
{
	static const uint8_t zeros[16];

	return memcmp(address->bytes, zeros, sizeof(zeros)) == 0;
}

/* The door for @family: a wildcard address is better than one of the host's. */
static struct dns_door find_door(const struct policy_resolver *resolver, uint8_t family)
{
	struct dns_door door = { .kind = DOOR_SHUT };

	for (unsigned i = 0; i < resolver->n_listen; i++) {
		const struct endpoint *listen = &resolver->listen[i];

		if (listen->address.family != family || address_is_loopback(&listen->address))
			continue;
		if (is_unspecified(&listen->address))
			return (struct dns_door){ DOOR_REDIRECT, *listen };
		if (door.kind == DOOR_SHUT)
			door = (struct dns_door){ DOOR_ADDRESS, *listen };
	}
	return door;
}

static int find_doors(struct draft *draft, const struct policy_nftables *nftables,
		      const struct policy_resolver *resolver, struct err *err)
{
	if (nftables->n_interfaces == 0)
		return err_set(err, -EINVAL,
			       "[nftables] manage = chains: interface = must name the interfaces "
			       "whose traffic is to be confined");
	draft->dns4 = find_door(resolver, 4);
	draft->dns6 = find_door(resolver, 6);
	if (draft->dns4.kind != DOOR_SHUT || draft->dns6.kind != DOOR_SHUT)
		return 0;
	return err_set(err, -EINVAL,
		       "[resolver] listen has only loopback addresses, which nobody behind the "
		       "interface %s can reach; add this host's address there, or 0.0.0.0:53 and "
		       "[::]:53",
		       nftables->interfaces[0]);
}

/*
 * Rules.
 */

/* Begin a chain, to which rules are added from here on. */
static void add_chain(struct draft *draft, const char *name, const struct ruleset_hook *hook)
{
	struct ruleset *ruleset = draft->ruleset;

	assert(ruleset->n_chains < ruleset->chains_room);
	draft->chain = &ruleset->chains[ruleset->n_chains++];
	draft->chain->name = name;
	draft->chain->hook = hook;
}

static void add_rule(struct draft *draft, const struct rule *rule)
{
	struct ruleset_chain *chain = draft->chain;

	if (chain->n_rules == chain->room) {
		size_t room = chain->room > 0 ? 2 * chain->room : MORE_RULES;
		struct rule *rules = reallocarray(chain->rules, room, sizeof(*rules));

		if (rules == NULL) {
			draft->out_of_memory = true;
			return;
		}
		chain->rules = rules;
		chain->room = room;
	}
	chain->rules[chain->n_rules++] = *rule;
}

/* Parts, so that a rule is a line to read. */
/* clang-format off */
#define ADD_RULE(draft, ...) add_rule((draft), &(const struct rule){ .parts = { __VA_ARGS__ } })
#define INTERFACE { .kind = RULE_INTERFACE }
#define VERSION(x) { .kind = RULE_VERSION, .version = (x) }
#define PROTOCOL(...) { .kind = RULE_PROTOCOL, .numbers = { __VA_ARGS__ } }
#define PORT(x) { .kind = RULE_PORT, .port = (x) }
#define PORTS(x, n) { .kind = RULE_PORTS, .ports = (x), .n_ports = (n) }
#define STATE(x) { .kind = RULE_STATE, .state = (x) }
#define ORIGINAL { .kind = RULE_ORIGINAL }
#define ICMPV6_LINK(...) { .kind = RULE_ICMPV6_LINK, .numbers = { __VA_ARGS__ } }
#define ARRIVED(x, n) { .kind = RULE_ARRIVED, .interfaces = (x), .n_interfaces = (n) }
#define LEASED(x) { .kind = RULE_LEASED, .set = (x) }
#define COUNT(x) { .kind = RULE_COUNT, .name = (x) }
#define DO(x) { .kind = (x) }
#define JUMP(x) { .kind = RULE_JUMP, .name = (x) }
#define GOTO(x) { .kind = RULE_GOTO, .name = (x) }
/* clang-format on */

static struct rule_part go_to(const struct address *address)
{
	return (struct rule_part){
		.kind = RULE_TO,
		.network = { *address, (uint8_t)(8 * address_len(address)) },
	};
}

static void add_refuse_chain(struct draft *draft)
{
	add_chain(draft, "refuse", NULL);
	ADD_RULE(draft, PROTOCOL(IPPROTO_TCP), DO(RULE_RESET));
	ADD_RULE(draft, PROTOCOL(IPPROTO_UDP), DO(RULE_UNREACHABLE));
	ADD_RULE(draft, DO(RULE_PROHIBITED));
}

static void open_door(struct draft *draft, const struct dns_door *door, uint8_t version)
{
	if (door->kind == DOOR_ADDRESS)
		ADD_RULE(draft, go_to(&door->to.address), PORT(door->to.port), DO(RULE_ACCEPT));
	else if (door->kind == DOOR_REDIRECT)
		ADD_RULE(draft, VERSION(version), PORT(door->to.port), DO(RULE_ACCEPT));
}

/* A source is whose it says: leases, records and answers go by it. */
static void add_sources(struct draft *draft)
{
	ADD_RULE(draft, DO(RULE_SPOOFED), COUNT("spoofed"), DO(RULE_DROP));
}

/*
 * This host is closed but for DNS, for what IPv6 needs to find it (also from a host that has no
 * address yet), and for the answers to what it asks itself.
 */
static void add_host_chain(struct draft *draft)
{
	add_chain(draft, "to_host", NULL);
	ADD_RULE(draft, ICMPV6_LINK(ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT, ND_ROUTER_SOLICIT),
		 DO(RULE_ACCEPT));
	add_sources(draft);
	ADD_RULE(draft, STATE(RULE_ESTABLISHED), DO(RULE_REPLY), DO(RULE_ACCEPT));
	ADD_RULE(draft, STATE(RULE_RELATED), PROTOCOL(IPPROTO_ICMP, IPPROTO_ICMPV6),
		 DO(RULE_ACCEPT));
	open_door(draft, &draft->dns4, 4);
	open_door(draft, &draft->dns6, 6);
	ADD_RULE(draft, COUNT("local_service"), GOTO("refuse"));
}

/* The ports of @grant for @protocol lie together: they are sorted. */
static struct rule_part find_ports(const struct policy_grant *grant, uint8_t protocol)
{
	struct rule_part part = { .kind = RULE_PORTS };

	for (unsigned i = 0; i < grant->n_ports; i++) {
		if (grant->ports[i].protocol != protocol)
			continue;
		if (part.n_ports++ == 0)
			part.ports = &grant->ports[i];
	}
	return part;
}

/* Add @rule of @grant, whose parts but the last ones take @n, with those at its end. */
static void add_literal_rule(struct draft *draft, const struct policy_grant *grant,
			     struct rule *rule, unsigned n)
{
	rule->parts[n] = (struct rule_part){ .kind = RULE_MARK };
	rule->parts[n + 1] = (struct rule_part){ .kind = RULE_ACCEPT };
	if (is_word(grant->label, WORD_MAX - sizeof("grant ")))
		rule->grant = grant->label;
	add_rule(draft, rule);
}

/* A rule for each day that the @hours of @grant touch; the kernel's week begins on a Sunday. */
static void add_literal_hours(struct draft *draft, const struct policy_grant *grant,
			      const struct policy_hours *hours, const struct rule *rule, unsigned n)
{
	enum { DAY_MIN = 24 * 60 };

	for (unsigned day = hours->from_min / DAY_MIN; day * DAY_MIN < hours->to_min; day++) {
		unsigned midnight = day * DAY_MIN;
		unsigned from = hours->from_min > midnight ? hours->from_min - midnight : 0;
		unsigned to =
			hours->to_min < midnight + DAY_MIN ? hours->to_min - midnight : DAY_MIN;
		struct rule of_day = *rule;

		of_day.parts[n] = (struct rule_part){ .kind = RULE_WEEKDAY,
						      .weekday = (uint8_t)((day + 1) % 7) };
		of_day.parts[n + 1] = (struct rule_part){ .kind = RULE_DAYTIME,
							  .from_s = from * 60,
							  .to_s = to * 60 };
		add_literal_rule(draft, grant, &of_day, n + 2);
	}
}

static void add_literal(struct draft *draft, const struct policy_grant *grant,
			const struct network *literal, uint8_t protocol)
{
	struct rule rule = { .parts = { { .kind = RULE_TO, .network = *literal },
					find_ports(grant, protocol) } };
	unsigned n = 2;

	/* Before 1970 the kernel's clock has no number, and nothing comes before its first. */
	if (rule.parts[1].n_ports == 0 || grant->expires_s <= 0)
		return;
	/* Nor has it one for what is behind its last nanosecond, in 2262. */
	if (grant->expires_s <= INT64_MAX / NANOSECONDS)
		rule.parts[n++] =
			(struct rule_part){ .kind = RULE_BEFORE, .time_s = grant->expires_s };
	if (grant->n_hours == 0)
		add_literal_rule(draft, grant, &rule, n);
	for (unsigned i = 0; i < grant->n_hours; i++)
		add_literal_hours(draft, grant, &grant->hours[i], &rule, n);
}

static void add_literals_of(struct draft *draft, const struct policy_grant *const *grants,
			    size_t n_grants)
{
	for (size_t i = 0; i < n_grants; i++)
		for (unsigned j = 0; j < grants[i]->n_literals; j++) {
			add_literal(draft, grants[i], &grants[i]->literals[j], IPPROTO_TCP);
			add_literal(draft, grants[i], &grants[i]->literals[j], IPPROTO_UDP);
		}
}

static bool has_literals(const struct policy *policy, const struct policy_agent *agent)
{
	size_t n_grants;
	const struct policy_grant *const *grants = policy_agent_grants(policy, agent, &n_grants);

	for (size_t i = 0; i < n_grants; i++)
		if (grants[i]->n_literals > 0)
			return true;
	return false;
}

/* A chain for what an agent's grants list as addresses, where there are any. */
static void add_agent_chain(struct draft *draft, const struct policy *policy,
			    const struct policy_agent *agent)
{
	size_t n_grants;
	const struct policy_grant *const *grants = policy_agent_grants(policy, agent, &n_grants);
	char *name = NULL;

	if (!has_literals(policy, agent))
		return;
	/* Its bytes are those of a policy's label: nft takes them for a name's. */
	if (asprintf(&name, "agent_%s", policy_agent_name(agent)) < 0) {
		draft->out_of_memory = true;
		return;
	}
	add_chain(draft, name, NULL);
	draft->chain->made_name = name;
	add_literals_of(draft, grants, n_grants);
}

static const char *find_agent_chain(const struct ruleset *ruleset, const char *agent)
{
	for (unsigned i = 0; i < ruleset->n_chains; i++)
		if (ruleset->chains[i].made_name != NULL &&
		    strcmp(ruleset->chains[i].made_name + strlen("agent_"), agent) == 0)
			return ruleset->chains[i].name;
	return NULL;
}

/* Lead what comes from @source to the chain of its agent, and no further if that has none. */
static void add_source(struct draft *draft, const struct policy_source *source)
{
	const char *chain = find_agent_chain(draft->ruleset, policy_agent_name(source->agent));
	struct rule rule = { .grant = NULL };
	unsigned n = 0;

	if (source->n_interfaces > 0)
		rule.parts[n++] =
			(struct rule_part)ARRIVED(source->interfaces, source->n_interfaces);
	if (source->network.prefix > 0)
		rule.parts[n++] =
			(struct rule_part){ .kind = RULE_FROM, .network = source->network };
	else
		rule.parts[n++] = (struct rule_part)VERSION(source->network.address.family);
	if (chain != NULL)
		rule.parts[n] = (struct rule_part)GOTO(chain);
	else
		rule.parts[n] = (struct rule_part)DO(RULE_RETURN);
	add_rule(draft, &rule);
}

/*
 * Chains for hosts that are addresses: one for each agent that has some, and one that finds the
 * agent, in the order in which policy_agent_find() does. Without agents there are none.
 */
static void add_agent_chains(struct draft *draft, const struct policy *policy)
{
	size_t n_sources;
	const struct policy_source *sources = policy_sources(policy, &n_sources);
	const struct policy_agent *agent;

	for (size_t i = 0; (agent = policy_agent_at(policy, i)) != NULL; i++)
		add_agent_chain(draft, policy, agent);
	/* None of them was the last to be added. */
	if (draft->chain->made_name == NULL)
		return;
	draft->agents = true;
	add_chain(draft, "agents", NULL);
	for (size_t i = 0; i < n_sources; i++)
		add_source(draft, &sources[i]);
}

/* Hosts that are addresses need no name, and so no lease. */
static void add_literals(struct draft *draft, const struct policy *policy)
{
	size_t n_grants;
	const struct policy_grant *const *grants = policy_grants(policy, &n_grants);

	if (policy_agent_at(policy, 0) == NULL)
		add_literals_of(draft, grants, n_grants);
	else if (draft->agents)
		ADD_RULE(draft, JUMP("agents"));
}

/* What no lease and no literal lets through: the end, or, for an observer, a note. */
static void add_end(struct draft *draft)
{
	static const struct policy_port quic = { 443, 443, IPPROTO_UDP };

	if (draft->ruleset->observes) {
		ADD_RULE(draft, PORTS(&quic, 1), COUNT("quic"), DO(RULE_ACCEPT));
		ADD_RULE(draft, COUNT("no_lease"), DO(RULE_ACCEPT));
		return;
	}
	ADD_RULE(draft, PORTS(&quic, 1), COUNT("quic"), GOTO("refuse"));
	ADD_RULE(draft, COUNT("no_lease"), GOTO("refuse"));
}

/*
 * What is sent through this host. DNS and DoT end here before anything else
 * is asked, so that neither a lease nor an old flow carries them on. A packet
 * that conntrack cannot place is dropped, not rejected: the answer could
 * reset a connection that is good.
 *
 * Only connections that a lease or a literal let through go on by themselves:
 * they are marked. One that somebody outside began to an agent, or that slipped
 * through while another program had taken the rules away, is not.
 */
static void add_forward_chain(struct draft *draft, const struct policy *policy)
{
	add_chain(draft, "through_host", NULL);
	add_sources(draft);
	ADD_RULE(draft, DO(RULE_ROUTED), COUNT("invalid"), DO(RULE_DROP));
	ADD_RULE(draft, STATE(RULE_INVALID), COUNT("invalid"), DO(RULE_DROP));
	ADD_RULE(draft, ORIGINAL, PORT(PORT_DNS), COUNT("dns"), GOTO("refuse"));
	ADD_RULE(draft, ORIGINAL, PORT(PORT_DOT), COUNT("dot"), GOTO("refuse"));
	ADD_RULE(draft, STATE(RULE_ESTABLISHED), DO(RULE_MARKED), DO(RULE_ACCEPT));
	ADD_RULE(draft, STATE(RULE_RELATED), DO(RULE_MARKED),
		 PROTOCOL(IPPROTO_ICMP, IPPROTO_ICMPV6), DO(RULE_ACCEPT));
	/* What was only observed is not marked: it ends when the policy is enforced. */
	if (draft->ruleset->observes)
		ADD_RULE(draft, STATE(RULE_ESTABLISHED), DO(RULE_ACCEPT));
	add_literals(draft, policy);
	for (unsigned i = 0; i < draft->ruleset->n_sets; i++)
		ADD_RULE(draft, LEASED(&draft->ruleset->sets[i]), DO(RULE_MARK), DO(RULE_ACCEPT));
	add_end(draft);
}

static void lead_to_door(struct draft *draft, const struct dns_door *door, uint8_t version)
{
	struct rule_part lead = { .kind = RULE_REDIRECT, .port = door->to.port };

	if (door->kind == DOOR_SHUT)
		return;
	if (door->kind == DOOR_ADDRESS)
		lead = (struct rule_part){ .kind = RULE_TRANSLATE, .endpoint = door->to };
	ADD_RULE(draft, INTERFACE, VERSION(version), PORT(PORT_DNS), lead);
}

/* DNS comes to us whatever server it was meant for. */
static void add_dns_chain(struct draft *draft)
{
	static const struct ruleset_hook hook = { "nat", "prerouting", "dstnat",
						  NF_INET_PRE_ROUTING, NF_IP_PRI_NAT_DST };

	add_chain(draft, "dns", &hook);
	lead_to_door(draft, &draft->dns4, 4);
	lead_to_door(draft, &draft->dns6, 6);
}

static void add_hooks(struct draft *draft)
{
	static const struct ruleset_hook input = { "filter", "input", "filter", NF_INET_LOCAL_IN,
						   NF_IP_PRI_FILTER };
	static const struct ruleset_hook forward = { "filter", "forward", "filter", NF_INET_FORWARD,
						     NF_IP_PRI_FILTER };

	add_chain(draft, "input", &input);
	ADD_RULE(draft, INTERFACE, JUMP("to_host"));
	add_chain(draft, "forward", &forward);
	ADD_RULE(draft, INTERFACE, JUMP("through_host"));
}

/*
 * The whole.
 */

static const struct ruleset_set lease_sets[] = {
	{ .name = "lease4", .ether = false, .version = 4 },
	{ .name = "lease6", .ether = false, .version = 6 },
	{ .name = "ether4", .ether = true, .version = 4 },
	{ .name = "ether6", .ether = true, .version = 6 },
};

static const char *const reasons[] = { "local_service", "spoofed", "invalid", "dns",
				       "dot",           "quic",    "no_lease" };

/* A table that is all ours; in the other one, rules are left to others. */
static int add_chains(struct draft *draft, const struct policy *policy, struct err *err)
{
	const struct policy_nftables *nftables = policy_nftables(policy);
	struct ruleset *ruleset = draft->ruleset;
	int r = find_doors(draft, nftables, policy_resolver(policy), err);

	if (r < 0)
		return r;
	ruleset->whole = true;
	ruleset->observes = policy_observes(policy);
	ruleset->interfaces = nftables->interfaces;
	ruleset->n_interfaces = nftables->n_interfaces;
	ruleset->counters = reasons;
	ruleset->n_counters = sizeof(reasons) / sizeof(reasons[0]);
	add_refuse_chain(draft);
	add_host_chain(draft);
	add_agent_chains(draft, policy);
	add_forward_chain(draft, policy);
	add_dns_chain(draft);
	add_hooks(draft);
	return draft->out_of_memory ? err_set(err, -ENOMEM, "out of memory") : 0;
}

void ruleset_free(struct ruleset *ruleset)
{
	if (ruleset == NULL)
		return;
	for (unsigned i = 0; i < ruleset->n_chains; i++) {
		free(ruleset->chains[i].rules);
		free(ruleset->chains[i].made_name);
	}
	free(ruleset->chains);
	free(ruleset);
}

static void own_ruleset(struct ruleset *const *ruleset)
{
	ruleset_free(*ruleset);
}

static bool make_room_for_chains(struct ruleset *ruleset, const struct policy *policy)
{
	ruleset->chains_room = RULESET_CHAINS;
	while (policy_agent_at(policy, ruleset->chains_room - RULESET_CHAINS) != NULL)
		ruleset->chains_room++;
	ruleset->chains = calloc(ruleset->chains_room, sizeof(ruleset->chains[0]));
	return ruleset->chains != NULL;
}

int ruleset_new(const struct policy *policy, struct ruleset **ret_ruleset, struct err *err)
{
	const struct policy_nftables *nftables = policy_nftables(policy);
	OWN(own_ruleset) struct ruleset *ruleset = NULL;
	struct draft draft = { .out_of_memory = false };
	int r;

	if (nftables->manage == POLICY_MANAGE_NO) {
		*ret_ruleset = NULL;
		return 0;
	}
	r = check_names(nftables, err);
	if (r < 0)
		return r;
	ruleset = calloc(1, sizeof(*ruleset));
	if (ruleset == NULL || !make_room_for_chains(ruleset, policy))
		return err_set(err, -ENOMEM, "out of memory");
	ruleset->table = nftables->table;
	ruleset->set_size = nftables->size;
	ruleset->sets = lease_sets;
	ruleset->n_sets = sizeof(lease_sets) / sizeof(lease_sets[0]);
	draft.ruleset = ruleset;
	if (nftables->manage == POLICY_MANAGE_CHAINS)
		r = add_chains(&draft, policy, err);
	if (r == 0)
		*ret_ruleset = steal_ptr(ruleset);
	return r;
}

int lease_ruleset_print(const struct policy *policy, FILE *out, struct err *err)
{
	OWN(own_ruleset) struct ruleset *ruleset = NULL;
	int r = ruleset_new(policy, &ruleset, err);

	if (r == 0 && ruleset != NULL)
		ruleset_print(ruleset, out);
	return r;
}
