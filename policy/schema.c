/* SPDX-License-Identifier: MIT */
#include "policy/schema.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include "base/limits.h"
#include "policy/value.h"

#define DAY UINT64_C(86400) /* seconds */

#define COUNT(keys) (sizeof(keys) / sizeof((keys)[0]))

static const struct schema_key policy_keys[] = {
	{ .key = "name",
	  .type = VALUE_TEXT,
	  .field = offsetof(struct draft_policy, name),
	  .help = "What this policy is called in the log." },
	{ .key = "owner",
	  .type = VALUE_TEXT,
	  .field = offsetof(struct draft_policy, owner),
	  .help = "Who answers for the policy as a whole." },
	{ .key = "include",
	  .type = VALUE_FILES,
	  .help = "Further files to read, relative to the file that names them." },
	{ .key = "review_every",
	  .type = VALUE_DURATION,
	  .min = DAY,
	  .max = 3650 * DAY,
	  .value = "30d",
	  .field = offsetof(struct draft_policy, review_every_s),
	  .help = "How old a grant's review may be before check warns." },
	{ .key = "mode",
	  .type = VALUE_WORD,
	  .words = "enforce observe",
	  .value = "enforce",
	  .field = offsetof(struct draft_policy, observe),
	  .help = "Whether what is not allowed is denied, or let through and logged." },
};

static const struct schema_key allow_keys[] = {
	{ .key = "owner",
	  .type = VALUE_TEXT,
	  .field = offsetof(struct draft_allow, owner),
	  .required = true,
	  .help = "Who answers for this grant." },
	{ .key = "reason",
	  .type = VALUE_TEXT,
	  .field = offsetof(struct draft_allow, reason),
	  .required = true,
	  .help = "Why the agent needs it." },
	{ .key = "host",
	  .type = VALUE_HOSTS,
	  .field = offsetof(struct draft_allow, hosts),
	  .required = true,
	  .help = "What may be reached: names, wildcards, addresses and networks." },
	{ .key = "port",
	  .type = VALUE_PORTS,
	  .value = "443",
	  .field = offsetof(struct draft_allow, ports),
	  .help = "Ports that are opened: NUMBER or FROM-TO, each with /tcp (the default) or "
		  "/udp." },
	{ .key = "type",
	  .type = VALUE_TYPES,
	  .value = "A AAAA",
	  .field = offsetof(struct draft_allow, types),
	  .help = "Record types that are answered: A, AAAA." },
	{ .key = "expires",
	  .type = VALUE_DATE,
	  .field = offsetof(struct draft_allow, expires_s),
	  .help = "The day, from its midnight UTC, on which the grant has ended." },
	{ .key = "hours",
	  .type = VALUE_HOURS,
	  .field = offsetof(struct draft_allow, hours),
	  .help = "When it allows, UTC: days and hours such as Mon-Fri 08:00-18:00, or "
		  "22:00-06:00." },
	{ .key = "reviewed",
	  .type = VALUE_DATE,
	  .field = offsetof(struct draft_allow, reviewed_s),
	  .help = "The day of the last review." },
	{ .key = "address",
	  .type = VALUE_ADDRESSES,
	  .field = offsetof(struct draft_allow, pins),
	  .help = "Pins: the addresses that are answered; no upstream is asked." },
	{ .key = "country",
	  .type = VALUE_COUNTRIES,
	  .field = offsetof(struct draft_allow, countries),
	  .help = "Countries of which an answered address must be; needs [geo] country." },
	{ .key = "asn",
	  .type = VALUE_ASNS,
	  .field = offsetof(struct draft_allow, asns),
	  .help = "Autonomous systems in which it must be; needs [geo] asn." },
	{ .key = "private",
	  .type = VALUE_WORD,
	  .words = "no yes",
	  .value = "no",
	  .field = offsetof(struct draft_allow, allow_private),
	  .help = "Whether special-purpose addresses may be answered and reached." },
	{ .key = "wide",
	  .type = VALUE_WORD,
	  .words = "no yes",
	  .value = "no",
	  .field = offsetof(struct draft_allow, wide),
	  .help = "Whether a host may be everything, or all below a public suffix." },
	{ .key = "doh",
	  .type = VALUE_WORD,
	  .words = "no yes",
	  .value = "no",
	  .field = offsetof(struct draft_allow, doh),
	  .help = "Whether a host may be on the built-in list of DoH names." },
	{ .key = "max_names",
	  .type = VALUE_COUNT,
	  .min = 1,
	  .max = LIMIT_BUDGET_NAMES_EACH,
	  .value = "20",
	  .field = offsetof(struct draft_allow, max_names),
	  .help = "Different names a minute below a wildcard, for each registered domain." },
	{ .key = "max_labels",
	  .type = VALUE_COUNT,
	  .min = 1,
	  .max = 1000000,
	  .value = "1000",
	  .field = offsetof(struct draft_allow, max_labels),
	  .help = "Bytes of labels not seen before a minute, likewise." },
	{ .key = "max_rate",
	  .type = VALUE_RATE,
	  .field = offsetof(struct draft_allow, max_rate),
	  .help = "Questions that an agent may ask by this grant: NUMBER/s or NUMBER/m." },
};

