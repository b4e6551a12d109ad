/* SPDX-License-Identifier: MIT */
/*
 * The ruleset's two forms are one: what is loaded as messages is listed by nft
 * as what is loaded as text. And what is refused is named.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/own.h"
#include "lease/encode.h"
#include "lease/lease.h"
#include "lease/ruleset.h"
#include "tests/kernel/tap.h"
#include "tests/unit/fake_policy.h"

enum { MANY = 8000 };

static const char text_path[] = "/run/ruleset.nft";

static struct network network(const char *text)
{
	struct network network;

	if (network_parse(text, &network) < 0)
		abort();
	return network;
}

static struct endpoint endpoint(const char *text)
{
	struct endpoint endpoint;

	if (endpoint_parse(text, 53, &endpoint) < 0)
		abort();
	return endpoint;
}

static struct policy policy_with(enum policy_manage manage)
{
	static const char *const interfaces[] = { "agent0", "agent1", "fifteen-letters" };

	return (struct policy){
		.nftables = { .family = "inet",
			      .table = "bailiwick",
			      .manage = manage,
			      .interfaces = interfaces,
			      .n_interfaces = 3,
			      .size = 1000 },
	};
}

/* Load the ruleset of @policy as messages. */
static int load(struct channel *channel, const struct policy *policy, struct err *err)
{
	struct ruleset *ruleset = NULL;
	int r = ruleset_new(policy, &ruleset, err);

	if (r == 0)
		r = encode_load(channel, ruleset, err);
	ruleset_free(ruleset);
	return r;
}

/* Load it as text. */
static int load_text(const struct policy *policy)
{
	struct err err;
	FILE *out = fopen(text_path, "we");

	if (out == NULL || lease_ruleset_print(policy, out, &err) < 0 || fclose(out) != 0)
		abort();
	return tap_sh("nft -f %s", text_path);
}

/* Say where two texts part. */
static void show_difference(const char *a, const char *b)
{
	const char *line_a = a, *line_b = b;

	while (*a != '\0' && *a == *b) {
		if (*a == '\n') {
			line_a = a + 1;
			line_b = b + 1;
		}
		a++;
		b++;
	}
	printf("# messages: %.*s\n# text:     %.*s\n", (int)strcspn(line_a, "\n"), line_a,
	       (int)strcspn(line_b, "\n"), line_b);
}

static void is_listed_alike(struct channel *channel, const struct policy *policy, const char *what)
{
	struct err err = { .code = 0 };

	tap_sh("nft flush ruleset");
	int r = load(channel, policy, &err);
	OWN(own_free) char *messages = tap_read("nft list ruleset");

	tap_sh("nft flush ruleset");
	int r_text = load_text(policy);
	OWN(own_free) char *text = tap_read("nft list ruleset");
	bool alike = r == 0 && r_text == 0 && messages != NULL && text != NULL &&
		     strlen(text) > 100 && strcmp(messages, text) == 0;

	if (!tap_ok(alike, "listed alike: %s", what)) {
		printf("# %s\n", r < 0 ? err.text : r_text != 0 ? "nft refused the text" : "");
		if (messages != NULL && text != NULL)
			show_difference(messages, text);
	}
}

/*
 * Every feature.
 */

