/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include "policy/arena.h"
#include "policy/geo.h"
#include "policy/hosts.h"
#include "policy/policy.h"

/* What is behind struct policy. It never changes once policy_load() has given it. */

/* Who asks. Without [agent] sections there is one, which is every client and has every grant. */
struct policy_agent {
	const char *name; /* "" for that one */
	unsigned number;
	unsigned view; /* what it sees of the hosts */
	const struct policy_grant **grants;
	unsigned n_grants;
	struct policy_place place;
};

/* Sources of one family and prefix, which lie together and are sorted by address. */
struct policy_source_group {
	uint8_t family, prefix;
	unsigned first, n;
};

/* A source of denied names: the hosts of a [deny] section, or a list that one names. */
struct policy_deny {
	const char *label, *reason; /* of the section; the reason may be NULL */
	struct policy_place place;  /* of the section, or the list's file */
	bool is_list;
};

/* A network that grants of one view list as a host, and those grants. */
struct policy_literal {
	struct network network;
	unsigned view;
	const struct policy_grant **grants;
	unsigned n_grants;
};

struct policy {
	atomic_uint refs;
	struct arena arena;        /* all that is not in hosts */
	struct policy_place place; /* of the file as a whole */
	const char *name;
	struct policy_resolver resolver;
	struct policy_nftables nftables;
	struct policy_audit audit;
	struct policy_agent agent;          /* without [agent] sections: the one */
	const struct policy_agent **agents; /* those sections */
	const struct policy_source *sources;
	const struct policy_source_group *source_groups; /* the longest prefix first */
	unsigned n_agents, n_sources, n_source_groups;
	bool wants_interface;
	bool clients_bound; /* [resolver] clients was given: beside agents, it bounds them */
	const struct network *clients;
	unsigned n_clients;
	struct policy_place clients_place;
	const struct policy_grant **grants;
	const struct policy_deny *denies;
	const struct policy_place *doh_lists;  /* where each is named */
	const struct policy_literal *literals; /* the longest prefix first */
	unsigned n_grants, n_denies, n_literals;
	struct hosts hosts;
	struct geo *countries, *asns; /* NULL: no database */
	bool block_doh;               /* the built-in list is on */
	bool observes;
};
