/* SPDX-License-Identifier: MIT */
/*
 * The ruleset, as text. What is printed is what is loaded.
 *
 * Nothing in it is a name that nft would have to look up, or text that a
 * policy could have smuggled: names are checked here (check_word()), and
 * everything else is printed from numbers.
 */
#include "lease/ruleset.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "lease/lease.h"

enum {
	WORD_MAX = 128,
	INTERFACE_MAX = 15, /* IFNAMSIZ without its NUL */
};

/* How DNS of one family reaches the resolver. */
struct dns_door {
	enum { DOOR_SHUT, DOOR_REDIRECT, DOOR_ADDRESS } kind;
	struct endpoint to; /* DOOR_REDIRECT: its port alone */
};

struct ruleset {
	const struct policy_nftables *nftables;
	const struct policy_grant *const *grants;
	size_t n_grants;
	struct dns_door dns4, dns6;
	FILE *out;
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

static bool is_loopback(const struct address *address)
{
	const char *special = address_special(address);

	return special != NULL && strcmp(special, "loopback") == 0;
}

/* The door for @family: a wildcard address is better than one of the host's. */
static struct dns_door find_door(const struct policy_resolver *resolver, uint8_t family)
{
	struct dns_door door = { .kind = DOOR_SHUT };

	for (unsigned i = 0; i < resolver->n_listen; i++) {
		const struct endpoint *listen = &resolver->listen[i];

		if (listen->address.family != family || is_loopback(&listen->address))
			continue;
		if (is_unspecified(&listen->address))
			return (struct dns_door){ DOOR_REDIRECT, *listen };
		if (door.kind == DOOR_SHUT)
			door = (struct dns_door){ DOOR_ADDRESS, *listen };
	}
	return door;
}

static int find_doors(struct ruleset *ruleset, const struct policy_resolver *resolver,
		      struct err *err)
{
	if (ruleset->nftables->n_interfaces == 0)
		return err_set(err, -EINVAL,
			       "[nftables] manage = chains: interface = must name the interfaces "
			       "whose traffic is to be confined");
	ruleset->dns4 = find_door(resolver, 4);
	ruleset->dns6 = find_door(resolver, 6);
	if (ruleset->dns4.kind != DOOR_SHUT || ruleset->dns6.kind != DOOR_SHUT)
		return 0;
	return err_set(err, -EINVAL,
		       "[resolver] listen has only loopback addresses, which nobody behind the "
		       "interface %s can reach; add this host's address there, or 0.0.0.0:53 and "
		       "[::]:53",
		       ruleset->nftables->interfaces[0]);
}

/*
 * Sets.
 */

static const char *const set_names[] = { "lease4", "lease6", "ether4", "ether6" };
static const char *const set_keys[] = { "ipv4_addr . ipv4_addr", "ipv6_addr . ipv6_addr",
					"ether_addr . ipv4_addr", "ether_addr . ipv6_addr" };

static void print_sets(const struct ruleset *ruleset)
{
	for (unsigned i = 0; i < sizeof(set_names) / sizeof(set_names[0]); i++)
		fprintf(ruleset->out,
			"\tset %s {\n"
			"\t\ttype %s . inet_proto . inet_service\n"
			"\t\tsize %" PRIu32 "\n"
			"\t\tflags timeout\n"
			"\t}\n",
			set_names[i], set_keys[i], ruleset->nftables->size);
}

/* The sets alone, in a table that may hold rules of others. */
static void print_sets_table(const struct ruleset *ruleset)
{
	const char *table = ruleset->nftables->table;

	fprintf(ruleset->out, "table inet %s {\n", table);
	print_sets(ruleset);
	fputs("}\n", ruleset->out);
	for (unsigned i = 0; i < sizeof(set_names) / sizeof(set_names[0]); i++)
		fprintf(ruleset->out, "flush set inet %s %s\n", table, set_names[i]);
}

/*
 * Chains.
 */

static void print_interfaces(const struct ruleset *ruleset)
{
	const struct policy_nftables *nftables = ruleset->nftables;

	fputs("iifname { ", ruleset->out);
	for (unsigned i = 0; i < nftables->n_interfaces; i++)
		fprintf(ruleset->out, "%s\"%s\"", i > 0 ? ", " : "", nftables->interfaces[i]);
	fputs(" }", ruleset->out);
}

static void print_redirect(const struct ruleset *ruleset, const struct dns_door *door,
			   const char *family)
{
	char to[ENDPOINT_TEXT_SIZE];

	if (door->kind == DOOR_SHUT)
		return;
	endpoint_print(&door->to, to);
	fputs("\t\t", ruleset->out);
	print_interfaces(ruleset);
	fprintf(ruleset->out, " meta nfproto ipv%s meta l4proto { tcp, udp } th dport 53 ",
		family[2] == '6' ? "6" : "4");
	if (door->kind == DOOR_REDIRECT)
		fprintf(ruleset->out, "redirect to :%u\n", door->to.port);
	else
		fprintf(ruleset->out, "dnat %s to %s\n", family, to);
}

/* DNS comes to us whatever server it was meant for. */
static void print_dns_chain(const struct ruleset *ruleset)
{
	fputs("\tchain dns {\n"
	      "\t\ttype nat hook prerouting priority dstnat; policy accept;\n",
	      ruleset->out);
	print_redirect(ruleset, &ruleset->dns4, "ip");
	print_redirect(ruleset, &ruleset->dns6, "ip6");
	fputs("\t}\n", ruleset->out);
}

static void print_hook(const struct ruleset *ruleset, const char *hook, const char *chain)
{
	fprintf(ruleset->out,
		"\tchain %s {\n"
		"\t\ttype filter hook %s priority filter; policy accept;\n"
		"\t\t",
		hook, hook);
	print_interfaces(ruleset);
	fprintf(ruleset->out, " jump %s\n\t}\n", chain);
}

static void print_open_door(const struct ruleset *ruleset, const struct dns_door *door,
			    const char *family)
{
	char address[ADDRESS_TEXT_SIZE];

	if (door->kind == DOOR_SHUT)
		return;
	address_print(&door->to.address, address);
	if (door->kind == DOOR_ADDRESS)
		fprintf(ruleset->out, "\t\t%s daddr %s", family, address);
	else
		fprintf(ruleset->out, "\t\tmeta nfproto ipv%s", family[2] == '6' ? "6" : "4");
	fprintf(ruleset->out, " meta l4proto { tcp, udp } th dport %u accept\n", door->to.port);
}

/* This host is closed but for DNS, and for what IPv6 needs to find it. */
static void print_host_chain(const struct ruleset *ruleset)
{
	fputs("\tchain to_host {\n"
	      "\t\tct state established accept\n"
	      "\t\tct state related meta l4proto { icmp, ipv6-icmp } accept\n"
	      "\t\ticmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } "
	      "ip6 hoplimit 255 accept\n",
	      ruleset->out);
	print_open_door(ruleset, &ruleset->dns4, "ip");
	print_open_door(ruleset, &ruleset->dns6, "ip6");
	fputs("\t\tcounter name local_service goto refuse\n"
	      "\t}\n",
	      ruleset->out);
}

/* The ports of @grant for @protocol, of which there are some, as a set. */
static void print_ports(const struct ruleset *ruleset, const struct policy_grant *grant,
			uint8_t protocol)
{
	unsigned n = 0;

	for (unsigned i = 0; i < grant->n_ports; i++) {
		const struct policy_port *port = &grant->ports[i];

		if (port->protocol != protocol)
			continue;
		fprintf(ruleset->out, n++ > 0 ? ", %u" : " { %u", port->from);
		if (port->to > port->from)
			fprintf(ruleset->out, "-%u", port->to);
	}
	fputs(" }", ruleset->out);
}

static bool has_ports(const struct policy_grant *grant, uint8_t protocol)
{
	for (unsigned i = 0; i < grant->n_ports; i++)
		if (grant->ports[i].protocol == protocol)
			return true;
	return false;
}

static void print_literal(const struct ruleset *ruleset, const struct policy_grant *grant,
			  const struct network *literal, uint8_t protocol)
{
	char network[NETWORK_TEXT_SIZE];

	if (!has_ports(grant, protocol))
		return;
	network_print(literal, network);
	fprintf(ruleset->out, "\t\t%s daddr %s %s dport",
		literal->address.family == 4 ? "ip" : "ip6", network,
		protocol == IPPROTO_TCP ? "tcp" : "udp");
	print_ports(ruleset, grant, protocol);
	if (grant->expires_s != INT64_MAX)
		fprintf(ruleset->out, " meta time < %" PRId64, grant->expires_s);
	fputs(" accept", ruleset->out);
	if (is_word(grant->label, WORD_MAX - sizeof("grant ")))
		fprintf(ruleset->out, " comment \"grant %s\"", grant->label);
	fputc('\n', ruleset->out);
}

/* Hosts that are addresses need no name, and so no lease. */
static void print_literals(const struct ruleset *ruleset)
{
	for (size_t i = 0; i < ruleset->n_grants; i++)
		for (unsigned j = 0; j < ruleset->grants[i]->n_literals; j++) {
			const struct network *literal = &ruleset->grants[i]->literals[j];

			print_literal(ruleset, ruleset->grants[i], literal, IPPROTO_TCP);
			print_literal(ruleset, ruleset->grants[i], literal, IPPROTO_UDP);
		}
}

/*
 * What is sent through this host. DNS and DoT end here before anything else
 * is asked, so that neither a lease nor an old flow carries them on. A packet
 * that conntrack cannot place is dropped, not rejected: the answer could
 * reset a connection that is good.
 */
static void print_forward_chain(const struct ruleset *ruleset)
{
	fputs("\tchain through_host {\n"
	      "\t\tct state invalid counter name invalid drop\n"
	      "\t\tct direction original meta l4proto { tcp, udp } th dport 53 "
	      "counter name dns goto refuse\n"
	      "\t\tct direction original meta l4proto { tcp, udp } th dport 853 "
	      "counter name dot goto refuse\n"
	      "\t\tct state established accept\n"
	      "\t\tct state related meta l4proto { icmp, ipv6-icmp } accept\n",
	      ruleset->out);
	print_literals(ruleset);
	fputs("\t\tip saddr . ip daddr . meta l4proto . th dport @lease4 accept\n"
	      "\t\tip6 saddr . ip6 daddr . meta l4proto . th dport @lease6 accept\n"
	      "\t\tether saddr . ip daddr . meta l4proto . th dport @ether4 accept\n"
	      "\t\tether saddr . ip6 daddr . meta l4proto . th dport @ether6 accept\n"
	      "\t\tudp dport 443 counter name quic goto refuse\n"
	      "\t\tcounter name no_lease goto refuse\n"
	      "\t}\n",
	      ruleset->out);
}

static void print_refuse_chain(const struct ruleset *ruleset)
{
	fputs("\tchain refuse {\n"
	      "\t\tmeta l4proto tcp reject with tcp reset\n"
	      "\t\tmeta l4proto udp reject with icmpx type port-unreachable\n"
	      "\t\treject with icmpx type admin-prohibited\n"
	      "\t}\n",
	      ruleset->out);
}

static void print_counters(const struct ruleset *ruleset)
{
	static const char *const names[] = { "local_service", "invalid", "dns",
					     "dot",           "quic",    "no_lease" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fprintf(ruleset->out, "\tcounter %s {\n\t}\n", names[i]);
}

/* A table that is all ours: the one before it goes in the same transaction. */
static void print_chains_table(const struct ruleset *ruleset)
{
	const char *table = ruleset->nftables->table;

	fprintf(ruleset->out,
		"table inet %s {\n"
		"}\n"
		"delete table inet %s\n"
		"table inet %s {\n",
		table, table, table);
	print_counters(ruleset);
	print_sets(ruleset);
	print_refuse_chain(ruleset);
	print_host_chain(ruleset);
	print_forward_chain(ruleset);
	print_dns_chain(ruleset);
	print_hook(ruleset, "input", "to_host");
	print_hook(ruleset, "forward", "through_host");
	fputs("}\n", ruleset->out);
}

int lease_ruleset_print(const struct policy *policy, FILE *out, struct err *err)
{
	struct ruleset ruleset = { .nftables = policy_nftables(policy), .out = out };
	int r;

	ruleset.grants = policy_grants(policy, &ruleset.n_grants);
	if (ruleset.nftables->manage == POLICY_MANAGE_NO)
		return 0;
	r = check_names(ruleset.nftables, err);
	if (r < 0)
		return r;
	if (ruleset.nftables->manage == POLICY_MANAGE_SETS) {
		print_sets_table(&ruleset);
		return 0;
	}
	r = find_doors(&ruleset, policy_resolver(policy), err);
	if (r == 0)
		print_chains_table(&ruleset);
	return r;
}

int ruleset_text(const struct policy *policy, char **ret_text, struct err *err)
{
	OWN(own_free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int r;

	if (out == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	r = lease_ruleset_print(policy, out, err);
	if (ferror(out) && r == 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (fclose(out) != 0 && r == 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		*ret_text = steal_ptr(text);
	return r;
}
