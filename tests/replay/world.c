/* SPDX-License-Identifier: MIT */
#include "tests/replay/world.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/replay/scripted.h"

struct world *world;

static struct policy *load_policy(const char *text, size_t len, int64_t now_s)
{
	struct policy_faults faults = { .n = 0 };
	struct policy *policy = NULL;
	struct err err = { .text = "" };
	int r = policy_load_text("script", text, len, now_s, &policy, &faults, &err);

	for (size_t i = 0; i < faults.n && r < 0; i++)
		fprintf(stderr, "policy:%u: %s\n", faults.faults[i].line, faults.faults[i].text);
	policy_faults_done(&faults);
	if (r < 0)
		exit(99);
	return policy;
}

static void report(void *arg, const char *text)
{
	struct world *w = arg;

	w->n_reports++;
	snprintf(w->said, sizeof(w->said), "%s", text);
}

struct world *world_new(const char *text, size_t len)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err;
	int r;

	if (w == NULL || loop_new(&w->loop) < 0)
		exit(99);
	list_init(&w->asks);
	list_init(&w->resolver.queries);
	w->resolver.loop = w->loop;
	w->resolver.generation = 1;
	w->resolver.policy = load_policy(text, len, loop_wall_s(w->loop));
	r = cache_new(policy_resolver(w->resolver.policy)->cache_entries, &w->resolver.cache);
	if (r == 0)
		r = budgets_new(&w->resolver.budgets);
	if (r == 0)
		r = upstreams_new(w->loop, w->resolver.policy, w->resolver.cache, report, w,
				  &w->resolver.upstreams, &err);
	if (r < 0)
		exit(99);
	upstreams_watch(w->resolver.upstreams);
	world = w;
	return w;
}

void world_free(struct world *w)
{
	query_end_all(&w->resolver);
	assert(w->resolver.n_queries == 0 && list_empty(&w->asks));
	upstreams_free(w->resolver.upstreams);
	cache_free(w->resolver.cache);
	budgets_free(w->resolver.budgets);
	policy_unref(w->resolver.policy);
	loop_free(w->loop);
	free(w);
	world = NULL;
}

/*
 * resolver/listen.h: clients.
 */

void client_answer(struct client *client, const uint8_t *bytes, size_t len)
{
	struct world_client *to = (struct world_client *)(void *)client->connection;

	/* A client over UDP has its number in place of a port. */
	if (to == NULL)
		to = &world->clients[client->peer.in.sin_port];
	assert(len <= sizeof(to->bytes));
	memcpy(to->bytes, bytes, len);
	to->len = len;
	to->n_answers++;
}

const char *client_interface(const struct client *client, char ret_name[IF_NAMESIZE])
{
	(void)client, (void)ret_name;
	return NULL;
}

void client_hold(struct client *client)
{
	struct world_client *from = (struct world_client *)(void *)client->connection;

	list_init(&client->held);
	if (from != NULL)
		from->waiting = client;
}

void client_release(struct client *client)
{
	struct world_client *from = (struct world_client *)(void *)client->connection;

	if (from != NULL)
		from->waiting = NULL;
	client->connection = NULL;
}

/*
 * lease/lease.h.
 */

int lease_grant(struct lease_table *table, struct lease_ask *ask, struct policy *policy,
		const struct lease_wanted *wanted)
{
	(void)table, (void)policy;
	assert(wanted->n_addresses > 0);
	world->n_leased += wanted->n_addresses;
	if (world->lease_status == -EINPROGRESS) {
		list_init(&ask->waits);
		list_add(&world->asks, &ask->waits);
		ask->n_waits = 1;
	}
	return world->lease_status;
}

void lease_ask_drop(struct lease_ask *ask)
{
	if (ask->n_waits > 0)
		list_drop(&ask->waits);
	ask->n_waits = 0;
}

void world_settle_leases(struct world *w, int status)
{
	struct list *node;

	while ((node = list_take(&w->asks)) != NULL) {
		struct lease_ask *ask = list_owner(node, struct lease_ask, waits);

		ask->n_waits = 0;
		ask->done(ask, status);
	}
}

uint32_t lease_ttl(const struct policy_verdict *verdict, uint32_t ttl_s, int64_t now_s)
{
	for (unsigned i = 0; i < verdict->n_grants; i++) {
		int64_t left_s = policy_grant_until(verdict->grants[i], now_s) - now_s;

		if (verdict->allowing & 1u << i && left_s < ttl_s)
			ttl_s = left_s > 0 ? (uint32_t)left_s : 0;
	}
	return ttl_s;
}

/*
 * audit/audit.h.
 */

int audit_ready(struct audit *audit)
{
	(void)audit;
	return world->audit_status;
}

int audit_write(struct audit *audit, const struct audit_record *record, uint64_t *ret_id)
{
	(void)audit;
	if (world->audit_status < 0)
		return world->audit_status;
	*ret_id = ++world->n_records;
	snprintf(world->record, sizeof(world->record), "%s %s", record->verdict, record->reason);
	return 0;
}
