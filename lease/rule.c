/* SPDX-License-Identifier: MIT */
/*
 * A ruleset as text. Nothing in it is a name that nft would have to look up,
 * nor text that a policy could have smuggled: ruleset.c has checked the names,
 * and everything else is printed from numbers.
 */
#include "lease/rule.h"

#include <assert.h>
#include <inttypes.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

struct word {
	uint8_t number;
	const char *text;
};

static const struct word protocols[] = { { IPPROTO_ICMP, "icmp" },
					 { IPPROTO_TCP, "tcp" },
					 { IPPROTO_UDP, "udp" },
					 { IPPROTO_ICMPV6, "ipv6-icmp" },
					 { 0, NULL } };
static const struct word icmpv6_types[] = { { ND_ROUTER_SOLICIT, "nd-router-solicit" },
					    { ND_NEIGHBOR_SOLICIT, "nd-neighbor-solicit" },
					    { ND_NEIGHBOR_ADVERT, "nd-neighbor-advert" },
					    { 0, NULL } };

static const char *find_word(const struct word *words, uint8_t number)
{
	while (words->number != number) {
		assert(words->text != NULL);
		words++;
	}
	return words->text;
}

static const char *family_word(uint8_t version)
{
	return version == 4 ? "ip" : "ip6";
}

/* Several make a set, one does not. */
static void open_list(unsigned n, FILE *out)
{
	if (n > 1)
		fputs("{ ", out);
}

static void close_list(unsigned n, FILE *out)
{
	if (n > 1)
		fputs(" }", out);
}

static void print_numbers(const uint8_t *numbers, const struct word *words, FILE *out)
{
	unsigned n = 0;

	while (n < RULE_NUMBERS_MAX && numbers[n] != 0)
		n++;
	open_list(n, out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i > 0 ? ", " : "", find_word(words, numbers[i]));
	close_list(n, out);
}

/*
 * What a packet must be.
 */

typedef void print_fn(const struct ruleset *ruleset, const struct rule_part *part, FILE *out);

static void print_interfaces(const char *const *interfaces, unsigned n, FILE *out)
{
	fputs("iifname ", out);
	open_list(n, out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", interfaces[i]);
	close_list(n, out);
}

static void print_interface(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)part;
	print_interfaces(ruleset->interfaces, ruleset->n_interfaces, out);
}

static void print_arrived(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	print_interfaces(part->interfaces, part->n_interfaces, out);
}

static void print_version(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "meta nfproto ipv%u", part->version);
}

static void print_protocol(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fputs("meta l4proto ", out);
	print_numbers(part->numbers, protocols, out);
}

static void print_ports(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "%s dport ", find_word(protocols, part->ports[0].protocol));
	open_list(part->n_ports, out);
	for (unsigned i = 0; i < part->n_ports; i++) {
		const struct policy_port *port = &part->ports[i];

		fprintf(out, "%s%u", i > 0 ? ", " : "", port->from);
		if (port->to > port->from)
			fprintf(out, "-%u", port->to);
	}
	close_list(part->n_ports, out);
}

static void print_port(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "meta l4proto { tcp, udp } th dport %u", part->port);
}

static void print_to(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	char text[NETWORK_TEXT_SIZE];

	(void)ruleset;
	network_print(&part->network, text);
	fprintf(out, "%s daddr %s", family_word(part->network.address.family), text);
}

static void print_from(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	char text[NETWORK_TEXT_SIZE];

	(void)ruleset;
	network_print(&part->network, text);
	fprintf(out, "%s saddr %s", family_word(part->network.address.family), text);
}

static void print_state(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	static const char *const states[] = { [RULE_INVALID] = "invalid",
					      [RULE_ESTABLISHED] = "established",
					      [RULE_RELATED] = "related" };

	(void)ruleset;
	fprintf(out, "ct state %s", states[part->state]);
}

static void print_icmpv6_link(const struct ruleset *ruleset, const struct rule_part *part,
			      FILE *out)
{
	(void)ruleset;
	fputs("icmpv6 type ", out);
	print_numbers(part->numbers, icmpv6_types, out);
	fputs(" ip6 hoplimit 255", out);
}

static void print_leased(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	const char *family = family_word(part->set->version);

	(void)ruleset;
	fprintf(out, "%s saddr . %s daddr . meta l4proto . th dport @%s",
		part->set->ether ? "iif . ether" : family, family, part->set->name);
}

static void print_before(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "meta time < %" PRId64, part->time_s);
}

/* In numbers, which nft takes for UTC; words would be of the time zone that it runs in. */
static void print_weekday(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "meta day %u", part->weekday);
}

static void print_daytime(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "meta hour >= %" PRIu32 " meta hour < %" PRIu32, part->from_s, part->to_s);
}

/*
 * What is done with it.
 */

static void print_count(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "counter name %s", part->name);
}

static void print_label(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "ct label %s%d", part->kind == RULE_MARK ? "set " : "", RULE_LABEL);
}

static void print_chain(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "%s %s", part->kind == RULE_JUMP ? "jump" : "goto", part->name);
}

static void print_redirect(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	(void)ruleset;
	fprintf(out, "redirect to :%u", part->port);
}

