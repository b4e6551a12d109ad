/* SPDX-License-Identifier: MIT */
/*
 * The life of a fetch: one question to the upstream servers
 *
 *   FIRST   a server was asked                            take_message, ask_next
 *   SECOND  it was silent, or failed: the next            take_message, ask_next
 *   THIRD   and so on                                     take_message, fail_silent
 *   STREAM  its answer was cut, or others forged some:    take_message, ask_next
 *           asked over TCP
 *
 * Earlier tries are listened to until the end: a slow server's answer to the
 * first is as good as to the last, and its failure ends nothing. A datagram
 * that is not the answer is as if it had not come (RFC 5452, 9.1).
 */
#include "resolver/fetch.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/life.h"
#include "base/limits.h"
#include "resolver/message.h"
#include "resolver/try.h"
#include "resolver/vet.h"

enum state { DEAD = LIFE_DEAD, FIRST, SECOND, THIRD, STREAM, N_STATES };
enum event { HEARD = LIFE_FIRST_OWN_EVENT, N_EVENTS };

enum {
	TRIES_MIN = 3, /* however few the servers are; of each, three at most (RFC 9520, 3.1) */
	TRIES_MAX = SERVERS_MAX,
	STREAMS_MAX = 2, /* tries over TCP in addition to those */
};

struct fetch {
	struct life life;
	struct list node; /* in its bucket */
	struct upstreams *upstreams;
	struct name name;
	uint32_t type; /* with how it was asked: enum ASK_... */
	uint64_t hash;
	struct list waits; /* of struct upstream_wait */
	struct try tries[TRIES_MAX + STREAMS_MAX];
	unsigned n_tries, n_streams; /* n_streams of n_tries are in addition */
	struct try *heard; /* the one that was heard of last: which @message answers, or failed */
	struct message message;
};
static_assert(offsetof(struct fetch, life) == 0, "fetch_of() casts");

static life_step_fn take_message, note_failure, ask_next, fail_silent, give_up;

#define ALWAYS [LIFE_ERROR] = note_failure, [LIFE_CANCEL] = give_up, [HEARD] = take_message

static const struct life_state states[] = {
	[DEAD] = { .name = "DEAD" },
	[FIRST] = { "FIRST", 600, false, { ALWAYS, [LIFE_TIMEOUT] = ask_next } },
	[SECOND] = { "SECOND", 1200, false, { ALWAYS, [LIFE_TIMEOUT] = ask_next } },
	[THIRD] = { "THIRD", 2200, false, { ALWAYS, [LIFE_TIMEOUT] = fail_silent } },
	[STREAM] = { "STREAM", 2000, false, { ALWAYS, [LIFE_TIMEOUT] = ask_next } },
};
static_assert(sizeof(states) / sizeof(states[0]) == N_STATES, "a state has no row");

static const char *const event_names[] = {
	[LIFE_TIMEOUT] = "TIMEOUT",
	[LIFE_ERROR] = "ERROR",
	[LIFE_CANCEL] = "CANCEL",
	[HEARD] = "HEARD",
};
static_assert(sizeof(event_names) / sizeof(event_names[0]) == N_EVENTS, "an event has no name");

/* What a step may ask of the loop; each is answered by HEARD or LIFE_ERROR. */
static int send_query(struct fetch *fetch, struct server *server, bool stream);

static struct fetch *fetch_of(struct life *life)
{
	return (struct fetch *)life;
}

/* Tell everybody who waits, and let the cache know. */
static unsigned settle(struct fetch *fetch, struct reply *reply, int status)
{
	struct list *node;

	list_drop(&fetch->node); /* who asks from here on asks anew */
	while ((node = list_take(&fetch->waits)) != NULL) {
		struct upstream_wait *wait = list_owner(node, struct upstream_wait, node);

		wait->done(wait, reply, status);
	}
	if (reply != NULL)
		cache_put(fetch->upstreams->cache, &fetch->name, fetch->type, reply,
			  loop_now_ms(fetch->upstreams->servers.loop));
	return DEAD;
}

/*
 * A failure is kept, so that a storm of retries stays here (RFC 9520, 3.2); but not one for want of
 * something on our side.
 */
static unsigned fail(struct fetch *fetch, int status)
{
	struct upstreams *up = fetch->upstreams;
	uint64_t now_ms = loop_now_ms(up->servers.loop);
	struct reply *failure = NULL;

	if (status != -EBUSY && status != -ENOMEM)
		failure = reply_new(WIRE_SERVFAIL, failures_add(&up->failures, fetch->hash, now_ms),
				    NULL, 0, NULL, 0);
	settle(fetch, NULL, status);
	if (failure != NULL)
		cache_put(up->cache, &fetch->name, fetch->type, failure, now_ms);
	return DEAD;
}

