/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/name.h"
#include "policy/arena.h"
#include "policy/policy.h"

/*
 * The tree of labels: what is said of names, exactly or as wildcards, by
 * grants, [deny] sections, and the built-in tables (special.c, doh.c). It is
 * kept as one hash table of names; a look-up walks over a name's suffixes
 * from the root's on, once, and takes up all that they say.
 *
 * It is made for a million denied names: each takes a slot of 20 bytes, at a
 * load of 35 to 70 %, its wire form, and the lines on which lists name it.
 *
 * Grants lie in views: agents with the same grants share one, and a look-up
 * sees those of one view alone, as if there were no others. Without [agent]
 * sections there is view 0.
 */
struct hosts_slot;
struct hosts_grants;

struct hosts {
	struct hosts_slot *slots;
	uint32_t n_slots, n_used; /* the first is a power of two */
	uint8_t *names;           /* wire forms, each with its lines behind it */
	size_t names_len, names_size;
	struct hosts_grants *grants;
	uint32_t n_grants, grants_size;
	struct arena arena; /* of the lists of grants */
	uint64_t seed;
	unsigned n_views; /* 0 is taken as 1 */
};

/* What the tree says of one name. All zero is nothing. */
struct hosts_match {
	const struct policy_grant *const *exact; /* grants that list the name itself */
	const struct policy_grant *const *wild;  /* those of the longest wildcard */
	unsigned n_exact, n_wild;
	unsigned wild_labels;        /* of that wildcard, without its `*` */
	unsigned wild_domain;        /* how many of them are a registered domain; 0: none are */
	unsigned denied_by;          /* the least source, from 1, that denies it; 0: none */
	unsigned denied_line;        /* the line there; 0: nowhere in particular */
	bool denied_below;           /* one lists all below the name */
	enum policy_special special; /* of the longest special-use zone that holds the name */
	unsigned special_labels;
	bool special_yields; /* to a host that a grant lists inside */
	unsigned doh_by;     /* the source of the DoH name; 0: the built-in list, or none */
	bool doh;            /* it is on a list of DoH names ... */
	bool doh_below;      /* ... and so is all below it */
	bool allowed_below;  /* a grant lists a name below it, or it is a wildcard's own name */
	bool special_below;  /* a zone that exists lies below it */
};

/* A table with nothing in it. Fails -ENOMEM. */
int hosts_init(struct hosts *hosts) __attribute__((warn_unused_result));

/* Free what @hosts holds; an all-zero one is allowed. */
void hosts_done(struct hosts *hosts);

/*
 * Say in @hosts that @grant, in @view, lists @name, or, if it is a @wildcard, all below it.
 *
 * Given  @view is less than the number of views, which is set before.
 * Fails  -EEXIST: it did already; -E2BIG: LIMIT_GRANTS_PER_HOST others in the view do; -ENOMEM.
 */
int hosts_add_grant(struct hosts *hosts, unsigned view, const struct name *name, bool wildcard,
		    const struct policy_grant *grant) __attribute__((warn_unused_result));

/*
 * Say in @hosts that the last @labels labels of @name, which is a wildcard's, are a registered
 * domain. Given a grant was added for the wildcard.
 */
void hosts_set_domain(struct hosts *hosts, const struct name *name, unsigned labels);

/*
 * Say in @hosts that source number @source, from 1, denies @name in its line @line, or, if it is
 * a @wildcard, all below it. A source is what [deny] sections list: the hosts of one, or one list.
 *
 * Gives  0, or the number of the source that does already.
 * Fails  -ENOMEM.
 */
int hosts_add_deny(struct hosts *hosts, const struct name *name, bool wildcard, uint16_t source,
		   uint32_t line) __attribute__((warn_unused_result));

/* The source that denies @name by itself, not by a wildcard, and its line; 0 if none does. */
unsigned hosts_denied_exactly(const struct hosts *hosts, const struct name *name,
			      unsigned *ret_line);

/* Say in @hosts that @name is a special-use zone, which @yields to grants inside. Fails -ENOMEM. */
int hosts_add_special(struct hosts *hosts, const struct name *name, enum policy_special special,
		      bool yields) __attribute__((warn_unused_result));

/*
 * Say in @hosts that @name, or, if it is a @wildcard, all below it, is on the list of DoH names
 * of number @source; 0 is the built-in one. Fails -ENOMEM.
 */
int hosts_add_doh(struct hosts *hosts, const struct name *name, bool wildcard, uint16_t source)
	__attribute__((warn_unused_result));

/* Look up what @hosts says of @name to those who see @view. Never allocates. */
struct hosts_match hosts_find(const struct hosts *hosts, unsigned view, const struct name *name);