static void print_translate(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	char text[ENDPOINT_TEXT_SIZE];

	(void)ruleset;
	endpoint_print(&part->endpoint, text);
	fprintf(out, "dnat %s to %s", family_word(part->endpoint.address.family), text);
}

static void print_word(const struct ruleset *ruleset, const struct rule_part *part, FILE *out)
{
	static const char *const words[RULE_KINDS] = {
		[RULE_ORIGINAL] = "ct direction original",
		[RULE_REPLY] = "ct direction reply",
		[RULE_SPOOFED] = "fib saddr . iif oif missing",
		[RULE_ROUTED] = "exthdr rt exists",
		[RULE_RETURN] = "return",
		[RULE_ACCEPT] = "accept",
		[RULE_DROP] = "drop",
		[RULE_RESET] = "reject with tcp reset",
		[RULE_UNREACHABLE] = "reject with icmpx type port-unreachable",
		[RULE_PROHIBITED] = "reject with icmpx type admin-prohibited",
	};

	(void)ruleset;
	fputs(words[part->kind], out);
}

static print_fn *const printers[] = {
	[RULE_INTERFACE] = print_interface,
	[RULE_VERSION] = print_version,
	[RULE_PROTOCOL] = print_protocol,
	[RULE_PORTS] = print_ports,
	[RULE_PORT] = print_port,
	[RULE_ARRIVED] = print_arrived,
	[RULE_FROM] = print_from,
	[RULE_TO] = print_to,
	[RULE_STATE] = print_state,
	[RULE_ORIGINAL] = print_word,
	[RULE_REPLY] = print_word,
	[RULE_MARKED] = print_label,
	[RULE_SPOOFED] = print_word,
	[RULE_ROUTED] = print_word,
	[RULE_ICMPV6_LINK] = print_icmpv6_link,
	[RULE_LEASED] = print_leased,
	[RULE_BEFORE] = print_before,
	[RULE_WEEKDAY] = print_weekday,
	[RULE_DAYTIME] = print_daytime,
	[RULE_COUNT] = print_count,
	[RULE_MARK] = print_label,
	[RULE_ACCEPT] = print_word,
	[RULE_DROP] = print_word,
	[RULE_RESET] = print_word,
	[RULE_UNREACHABLE] = print_word,
	[RULE_PROHIBITED] = print_word,
	[RULE_JUMP] = print_chain,
	[RULE_GOTO] = print_chain,
	[RULE_RETURN] = print_word,
	[RULE_REDIRECT] = print_redirect,
	[RULE_TRANSLATE] = print_translate,
};
static_assert(sizeof(printers) / sizeof(printers[0]) == RULE_KINDS, "a part has no text");

/*
 * The whole.
 */

void rule_print(const struct ruleset *ruleset, const struct rule *rule, FILE *out)
{
	for (const struct rule_part *part = rule->parts; part->kind != RULE_END; part++) {
		if (part > rule->parts)
			fputc(' ', out);
		printers[part->kind](ruleset, part, out);
	}
	if (rule->grant != NULL)
		fprintf(out, " comment \"grant %s\"", rule->grant);
}

static void print_set(const struct ruleset *ruleset, const struct ruleset_set *set, FILE *out)
{
	const char *address = set->version == 4 ? "ipv4_addr" : "ipv6_addr";

	fprintf(out,
		"\tset %s {\n"
		"\t\ttype %s . %s . inet_proto . inet_service\n"
		"\t\tsize %" PRIu32 "\n"
		"\t\tflags timeout\n"
		"\t}\n",
		set->name, set->ether ? "iface_index . ether_addr" : address, address,
		ruleset->set_size);
}

static void print_rules(const struct ruleset *ruleset, const struct ruleset_chain *chain, FILE *out)
{
	const struct ruleset_hook *hook = chain->hook;

	fprintf(out, "\tchain %s {\n", chain->name);
	if (hook != NULL)
		fprintf(out, "\t\ttype %s hook %s priority %s; policy accept;\n", hook->type,
			hook->hook, hook->priority);
	for (size_t i = 0; i < chain->n_rules; i++) {
		fputs("\t\t", out);
		rule_print(ruleset, &chain->rules[i], out);
		fputc('\n', out);
	}
	fputs("\t}\n", out);
}

void ruleset_print(const struct ruleset *ruleset, FILE *out)
{
	const char *table = ruleset->table;

	if (ruleset->observes)
		fputs("# mode = observe: what has no lease is counted, and let through.\n", out);
	/* What is deleted must be there. */
	if (ruleset->whole)
		fprintf(out, "table inet %s {\n}\ndelete table inet %s\n", table, table);
	fprintf(out, "table inet %s {\n", table);
	for (unsigned i = 0; i < ruleset->n_counters; i++)
		fprintf(out, "\tcounter %s {\n\t}\n", ruleset->counters[i]);
	for (unsigned i = 0; i < ruleset->n_sets; i++)
		print_set(ruleset, &ruleset->sets[i], out);
	for (unsigned i = 0; i < ruleset->n_chains; i++)
		print_rules(ruleset, &ruleset->chains[i], out);
	fputs("}\n", out);
	for (unsigned i = 0; i < ruleset->n_sets && !ruleset->whole; i++)
		fprintf(out, "flush set inet %s %s\n", table, ruleset->sets[i].name);
}