/* How little there is to be had of asking @server now, the least being best. */
static unsigned reluctance(const struct fetch *fetch, const struct server *server)
{
	unsigned n_asked = 0, n_failed = 0;

	for (unsigned i = 0; i < fetch->n_tries; i++)
		if (fetch->tries[i].server == server) {
			n_asked++;
			n_failed += fetch->tries[i].failed;
		}
	if (n_asked >= TRIES_MIN || !server->listed || server->ourselves)
		return UINT_MAX;
	return (n_asked + n_failed) * 2 * SERVERS_MAX + server->down * SERVERS_MAX + server->place;
}

/* The server to ask next, other than those whose places are in @unreachable; NULL: none is left. */
static struct server *choose_server(const struct fetch *fetch, unsigned unreachable)
{
	const struct list *all = &fetch->upstreams->servers.all;
	struct server *best = NULL;
	unsigned least = UINT_MAX;

	for (struct list *node = all->next; node != all; node = node->next) {
		struct server *server = list_owner(node, struct server, node);
		unsigned so = reluctance(fetch, server);

		if (so < least && !(unreachable >> server->place & 1)) {
			least = so;
			best = server;
		}
	}
	return best;
}

/*
 * Ask the next server that can be sent to. Fails @status, or as the last one did, without one. To
 * find out that there is no way to a server costs nothing, and counts as nothing.
 */
static int try_next(struct fetch *fetch, int status)
{
	unsigned n_listed = fetch->upstreams->servers.n_listed;
	unsigned max = n_listed < TRIES_MIN ? TRIES_MIN : n_listed;
	unsigned unreachable = 0;
	struct server *server;

	while (fetch->n_tries - fetch->n_streams < max &&
	       (server = choose_server(fetch, unreachable)) != NULL) {
		status = send_query(fetch, server, false);
		if (status == 0)
			return 0;
		unreachable |= 1u << server->place;
	}
	return status;
}

/* The state in which the latest try is waited for. */
static unsigned trying(const struct fetch *fetch)
{
	return fetch->n_tries < THIRD ? FIRST + fetch->n_tries - 1 : THIRD;
}

/* True if some try may still be answered. */
static bool is_waiting(const struct fetch *fetch)
{
	for (unsigned i = 0; i < fetch->n_tries; i++)
		if (!fetch->tries[i].failed)
			return true;
	return false;
}

/* The state to wait in after the latest try failed with @status, or was silent. */
static unsigned go_on(struct fetch *fetch, int status)
{
	int r = try_next(fetch, status);

	/* What failed is of no use, and thousands of these may wait with it. */
	message_done(&fetch->message);
	if (r == 0)
		return trying(fetch);
	return is_waiting(fetch) ? THIRD : fail(fetch, r);
}

static void note_silent(struct fetch *fetch)
{
	struct try *latest = &fetch->tries[fetch->n_tries - 1];

	if (!latest->failed)
		server_failed(latest->server, latest->sent_ms, -ETIMEDOUT);
}

static unsigned ask_next(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);

	note_silent(fetch);
	return go_on(fetch, status);
}

static unsigned fail_silent(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);

	note_silent(fetch);
	return fail(fetch, status);
}

/* Ask @try's server over a stream. */
static unsigned ask_stream(struct fetch *fetch, struct try *try)
{
	int r = -EREMOTEIO;

	try->failed = true;
	if (fetch->n_streams < STREAMS_MAX && !try->stream)
		r = send_query(fetch, try->server, true);
	if (r < 0)
		return go_on(fetch, r);
	fetch->n_streams++;
	return STREAM;
}

/* The try that was heard of failed. If it is not the latest, the one that is goes on. */
static unsigned note_failure(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);
	struct try *latest = &fetch->tries[fetch->n_tries - 1];

	if (status == TRY_FORGED)
		return fetch->heard == latest ? ask_stream(fetch, latest) : life->state;
	fetch->heard->failed = true;
	if (fetch->heard == latest)
		return go_on(fetch, status);
	return life->state;
}

static unsigned take_reply(struct fetch *fetch)
{
	struct upstreams *up = fetch->upstreams;
	struct reply *reply;

	if (!server_is_trusted(fetch->heard->server))
		fetch->message.authentic = false;
	int r = vet_chain(&fetch->message, &fetch->name, (uint16_t)fetch->type, up->ttl_min_s,
			  up->ttl_max_s, &reply);

	if (r < 0)
		return fail(fetch, r == -ENOMEM ? r : -EREMOTEIO);
	failures_clear(&up->failures, fetch->hash);
	return settle(fetch, reply, 0);
}

