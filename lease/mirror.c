/* SPDX-License-Identifier: MIT */
/*
 * Where an element is, and what moves it:
 *
 *   settled     it stands, or need not           nothing
 *   urgent      an ask waits for it              the end of the turn
 *   background  it has to be written again       the same, unless others or a
 *                                                failure bid us to be slow
 *   batch       it is being written              the errand's end
 *
 * At the errand's end each goes where its own state says (place_element()):
 * an ask may have come, or the epoch changed, while it was under way.
 */
#include "lease/mirror.h"

#include <assert.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "lease/commit.h"
#include "lease/ruleset.h"

enum {
	RETRY_MS = 500,  /* after a failure */
	PAUSE_MS = 100,  /* between restores, so that two writers do not chase each other */
	FULL_MS = 60000, /* between two reports that a set is full */
	MIRROR_SETS_MAX = 64,
};

/* An ask that waits for an element. */
struct wait {
	struct list of_ask, of_element;
	struct lease_ask *ask;
	uint64_t until_ms; /* to which end the element must stand */
};

struct mirror {
	struct loop *loop;
	lease_report_fn *report;
	void *report_arg;
	struct netlink *netlink;
	struct netlink_set sets[MIRROR_SETS_MAX]; /* our own first */
	size_t n_sets;
	bool own, rules;         /* there are sets of our own, and rules */
	struct ruleset *ruleset; /* NULL: none of our own */
	bool load;               /* it has to be loaded again */
	int events;
	struct loop_watch watch;

	struct list settled, urgent, background, batch;
	struct list told; /* asks that have ended, until mirror_tell() */
	uint64_t epoch;
	uint64_t commit_epoch; /* in which the batch began */
	bool under_way;
	struct loop_errand_thread *thread; /* from the first batch on */
	struct loop_task flush;
	struct loop_timer pause, retry;

	int down;         /* 0, or why nothing can be written */
	bool mending;     /* the sets lack something, until background is empty ... */
	bool was_down;    /* ... because they could not be written; else others did it */
	uint64_t calm_ms; /* not before then is the next restore */
	uint64_t full_ms; /* nor the next report that a set is full */
	uint64_t n_commits, n_failures, n_restores;
	struct commit commit;
};

static bool is_running(const struct loop_timer *timer)
{
	return heap_holds(&timer->node);
}

/*
 * Asks.
 */

static void drop_wait(struct wait *wait)
{
	list_drop(&wait->of_ask);
	list_drop(&wait->of_element);
	wait->ask->n_waits--;
	free(wait);
}

static void forget_waits(struct lease_ask *ask)
{
	while (ask->n_waits > 0)
		drop_wait(list_owner(ask->waits.next, struct wait, of_ask));
}

/*
 * An ask is in one of three forms: not under way (all zero), waiting (waits is the ring of its
 * waits), or ended but not yet told (waits is a node of mirror->told).
 */
static void end_ask(struct mirror *m, struct lease_ask *ask, int status)
{
	forget_waits(ask);
	ask->status = status;
	list_add(&m->told, &ask->waits);
}

void lease_ask_drop(struct lease_ask *ask)
{
	if (ask->waits.next == NULL)
		return;
	forget_waits(ask);
	list_drop(&ask->waits);
	ask->waits = (struct list){ .next = NULL };
}

void mirror_tell(struct mirror *m)
{
	struct list *node;

	while ((node = list_take(&m->told)) != NULL) {
		struct lease_ask *ask = list_owner(node, struct lease_ask, waits);

		ask->waits = (struct list){ .next = NULL };
		ask->done(ask, ask->status);
	}
}

/* End the asks that wait for @element: all of them, with @status. */
static void fail_waits(struct mirror *m, struct element *element, int status)
{
	while (!list_empty(&element->waits)) {
		struct list *first = element->waits.next;

		end_ask(m, list_owner(first, struct wait, of_element)->ask, status);
	}
}

