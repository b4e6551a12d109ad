/* SPDX-License-Identifier: MIT */
/* One lease table, asked by several threads at once, while others tamper with its sets. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/loop.h"
#include "lease/lease.h"
#include "tests/kernel/tap.h"
#include "tests/unit/fake_policy.h"

enum {
	N_THREADS = 3,
	N_ASKS = 300,      /* of each thread */
	FLUSH_EVERY = 100, /* leases of the first thread */
	PATIENCE_MS = 20000,
};

static const struct policy_port https[] = { { 443, 443, IPPROTO_TCP } };
static const struct policy_grant plain = {
	.label = "plain", .ports = https, .n_ports = 1, .expires_s = INT64_MAX
};
static const struct policy_grant *const grants[] = { &plain };

/* A thread that asks for one lease after the other, the same as the others do. */
struct asker {
	struct loop *loop;
	struct lease_desk *desk;
	struct lease_table *table;
	struct policy *policy;
	struct loop_bell begin;
	struct loop_task next;
	struct loop_timer patience;
	struct lease_ask ask;
	pthread_t thread;
	unsigned n_asked, n_failed, n_elsewhere;
	bool first;
};

static void ask_next(struct loop_task *task);

static void on_done(struct lease_ask *ask, int status)
{
	struct asker *a = list_owner(ask, struct asker, ask);

	a->n_failed += status != 0;
	a->n_elsewhere += !pthread_equal(a->thread, pthread_self());
	loop_defer(a->loop, &a->next, ask_next);
}

static int grant(struct asker *a, unsigned i)
{
	const struct policy_verdict verdict = {
		.code = POLICY_ALLOW, .grants = grants, .n_grants = 1, .allowing = 1
	};
	const struct address to = { 4, { 192, 0, 2, (uint8_t)(i % 250) } };
	struct name name;
	struct lease_wanted wanted = { .agent = { 4, { 10, 0, (uint8_t)(i / 250), 2 } },
				       .name = &name,
				       .addresses = &to,
				       .verdicts = &verdict,
				       .n_addresses = 1,
				       .ttl_s = 60 };

	if (name_parse("www.example.com", &name) < 0)
		abort();
	lease_table_poll(a->table, a->desk);
	a->ask = (struct lease_ask){ .desk = a->desk, .done = on_done };
	return lease_grant(a->table, &a->ask, a->policy, &wanted);
}

static void ask_next(struct loop_task *task)
{
	struct asker *a = list_owner(task, struct asker, next);

	while (a->n_asked < N_ASKS) {
		if (a->first && a->n_asked % FLUSH_EVERY == FLUSH_EVERY - 1)
			tap_sh("nft flush set inet bailiwick lease4");

		int r = grant(a, a->n_asked++);

		if (r == -EINPROGRESS)
			return;
		a->n_failed += r != 0;
	}
	loop_stop(a->loop);
}

static void on_begin(struct loop_bell *bell)
{
	struct asker *a = list_owner(bell, struct asker, begin);

	loop_defer(a->loop, &a->next, ask_next);
}

static void on_patience_over(struct loop_timer *timer)
{
	loop_stop(list_owner(timer, struct asker, patience)->loop);
}

static void *run(void *arg)
{
	struct asker *a = arg;

	loop_timer_start(a->loop, &a->patience, PATIENCE_MS, on_patience_over);
	loop_run(a->loop);
	return NULL;
}

static void open_asker(struct asker *a, struct lease_table *table, struct policy *policy)
{
	*a = (struct asker){ .table = table, .policy = policy };
	list_init(&a->next.node);
	if (loop_new(&a->loop) < 0 || lease_desk_open(table, a->loop, &a->desk) < 0 ||
	    loop_bell_start(a->loop, &a->begin, on_begin) < 0 ||
	    pthread_create(&a->thread, NULL, run, a) != 0)
		abort();
}

static void close_asker(struct asker *a)
{
	lease_ask_drop(&a->ask);
	loop_defer_stop(&a->next);
	loop_timer_stop(&a->patience);
	loop_bell_stop(&a->begin);
	lease_desk_close(a->desk);
	loop_free(a->loop);
}

struct home {
	struct loop *loop;
	struct loop_bell finished;
	struct asker askers[N_THREADS];
};

static void *join_all(void *arg)
{
	struct home *home = arg;

	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(home->askers[i].thread, NULL);
	loop_bell_ring(&home->finished);
	return NULL;
}

static void on_finished(struct loop_bell *bell)
{
	loop_stop(list_owner(bell, struct home, finished)->loop);
}

static void on_report(void *arg, int status, const char *text)
{
	(void)arg, (void)status, (void)text;
}

/* Let the askers ask, and serve the table's own loop until they are done. */
static void serve(struct home *home, struct lease_table *table, struct policy *policy)
{
	pthread_t joiner;

	for (unsigned i = 0; i < N_THREADS; i++)
		open_asker(&home->askers[i], table, policy);
	home->askers[0].first = true;
	for (unsigned i = 0; i < N_THREADS; i++)
		loop_bell_ring(&home->askers[i].begin);
	if (pthread_create(&joiner, NULL, join_all, home) != 0)
		abort();
	loop_run(home->loop);
	pthread_join(joiner, NULL);
}

static void threads_share_a_table(void)
{
	struct policy policy = { .nftables = { .family = "inet",
					       .table = "bailiwick",
					       .manage = POLICY_MANAGE_SETS,
					       .grace_s = 20,
					       .size = 1000 } };
	struct lease_table *table;
	struct home home;
	struct err err;

	if (loop_new(&home.loop) < 0 ||
	    loop_bell_start(home.loop, &home.finished, on_finished) < 0 ||
	    lease_table_new(home.loop, &policy, on_report, NULL, &table, &err) < 0)
		abort();
	serve(&home, table, &policy);
	for (unsigned i = 0; i < N_THREADS; i++) {
		struct asker *a = &home.askers[i];

		tap_ok(a->n_asked == N_ASKS && a->n_failed == 0,
		       "thread %u: of %u leases %u failed", i, a->n_asked, a->n_failed);
		tap_ok(a->n_elsewhere == 0, "and it heard of each on its own thread");
		close_asker(a);
	}
	tap_ok(lease_table_status(table).n_leases == N_ASKS, "what they share is there once");
	lease_table_free(table);
	tap_ok(policy.refs == 0, "no reference to the policy is left");
	loop_bell_stop(&home.finished);
	loop_free(home.loop);
}

int main(void)
{
	tap_unshare();
	threads_share_a_table();
	return tap_end();
}
