/* SPDX-License-Identifier: MIT */
#include "resolver/budget.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/own.h"
#include "resolver/rate.h"

enum { WINDOW_MS = 60000, BUCKETS = 4096 };

/* A name that was asked for within the window. */
struct asked_name {
	uint64_t hash;
	uint64_t used_ms;    /* when last */
	uint64_t charged_ms; /* when its labels were charged */
	uint32_t bytes;      /* of them that were new then */
};

/* The budgets that one agent has taken of those that there are. */
struct share {
	struct share *next;
	uint64_t agent;
	unsigned n;
};

/* What was asked for by one agent and grant: names of one registered domain, or how often. */
struct meter {
	struct list age;    /* in table->ages: the longest unused first */
	struct meter *next; /* in its bucket */
	uint64_t key;
	uint64_t used_ms;

	/* Of names. */
	struct share *share;
	struct asked_name *names;
	uint64_t *seen; /* hashes of labels with all to their right: a ring */
	unsigned n_names, names_size, n_seen, seen_size, oldest_seen;

	struct rate rate; /* of questions */
};

struct table {
	struct meter *buckets[BUCKETS];
	struct list ages;
	unsigned n, max;
};

struct budgets {
	pthread_mutex_t mutex;
	uint64_t seed;
	uint64_t now_ms; /* the latest that any thread has told */
	struct table domains, rates;
	struct share *shares;
	size_t names_size; /* room for names, of all meters */
};

/* A name's labels below its registered domain, from the right: their hashes, each with the last. */
struct path {
	unsigned n;
	uint8_t len[NAME_LABELS_MAX];
	uint64_t hash[NAME_LABELS_MAX];
};

/*
 * The tables of meters.
 */

static struct share *find_share(struct budgets *budgets, uint64_t agent)
{
	struct share *share = budgets->shares;

	while (share != NULL && share->agent != agent)
		share = share->next;
	if (share != NULL)
		return share;
	share = malloc(sizeof(*share));
	if (share == NULL)
		return NULL;
	*share = (struct share){ .next = budgets->shares, .agent = agent };
	return budgets->shares = share;
}

static void drop_share(struct budgets *budgets, struct share *share)
{
	struct share **at = &budgets->shares;

	if (share == NULL || --share->n > 0)
		return;
	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	free(share);
}

static void free_meter(struct budgets *budgets, struct table *table, struct meter *meter)
{
	struct meter **at = &table->buckets[meter->key % BUCKETS];

	while (*at != meter)
		at = &(*at)->next;
	*at = meter->next;
	list_drop(&meter->age);
	table->n--;
	budgets->names_size -= meter->names_size;
	drop_share(budgets, meter->share);
	free(meter->names);
	free(meter->seen);
	free(meter);
}

/* Free up to @most meters of @table of which nothing was asked for within the window. */
static void free_idle(struct budgets *budgets, struct table *table, unsigned most)
{
	while (most-- > 0 && !list_empty(&table->ages)) {
		struct meter *oldest = list_owner(table->ages.next, struct meter, age);

		if (budgets->now_ms - oldest->used_ms < WINDOW_MS)
			return;
		free_meter(budgets, table, oldest);
	}
}

static struct meter *find_meter(struct table *table, uint64_t key)
{
	struct meter *meter = table->buckets[key % BUCKETS];

	while (meter != NULL && meter->key != key)
		meter = meter->next;
	return meter;
}

/* A new meter under @key; NULL if there is no room, or no memory. */
static struct meter *make_meter(struct budgets *budgets, struct table *table, uint64_t key)
{
	struct meter **bucket = &table->buckets[key % BUCKETS];
	struct meter *meter;

	free_idle(budgets, table, 2);
	if (table->n == table->max)
		return NULL;
	meter = calloc(1, sizeof(*meter));
	if (meter == NULL)
		return NULL;
	meter->key = key;
	meter->used_ms = budgets->now_ms;
	meter->next = *bucket;
	*bucket = meter;
	list_init(&meter->age);
	list_add(&table->ages, &meter->age);
	table->n++;
	return meter;
}

static void use_meter(struct budgets *budgets, struct table *table, struct meter *meter)
{
	meter->used_ms = budgets->now_ms;
	list_drop(&meter->age);
	list_add(&table->ages, &meter->age);
}

/*
 * Names.
 */

/* Forget the names that were not asked for within the window. */
static void forget_names(struct meter *meter, uint64_t now_ms)
{
	unsigned n = 0;

	for (unsigned i = 0; i < meter->n_names; i++)
		if (now_ms - meter->names[i].used_ms < WINDOW_MS)
			meter->names[n++] = meter->names[i];
	meter->n_names = n;
}

static struct asked_name *find_name(struct meter *meter, uint64_t hash)
{
	for (unsigned i = 0; i < meter->n_names; i++)
		if (meter->names[i].hash == hash)
			return &meter->names[i];
	return NULL;
}