static void satisfy_waits(struct mirror *m, struct element *element)
{
	struct list *next;

	for (struct list *at = element->waits.next; at != &element->waits; at = next) {
		struct wait *wait = list_owner(at, struct wait, of_element);
		struct lease_ask *ask = wait->ask;

		next = at->next;
		if (wait->until_ms > element->acked_ms)
			continue;
		drop_wait(wait);
		if (ask->n_waits == 0)
			end_ask(m, ask, 0);
	}
}

/*
 * Elements.
 */

static void move(struct list *to, struct element *element)
{
	list_drop(&element->place);
	list_add(to, &element->place);
}

bool mirror_stands(const struct mirror *m, const struct element *element, uint64_t until_ms)
{
	return element->acked_epoch == m->epoch && element->acked_ms >= until_ms;
}

/* Put @element, which is not under way, where its state says. */
static void place_element(struct mirror *m, struct element *element)
{
	if (!list_empty(&element->waits))
		move(&m->urgent, element);
	else if (!mirror_stands(m, element, element->until_ms))
		move(&m->background, element);
	else
		move(&m->settled, element);
}

void mirror_add(struct mirror *m, struct element *element)
{
	list_init(&element->waits);
	list_init(&element->place);
	list_add(&m->settled, &element->place);
}

int mirror_drop(struct mirror *m, struct element *element)
{
	if (element->under_way)
		return -EBUSY;
	fail_waits(m, element, -ETIME);
	list_drop(&element->place);
	return 0;
}

static void on_flush(struct loop_task *flush);

int mirror_want(struct mirror *m, struct element *element, uint64_t until_ms, struct lease_ask *ask)
{
	struct wait *wait;

	if (mirror_stands(m, element, until_ms))
		return 0;
	wait = malloc(sizeof(*wait));
	if (wait == NULL)
		return -ENOMEM;
	if (ask->waits.next == NULL)
		list_init(&ask->waits);
	wait->ask = ask;
	wait->until_ms = until_ms;
	ask->n_waits++;
	list_init(&wait->of_ask);
	list_init(&wait->of_element);
	list_add(&ask->waits, &wait->of_ask);
	list_add(&element->waits, &wait->of_element);
	if (!element->under_way)
		move(&m->urgent, element);
	loop_defer(m->loop, &m->flush, on_flush);
	return -EINPROGRESS;
}

/* Nothing stands from now on, until it is written again. */
static void begin_epoch(struct mirror *m)
{
	m->epoch++;
	list_move_all(&m->background, &m->settled);
}

/*
 * Batches.
 */

/* Put @element into the batch; one whose time is up is not worth it. */
static void add_to_batch(struct mirror *m, struct element *element, uint64_t now_ms)
{
	struct commit *commit = &m->commit;

	if (element->until_ms <= now_ms) {
		fail_waits(m, element, -ETIME);
		move(&m->settled, element);
		return;
	}
	commit->writes[commit->n_writes++] = (struct netlink_write){
		.set = &m->sets[element->key.set],
		.agent = element->key.agent,
		.address = element->key.address,
		.protocol = element->key.protocol,
		.port = element->key.port,
		.name_len = element->name_len,
		.name_wire = element->name_wire,
		.timeout_ms = element->until_ms - now_ms,
		.owner = element,
	};
	element->sent_ms = element->until_ms;
	element->under_way = true;
	move(&m->batch, element);
}

static void take_from(struct mirror *m, struct list *queue, uint64_t now_ms)
{
	while (!list_empty(queue) && m->commit.n_writes < LIMIT_BATCH_ELEMENTS)
		add_to_batch(m, list_owner(queue->next, struct element, place), now_ms);
}

/* Whether what no ask waits for may be written now. */
static bool may_restore(const struct mirror *m)
{
	return !is_running(&m->pause) && !is_running(&m->retry);
}

static int ensure_thread(struct mirror *m)
{
	if (m->thread != NULL)
		return 0;
	return loop_errand_thread_new(m->loop, "bailiwick-nft", &m->thread);
}

static void on_committed(struct loop_errand *errand);
static void note_failure(struct mirror *m, int status, const char *text);