static unsigned take_message(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);
	bool latest = fetch->heard == &fetch->tries[fetch->n_tries - 1];
	uint16_t rcode = fetch->message.rcode;
	bool useful = rcode == WIRE_NOERROR || rcode == WIRE_NXDOMAIN || rcode == WIRE_YXDOMAIN;

	(void)status;
	if (useful && !fetch->message.truncated)
		return take_reply(fetch);
	/* While a stream is waited for, what others cut is of no use. */
	if (fetch->message.truncated && (latest || life->state != STREAM))
		return ask_stream(fetch, fetch->heard);
	return note_failure(life, -EREMOTEIO);
}

static unsigned give_up(struct life *life, int status)
{
	(void)life, (void)status;
	return DEAD;
}

/*
 * The loop. A callback notes what it was given and names the event; it
 * decides nothing.
 */

static void on_heard(struct try *try, const uint8_t *bytes, long len)
{
	struct fetch *fetch = try->user;
	int r = (int)len;

	fetch->heard = try;
	if (len >= 0) {
		message_done(&fetch->message);
		r = message_read(bytes, (size_t)len, fetch->type & ASK_DO, &fetch->message);
	}
	life_event(&fetch->life, r < 0 ? LIFE_ERROR : HEARD, r);
}

static int send_query(struct fetch *fetch, struct server *server, bool stream)
{
	struct try *try = &fetch->tries[fetch->n_tries];
	int r = try_open(try, server, &fetch->name, fetch->type, stream, on_heard);

	if (r < 0)
		return r;
	try->user = fetch;
	fetch->n_tries++;
	return 0;
}

/*
 * Birth and death.
 */

static void fetch_free(struct life *life)
{
	struct fetch *fetch = fetch_of(life);

	for (unsigned i = 0; i < fetch->n_tries; i++)
		try_close(&fetch->tries[i]);
	message_done(&fetch->message);
	list_drop(&fetch->node);
	fetch->upstreams->n_fetches--;
	free(fetch);
}

static const struct life_kind fetch_kind = {
	.name = "fetch",
	.event_names = event_names,
	.states = states,
	.n_states = N_STATES,
	.n_events = N_EVENTS,
	.free = fetch_free,
};

static uint64_t hash_of(const struct upstreams *up, const struct name *name, uint32_t type)
{
	return hash_bytes(up->seed + type, name->wire, name->len);
}

struct fetch *fetch_find(struct upstreams *upstreams, const struct name *name, uint32_t type)
{
	uint64_t hash = hash_of(upstreams, name, type);
	struct list *bucket = &upstreams->fetches[hash % FETCH_BUCKETS];

	for (struct list *node = bucket->next; node != bucket; node = node->next) {
		struct fetch *fetch = list_owner(node, struct fetch, node);

		if (fetch->type == type && name_equal(&fetch->name, name))
			return fetch;
	}
	return NULL;
}

int fetch_start(struct upstreams *upstreams, const struct name *name, uint32_t type,
		struct fetch **ret_fetch)
{
	struct fetch *fetch;
	int r;

	assert(life_kind_complete(&fetch_kind));
	if (upstreams->n_fetches == LIMIT_QUERIES_UNDER_WAY)
		return -EBUSY;
	fetch = calloc(1, sizeof(*fetch));
	if (fetch == NULL)
		return -ENOMEM;
	fetch->upstreams = upstreams;
	fetch->name = *name;
	fetch->type = type;
	fetch->hash = hash_of(upstreams, name, type);
	list_init(&fetch->waits);
	list_init(&fetch->node);
	upstreams->n_fetches++;
	r = try_next(fetch, -ENETUNREACH);
	if (r < 0) {
		fetch_free(&fetch->life);
		return r;
	}
	list_add(&upstreams->fetches[fetch->hash % FETCH_BUCKETS], &fetch->node);
	life_start(&fetch->life, &fetch_kind, trying(fetch), upstreams->servers.loop);
	*ret_fetch = fetch;
	return 0;
}

void fetch_join(struct fetch *fetch, struct upstream_wait *wait)
{
	assert(list_empty(&wait->node));
	list_add(&fetch->waits, &wait->node);
}

void fetches_end(struct upstreams *upstreams)
{
	for (unsigned i = 0; i < FETCH_BUCKETS; i++)
		while (!list_empty(&upstreams->fetches[i])) {
			struct fetch *fetch =
				list_owner(upstreams->fetches[i].next, struct fetch, node);

			while (list_take(&fetch->waits) != NULL)
				;
			life_event(&fetch->life, LIFE_CANCEL, -ECANCELED);
		}
}
