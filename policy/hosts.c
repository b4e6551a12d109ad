/* SPDX-License-Identifier: MIT */
#include "policy/hosts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/limits.h"

enum {
	ALLOWED_BELOW = 1,
	SPECIAL_BELOW = 2,
	DOH_EXACT = 4,
	DOH_BELOW = 8,
	YIELDS = 16,
	DOH_ALLOWED_BELOW = 32, /* by a grant that may list names of the built-in list */
};

struct hosts_slot {
	uint32_t name;   /* 1 + where it stands in names; 0: the slot is free */
	uint32_t tag;    /* the upper half of its hash, which also says where it stands */
	uint32_t grants; /* 1 + number of its struct hosts_grants; 0: none */
	uint16_t deny_exact, deny_wild; /* numbers of sources; 0: none */
	uint16_t doh;                   /* number of a source; 0: the built-in list */
	uint8_t flags;
	uint8_t special; /* enum policy_special */
};
static_assert(sizeof(struct hosts_slot) == 20, "hosts.h promises that");

/* What stands behind a name's wire form: the lines on which sources deny it. Unaligned. */
struct lines {
	uint32_t exact, wild;
};

struct grant_list {
	const struct policy_grant **grants;
	uint32_t n, size;
};

/* What one view has of a name. */
struct view_grants {
	struct grant_list exact, wild;
	uint16_t view;
	uint8_t flags; /* of the slot's, those that are of grants */
};

/* Each view that has something of a name: the first that was added, and the others in order. */
struct hosts_grants {
	struct view_grants first;
	struct view_grants *others;
	uint32_t n_others, others_size;
	uint8_t domain; /* how many of the wildcard's last labels are a registered domain */
};

/*
 * The suffixes of a name: where each begins, and its hash, which is made from the one of its
 * parent and the label before it. Number 0 is the name, the last is the root.
 */
struct suffixes {
	unsigned n;
	uint8_t at[NAME_LABELS_MAX + 1];
	uint64_t hash[NAME_LABELS_MAX + 1];
};

static void split(const struct hosts *hosts, const struct name *name, struct suffixes *s)
{
	s->n = 0;
	for (unsigned at = 0;; at += 1u + name->wire[at]) {
		s->at[s->n++] = (uint8_t)at;
		if (name->wire[at] == 0)
			break;
	}
	s->hash[s->n - 1] = hosts->seed;
	for (unsigned i = s->n - 1; i-- > 0;) {
		const uint8_t *label = name->wire + s->at[i];

		s->hash[i] = hash_bytes(s->hash[i + 1], label, 1u + *label);
	}
}

/* The slot of suffix number @i of @name, or the free one where it would stand. */
static struct hosts_slot *find_slot(const struct hosts *hosts, const struct name *name,
				    const struct suffixes *s, unsigned i)
{
	uint32_t mask = hosts->n_slots - 1;
	uint32_t tag = (uint32_t)(s->hash[i] >> 32);
	size_t len = name->len - (size_t)s->at[i];

	for (uint32_t at = tag & mask;; at = (at + 1) & mask) {
		struct hosts_slot *slot = &hosts->slots[at];

		if (slot->name == 0)
			return slot;
		/* Behind the last of the names there is room for the longest. */
		if (slot->tag == tag &&
		    memcmp(hosts->names + slot->name - 1, name->wire + s->at[i], len) == 0)
			return slot;
	}
}

static int grow_slots(struct hosts *hosts)
{
	struct hosts_slot *slots;
	uint32_t mask;

	if (hosts->n_slots > UINT32_MAX / 4)
		return -ENOMEM;
	mask = hosts->n_slots * 2 - 1;
	slots = calloc(mask + (size_t)1, sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < hosts->n_slots; i++) {
		uint32_t at = hosts->slots[i].tag & mask;

		if (hosts->slots[i].name == 0)
			continue;
		while (slots[at].name != 0)
			at = (at + 1) & mask;
		slots[at] = hosts->slots[i];
	}
	free(hosts->slots);
	hosts->slots = slots;
	hosts->n_slots = mask + 1;
	return 0;
}

