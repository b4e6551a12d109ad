/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/address.h"
#include "policy/policy.h"

/*
 * A ruleset in its own terms, neither text nor messages. ruleset.c says what is
 * in ours; rule.c prints it as `nft -f` reads it, and encode.c makes messages of
 * it as the kernel reads them. So what is shown is what is loaded, and
 * tests/kernel/ruleset_test.c has nft list both to see that it is so.
 *
 * It points into its policy, and lives no longer.
 */

enum {
	RULE_PARTS_MAX = 8,
	RULE_NUMBERS_MAX = 3,
	RULESET_CHAINS = 7, /* besides those of agents */
};

/* What a packet must be for the rule to go on, then what is done with it. */
enum rule_kind {
	RULE_END, /* there are no more parts */

	RULE_INTERFACE,   /* came in by one of the ruleset's interfaces */
	RULE_VERSION,     /* is of IP version @version */
	RULE_PROTOCOL,    /* carries one of the protocols @numbers */
	RULE_PORTS,       /* goes to one of the @ports of their protocol */
	RULE_PORT,        /* goes to @port of TCP or UDP */
	RULE_ARRIVED,     /* came in by one of @interfaces */
	RULE_FROM,        /* comes from @network */
	RULE_TO,          /* goes to @network */
	RULE_STATE,       /* conntrack has it as @state */
	RULE_ORIGINAL,    /* goes the way of its connection's first packet */
	RULE_REPLY,       /* goes the other way */
	RULE_MARKED,      /* is of a connection that RULE_MARK has marked */
	RULE_SPOOFED,     /* has a source that is not reached by the interface it came in by */
	RULE_ROUTED,      /* names further hops itself, by an IPv6 routing header */
	RULE_ICMPV6_LINK, /* is ICMPv6 of one of the types @numbers, sent on this very link */
	RULE_LEASED,      /* its agent, address, protocol and port are in @set */
	RULE_BEFORE,      /* comes before the Unix time @time_s */
	RULE_WEEKDAY,     /* comes on the day @weekday, UTC */
	RULE_DAYTIME,     /* comes from second @from_s up to before @to_s of a day, UTC */

	RULE_COUNT, /* add it to the counter @name */
	RULE_MARK,  /* mark its connection: by a label, since marks are for others */
	RULE_ACCEPT,
	RULE_DROP,
	RULE_RESET,       /* refuse it by a TCP reset */
	RULE_UNREACHABLE, /* refuse it by an ICMP error: there is no such port */
	RULE_PROHIBITED,  /* the same: the administrator forbids it */
	RULE_JUMP,        /* to the chain @name */
	RULE_GOTO,        /* the same, and not back */
	RULE_RETURN,      /* to where the chain was jumped to from */
	RULE_REDIRECT,    /* to @port of this host */
	RULE_TRANSLATE,   /* to @endpoint */
	RULE_KINDS,
};

enum rule_state { RULE_INVALID, RULE_ESTABLISHED, RULE_RELATED };

struct rule_part {
	enum rule_kind kind;
	union {
		uint8_t version;                   /* 4 or 6 */
		uint8_t numbers[RULE_NUMBERS_MAX]; /* any of these; 0 is none */
		struct {
			const struct policy_port *ports; /* of one protocol, sorted */
			unsigned n_ports;
		};
		uint16_t port;
		struct {
			const char *const *interfaces;
			unsigned n_interfaces;
		};
		struct network network;
		enum rule_state state;
		const struct ruleset_set *set;
		int64_t time_s;
		uint8_t weekday; /* 0 is Sunday */
		struct {
			uint32_t from_s, to_s;
		};
		const char *name;
		struct endpoint endpoint;
	};
};

struct rule {
	struct rule_part parts[RULE_PARTS_MAX + 1]; /* the last is RULE_END */
	const char *grant; /* whose label is its comment; NULL: no comment */
};

/* The label of RULE_MARK: the last there is, where nobody else will look for one. */
enum { RULE_LABEL = 127, RULE_LABELS = 128 };

/* A set for leases: agent . address . protocol . port, with timeouts. */
struct ruleset_set {
	const char *name;
	bool ether;      /* the agent is an interface and a link-layer address there */
	uint8_t version; /* of IP */
};

/* Where packets come into a chain: in nft's words, and in the kernel's numbers. */
struct ruleset_hook {
	const char *type, *hook, *priority;
	uint32_t hook_number;
	int32_t priority_number;
};

struct ruleset_chain {
	const char *name;
	char *made_name; /* what the name is in, if it is the chain's own; else NULL */
	const struct ruleset_hook *hook; /* NULL: only from other chains */
	struct rule *rules;
	size_t n_rules, room;
};

struct ruleset {
	const char *table; /* of the family inet */
	bool whole;        /* the table is all ours: it takes the place of an older one */
	bool observes;     /* it lets through what it would refuse */
	const char *const *interfaces;
	unsigned n_interfaces;

	uint32_t set_size; /* elements of each set */
	const struct ruleset_set *sets;
	const char *const *counters;
	unsigned n_sets, n_counters, n_chains, chains_room;
	struct ruleset_chain *chains;
};

/* Print @ruleset to @out, as `nft -f` reads it. */
void ruleset_print(const struct ruleset *ruleset, FILE *out);

/* Print @rule of @ruleset to @out: one line of it, without the line's end. */
void rule_print(const struct ruleset *ruleset, const struct rule *rule, FILE *out);