/* The bytes of new labels that were charged within the window. */
static uint64_t charged_bytes(const struct meter *meter, uint64_t now_ms)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < meter->n_names; i++)
		if (now_ms - meter->names[i].charged_ms < WINDOW_MS)
			bytes += meter->names[i].bytes;
	return bytes;
}

static bool has_seen(const struct meter *meter, uint64_t hash)
{
	for (unsigned i = 0; i < meter->n_seen; i++)
		if (meter->seen[i] == hash)
			return true;
	return false;
}

static uint32_t count_new_bytes(const struct meter *meter, const struct path *path)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < path->n; i++)
		if (!has_seen(meter, path->hash[i]))
			bytes += path->len[i];
	return bytes;
}

/* Remember a label, if there is memory for it: to forget one costs only who asks. */
static void see_label(struct meter *meter, uint64_t hash)
{
	if (has_seen(meter, hash))
		return;
	if (meter->n_seen == meter->seen_size && meter->seen_size < LIMIT_BUDGET_LABELS) {
		unsigned size = meter->seen_size ? meter->seen_size * 2 : 8;
		uint64_t *grown = reallocarray(meter->seen, size, sizeof(*grown));

		if (grown == NULL)
			return;
		meter->seen = grown;
		meter->seen_size = size;
	}
	if (meter->n_seen < meter->seen_size) {
		meter->seen[meter->n_seen++] = hash;
		return;
	}
	meter->seen[meter->oldest_seen] = hash;
	if (++meter->oldest_seen == meter->seen_size)
		meter->oldest_seen = 0;
}

/* Make room for one more name. False: there is none. */
static bool grow_names(struct budgets *budgets, struct meter *meter)
{
	unsigned size = meter->names_size ? meter->names_size * 2 : 4;
	struct asked_name *grown;

	if (meter->n_names < meter->names_size)
		return true;
	if (budgets->names_size + size - meter->names_size > LIMIT_BUDGET_NAMES)
		return false;
	grown = reallocarray(meter->names, size, sizeof(*grown));
	if (grown == NULL)
		return false;
	budgets->names_size += size - meter->names_size;
	meter->names = grown;
	meter->names_size = size;
	return true;
}

/* Charge the name of @path. Gives GRANTED, or the reason of a denial. */
static enum policy_reason charge_name(struct budgets *budgets, struct meter *meter,
				      const struct policy_budget *most, const struct path *path)
{
	uint64_t hash = path->n > 0 ? path->hash[path->n - 1] : budgets->seed;
	uint64_t now_ms = budgets->now_ms;
	struct asked_name *known;
	uint32_t bytes;

	forget_names(meter, now_ms);
	known = find_name(meter, hash);
	if (known != NULL) {
		known->used_ms = now_ms;
		return POLICY_REASON_GRANTED;
	}
	if (meter->n_names >= most->names)
		return POLICY_REASON_NAMES;
	bytes = count_new_bytes(meter, path);
	if (charged_bytes(meter, now_ms) + bytes > most->labels)
		return POLICY_REASON_LABELS;
	if (!grow_names(budgets, meter))
		return POLICY_REASON_NAMES;
	meter->names[meter->n_names++] = (struct asked_name){ hash, now_ms, now_ms, bytes };
	for (unsigned i = 0; i < path->n; i++)
		see_label(meter, path->hash[i]);
	return POLICY_REASON_GRANTED;
}

/* The meter under @key, made of the share of @agent if there is none. NULL: there is no room. */
static struct meter *take_domain(struct budgets *budgets, uint64_t agent, uint64_t key)
{
	struct meter *meter = find_meter(&budgets->domains, key);
	struct share *share;

	if (meter != NULL)
		return meter;
	share = find_share(budgets, agent);
	if (share == NULL)
		return NULL;
	/* Held meanwhile, so that it does not go with the last of its meters. */
	share->n++;
	if (share->n > LIMIT_BUDGETS_EACH)
		free_idle(budgets, &budgets->domains, LIMIT_BUDGETS);
	if (share->n <= LIMIT_BUDGETS_EACH)
		meter = make_meter(budgets, &budgets->domains, key);
	if (meter == NULL)
		drop_share(budgets, share);
	else
		meter->share = share;
	return meter;
}

/*
 * What is charged of one question.
 */

static uint64_t hash_text(uint64_t seed, const char *text)
{
	return hash_bytes(seed, text, strlen(text) + 1);
}

/* Hash the registered domain of @name, of @domain_labels, into @ret_domain, and what is below it. */
static void hash_name(const struct budgets *budgets, const struct name *name,
		      unsigned domain_labels, uint64_t *ret_domain, struct path *ret_path)
{
	unsigned n = name->labels - domain_labels;
	uint64_t hash = budgets->seed;
	const uint8_t *label;
	size_t len;

	label = name_suffix(name, n, &len);
	*ret_domain = hash_bytes(budgets->seed, label, len);
	ret_path->n = n;
	for (unsigned i = 0; i < n; i++) {
		label = name_suffix(name, n - 1 - i, &len);
		hash = hash_bytes(hash, label, 1u + *label);
		ret_path->len[i] = *label;
		ret_path->hash[i] = hash;
	}
}