static int grow_names(struct hosts *hosts)
{
	size_t size = hosts->names_size * 2;
	uint8_t *names;

	if (size > UINT32_MAX)
		return -ENOMEM;
	names = realloc(hosts->names, size);
	if (names == NULL)
		return -ENOMEM;
	hosts->names = names;
	hosts->names_size = size;
	return 0;
}

/* The slot of suffix number @i of @name, made if there is none. NULL: there is no memory. */
static struct hosts_slot *make_slot(struct hosts *hosts, const struct name *name,
				    const struct suffixes *s, unsigned i)
{
	struct hosts_slot *slot = find_slot(hosts, name, s, i);
	size_t len = name->len - (size_t)s->at[i];

	if (slot->name != 0)
		return slot;
	if (hosts->n_used >= hosts->n_slots / 10 * 7) {
		if (grow_slots(hosts) < 0)
			return NULL;
		slot = find_slot(hosts, name, s, i);
	}
	if (hosts->names_len + len + sizeof(struct lines) + NAME_WIRE_MAX > hosts->names_size &&
	    grow_names(hosts) < 0)
		return NULL;
	memcpy(hosts->names + hosts->names_len, name->wire + s->at[i], len);
	/* The lines, and what a comparison may read behind them: not all of the room is touched. */
	memset(hosts->names + hosts->names_len + len, 0, sizeof(struct lines) + NAME_WIRE_MAX);
	slot->name = (uint32_t)hosts->names_len + 1;
	slot->tag = (uint32_t)(s->hash[i] >> 32);
	hosts->names_len += len + sizeof(struct lines);
	hosts->n_used++;
	return slot;
}

/* One more for a slot. NULL: there is no memory. */
static struct hosts_grants *add_grants(struct hosts *hosts)
{
	if (hosts->n_grants == hosts->grants_size) {
		uint32_t size = hosts->grants_size ? hosts->grants_size * 2 : 64;
		struct hosts_grants *grown = reallocarray(hosts->grants, size, sizeof(*grown));

		if (grown == NULL)
			return NULL;
		hosts->grants = grown;
		hosts->grants_size = size;
	}
	hosts->grants[hosts->n_grants] = (struct hosts_grants){ .n_others = 0 };
	return &hosts->grants[hosts->n_grants++];
}

/* The first of the @n at @others whose view is not less than @view; behind the last if none. */
static uint32_t find_other(const struct view_grants *others, uint32_t n, unsigned view)
{
	uint32_t from = 0;

	while (from < n) {
		uint32_t middle = from + (n - from) / 2;

		if (others[middle].view < view)
			from = middle + 1;
		else
			n = middle;
	}
	return from;
}

/* What @view, which is not the first of @grants, has there; NULL if nothing. */
static const struct view_grants *find_among_others(const struct hosts_grants *grants, unsigned view)
{
	uint32_t at = find_other(grants->others, grants->n_others, view);

	return at < grants->n_others && grants->others[at].view == view ? &grants->others[at]
									: NULL;
}

/* What @view has of the name of @slot; NULL if nothing. */
static inline const struct view_grants *find_view(const struct hosts *hosts,
						  const struct hosts_slot *slot, unsigned view)
{
	const struct hosts_grants *grants;

	if (slot->grants == 0)
		return NULL;
	grants = &hosts->grants[slot->grants - 1];
	return grants->first.view == view ? &grants->first : find_among_others(grants, view);
}

