/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "base/name.h"

/*
 * The policy: who may reach what, why and until when.
 *
 * policy_load() reads the files (read.c, on inih), types their values by one
 * table of keys (schema.c, value.c), checks them against each other and
 * compiles them (compile.c, hosts.c) into one immutable struct policy. A
 * reload makes another; nothing is ever edited.
 *
 * policy_judge_*() (judge.c) is the only place that says allow. The functions
 * are pure: they take the time, and neither block, allocate nor log. What
 * `bailiwick explain` prints comes from the same calls.
 *
 * Words: a grant is one [allow LABEL] section; a verdict is what the policy
 * says of one action; an agent is who asks.
 */
struct policy;
struct policy_agent;

/* Where something stands in the policy files. */
struct policy_place {
	const char *file; /* as it was named, or "built in" */
	unsigned line;    /* 0: nowhere in particular */
};

/* A port, or a range of them, of one protocol. */
struct policy_port {
	uint16_t from, to;
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
};

/* So many actions in any window of so many milliseconds. All zero is no limit. */
struct policy_rate {
	uint32_t actions, window_ms;
};

/*
 * What a grant lets an agent ask for in a minute, and where that is written: its key, or its
 * section. The first two are for names that its wildcards cover, for each registered domain.
 */
struct policy_budget {
	uint32_t names;  /* different names */
	uint32_t labels; /* bytes of labels not seen before */
	struct policy_rate rate;
	struct policy_place names_place, labels_place, rate_place;
};

/* Part of a week, in minutes from Monday, 00:00 UTC: from the one up to the other. */
struct policy_hours {
	uint16_t from_min, to_min;
};

/* A grant, as the rest of the program may read it. It lives as long as its policy. */
struct policy_grant {
	const char *label, *owner, *reason;
	struct policy_place place;
	unsigned number;                 /* its place among policy_grants() */
	const struct policy_port *ports; /* sorted by protocol; none overlap or touch */
	const uint16_t *types;           /* DNS types that are answered */
	const struct address *pins;      /* if any: the answer, and no upstream is asked */
	const struct network *literals;  /* hosts that are addresses */
	unsigned n_ports, n_types, n_pins, n_literals;
	int64_t expires_s; /* Unix time from which the grant denies; INT64_MAX: never */
	const struct policy_hours *hours; /* when it allows; sorted, none touch within the week */
	unsigned n_hours;                 /* 0: always */
	unsigned hours_line;              /* of the grant's file */
	bool allow_private;               /* private = yes */
	bool allow_doh;                   /* doh = yes */
	struct policy_budget budget;
	const struct origin *origins; /* of which answered addresses must be, if there are any */
	unsigned n_countries, n_asns; /* origins with a country come first, then those with an AS */
	struct policy_place country_place, asn_place;
};

enum { POLICY_UPSTREAMS_MAX = 8 };

/* A server that is asked. */
struct policy_upstream {
	struct endpoint endpoint;
	bool tls;         /* by TLS (RFC 7858), and in no other way */
	const char *name; /* that its certificate must have; NULL: its address */
	struct policy_place place;
};

/* [resolver], with its defaults filled in. */
struct policy_resolver {
	const struct endpoint *listen;
	const struct policy_upstream *upstreams; /* tried in order; none if upstream_auto */
	const char *upstream_ca; /* whom those asked by TLS are verified by; NULL: the system's */
	unsigned n_listen, n_upstreams;
	bool upstream_auto;  /* take those of the host's resolv.conf */
	bool listen_default; /* nobody asked for these: an IPv6 one may be missing */
	uint32_t ttl_min_s, ttl_max_s;
	uint32_t stale_s;       /* 0: never */
	uint32_t cache_entries; /* of each thread */
	uint32_t threads;
};

enum policy_manage { POLICY_MANAGE_NO, POLICY_MANAGE_SETS, POLICY_MANAGE_CHAINS };

/* A set that others own, to which leases are pushed. */
struct policy_push {
	const char *family; /* "ip", "ip6" or "inet" */
	const char *table, *set;
	struct policy_place place;
};

/* [nftables], with its defaults filled in. */
struct policy_nftables {
	const char *family, *table; /* the family is always "inet" */
	enum policy_manage manage;
	const char *const *interfaces;
	const struct policy_push *pushes;
	unsigned n_interfaces, n_pushes;
	uint32_t size;    /* elements of each set */
	uint32_t grace_s; /* how long a lease outlives the TTL that was answered */
};