static const struct schema_key deny_keys[] = {
	{ .key = "host",
	  .type = VALUE_HOSTS,
	  .field = offsetof(struct draft_deny, hosts),
	  .help = "Names and wildcards that no wildcard of a grant covers." },
	{ .key = "list",
	  .type = VALUE_LISTS,
	  .field = offsetof(struct draft_deny, lists),
	  .help = "Files with such names, relative to this one: see LISTS." },
	{ .key = "reason",
	  .type = VALUE_TEXT,
	  .field = offsetof(struct draft_deny, reason),
	  .help = "Why they are denied." },
};

static const struct schema_key agent_keys[] = {
	{ .key = "client",
	  .type = VALUE_NETWORKS,
	  .field = offsetof(struct draft_agent, clients),
	  .help = "Its addresses and networks; needed unless there is `interface`." },
	{ .key = "interface",
	  .type = VALUE_INTERFACES,
	  .field = offsetof(struct draft_agent, interfaces),
	  .help = "Interfaces by which its packets arrive; needed unless there is `client`." },
	{ .key = "allow",
	  .type = VALUE_LABELS,
	  .field = offsetof(struct draft_agent, allows),
	  .help = "Labels of the grants that it has; without any it may reach nothing." },
};

static const struct schema_key resolver_keys[] = {
	{ .key = "listen",
	  .type = VALUE_ENDPOINTS,
	  .value = "127.0.0.1:53 [::1]:53",
	  .field = offsetof(struct draft_resolver, listen),
	  .help = "Where DNS queries are taken; port 53 if unsaid; [::1] only if there is IPv6." },
	{ .key = "clients",
	  .type = VALUE_NETWORKS,
	  .value = "127.0.0.0/8 ::1",
	  .field = offsetof(struct draft_resolver, clients),
	  .help = "Who may ask; everyone else is refused; with [agent] sections, their bounds." },
	{ .key = "upstream",
	  .type = VALUE_UPSTREAMS,
	  .value = "auto",
	  .field = offsetof(struct draft_resolver, upstreams),
	  .help = "Resolvers that are asked, in order; or auto: those of /etc/resolv.conf." },
	{ .key = "upstream_ca",
	  .type = VALUE_PATH,
	  .field = offsetof(struct draft_resolver, upstream_ca),
	  .help = "Authorities, in PEM, that tls:// upstreams are verified by, not the system's." },
	{ .key = "doh",
	  .type = VALUE_WORD,
	  .words = "block permit",
	  .value = "block",
	  .field = offsetof(struct draft_resolver, doh_permit),
	  .help = "Whether the built-in list of DoH names is denied." },
	{ .key = "doh_list",
	  .type = VALUE_LISTS,
	  .field = offsetof(struct draft_resolver, doh_lists),
	  .help = "Files with further DoH names, relative to this one: see LISTS." },
	{ .key = "ttl_min",
	  .type = VALUE_DURATION,
	  .min = 0,
	  .max = DAY,
	  .value = "5s",
	  .field = offsetof(struct draft_resolver, ttl_min_s),
	  .help = "A shorter TTL is answered as this, so that a lease can be used." },
	{ .key = "ttl_max",
	  .type = VALUE_DURATION,
	  .min = 1,
	  .max = 7 * DAY,
	  .value = "1h",
	  .field = offsetof(struct draft_resolver, ttl_max_s),
	  .help = "A longer TTL is answered as this." },
	{ .key = "stale",
	  .type = VALUE_DURATION,
	  .min = 0,
	  .max = 7 * DAY,
	  .value = "1h",
	  .field = offsetof(struct draft_resolver, stale_s),
	  .help = "How long after its TTL an answer is used if no upstream answers; 0s: never." },
	{ .key = "cache",
	  .type = VALUE_COUNT,
	  .min = 0,
	  .max = 10000000,
	  .value = "10000",
	  .field = offsetof(struct draft_resolver, cache_entries),
	  .help = "Answers that each thread keeps; 0 keeps none." },
	{ .key = "threads",
	  .type = VALUE_COUNT,
	  .min = 1,
	  .max = 64,
	  .value = "1",
	  .field = offsetof(struct draft_resolver, threads),
	  .help = "Threads that answer, each with a cache of its own." },
};