/* Make room in @grants for one more view at number @at of the others. */
static struct view_grants *make_other(struct hosts *hosts, struct hosts_grants *grants, uint32_t at)
{
	if (grants->n_others == grants->others_size) {
		uint32_t size = grants->others_size ? grants->others_size * 2 : 4;
		struct view_grants *grown = arena_alloc(&hosts->arena, size * sizeof(*grown));

		if (grown == NULL)
			return NULL;
		for (uint32_t i = 0; i < grants->n_others; i++)
			grown[i] = grants->others[i];
		grants->others = grown;
		grants->others_size = size;
	}
	memmove(grants->others + at + 1, grants->others + at,
		(grants->n_others - at) * sizeof(grants->others[0]));
	grants->n_others++;
	return &grants->others[at];
}

/* What @view has of the name of @slot, made if there is nothing. NULL: there is no memory. */
static struct view_grants *make_view(struct hosts *hosts, struct hosts_slot *slot, unsigned view)
{
	struct hosts_grants *grants;
	struct view_grants *made;
	uint32_t at;

	if (slot->grants == 0) {
		grants = add_grants(hosts);
		if (grants == NULL)
			return NULL;
		slot->grants = hosts->n_grants;
		grants->first.view = (uint16_t)view;
		return &grants->first;
	}
	grants = &hosts->grants[slot->grants - 1];
	if (grants->first.view == view)
		return &grants->first;
	at = find_other(grants->others, grants->n_others, view);
	if (at < grants->n_others && grants->others[at].view == view)
		return &grants->others[at];
	made = make_other(hosts, grants, at);
	if (made != NULL)
		*made = (struct view_grants){ .view = (uint16_t)view };
	return made;
}

/*
 * Say in @slot that a grant of @view gives it @flag. Where there is one view alone, its flags are
 * the slot's. Gives 1; 0: it was said before; -ENOMEM.
 */
static int set_flag(struct hosts *hosts, struct hosts_slot *slot, unsigned view, uint8_t flag)
{
	struct view_grants *of_view = NULL;
	uint8_t *flags = &slot->flags;

	if (hosts->n_views > 1) {
		of_view = make_view(hosts, slot, view);
		if (of_view == NULL)
			return -ENOMEM;
		flags = &of_view->flags;
	}
	if (*flags & flag)
		return 0;
	*flags |= flag;
	return 1;
}

/* Set @flag for @view in the slots of the suffixes of @name from number @first up to the root. */
static int mark_ancestors(struct hosts *hosts, unsigned view, const struct name *name,
			  const struct suffixes *s, unsigned first, uint8_t flag)
{
	int r = 1;

	/* Where it is set already, it is so above. */
	for (unsigned i = first; i < s->n && r > 0; i++) {
		struct hosts_slot *slot = make_slot(hosts, name, s, i);

		r = slot != NULL ? set_flag(hosts, slot, view, flag) : -ENOMEM;
	}
	return r < 0 ? r : 0;
}

/* The same for a zone that exists, whoever asks. */
static int mark_zone(struct hosts *hosts, const struct name *name, const struct suffixes *s)
{
	for (unsigned i = 1; i < s->n; i++) {
		struct hosts_slot *slot = make_slot(hosts, name, s, i);

		if (slot == NULL)
			return -ENOMEM;
		slot->flags |= SPECIAL_BELOW;
	}
	return 0;
}

int hosts_init(struct hosts *hosts)
{
	enum { SLOTS = 1024, NAMES = 16384 };

	*hosts = (struct hosts){ .n_slots = SLOTS, .names_size = NAMES, .seed = hash_seed() };
	hosts->slots = calloc(SLOTS, sizeof(*hosts->slots));
	hosts->names = calloc(NAMES, 1);
	return hosts->slots != NULL && hosts->names != NULL ? 0 : -ENOMEM;
}

void hosts_done(struct hosts *hosts)
{
	free(hosts->slots);
	free(hosts->names);
	free(hosts->grants);
	arena_done(&hosts->arena);
	*hosts = (struct hosts){ .n_slots = 0 };
}