static enum policy_reason charge_rate(struct budgets *budgets, uint64_t key,
				      const struct policy_rate *most)
{
	struct meter *meter = find_meter(&budgets->rates, key);

	if (meter == NULL)
		meter = make_meter(budgets, &budgets->rates, key);
	if (meter == NULL)
		return POLICY_REASON_RATE;
	if (meter->rate.window_ms != most->window_ms)
		rate_init(&meter->rate, most->window_ms);
	if (!rate_count(&meter->rate, most->actions, budgets->now_ms))
		return POLICY_REASON_RATE;
	use_meter(budgets, &budgets->rates, meter);
	return POLICY_REASON_GRANTED;
}

static enum policy_reason charge_domain(struct budgets *budgets, uint64_t agent, uint64_t key,
					const struct policy_budget *most, const struct path *path)
{
	struct meter *meter = take_domain(budgets, agent, key);
	enum policy_reason reason = POLICY_REASON_NAMES;

	if (meter != NULL)
		reason = charge_name(budgets, meter, most, path);
	if (reason == POLICY_REASON_GRANTED)
		use_meter(budgets, &budgets->domains, meter);
	return reason;
}

static struct policy_place place_of(const struct policy_grant *grant, enum policy_reason reason)
{
	if (reason == POLICY_REASON_RATE)
		return grant->budget.rate_place;
	return reason == POLICY_REASON_NAMES ? grant->budget.names_place
					     : grant->budget.labels_place;
}

static void charge_all(struct budgets *budgets, const char *agent_name, const struct name *name,
		       struct policy_verdict *verdict)
{
	bool by_name = verdict->domain_labels != 0 && !policy_verdict_is_pinned(verdict);
	uint64_t agent = hash_text(budgets->seed, agent_name);
	struct policy_verdict denial = { .allowing = 0 };
	struct path path;
	uint64_t domain = 0;

	path.n = 0;
	if (by_name)
		hash_name(budgets, name, verdict->domain_labels, &domain, &path);
	for (unsigned i = 0; i < verdict->n_grants; i++) {
		const struct policy_grant *grant = verdict->grants[i];
		enum policy_reason reason = POLICY_REASON_GRANTED;
		uint64_t key = hash_text(agent, grant->label);

		if (!(verdict->allowing & UINT32_C(1) << i))
			continue;
		if (grant->budget.rate.actions != 0)
			reason = charge_rate(budgets, key, &grant->budget.rate);
		if (reason == POLICY_REASON_GRANTED && by_name)
			reason = charge_domain(budgets, agent, hash_fold(key ^ domain, domain | 1),
					       &grant->budget, &path);
		if (reason == POLICY_REASON_GRANTED)
			continue;
		verdict->allowing &= ~(UINT32_C(1) << i);
		denial.reason = reason;
		denial.place = place_of(grant, reason);
	}
	if (verdict->allowing != 0)
		return;
	verdict->code = POLICY_DENY;
	verdict->reason = denial.reason;
	verdict->place = denial.place;
	/* A name that is asked for too often is there; one too many is not, as far as one may know. */
	if (denial.reason != POLICY_REASON_RATE)
		verdict->exists = verdict->listed_below;
}

struct policy_verdict budgets_charge(struct budgets *budgets, const char *agent,
				     const struct policy_verdict *asked, const struct name *name,
				     uint64_t now_ms)
{
	struct policy_verdict verdict = *asked;

	assert(asked->code == POLICY_ALLOW && asked->metered);
	assert(asked->domain_labels <= name->labels);
	pthread_mutex_lock(&budgets->mutex);
	if (now_ms > budgets->now_ms)
		budgets->now_ms = now_ms;
	charge_all(budgets, agent, name, &verdict);
	pthread_mutex_unlock(&budgets->mutex);
	return verdict;
}

int budgets_new(struct budgets **ret_budgets)
{
	struct budgets *budgets = calloc(1, sizeof(*budgets));

	if (budgets == NULL)
		return -ENOMEM;
	pthread_mutex_init(&budgets->mutex, NULL);
	budgets->seed = hash_seed();
	list_init(&budgets->domains.ages);
	list_init(&budgets->rates.ages);
	budgets->domains.max = LIMIT_BUDGETS;
	budgets->rates.max = LIMIT_BUDGET_RATES;
	*ret_budgets = budgets;
	return 0;
}

void budgets_free(struct budgets *budgets)
{
	if (budgets == NULL)
		return;
	while (!list_empty(&budgets->domains.ages))
		free_meter(budgets, &budgets->domains,
			   list_owner(budgets->domains.ages.next, struct meter, age));
	while (!list_empty(&budgets->rates.ages))
		free_meter(budgets, &budgets->rates,
			   list_owner(budgets->rates.ages.next, struct meter, age));
	pthread_mutex_destroy(&budgets->mutex);
	free(budgets);
}