static const struct schema_key nftables_keys[] = {
	{ .key = "table",
	  .type = VALUE_TABLE,
	  .value = "inet bailiwick",
	  .field = offsetof(struct draft_nftables, table),
	  .help = "The table, of family inet, that holds our sets." },
	{ .key = "manage",
	  .type = VALUE_WORD,
	  .words = "no sets chains",
	  .value = "sets",
	  .field = offsetof(struct draft_nftables, manage),
	  .help = "What is kept there: nothing, the sets, or the gateway's chains too." },
	{ .key = "interface",
	  .type = VALUE_INTERFACES,
	  .field = offsetof(struct draft_nftables, interfaces),
	  .help = "Interfaces whose traffic is confined; needed with manage = chains." },
	{ .key = "push",
	  .type = VALUE_PUSHES,
	  .field = offsetof(struct draft_nftables, pushes),
	  .help = "Sets of other owners that get the leases too: FAMILY TABLE SET, one a line." },
	{ .key = "size",
	  .type = VALUE_COUNT,
	  .min = 1,
	  .max = 1u << 24,
	  .value = "65536",
	  .field = offsetof(struct draft_nftables, size),
	  .help = "Elements that each of our sets can hold." },
	{ .key = "grace",
	  .type = VALUE_DURATION,
	  .min = 0,
	  .max = DAY,
	  .value = "60s",
	  .field = offsetof(struct draft_nftables, grace_s),
	  .help = "How long a lease outlives the TTL that was answered." },
};

static const struct schema_key audit_keys[] = {
	{ .key = "log",
	  .type = VALUE_PATH,
	  .field = offsetof(struct draft_audit, log),
	  .help = "The log file; without it there is no log." },
	{ .key = "on_failure",
	  .type = VALUE_WORD,
	  .words = "deny continue",
	  .value = "deny",
	  .field = offsetof(struct draft_audit, on_failure),
	  .help = "What happens while the log cannot be written." },
	{ .key = "sync",
	  .type = VALUE_WORD,
	  .words = "no yes",
	  .value = "no",
	  .field = offsetof(struct draft_audit, sync),
	  .help = "Whether every batch of records is forced to the disk." },
	{ .key = "rotate",
	  .type = VALUE_SIZE,
	  .min = 0,
	  .max = (uint64_t)1 << 40,
	  .value = "0",
	  .field = offsetof(struct draft_audit, rotate_bytes),
	  .help = "Size at which the log is renamed and begun anew; 0 is never." },
	{ .key = "keep",
	  .type = VALUE_COUNT,
	  .min = 1,
	  .max = 10000,
	  .value = "10",
	  .field = offsetof(struct draft_audit, keep),
	  .help = "Renamed logs that are kept." },
};