static void doors_are_alike(struct channel *channel)
{
	static const struct {
		const char *what, *listens[3];
		unsigned n;
	} cases[] = {
		{ "DNS redirected", { "127.0.0.1:5353", "0.0.0.0:5353", "[::]:5300" }, 3 },
		{ "DNS translated", { "10.0.0.254:53", "[fd00:a::254]:5353" }, 2 },
		{ "one door of each kind", { "0.0.0.0:53", "[fd00:a::254]:5353" }, 2 },
		{ "no door for IPv6", { "0.0.0.0:53" }, 1 },
		{ "no door for IPv4", { "[::]:53" }, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy policy = policy_with(POLICY_MANAGE_CHAINS);
		struct endpoint listens[3];

		for (unsigned j = 0; j < cases[i].n; j++)
			listens[j] = endpoint(cases[i].listens[j]);
		policy.resolver.listen = listens;
		policy.resolver.n_listen = cases[i].n;
		is_listed_alike(channel, &policy, cases[i].what);
		policy.nftables.n_interfaces = 1;
		is_listed_alike(channel, &policy, "the same with one interface");
	}
}

/* Three grants with @ports: one without end, one with, and one whose label nft could not read. */
static void ports_are_alike(struct channel *channel, const struct policy_port *ports, unsigned n,
			    const char *what)
{
	const struct network networks[] = {
		network("198.51.100.7"),
		network("198.51.100.0/24"),
		network("203.0.113.128/25"),
		network("198.51.96.0/20"),
		network("10.0.0.0/8"),
		network("128.0.0.0/1"),
		network("0.0.0.0/0"),
		network("2001:db8::1"),
		network("2001:db8::/32"),
		network("2000::/3"),
		network("2001:db8:8000::/33"),
		network("2001:db8::/127"),
		network("::/0"),
	};
	const struct endpoint listen = endpoint("0.0.0.0:53");
	const struct policy_grant plain = { .label = "plain",
					    .ports = ports,
					    .n_ports = n,
					    .literals = networks,
					    .n_literals = sizeof(networks) / sizeof(networks[0]),
					    .expires_s = INT64_MAX };
	struct policy_grant ending = plain, nameless = plain;
	const struct policy_grant *const grants[] = { &plain, &ending, &nameless };
	struct policy policy = policy_with(POLICY_MANAGE_CHAINS);

	ending.label = "ending";
	ending.expires_s = 1893456000;
	nameless.label = "no word";
	policy.resolver.listen = &listen;
	policy.resolver.n_listen = 1;
	policy.grants = grants;
	policy.n_grants = 3;
	is_listed_alike(channel, &policy, what);
}

static void literals_are_alike(struct channel *channel)
{
	static const struct {
		const char *what;
		struct policy_port ports[6];
		unsigned n;
	} cases[] = {
		{ "a port", { { 443, 443, IPPROTO_TCP } }, 1 },
		{ "ports", { { 22, 22, IPPROTO_TCP }, { 443, 443, IPPROTO_TCP } }, 2 },
		{ "a port of UDP", { { 123, 123, IPPROTO_UDP } }, 1 },
		{ "a range", { { 8000, 8010, IPPROTO_TCP } }, 1 },
		{ "all ports", { { 1, 65535, IPPROTO_TCP } }, 1 },
		{ "the last port", { { 65535, 65535, IPPROTO_TCP } }, 1 },
		{ "ports and ranges of both protocols",
		  { { 22, 22, IPPROTO_TCP },
		    { 8000, 8010, IPPROTO_TCP },
		    { 8012, 8012, IPPROTO_TCP },
		    { 60000, 65535, IPPROTO_TCP },
		    { 1, 100, IPPROTO_UDP },
		    { 65535, 65535, IPPROTO_UDP } },
		  6 },
		{ "the first and the last ports",
		  { { 1, 2, IPPROTO_TCP }, { 65534, 65535, IPPROTO_TCP } },
		  2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ports_are_alike(channel, cases[i].ports, cases[i].n, cases[i].what);
}

static void agents_are_alike(struct channel *channel)
{
	static const struct policy_port ports[] = { { 443, 443, IPPROTO_TCP } };
	static const struct policy_hours hours[] = { { 0, 360 }, { 1920, 9999 }, { 10050, 10080 } };
	static const char *const interfaces[] = { "agent0", "agent1" };
	const struct network networks[] = { network("198.51.100.7"), network("2001:db8::/32") };
	const struct endpoint listen = endpoint("0.0.0.0:53");
	const struct policy_grant plain = { .label = "plain",
					    .ports = ports,
					    .n_ports = 1,
					    .literals = networks,
					    .n_literals = 2,
					    .hours = hours,
					    .n_hours = 3,
					    .expires_s = 1893456000 };
	const struct policy_grant *const grants[] = { &plain };
	const struct policy_agent agents[] = { { "a", grants, 1 }, { "b-1.x_y", NULL, 0 } };
	const struct policy_source sources[] = {
		{ interfaces, &agents[0], 1, network("10.0.0.7") },
		{ interfaces, &agents[1], 2, network("fd00:a::/33") },
		{ NULL, &agents[1], 0, network("10.0.0.0/9") },
		{ interfaces, &agents[0], 2, network("0.0.0.0/0") },
		{ NULL, &agents[0], 0, network("::/0") },
	};
	struct policy policy = policy_with(POLICY_MANAGE_CHAINS);

	policy.resolver.listen = &listen;
	policy.resolver.n_listen = 1;
	policy.grants = grants;
	policy.n_grants = 1;
	is_listed_alike(channel, &policy, "hours");
	policy.agents = agents;
	policy.n_agents = 2;
	policy.sources = sources;
	policy.n_sources = 5;
	is_listed_alike(channel, &policy, "agents");
	policy.observes = true;
	is_listed_alike(channel, &policy, "a policy that observes");
}

static void sets_are_alike(struct channel *channel)
{
	static const char *const commands[] = {
		"nft add element inet bailiwick lease4 "
		"'{ 10.0.0.2 . 192.0.2.1 . tcp . 443 timeout 1h comment \"a\" }'",
		"nft add element inet bailiwick lease6 "
		"'{ fd00::2 . 2001:db8::1 . udp . 443 timeout 1h }'",
		"nft add element inet bailiwick ether4 "
		"'{ lo . 02:00:00:00:00:01 . 192.0.2.1 . tcp . 443 timeout 1h }'",
		"nft add element inet bailiwick ether6 "
		"'{ lo . 02:00:00:00:00:01 . 2001:db8::1 . tcp . 443 timeout 1h }'",
	};
	const struct policy policy = policy_with(POLICY_MANAGE_SETS);
	struct err err = { .code = 0 };

	is_listed_alike(channel, &policy, "sets alone");
	tap_sh("nft flush ruleset");
	tap_ok(load(channel, &policy, &err) == 0, "sets are made: %s", err.text);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		tap_ok(tap_sh("%s", commands[i]) == 0, "done by hand: %s", commands[i]);
	tap_ok(tap_says("nft list set inet bailiwick ether6",
			"\"lo\" . 02:00:00:00:00:01 . 2001:db8::1 . tcp . 443 timeout 1h"),
	       "and nft shows it");
	tap_sh("nft add chain inet bailiwick theirs; "
	       "nft add rule inet bailiwick theirs ip saddr . ip daddr . meta l4proto . th dport "
	       "@lease4 accept");
	tap_ok(load(channel, &policy, &err) == 0, "sets are made again: %s", err.text);
	tap_ok(!tap_says("nft list ruleset", "timeout 1h"), "which empties them");
	tap_ok(tap_says("nft list ruleset", "@lease4 accept"), "and leaves rules of others alone");
}

/* Load a ruleset of @n literals, each with a set of its own. */
static int load_many(struct channel *channel, unsigned n, struct err *err)
{
	static const struct policy_port ports[] = { { 22, 22, IPPROTO_TCP },
						    { 8000, 8010, IPPROTO_TCP } };
	const struct endpoint listen = endpoint("0.0.0.0:53");
	OWN(own_free) struct network *networks = calloc(n, sizeof(*networks));
	const struct policy_grant grant = { .label = "many",
					    .ports = ports,
					    .n_ports = 2,
					    .literals = networks,
					    .n_literals = n,
					    .expires_s = INT64_MAX };
	const struct policy_grant *const grants[] = { &grant };
	struct policy policy = policy_with(POLICY_MANAGE_CHAINS);

	if (networks == NULL)
		abort();
	for (unsigned i = 0; i < n; i++)
		networks[i] = (struct network){
			{ 4, { 198, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i } }, 32
		};
	policy.resolver.listen = &listen;
	policy.resolver.n_listen = 1;
	policy.grants = grants;
	policy.n_grants = 1;
	return load(channel, &policy, err);
}

/* One transaction is one message to the kernel, however long it is. */
static void many_literals_are_loaded(struct channel *channel)
{
	struct err err = { .code = 0 };

	tap_sh("nft flush ruleset");
	int r = load_many(channel, MANY, &err);

	tap_ok(r == 0 && tap_says("nft list ruleset", "ip daddr 198.0.31.63 "),
	       "%d literals are loaded: %s", MANY, err.text);
}

/*
 * Refusals.
 */

static void refused(struct channel *channel, const struct ruleset *ruleset, const char *says)
{
	struct err err = { .code = 0 };
	int r = encode_load(channel, ruleset, &err);

	tap_ok(r < 0 && strstr(err.text, says) != NULL, "refused: %s", err.text);
	tap_ok(tap_says("nft list table inet t", "set old"), "and the old table stands");
}

static void refusals_name_their_cause(struct channel *channel)
{
	static const struct ruleset_hook hook = { "filter", "input", "filter", 99, 0 };
	static const char *const counters[] = { "c" };
	struct rule rules[] = {
		{ .parts = { { .kind = RULE_COUNT, .name = "c" }, { .kind = RULE_ACCEPT } } },
		{ .parts = { { .kind = RULE_STATE, .state = RULE_RELATED },
			     { .kind = RULE_COUNT, .name = "missing" },
			     { .kind = RULE_ACCEPT } },
		  .grant = "g" },
	};
	struct ruleset_chain chain = { .name = "c", .rules = rules, .n_rules = 2 };
	struct ruleset ruleset = { .table = "t",
				   .whole = true,
				   .counters = counters,
				   .n_counters = 1,
				   .chains = &chain,
				   .n_chains = 1 };

	tap_sh("nft flush ruleset; nft 'table inet t { set old { type ipv4_addr; }; }'");
	refused(channel, &ruleset,
		"the rule `ct state related counter name missing accept comment \"grant g\"` of "
		"the chain c: No such file or directory");
	rules[1].parts[1] = (struct rule_part){ .kind = RULE_GOTO, .name = "nowhere" };
	refused(channel, &ruleset, "the rule `ct state related goto nowhere");
	chain.hook = &hook;
	refused(channel, &ruleset, "the chain c: ");
}

/* How many literals are more than an ordinary user may send at once. */
static unsigned find_too_many(void)
{
	enum { LITERAL_BYTES = 300 /* no fewer */ };
	OWN(own_free) char *text = tap_read("cat /proc/sys/net/core/wmem_max");
	unsigned long max = text != NULL ? strtoul(text, NULL, 10) : 0;

	return (unsigned)(2 * max / LITERAL_BYTES); /* the kernel allows for its own overhead */
}

/* The last of the tests: it takes away what the others need. */
static void rights_are_needed(void)
{
	const struct policy policy = policy_with(POLICY_MANAGE_SETS);
	struct channel channel = { .seq = 0 };
	struct err err = { .code = 0 };

	if (unshare(CLONE_NEWUSER) < 0 || channel_open(&channel) < 0)
		abort();
	tap_ok(load(&channel, &policy, &err) == -EPERM && strstr(err.text, "CAP_NET_ADMIN") != NULL,
	       "without the right to: %s", err.text);
	tap_ok(load_many(&channel, find_too_many(), &err) == -EMSGSIZE &&
		       strstr(err.text, "wmem_max") != NULL,
	       "without the right to larger buffers: %s", err.text);
	channel_done(&channel);
}

int main(void)
{
	struct channel channel = { .seq = 0 };

	tap_unshare();
	if (channel_open(&channel) < 0)
		abort();
	doors_are_alike(&channel);
	literals_are_alike(&channel);
	agents_are_alike(&channel);
	sets_are_alike(&channel);
	many_literals_are_loaded(&channel);
	refusals_name_their_cause(&channel);
	channel_done(&channel);
	rights_are_needed();
	return tap_end();
}