static int add_to_list(struct hosts *hosts, struct grant_list *list,
		       const struct policy_grant *grant)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->grants[i] == grant)
			return -EEXIST;
	if (list->n == LIMIT_GRANTS_PER_HOST)
		return -E2BIG;
	if (list->n == list->size) {
		uint32_t size = list->size ? list->size * 2 : 1;
		const struct policy_grant **grown =
			arena_alloc(&hosts->arena, size * sizeof(void *));

		if (grown == NULL)
			return -ENOMEM;
		for (uint32_t i = 0; i < list->n; i++)
			grown[i] = list->grants[i];
		list->grants = grown;
		list->size = size;
	}
	list->grants[list->n++] = grant;
	return 0;
}

int hosts_add_grant(struct hosts *hosts, unsigned view, const struct name *name, bool wildcard,
		    const struct policy_grant *grant)
{
	struct view_grants *grants;
	struct hosts_slot *slot;
	struct suffixes s;
	int r;

	split(hosts, name, &s);
	slot = make_slot(hosts, name, &s, 0);
	grants = slot != NULL ? make_view(hosts, slot, view) : NULL;
	if (grants == NULL)
		return -ENOMEM;
	r = add_to_list(hosts, wildcard ? &grants->wild : &grants->exact, grant);
	if (r < 0)
		return r;
	r = mark_ancestors(hosts, view, name, &s, wildcard ? 0 : 1, ALLOWED_BELOW);
	if (r == 0 && grant->allow_doh)
		r = mark_ancestors(hosts, view, name, &s, wildcard ? 0 : 1, DOH_ALLOWED_BELOW);
	return r;
}

void hosts_set_domain(struct hosts *hosts, const struct name *name, unsigned labels)
{
	const struct hosts_slot *slot;
	struct suffixes s;

	split(hosts, name, &s);
	slot = find_slot(hosts, name, &s, 0);
	assert(slot->grants != 0);
	hosts->grants[slot->grants - 1].domain = (uint8_t)labels;
}

/* The lines of the name, of @len bytes, that stands in @slot. */
static struct lines lines_of(const struct hosts *hosts, const struct hosts_slot *slot, size_t len)
{
	struct lines lines;

	memcpy(&lines, hosts->names + slot->name - 1 + len, sizeof(lines));
	return lines;
}

int hosts_add_deny(struct hosts *hosts, const struct name *name, bool wildcard, uint16_t source,
		   uint32_t line)
{
	struct hosts_slot *slot;
	struct suffixes s;
	struct lines lines;
	uint16_t *deny;

	assert(source != 0);
	split(hosts, name, &s);
	slot = make_slot(hosts, name, &s, 0);
	if (slot == NULL)
		return -ENOMEM;
	deny = wildcard ? &slot->deny_wild : &slot->deny_exact;
	if (*deny != 0)
		return *deny;
	*deny = source;
	lines = lines_of(hosts, slot, name->len);
	*(wildcard ? &lines.wild : &lines.exact) = line;
	memcpy(hosts->names + slot->name - 1 + name->len, &lines, sizeof(lines));
	return 0;
}

unsigned hosts_denied_exactly(const struct hosts *hosts, const struct name *name,
			      unsigned *ret_line)
{
	const struct hosts_slot *slot;
	struct suffixes s;

	split(hosts, name, &s);
	slot = find_slot(hosts, name, &s, 0);
	if (slot->name == 0 || slot->deny_exact == 0)
		return 0;
	*ret_line = lines_of(hosts, slot, name->len).exact;
	return slot->deny_exact;
}

int hosts_add_special(struct hosts *hosts, const struct name *name, enum policy_special special,
		      bool yields)
{
	struct hosts_slot *slot;
	struct suffixes s;

	split(hosts, name, &s);
	slot = make_slot(hosts, name, &s, 0);
	if (slot == NULL)
		return -ENOMEM;
	slot->special = (uint8_t)special;
	slot->flags |= yields ? YIELDS : 0;
	return special != POLICY_SPECIAL_NXDOMAIN ? mark_zone(hosts, name, &s) : 0;
}