/* Begin a batch, if there is something to write and none is under way. */
static void start_commit(struct mirror *m)
{
	struct commit *commit = &m->commit;
	uint64_t now_ms = loop_exact_us(m->loop) / 1000;
	int r;

	if (m->under_way || (list_empty(&m->urgent) && !may_restore(m)))
		return;
	commit->n_writes = 0;
	take_from(m, &m->urgent, now_ms);
	if (may_restore(m))
		take_from(m, &m->background, now_ms);
	if (commit->n_writes == 0 && !m->load)
		return;

	commit->netlink = m->netlink;
	commit->ruleset = m->ruleset;
	commit->load = m->load;
	commit->loaded = false; /* also if the thread is ended before it gets to this one */
	commit->errand = (struct loop_errand){ .run = commit_run, .done = on_committed };
	m->commit_epoch = m->epoch;
	r = ensure_thread(m);
	if (r < 0) {
		note_failure(m, r, "cannot start the thread that writes to nftables");
		return;
	}
	m->under_way = true;
	loop_errand_start(m->thread, &commit->errand);
}

static void on_flush(struct loop_task *flush)
{
	struct mirror *m = list_owner(flush, struct mirror, flush);

	start_commit(m);
	mirror_tell(m);
}

static void on_retry(struct loop_timer *retry)
{
	struct mirror *m = list_owner(retry, struct mirror, retry);

	start_commit(m);
	mirror_tell(m);
}

static void on_calm(struct loop_timer *pause)
{
	struct mirror *m = list_owner(pause, struct mirror, pause);

	m->calm_ms = loop_now_ms(m->loop) + PAUSE_MS;
	start_commit(m);
	mirror_tell(m);
}

/* Nothing of the batch stands. */
static void note_failure(struct mirror *m, int status, const char *text)
{
	m->n_failures++;
	while (!list_empty(&m->batch)) {
		struct element *element = list_owner(m->batch.next, struct element, place);

		element->under_way = false;
		element->acked_epoch = 0;
		fail_waits(m, element, status);
		place_element(m, element);
	}
	loop_timer_start(m->loop, &m->retry, RETRY_MS, on_retry);
	if (m->down == 0)
		m->report(m->report_arg, status, text);
	m->down = status;
}

/* A full set is for a person to mend: the answers that it keeps back are SERVFAIL until then. */
static void report_full(struct mirror *m, const struct netlink_set *set)
{
	uint64_t now_ms = loop_now_ms(m->loop);
	char text[256];

	if (now_ms < m->full_ms)
		return;
	m->full_ms = now_ms + FULL_MS;
	snprintf(text, sizeof(text),
		 "the set %.64s of table %.64s is full: what needs a new lease is not answered",
		 set->name, set->table);
	m->report(m->report_arg, -ENFILE, text);
}

static void settle_write(struct mirror *m, const struct netlink_write *write)
{
	struct element *element = write->owner;

	element->under_way = false;
	if (write->status < 0) {
		/* Its set is full. The next ask tries again, or the next restore. */
		m->n_failures++;
		report_full(m, write->set);
		element->acked_epoch = 0;
		fail_waits(m, element, write->status);
		move(&m->settled, element);
		return;
	}
	if (m->commit_epoch == m->epoch) {
		element->acked_epoch = m->epoch;
		element->acked_ms = element->sent_ms;
		satisfy_waits(m, element);
	}
	place_element(m, element);
}

/* What happened while nothing could be written is not known: everything is written again. */
static void note_recovery(struct mirror *m)
{
	bool current = m->commit_epoch == m->epoch;

	begin_epoch(m);
	if (current)
		m->commit_epoch = m->epoch;
	m->down = 0;
	m->mending = m->was_down = true;
}

static void note_success(struct mirror *m)
{
	m->n_commits++;
	loop_timer_stop(&m->retry);
	if (m->down < 0)
		note_recovery(m);
	for (unsigned i = 0; i < m->commit.n_writes; i++)
		settle_write(m, &m->commit.writes[i]);
	if (!m->mending || m->load || !list_empty(&m->background))
		return;
	m->report(m->report_arg, 0,
		  m->was_down ? "the nftables sets can be written again, and hold all leases"
			      : "another program changed the nftables sets or rules; restored");
	m->mending = m->was_down = false;
	m->n_restores++;
}

/*
 * Others.
 */