enum policy_on_failure { POLICY_ON_FAILURE_DENY, POLICY_ON_FAILURE_CONTINUE };

enum policy_sync { POLICY_SYNC_NO, POLICY_SYNC_YES };

/* [audit], with its defaults filled in. */
struct policy_audit {
	const char *log; /* NULL: no log */
	enum policy_on_failure on_failure;
	enum policy_sync sync;
	uint64_t rotate_bytes; /* 0: never by size */
	uint32_t keep;         /* rotated files that are kept */
};

/*
 * Why a verdict is what it is. X(NAME, word, sentence): the word goes into
 * logs and to programs, the sentence to people.
 */
#define POLICY_REASONS(X)                                                                       \
	X(GRANTED, "granted", "a grant allows it")                                              \
	X(LITERAL, "literal", "a grant lists the address itself")                               \
	X(NOT_LISTED, "not-listed", "no grant names this host")                                 \
	X(NAME_ABOVE, "name-above", "no grant names this host, only names below it")            \
	X(DENIED, "denied", "a [deny] section names this host")                                 \
	X(DOH, "doh", "it serves DNS over HTTPS, or tells programs to use it")                  \
	X(SPECIAL, "special-name", "it is a special-use name, which is answered here")          \
	X(EXPIRED, "expired", "its grant has expired")                                          \
	X(HOURS, "hours", "it is outside the hours of its grant")                               \
	X(TYPE, "type", "no grant for this host lists this record type")                        \
	X(PORT, "port", "no grant for this host lists this port")                               \
	X(PRIVATE, "private-address", "the address is special-purpose and no grant permits it") \
	X(COUNTRY, "country", "the address is in no country that a grant lists")                \
	X(ASN, "asn", "the address is in no autonomous system that a grant lists")              \
	X(NO_LEASE, "no-lease",                                                                 \
	  "the address is no host of a grant; only an answered name opens it")                  \
	X(NAMES, "names", "too many different names of its domain were asked for in a minute")  \
	X(LABELS, "labels", "too many new labels of its domain were asked for in a minute")     \
	X(RATE, "rate", "too much was asked for by its grant")                                  \
	X(CLIENT, "client", "the client is not in [resolver] clients, or of no [agent]")

enum policy_reason {
#define X(name, word, sentence) POLICY_REASON_##name,
	POLICY_REASONS(X)
#undef X
};

enum policy_code { POLICY_DENY = 0, POLICY_ALLOW };

/* What a special-use name is answered with (RFC 6761 and friends). */
enum policy_special {
	POLICY_SPECIAL_NONE = 0,
	POLICY_SPECIAL_NXDOMAIN,
	POLICY_SPECIAL_EMPTY,     /* the zone exists and holds nothing: NODATA */
	POLICY_SPECIAL_LOCALHOST, /* 127.0.0.1 and ::1 */
};

/*
 * What the policy says of one action. All zero is a denial.
 *
 * The grants are those that cover the host most specifically; bit i of
 * @allowing is set if grants[i] allows the action now. They point into the
 * policy.
 *
 * In a policy that observes, what would be denied for @reason is allowed and @observed, by no grant.
 * Still denied are: strangers; special-use names and names of the built-in list, and its addresses,
 * which would hide others; and types that are never answered.
 */
struct policy_verdict {
	enum policy_code code;
	enum policy_reason reason;
	enum policy_special special;
	bool observed; /* it is allowed only since the policy observes */
	bool exists; /* DNS: deny by NODATA, not NXDOMAIN, since something below or beside it exists */
	bool listed_below; /* something that lies below the name is listed by itself */
	bool metered;      /* allowed within a budget or a rate, which the resolver keeps */
	/* A wildcard covers the name: so many of its last labels are its registered domain. */
	uint8_t domain_labels;
	const struct policy_grant *const *grants;
	unsigned n_grants;
	uint32_t allowing;
	struct policy_place place; /* the section that decided, or where one would have to change */
};

/*
 * Faults and warnings of policy files, sorted by file and line.
 */
struct policy_fault {
	char *file;
	unsigned line;
	bool warning; /* the policy is good all the same */
	char *text;
};

struct policy_faults {
	struct policy_fault *faults;
	size_t n, size;
	size_t n_errors; /* of them no warnings */
};

/* Free what @faults holds. */
void policy_faults_done(struct policy_faults *faults);