int hosts_add_doh(struct hosts *hosts, const struct name *name, bool wildcard, uint16_t source)
{
	struct hosts_slot *slot;
	struct suffixes s;

	split(hosts, name, &s);
	slot = make_slot(hosts, name, &s, 0);
	if (slot == NULL)
		return -ENOMEM;
	/* What is listed twice is the first list's. */
	if (!(slot->flags & (DOH_EXACT | DOH_BELOW)))
		slot->doh = source;
	slot->flags |= wildcard ? DOH_BELOW : DOH_EXACT;
	return 0;
}

/* Take up that the name, of whose @wire @len bytes stand in @slot, is denied by @source. */
static void match_denial(const struct hosts *hosts, const struct hosts_slot *slot, size_t len,
			 bool wildcard, struct hosts_match *match)
{
	unsigned source = wildcard ? slot->deny_wild : slot->deny_exact;
	struct lines lines;

	if (match->denied_by != 0 && match->denied_by < source)
		return;
	lines = lines_of(hosts, slot, len);
	match->denied_by = source;
	match->denied_line = wildcard ? lines.wild : lines.exact;
}

static void match_doh(const struct hosts_slot *slot, struct hosts_match *match)
{
	if (!match->doh)
		match->doh_by = slot->doh;
	match->doh = true;
}

/* Take up what the slot of a proper suffix, of @labels labels in @len bytes, says to @view. */
static void match_above(const struct hosts *hosts, unsigned view, const struct hosts_slot *slot,
			unsigned labels, size_t len, struct hosts_match *match)
{
	const struct view_grants *grants = find_view(hosts, slot, view);

	if (grants != NULL && grants->wild.n > 0) {
		match->wild = grants->wild.grants;
		match->n_wild = grants->wild.n;
		match->wild_labels = labels;
		match->wild_domain = hosts->grants[slot->grants - 1].domain;
	}
	if (slot->deny_wild != 0) {
		match_denial(hosts, slot, len, true, match);
		match->denied_below = true;
	}
	if (slot->flags & DOH_BELOW) {
		match_doh(slot, match);
		match->doh_below = true;
	}
}

/* Take up what the slot of the name itself, of @len bytes, says to @view. */
static void match_exactly(const struct hosts *hosts, unsigned view, const struct hosts_slot *slot,
			  size_t len, struct hosts_match *match)
{
	const struct view_grants *grants = find_view(hosts, slot, view);
	uint8_t flags = slot->flags;

	if (grants != NULL) {
		flags |= grants->flags;
		match->exact = grants->exact.grants;
		match->n_exact = grants->exact.n;
	}
	if (slot->deny_exact != 0)
		match_denial(hosts, slot, len, false, match);
	if (slot->deny_wild != 0)
		match->denied_below = true;
	if (slot->flags & DOH_EXACT)
		match_doh(slot, match);
	if (slot->flags & DOH_BELOW)
		match->doh_below = true;
	/* Below a name whose whole subtree is on the list, only few grants allow anything. */
	match->allowed_below = flags & (match->doh_below ? DOH_ALLOWED_BELOW : ALLOWED_BELOW);
	match->special_below = flags & SPECIAL_BELOW;
}

struct hosts_match hosts_find(const struct hosts *hosts, unsigned view, const struct name *name)
{
	struct hosts_match match = { .exact = NULL };
	struct suffixes s;

	split(hosts, name, &s);
	for (unsigned i = s.n; i-- > 0;) {
		const struct hosts_slot *slot = find_slot(hosts, name, &s, i);
		unsigned labels = s.n - 1 - i;

		if (slot->name == 0)
			continue;
		if (slot->special != POLICY_SPECIAL_NONE) {
			match.special = (enum policy_special)slot->special;
			match.special_labels = labels;
			match.special_yields = slot->flags & YIELDS;
		}
		if (i > 0)
			match_above(hosts, view, slot, labels, name->len - (size_t)s.at[i], &match);
		else
			match_exactly(hosts, view, slot, name->len, &match);
	}
	return match;
}
