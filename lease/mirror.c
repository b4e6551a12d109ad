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
#include "lease/ask.h"
#include "lease/commit.h"
#include "lease/ruleset.h"

enum {
	RETRY_MS = 500,  /* after a failure */
	PAUSE_MS = 100,  /* between restores, so that two writers do not chase each other */
	FULL_MS = 60000, /* between two reports that a set is full */
	MIRROR_SETS_MAX = 64,
};

struct mirror {
	struct guard *guard;
	struct loop *loop; /* the guard's home */
	lease_report_fn *report;
	void *report_arg;
	struct netlink *netlink;
	struct netlink_set sets[MIRROR_SETS_MAX]; /* our own first */
	size_t n_sets;
	bool own, rules;         /* there are sets of our own, and rules */
	struct ruleset *ruleset; /* NULL: none of our own */
	bool load;               /* it has to be loaded again */
	int events;
	bool touched; /* seen from elsewhere; the home does not know of it yet */
	struct loop_watch watch;

	struct list settled, urgent, background, batch;
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

int mirror_drop(struct element *element)
{
	if (element->under_way)
		return -EBUSY;
	asks_fail(&element->waits, -ETIME);
	list_drop(&element->place);
	return 0;
}

static void on_flush(struct loop_task *flush);

/* Begin a batch at the end of this turn. */
static void flush_soon(struct mirror *m)
{
	if (guard_is_home(m->guard))
		loop_defer(m->loop, &m->flush, on_flush);
	else
		guard_call_home(m->guard);
}

int mirror_want(struct mirror *m, struct element *element, uint64_t until_ms, struct lease_ask *ask)
{
	if (mirror_stands(m, element, until_ms))
		return 0;
	if (ask_wait(ask, &element->waits, until_ms) < 0)
		return -ENOMEM;
	if (!element->under_way)
		move(&m->urgent, element);
	flush_soon(m);
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
		asks_fail(&element->waits, -ETIME);
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

static void leave(struct mirror *m)
{
	guard_leave(m->guard);
	guard_tell(&m->guard->home);
}

static void on_flush(struct loop_task *flush)
{
	struct mirror *m = list_owner(flush, struct mirror, flush);

	guard_enter(m->guard, m->loop);
	start_commit(m);
	leave(m);
}

static void on_retry(struct loop_timer *retry)
{
	struct mirror *m = list_owner(retry, struct mirror, retry);

	guard_enter(m->guard, m->loop);
	start_commit(m);
	leave(m);
}

static void on_calm(struct loop_timer *pause)
{
	struct mirror *m = list_owner(pause, struct mirror, pause);

	guard_enter(m->guard, m->loop);
	m->calm_ms = m->guard->now_ms + PAUSE_MS;
	start_commit(m);
	leave(m);
}

/* Nothing of the batch stands. */
static void note_failure(struct mirror *m, int status, const char *text)
{
	m->n_failures++;
	while (!list_empty(&m->batch)) {
		struct element *element = list_owner(m->batch.next, struct element, place);

		element->under_way = false;
		element->acked_epoch = 0;
		asks_fail(&element->waits, status);
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
	uint64_t now_ms = m->guard->now_ms;
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
		asks_fail(&element->waits, write->status);
		move(&m->settled, element);
		return;
	}
	if (m->commit_epoch == m->epoch) {
		element->acked_epoch = m->epoch;
		element->acked_ms = element->sent_ms;
		asks_satisfy(&element->waits, element->acked_ms);
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

/* Write all of it again, but not at once if others have just touched it before. */
static void restore_soon(struct mirror *m)
{
	uint64_t now_ms = m->guard->now_ms;

	m->touched = false;
	if (now_ms >= m->calm_ms)
		m->calm_ms = now_ms + PAUSE_MS;
	else if (!is_running(&m->pause))
		loop_timer_start(m->loop, &m->pause, m->calm_ms - now_ms, on_calm);
	flush_soon(m);
}

void mirror_poll(struct mirror *m)
{
	size_t first = m->own ? 0 : MIRROR_OWN_SETS;
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
	m->touched = true;
	if (guard_is_home(m->guard))
		restore_soon(m);
	else
		guard_call_home(m->guard);
}

void mirror_work(struct mirror *m)
{
	if (m->touched)
		restore_soon(m);
	flush_soon(m);
}

static void on_events(struct loop_watch *watch, unsigned events)
{
	struct mirror *m = list_owner(watch, struct mirror, watch);

	(void)events;
	guard_enter(m->guard, m->loop);
	mirror_poll(m);
	guard_leave(m->guard);
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

	guard_enter(m->guard, m->loop);
	m->under_way = false;
	if (m->commit.loaded)
		note_load(m);
	mirror_poll(m);
	if (m->commit.status < 0)
		note_failure(m, m->commit.status, m->commit.err.text);
	else
		note_success(m);
	flush_soon(m);
	leave(m);
}

/*
 * Birth and death.
 */

static void own_mirror(struct mirror *const *m)
{
	mirror_free(*m);
}

static void init(struct mirror *m, struct guard *guard, lease_report_fn *report, void *arg)
{
	m->guard = guard;
	m->loop = guard->home.loop;
	m->report = report;
	m->report_arg = arg;
	m->events = -1;
	m->epoch = 1;
	list_init(&m->settled);
	list_init(&m->urgent);
	list_init(&m->background);
	list_init(&m->batch);
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

int mirror_new(struct guard *guard, const struct policy *policy, enum netlink_refresh refresh,
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
	init(m, guard, report, arg);
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

		asks_forget(&element->waits);
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
	while (!list_empty(&m->guard->home.told))
		ask_forget(list_owner(m->guard->home.told.next, struct lease_ask, waits));
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