static const struct schema_key geo_keys[] = {
	{ .key = "country",
	  .type = VALUE_PATH,
	  .field = offsetof(struct draft_geo, country),
	  .help = "The database (mmdb) of the countries of addresses." },
	{ .key = "asn",
	  .type = VALUE_PATH,
	  .field = offsetof(struct draft_geo, asn),
	  .help = "The database (mmdb) of their autonomous systems." },
};

#define SECTION(word, with_label)                                                               \
	{                                                                                       \
#word, sizeof(struct draft_##word), word##_keys, COUNT(word##_keys), with_label \
	}

static const struct schema_section sections[] = {
	SECTION(policy, false), SECTION(allow, true),     SECTION(deny, true),
	SECTION(agent, true),   SECTION(resolver, false), SECTION(nftables, false),
	SECTION(audit, false),  SECTION(geo, false),
};

enum { N_SECTIONS = COUNT(sections) };

static_assert(COUNT(allow_keys) <= SCHEMA_KEYS_MAX, "struct draft has no line for each key");

const struct schema_section *schema_section_find(const char *name)
{
	for (size_t i = 0; i < N_SECTIONS; i++)
		if (strcmp(sections[i].name, name) == 0)
			return &sections[i];
	return NULL;
}

const struct schema_key *schema_key_find(const struct schema_section *section, const char *key)
{
	for (unsigned i = 0; i < section->n_keys; i++)
		if (strcmp(section->keys[i].key, key) == 0)
			return &section->keys[i];
	return NULL;
}

unsigned schema_distance(const char *a, const char *b)
{
	enum { MAX = 49 };
	size_t n = strnlen(b, MAX);
	unsigned row[MAX + 1];

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; i < MAX && a[i] != '\0'; i++) {
		unsigned corner = row[0];

		row[0] = i + 1;
		for (unsigned j = 1; j <= n; j++) {
			unsigned best = corner + (a[i] != b[j - 1]);

			corner = row[j];
			best = corner + 1 < best ? corner + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[n];
}

const char *schema_section_nearest(const char *name)
{
	const char *nearest = NULL;
	unsigned least = UINT32_MAX;

	for (size_t i = 0; i < N_SECTIONS; i++) {
		unsigned distance = schema_distance(name, sections[i].name);

		if (distance < least) {
			least = distance;
			nearest = sections[i].name;
		}
	}
	return nearest;
}

const char *schema_key_nearest(const struct schema_section *section, const char *key)
{
	const char *nearest = NULL;
	unsigned least = UINT32_MAX;

	for (unsigned i = 0; i < section->n_keys; i++) {
		unsigned distance = schema_distance(key, section->keys[i].key);

		if (distance < least) {
			least = distance;
			nearest = section->keys[i].key;
		}
	}
	return nearest;
}

unsigned schema_line(const struct draft *draft, const char *key)
{
	const struct schema_key *row = schema_key_find(draft->schema, key);

	assert(row != NULL);
	return draft->lines[row - draft->schema->keys];
}

struct policy_place schema_place(const struct draft *draft, const char *key)
{
	unsigned line = schema_line(draft, key);

	return (struct policy_place){ draft->place.file, line ? line : draft->place.line };
}

bool policy_key(size_t i, struct policy_key *ret_key)
{
	for (size_t s = 0; s < N_SECTIONS; s++) {
		const struct schema_section *section = &sections[s];

		if (i < section->n_keys) {
			const struct schema_key *row = &section->keys[i];

			*ret_key = (struct policy_key){
				.section = section->name,
				.key = row->key,
				.type = row->type == VALUE_WORD ? row->words
								: value_type_words(row->type),
				.value = row->value != NULL ? row->value : "",
				.help = row->help,
				.required = row->required,
			};
			return true;
		}
		i -= section->n_keys;
	}
	return false;
}