/*
 * Load the policy in the file @path and what it includes. @now_s (Unix time) is for warnings.
 *
 * Gives  0 and @ret_policy with one reference; @faults may hold warnings.
 * Fails  -EINVAL: @faults holds every fault of the files, each with its file and line;
 *        -errno: @path could not be read, and @err says why; -ENOMEM.
 * Owns   the caller calls policy_faults_done() in any case, and policy_unref().
 */
int policy_load(const char *path, int64_t now_s, struct policy **ret_policy,
		struct policy_faults *faults, struct err *err) __attribute__((warn_unused_result));

/* The same from @len bytes at @text, called @path in faults; an include is a fault. */
int policy_load_text(const char *path, const char *text, size_t len, int64_t now_s,
		     struct policy **ret_policy, struct policy_faults *faults, struct err *err)
	__attribute__((warn_unused_result));

/* Take another reference to @policy; give it. */
struct policy *policy_ref(struct policy *policy);

/* Give a reference to @policy back; NULL is allowed. */
void policy_unref(struct policy *policy);

/* `name =` of [policy] in @policy, or "". */
const char *policy_name(const struct policy *policy);

/*
 * True if @policy only observes (mode = observe): what it would deny is let through, and its
 * verdicts say so, but for what no grant opens or what would hide names (struct policy_verdict).
 */
bool policy_observes(const struct policy *policy);

/* The [resolver] section of @policy; valid as long as it. */
const struct policy_resolver *policy_resolver(const struct policy *policy);

/* The [nftables] section of @policy; valid as long as it. */
const struct policy_nftables *policy_nftables(const struct policy *policy);

/* The [audit] section of @policy; valid as long as it. */
const struct policy_audit *policy_audit(const struct policy *policy);

/* The grants of @policy in the order of the file, and in @ret_n how many. */
const struct policy_grant *const *policy_grants(const struct policy *policy, size_t *ret_n);

/*
 * Until when @grant allows, if it does at @now_s: the end of its hours or its `expires`, whichever
 * comes first, as Unix time; INT64_MAX: for ever. If it does not, a time that is not after @now_s.
 */
int64_t policy_grant_until(const struct policy_grant *grant, int64_t now_s);

/*
 * From when on @grant allows: @now_s if it does at @now_s, else when its hours begin next, as Unix
 * time; INT64_MAX: never again.
 */
int64_t policy_grant_opens(const struct policy_grant *grant, int64_t now_s);

/*
 * Where packets of an agent come from: a network, by any interface or by one of some. Which agent a
 * client is, the first source that holds it says: the longest network, and of equal ones that with
 * interfaces.
 */
struct policy_source {
	const char *const *interfaces;
	const struct policy_agent *agent;
	unsigned n_interfaces; /* 0: any */
	struct network network;
};

/* The sources of all agents of @policy in that order, in @ret_n how many; 0 without [agent]s. */
const struct policy_source *policy_sources(const struct policy *policy, size_t *ret_n);

/* Agent number @i of the [agent] sections of @policy, in the order of the file; NULL behind them. */
const struct policy_agent *policy_agent_at(const struct policy *policy, size_t i);

/* True if @policy must be told by which interface a client's packets arrive. */
bool policy_wants_interface(const struct policy *policy);

/*
 * Find who @client is, whose packets arrive by @interface; NULL if that is not known, or not wanted.
 * An IPv4-mapped address is judged as the IPv4 address in it.
 *
 * Gives  the agent, valid as long as @policy; NULL if no one may ask from there.
 */
const struct policy_agent *policy_agent_find(const struct policy *policy,
					     const struct address *client, const char *interface);

/* The grants of @agent of @policy in the order of the file, and in @ret_n how many. */
const struct policy_grant *const *
policy_agent_grants(const struct policy *policy, const struct policy_agent *agent, size_t *ret_n);

/*
 * The name of @agent, which stays the same over generations; "" for the one that stands for all
 * clients of a policy without [agent] sections. Valid as long as its policy.
 */
const char *policy_agent_name(const struct policy_agent *agent);

/* The number of @agent among those of its policy, from 0. */
unsigned policy_agent_number(const struct policy_agent *agent);

/* What the policy says of a client that policy_agent_find() does not know: a denial. */
struct policy_verdict policy_judge_stranger(const struct policy *policy);

/*
 * Judge the question of @agent for records of @type at @name, at @now_s (Unix time).
 *
 * Special-use names come first, then the built-in list of DoH names, exact hosts, [deny], and
 * wildcards, the longest first.
 */