void mirror_poll(struct mirror *m)
{
	size_t first = m->own ? 0 : MIRROR_OWN_SETS;
	uint64_t now_ms = loop_now_ms(m->loop);
	unsigned touched = 0;

	if (m->events >= 0)
		touched = netlink_events_read(m->events, m->sets + first, m->n_sets - first,
					      m->rules);
	if (touched == 0)
		return;
	begin_epoch(m);
	m->mending = true;
	if (touched & NETLINK_TOUCHED_RULESET && m->ruleset != NULL)
		m->load = true;
	if (now_ms >= m->calm_ms)
		m->calm_ms = now_ms + PAUSE_MS;
	else if (!is_running(&m->pause))
		loop_timer_start(m->loop, &m->pause, m->calm_ms - now_ms, on_calm);
	loop_defer(m->loop, &m->flush, on_flush);
}

static void on_events(struct loop_watch *watch, unsigned events)
{
	struct mirror *m = list_owner(watch, struct mirror, watch);

	(void)events;
	mirror_poll(m);
}

static void stop_watching(struct mirror *m)
{
	loop_watch_stop(&m->watch);
	if (m->events >= 0)
		close(m->events);
	m->events = -1;
}

/* Watch @events, which are ours from here on, instead of those before. */
static int watch_events(struct mirror *m, int events)
{
	int r;

	stop_watching(m);
	m->events = events;
	r = loop_watch_start(m->loop, &m->watch, events, LOOP_READ, on_events);
	if (r < 0)
		stop_watching(m);
	return r;
}

/* The ruleset was loaded: its sets were empty then, and only what came after matters. */
static void note_load(struct mirror *m)
{
	int r = watch_events(m, m->commit.events);

	begin_epoch(m);
	m->commit_epoch = m->epoch;
	m->mending = true;
	m->load = r < 0;
	if (r < 0) /* what cannot be watched is loaded again, but not at once */
		m->commit.status = err_set(&m->commit.err, r, "cannot watch the ruleset");
}

static void on_committed(struct loop_errand *errand)
{
	struct mirror *m = list_owner(errand, struct mirror, commit.errand);

	m->under_way = false;
	if (m->commit.loaded)
		note_load(m);
	mirror_poll(m);
	if (m->commit.status < 0)
		note_failure(m, m->commit.status, m->commit.err.text);
	else
		note_success(m);
	loop_defer(m->loop, &m->flush, on_flush);
	mirror_tell(m);
}

/*
 * Birth and death.
 */

static void own_mirror(struct mirror *const *m)
{
	mirror_free(*m);
}

static void init(struct mirror *m, struct loop *loop, lease_report_fn *report, void *arg)
{
	m->loop = loop;
	m->report = report;
	m->report_arg = arg;
	m->events = -1;
	m->epoch = 1;
	list_init(&m->settled);
	list_init(&m->urgent);
	list_init(&m->background);
	list_init(&m->batch);
	list_init(&m->told);
	list_init(&m->flush.node);
}

/* Name the sets of our own; they may not be written, but keep their numbers. */
static void name_own_sets(struct mirror *m, const char *table)
{
	static const struct netlink_set sets[MIRROR_OWN_SETS] = {
		[MIRROR_LEASE4] = { .form = NETLINK_FORM_LEASE, .version = 4, .name = "lease4" },
		[MIRROR_LEASE6] = { .form = NETLINK_FORM_LEASE, .version = 6, .name = "lease6" },
		[MIRROR_ETHER4] = { .form = NETLINK_FORM_ETHER, .version = 4, .name = "ether4" },
		[MIRROR_ETHER6] = { .form = NETLINK_FORM_ETHER, .version = 6, .name = "ether6" },
	};

	for (unsigned i = 0; i < MIRROR_OWN_SETS; i++) {
		m->sets[i] = sets[i];
		m->sets[i].own = true;
		m->sets[i].family = NFPROTO_INET;
		m->sets[i].table = table;
	}
	m->sets[MIRROR_ETHER4].otherwise = &m->sets[MIRROR_LEASE4];
	m->sets[MIRROR_ETHER6].otherwise = &m->sets[MIRROR_LEASE6];
	m->n_sets = MIRROR_OWN_SETS;
}

