/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/policy.h"

/*
 * Every section and key of the policy file, once. From these rows come the
 * parser, the defaults, what `bailiwick check --keys` and the manual list,
 * and the test that the examples name every key.
 */

/* What a value is; value.c has a row for each, with the type of its field. */
enum value_type {
	VALUE_TEXT,      /* const char *: all lines, joined by blanks */
	VALUE_PATH,      /* const char *: absolute */
	VALUE_FILES,     /* no field: read.c has followed them */
	VALUE_LISTS,     /* struct value_list of struct list_file */
	VALUE_WORD,      /* uint64_t: its place among the words of the row */
	VALUE_COUNT,     /* uint64_t */
	VALUE_DURATION,  /* uint64_t: seconds */
	VALUE_SIZE,      /* uint64_t: bytes */
	VALUE_RATE,      /* struct policy_rate */
	VALUE_DATE,      /* int64_t: Unix time of its midnight, UTC */
	VALUE_HOSTS,     /* struct value_list of struct host */
	VALUE_PORTS,     /* struct value_list of struct policy_port, sorted, without overlaps */
	VALUE_TYPES,     /* struct value_list of uint16_t */
	VALUE_COUNTRIES, /* struct value_list of struct origin, with the country alone */
	VALUE_ASNS,      /* struct value_list of struct origin, with the number alone */
	VALUE_ADDRESSES, /* struct value_list of struct address */
	VALUE_NETWORKS,  /* struct value_list of struct network */
	VALUE_ENDPOINTS, /* struct value_list of struct endpoint */
	VALUE_UPSTREAMS, /* struct value_list of struct policy_upstream; without items: automatic */
	VALUE_TABLE,     /* const char *: the table's name; its family is inet */
	VALUE_INTERFACES, /* struct value_list of const char * */
	VALUE_PUSHES,     /* struct value_list of struct policy_push */
	VALUE_HOURS,      /* struct value_list of struct policy_hours; without items: always */
	VALUE_LABELS,     /* struct value_list of struct value_label */
	N_VALUE_TYPES,
};

/* Items that lie in the arena of the policy; those of VALUE_HOSTS in that of the load. */
struct value_list {
	void *items;
	unsigned n;
};

/* A word with where it stands. */
struct value_label {
	const char *label;
	struct policy_place place;
};

struct schema_key {
	const char *key;
	const char *help;
	const char *value; /* the default, as it would be written; NULL: the field stays zero */
	const char *words; /* VALUE_WORD: what it may be, separated by blanks */
	uint64_t min, max; /* VALUE_COUNT, _DURATION and _SIZE */
	size_t field;      /* where in the section's draft the value goes */
	enum value_type type;
	bool required;
};

struct schema_section {
	const char *name;
	size_t size; /* of its draft */
	const struct schema_key *keys;
	unsigned n_keys;
	bool labelled; /* [NAME LABEL], as many as one likes; else [NAME], once */
};

enum { SCHEMA_KEYS_MAX = 24 }; /* of one section */

/*
 * The drafts: a section with its values typed, before they are checked against each other. Each
 * begins with a struct draft.
 */
struct draft {
	const struct schema_section *schema;
	const char *label;
	struct policy_place place;
	unsigned lines[SCHEMA_KEYS_MAX]; /* where each key stands; 0: nowhere, it has its default */
};

struct draft_policy {
	struct draft draft;
	const char *name, *owner;
	uint64_t review_every_s, observe;
};

struct draft_allow {
	struct draft draft;
	const char *owner, *reason;
	struct value_list hosts, ports, types, pins, hours, countries, asns;
	int64_t expires_s, reviewed_s;
	uint64_t allow_private, wide, doh, max_names, max_labels;
	struct policy_rate max_rate;
};

struct draft_deny {
	struct draft draft;
	const char *reason;
	struct value_list hosts, lists;
};

struct draft_agent {
	struct draft draft;
	struct value_list clients, interfaces, allows;
};

struct draft_resolver {
	struct draft draft;
	const char *upstream_ca;
	struct value_list listen, clients, upstreams, doh_lists;
	uint64_t doh_permit, ttl_min_s, ttl_max_s, stale_s, cache_entries, threads;
};

struct draft_nftables {
	struct draft draft;
	const char *table;
	uint64_t manage, size, grace_s;
	struct value_list interfaces, pushes;
};

struct draft_audit {
	struct draft draft;
	const char *log;
	uint64_t on_failure, sync, rotate_bytes, keep;
};

struct draft_geo {
	struct draft draft;
	const char *country, *asn;
};

/* The section called @name; NULL if there is none. */
const struct schema_section *schema_section_find(const char *name);

/* The row of @key in @section; NULL if there is none. */
const struct schema_key *schema_key_find(const struct schema_section *section, const char *key);

/* The name of a section that is nearest to @name, by edit distance. */
const char *schema_section_nearest(const char *name);

/* The key of @section that is nearest to @key, by edit distance. */
const char *schema_key_nearest(const struct schema_section *section, const char *key);

/* How many insertions, deletions and changes turn @a into @b, of which 49 bytes at most count. */
unsigned schema_distance(const char *a, const char *b);

/* The line on which @key, which the schema has, stands in @draft; 0 if it does not. */
unsigned schema_line(const struct draft *draft, const char *key);

/* The place of @key in @draft, or of its section if it does not stand there. */
struct policy_place schema_place(const struct draft *draft, const char *key);