struct policy_verdict policy_judge_name(const struct policy *policy,
					const struct policy_agent *agent, const struct name *name,
					uint16_t type, int64_t now_s);

/*
 * Judge @target, a name that a CNAME chain leads to, for the grants that @asked allows.
 *
 * Gives  a denial if it is on the built-in list and none of them says `doh = yes`; else @asked.
 */
struct policy_verdict policy_judge_target(const struct policy *policy,
					  const struct policy_verdict *asked,
					  const struct name *target);

/* True if [geo] of @policy names a database: policy_origin_find() may know something. */
bool policy_has_geo(const struct policy *policy);

/*
 * Where @address is, as the databases of @policy have it. Never allocates.
 */
struct origin policy_origin_find(const struct policy *policy, const struct address *address);

/*
 * Judge @address, which an upstream gave for a name that @asked allows, and which is where @origin
 * says, as policy_origin_find() gave it.
 *
 * Gives  @asked with its allowing bits cut down to the grants that permit the address; a denial,
 *        PRIVATE, DOH (a public resolver's address), COUNTRY or ASN, if there are none.
 */
struct policy_verdict policy_judge_origin(const struct policy *policy,
					  const struct policy_verdict *asked,
					  const struct address *address,
					  const struct origin *origin);

/* The same, with its origin looked up. */
struct policy_verdict policy_judge_address(const struct policy *policy,
					   const struct policy_verdict *asked,
					   const struct address *address);

/*
 * Judge a connection of @agent to @port (IPPROTO_TCP or _UDP in @protocol) at @now_s, to the host
 * @name, or, where that is NULL, to @address without any name.
 */
struct policy_verdict policy_judge_connect(const struct policy *policy,
					   const struct policy_agent *agent,
					   const struct name *name, const struct address *address,
					   uint8_t protocol, uint16_t port, int64_t now_s);

/*
 * Turn @verdict of @policy, which the keeper of budgets may have made a denial, into what is done:
 * the same, unless the policy observes.
 */
void policy_verdict_observe(const struct policy *policy, struct policy_verdict *verdict);

/* The first of the grants that @verdict allows by; NULL for a denial. */
const struct policy_grant *policy_verdict_grant(const struct policy_verdict *verdict);

/* True if a grant that @verdict allows by pins addresses: the name is answered with pins alone. */
bool policy_verdict_is_pinned(const struct policy_verdict *verdict);

/*
 * Put the addresses of @family (4 or 6) that the grants that @verdict allows by pin, each once,
 * though several pin it (RFC 2181, 5), into @ret_pins, which has room for @size.
 *
 * Gives  how many there are. Each is still to be judged by policy_judge_address().
 */
unsigned policy_verdict_pins(const struct policy_verdict *verdict, uint8_t family,
			     struct address *ret_pins, unsigned size);

/* The word of @reason for logs, such as "not-listed". */
const char *policy_reason_word(enum policy_reason reason);

/* The sentence of @reason for people, without a capital or a full stop. */
const char *policy_reason_sentence(enum policy_reason reason);

/*
 * One key of the policy file, for people and programs: what the manual's list is made from.
 */
struct policy_key {
	const char *section; /* "allow", "resolver", ... */
	const char *key;
	const char *type;  /* in words: "duration", "list of hosts", ... */
	const char *value; /* the default as it would be written; "" if there is none */
	const char *help;  /* one line */
	bool required;
};

/* Key number @i of the schema, in the order of the manual; false behind the last. */
bool policy_key(size_t i, struct policy_key *ret_key);

/*
 * Parse @text, a name as a person writes it: in presentation form, or with U-labels.
 *
 * Fails  -EINVAL and @err, whose text holds @text.
 */
int policy_name_parse(const char *text, struct name *ret_name, struct err *err)
	__attribute__((warn_unused_result));

/*
 * The number of the DNS type that is written as @text, such as `AAAA` or `TYPE65`; -EINVAL if none.
 */
int policy_type_parse(const char *text);

/*
 * Parse @text as `NUMBER/s` or `NUMBER/m`, of 1 to 1000000; -EINVAL if it is neither.
 */
int policy_rate_parse(const char *text, struct policy_rate *ret_rate)
	__attribute__((warn_unused_result));

/* Write the DNS type @type into @text, of 16 bytes: `AAAA`, or `TYPE65280`. */
void policy_type_print(uint16_t type, char text[16]);