static int find_pushed_sets(struct mirror *m, const struct policy_nftables *nftables,
			    struct err *err)
{
	for (unsigned i = 0; i < nftables->n_pushes; i++) {
		int r = netlink_set_find(m->netlink, &nftables->pushes[i], &m->sets[m->n_sets],
					 err);

		if (r < 0)
			return r;
		m->n_sets++;
	}
	return 0;
}

/* Load the ruleset, if one is ours; learn of changes from there on. */
static int load_first(struct mirror *m, const struct policy *policy, struct err *err)
{
	int events = -1, r;

	if (m->own) {
		r = ruleset_new(policy, &m->ruleset, err);
		if (r == 0)
			r = netlink_load(m->netlink, m->ruleset, &events, err);
		if (r < 0)
			return r;
	} else {
		events = netlink_events_open(m->netlink);
		if (events < 0)
			return err_set(err, events, "cannot watch the ruleset: %s",
				       strerror(-events));
	}
	r = watch_events(m, events);
	return r < 0 ? err_set(err, r, "cannot watch the ruleset: %s", strerror(-r)) : 0;
}

int mirror_new(struct loop *loop, const struct policy *policy, enum netlink_refresh refresh,
	       lease_report_fn *report, void *arg, struct mirror **ret_mirror, struct err *err)
{
	const struct policy_nftables *nftables = policy_nftables(policy);
	OWN(own_mirror) struct mirror *m = NULL;
	int r;

	if (nftables->manage == POLICY_MANAGE_NO && nftables->n_pushes == 0) {
		*ret_mirror = NULL;
		return 0;
	}
	if (nftables->n_pushes > MIRROR_SETS_MAX - MIRROR_OWN_SETS)
		return err_set(err, -E2BIG, "more than %d sets to push to",
			       MIRROR_SETS_MAX - MIRROR_OWN_SETS);
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	init(m, loop, report, arg);
	m->own = nftables->manage != POLICY_MANAGE_NO;
	m->rules = nftables->manage == POLICY_MANAGE_CHAINS;
	name_own_sets(m, nftables->table);
	r = netlink_open(refresh, &m->netlink, err);
	if (r == 0)
		r = find_pushed_sets(m, nftables, err);
	if (r == 0)
		r = load_first(m, policy, err);
	if (r == 0)
		*ret_mirror = steal_ptr(m);
	return r;
}

/* Drop the asks that wait for an element of @queue, and let go of the elements. */
static void abandon(struct list *queue)
{
	struct list *node;

	while ((node = list_take(queue)) != NULL) {
		struct element *element = list_owner(node, struct element, place);

		while (!list_empty(&element->waits)) {
			struct list *first = element->waits.next;

			lease_ask_drop(list_owner(first, struct wait, of_element)->ask);
		}
	}
}

void mirror_free(struct mirror *m)
{
	if (m == NULL)
		return;
	loop_errand_thread_free(m->thread);
	if (m->under_way && m->commit.loaded)
		close(m->commit.events);
	abandon(&m->batch);
	abandon(&m->urgent);
	abandon(&m->background);
	abandon(&m->settled);
	while (!list_empty(&m->told))
		lease_ask_drop(list_owner(m->told.next, struct lease_ask, waits));
	loop_defer_stop(&m->flush);
	loop_timer_stop(&m->pause);
	loop_timer_stop(&m->retry);
	stop_watching(m);
	netlink_close(m->netlink);
	ruleset_free(m->ruleset);
	free(m);
}

bool mirror_writes(const struct mirror *m, unsigned set)
{
	return m->own || set >= MIRROR_OWN_SETS;
}

const struct netlink_set *mirror_pushed(const struct mirror *m, size_t *ret_n)
{
	*ret_n = m->n_sets - MIRROR_OWN_SETS;
	return m->sets + MIRROR_OWN_SETS;
}

void mirror_status(const struct mirror *m, struct lease_status *status)
{
	status->up = m->down == 0 && !m->mending && !m->load;
	status->n_commits = m->n_commits;
	status->n_failures = m->n_failures;
	status->n_restores = m->n_restores;
}
