/* SPDX-License-Identifier: MIT */
/*
 * The life of a fetch: one question to the upstream servers
 *
 *   FIRST   a server was asked over UDP           take_message, ask_next
 *   SECOND  it was silent, or failed: the next    take_message, ask_next
 *   THIRD   the last try                          take_message, ask_next
 *   STREAM  its answer was cut: asked over TCP    take_message, ask_next
 *
 * Earlier tries are listened to until the end: a slow server's answer to the
 * first is as good as to the last, and its failure ends nothing. A datagram
 * that is not the answer is as if it had not come (RFC 5452, 9.1).
 */
#include "resolver/upstream.h"

#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/life.h"
#include "base/limits.h"
#include "base/own.h"
#include "resolver/descriptors.h"
#include "resolver/message.h"
#include "resolver/resolvconf.h"
#include "resolver/vet.h"
#include "resolver/wire.h"

enum state { DEAD = LIFE_DEAD, FIRST, SECOND, THIRD, STREAM, N_STATES };
enum event { HEARD = LIFE_FIRST_OWN_EVENT, N_EVENTS };

enum {
	N_TRIES = THIRD - FIRST + 1,
	QUERY_MAX = WIRE_HEADER + NAME_WIRE_MAX + 4 + 11, /* with its OPT record */
	N_BUCKETS = 1024,
	PREFER_MS = 30000, /* for how long a later server goes first */
	SPARE_MS = 600000, /* for how long a server is spared what it did not understand */
};

struct server {
	struct endpoint endpoint;
	/*
	 * It answered FORMERR to a query with OPT, or did not give the name back in the case that
	 * it was sent in. Not for ever: one forged answer must not take a defence away for good.
	 */
	uint64_t no_edns_until_ms, one_case_until_ms;
};

struct upstreams {
	struct loop *loop;
	struct cache *cache;
	struct server servers[RESOLVCONF_MAX];
	unsigned n_servers;
	unsigned preferred; /* the one that answered last goes first, for a while */
	uint64_t preferred_until_ms;
	uint32_t ttl_min_s, ttl_max_s;
	struct list fetches[N_BUCKETS];
	unsigned n_fetches;
	unsigned n_sockets, max_sockets; /* of all fetches; a try keeps its own to the end */
	uint64_t seed;
};

/* One query that was sent. */
struct
try {
	struct fetch *fetch;
	struct server *server;
	struct loop_udp udp;
	uint16_t len;
	uint16_t question_end;        /* of it */
	uint8_t query[2 + QUERY_MAX]; /* behind its length, for TCP */
};

struct fetch {
	struct life life;
	struct list node; /* in its bucket */
	struct upstreams *upstreams;
	struct name name;
	uint16_t type;
	struct list waits; /* of struct upstream_wait */
	struct try tries[N_TRIES];
	unsigned n_tries, first; /* how many, and which server they began with */
	struct try *heard; /* the one that was heard of last: which @message answers, or failed */
	struct message message;
	unsigned n_sockets; /* that the tries and the stream have taken */
	struct loop_tcp tcp;
	uint8_t *stream; /* what came over TCP: LIMIT_MESSAGE_BYTES and the length */
	size_t n_stream;
};
static_assert(offsetof(struct fetch, life) == 0, "fetch_of() casts");

static life_step_fn take_message, note_failure, ask_next, give_up;

#define ALWAYS [LIFE_TIMEOUT] = ask_next, [LIFE_ERROR] = note_failure, [LIFE_CANCEL] = give_up

static const struct life_state states[] = {
	[DEAD] = { .name = "DEAD" },
	[FIRST] = { "FIRST", 600, false, { ALWAYS, [HEARD] = take_message } },
	[SECOND] = { "SECOND", 1200, false, { ALWAYS, [HEARD] = take_message } },
	[THIRD] = { "THIRD", 2200, false, { ALWAYS, [HEARD] = take_message } },
	[STREAM] = { "STREAM", 2000, false, { ALWAYS, [HEARD] = take_message } },
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
static int send_query(struct fetch *fetch, struct server *server);
static int open_stream(struct fetch *fetch, struct try *try);

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
			  loop_now_ms(fetch->upstreams->loop));
	return DEAD;
}

/* A failure is kept for a moment, so that a storm of retries stays here (RFC 9520, 3.2). */
static unsigned fail(struct fetch *fetch, int status)
{
	struct reply *failure = reply_new(WIRE_SERVFAIL, 2, NULL, 0, NULL, 0);

	settle(fetch, NULL, status);
	if (failure != NULL)
		cache_put(fetch->upstreams->cache, &fetch->name, fetch->type, failure,
			  loop_now_ms(fetch->upstreams->loop));
	return DEAD;
}

/* Ask the next server that can be sent to. Fails @status, or as the last one did, without one. */
static int try_next(struct fetch *fetch, int status)
{
	struct upstreams *up = fetch->upstreams;

	while (fetch->n_tries < N_TRIES) {
		unsigned which = (fetch->first + fetch->n_tries) % up->n_servers;

		status = send_query(fetch, &up->servers[which]);
		if (status == 0)
			return 0;
	}
	return status;
}

/* The state in which the latest try is waited for. */
static unsigned trying(const struct fetch *fetch)
{
	return FIRST + fetch->n_tries - 1;
}

static unsigned ask_next(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);
	int r = try_next(fetch, status);

	/* What failed is of no use, and thousands of these may wait with it. */
	message_done(&fetch->message);
	return r == 0 ? trying(fetch) : fail(fetch, r);
}

/* The try that was heard of failed. If it is not the latest, the one that is goes on. */
static unsigned note_failure(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);
	bool latest = fetch->heard == &fetch->tries[fetch->n_tries - 1];

	return latest || life->state == STREAM ? ask_next(life, status) : life->state;
}

static unsigned take_reply(struct fetch *fetch)
{
	struct upstreams *up = fetch->upstreams;
	struct reply *reply;
	int r = vet_chain(&fetch->message, &fetch->name, fetch->type, up->ttl_min_s, up->ttl_max_s,
			  &reply);

	if (r < 0)
		return fail(fetch, r == -ENOMEM ? r : -EREMOTEIO);
	up->preferred = (unsigned)(fetch->heard->server - up->servers);
	up->preferred_until_ms = loop_now_ms(up->loop) + PREFER_MS;
	return settle(fetch, reply, 0);
}

static unsigned take_message(struct life *life, int status)
{
	struct fetch *fetch = fetch_of(life);
	struct server *server = fetch->heard->server;

	(void)status;
	if (fetch->message.truncated && life->state != STREAM)
		return open_stream(fetch, fetch->heard) == 0 ? STREAM
							     : note_failure(life, -EREMOTEIO);
	switch (fetch->message.rcode) {
	case WIRE_NOERROR:
	case WIRE_NXDOMAIN:
		if (!fetch->message.truncated)
			return take_reply(fetch);
		break;
	case WIRE_FORMERR:
		server->no_edns_until_ms = loop_now_ms(life->loop) + SPARE_MS;
		break;
	default:
		break;
	}
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

/* Note that @try failed. */
static void note_error(struct fetch *fetch, struct try *try, int status)
{
	fetch->heard = try;
	life_event(&fetch->life, LIFE_ERROR, status);
}

/* Note the @len bytes that answer @try, or that they cannot be read. */
static void note_message(struct fetch *fetch, struct try *try, const uint8_t *bytes, size_t len)
{
	message_done(&fetch->message);
	int r = message_read(bytes, len, &fetch->message);

	fetch->heard = try;
	life_event(&fetch->life, r < 0 ? LIFE_ERROR : HEARD, r);
}

static void on_datagram(struct loop_udp *udp, const uint8_t *bytes, long len)
{
	struct try *try = list_owner(udp, struct try, udp);
	struct fetch *fetch = try->fetch;

	if (len < 0)
		loop_udp_close(udp);
	if (fetch->life.state == STREAM)
		return;
	if (len < 0) {
		note_error(fetch, try, (int)len);
		return;
	}
	switch (message_compare(bytes, (size_t)len, try->query + 2, try->question_end)) {
	case MESSAGE_OTHER:
		return;
	case MESSAGE_CASE:
		try->server->one_case_until_ms = loop_now_ms(fetch->life.loop) + SPARE_MS;
		note_error(fetch, try, -EREMOTEIO);
		return;
	case MESSAGE_ANSWER:
		note_message(fetch, try, bytes, (size_t)len);
		return;
	}
}

static void on_stream(struct loop_tcp *tcp, const uint8_t *bytes, long len)
{
	struct fetch *fetch = list_owner(tcp, struct fetch, tcp);
	struct try *try = fetch->heard;

	if (len <= 0 || fetch->n_stream + (size_t)len > 2 + LIMIT_MESSAGE_BYTES) {
		loop_tcp_close(tcp);
		life_event(&fetch->life, LIFE_ERROR, len < 0 ? (int)len : -EREMOTEIO);
		return;
	}
	memcpy(fetch->stream + fetch->n_stream, bytes, (size_t)len);
	fetch->n_stream += (size_t)len;
	if (fetch->n_stream < 2)
		return;
	size_t wanted = (size_t)fetch->stream[0] << 8 | fetch->stream[1];

	if (fetch->n_stream < 2 + wanted)
		return;
	loop_tcp_close(tcp);
	if (message_compare(fetch->stream + 2, wanted, try->query + 2, try->question_end) !=
	    MESSAGE_ANSWER)
		life_event(&fetch->life, LIFE_ERROR, -EREMOTEIO);
	else
		note_message(fetch, try, fetch->stream + 2, wanted);
}

/* Write the query of @try: nothing in it is a client's but the name and the type. */
static void write_query(struct try *try, const struct name *name, uint16_t type)
{
	uint8_t random[2 + NAME_WIRE_MAX / 8 + 1];
	uint64_t now_ms = loop_now_ms(try->fetch->upstreams->loop);
	bool one_case = now_ms < try->server->one_case_until_ms;
	uint8_t *at = try->query + 2;

	arc4random_buf(random, sizeof(random));
	memcpy(at, random, 2);
	memcpy(at + 2, (const uint8_t[]){ 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0 }, 10);
	at += WIRE_HEADER;
	for (unsigned i = 0; i < name->len; i++) {
		bool letter = name->wire[i] >= 'a' && name->wire[i] <= 'z';
		bool raise = random[2 + i / 8] >> i % 8 & 1;

		*at++ = letter && raise && !one_case ? (uint8_t)(name->wire[i] & ~0x20u)
						     : name->wire[i];
	}
	memcpy(at, (const uint8_t[]){ (uint8_t)(type >> 8), (uint8_t)type, 0, WIRE_IN }, 4);
	at += 4;
	try->question_end = (uint16_t)(at - try->query - 2);
	if (now_ms >= try->server->no_edns_until_ms) {
		try->query[2 + WIRE_HEADER - 1] = 1;
		memcpy(at,
		       (const uint8_t[]){ 0, 0, WIRE_OPT, LIMIT_UDP_ANSWER_BYTES >> 8,
					  LIMIT_UDP_ANSWER_BYTES & 0xff, 0, 0, 0, 0, 0, 0 },
		       11);
		at += 11;
	}
	try->len = (uint16_t)(at - try->query - 2);
	try->query[0] = (uint8_t)(try->len >> 8);
	try->query[1] = (uint8_t)try->len;
}

/* Take one of the sockets that all fetches share. Fails -EBUSY. */
static int take_socket(struct fetch *fetch)
{
	struct upstreams *up = fetch->upstreams;

	if (up->n_sockets >= up->max_sockets)
		return -EBUSY;
	up->n_sockets++;
	fetch->n_sockets++;
	return 0;
}

static int send_query(struct fetch *fetch, struct server *server)
{
	struct try *try = &fetch->tries[fetch->n_tries++];
	int r;

	try->fetch = fetch;
	try->server = server;
	write_query(try, &fetch->name, fetch->type);
	r = take_socket(fetch);
	if (r < 0)
		return r;
	r = loop_udp_open(fetch->upstreams->loop, &try->udp, &server->endpoint, on_datagram);
	return r < 0 ? r : loop_udp_send(&try->udp, try->query + 2, try->len);
}

static int open_stream(struct fetch *fetch, struct try *try)
{
	if (fetch->stream == NULL) {
		int r = take_socket(fetch);

		if (r < 0)
			return r;
		fetch->stream = malloc(2 + LIMIT_MESSAGE_BYTES);
	}
	if (fetch->stream == NULL)
		return -ENOMEM;
	fetch->n_stream = 0;
	loop_tcp_close(&fetch->tcp);
	return loop_tcp_open(fetch->upstreams->loop, &fetch->tcp, &try->server->endpoint,
			     try->query, 2u + try->len, on_stream);
}

static void fetch_free(struct life *life)
{
	struct fetch *fetch = fetch_of(life);

	for (unsigned i = 0; i < fetch->n_tries; i++)
		loop_udp_close(&fetch->tries[i].udp);
	loop_tcp_close(&fetch->tcp);
	message_done(&fetch->message);
	free(fetch->stream);
	list_drop(&fetch->node);
	fetch->upstreams->n_fetches--;
	fetch->upstreams->n_sockets -= fetch->n_sockets;
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

/*
 * Birth and death.
 */

static struct list *bucket_of(struct upstreams *up, const struct name *name, uint16_t type)
{
	return &up->fetches[hash_bytes(up->seed + type, name->wire, name->len) % N_BUCKETS];
}

static struct fetch *find_fetch(struct list *bucket, const struct name *name, uint16_t type)
{
	for (struct list *node = bucket->next; node != bucket; node = node->next) {
		struct fetch *fetch = list_owner(node, struct fetch, node);

		if (fetch->type == type && name_equal(&fetch->name, name))
			return fetch;
	}
	return NULL;
}

int upstream_ask(struct upstreams *upstreams, const struct name *name, uint16_t type,
		 struct upstream_wait *wait)
{
	struct list *bucket = bucket_of(upstreams, name, type);
	struct fetch *fetch = find_fetch(bucket, name, type);
	int r;

	assert(list_empty(&wait->node));
	if (fetch != NULL) {
		list_add(&fetch->waits, &wait->node);
		return 0;
	}
	if (upstreams->n_servers == 0)
		return -ENETUNREACH;
	if (upstreams->n_fetches == LIMIT_QUERIES_UNDER_WAY)
		return -EBUSY;
	fetch = calloc(1, sizeof(*fetch));
	if (fetch == NULL)
		return -ENOMEM;
	fetch->upstreams = upstreams;
	fetch->name = *name;
	fetch->type = type;
	list_init(&fetch->waits);
	list_init(&fetch->node);
	upstreams->n_fetches++;
	if (loop_now_ms(upstreams->loop) < upstreams->preferred_until_ms)
		fetch->first = upstreams->preferred;
	r = try_next(fetch, -ENETUNREACH);
	if (r < 0) {
		fetch_free(&fetch->life);
		return r;
	}
	list_add(bucket, &fetch->node);
	list_add(&fetch->waits, &wait->node);
	life_start(&fetch->life, &fetch_kind, trying(fetch), upstreams->loop);
	return 0;
}

void upstream_forget(struct upstream_wait *wait)
{
	list_drop(&wait->node);
}

/* True if @address is one of this host's, on any of its links. */
static bool is_own_address(const struct address *address)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
		int family = at->ifa_addr != NULL ? at->ifa_addr->sa_family : AF_UNSPEC;
		struct sockaddr_storage own = { .ss_family = AF_UNSPEC };

		if (family == AF_INET)
			memcpy(&own, at->ifa_addr, sizeof(struct sockaddr_in));
		else if (family == AF_INET6)
			memcpy(&own, at->ifa_addr, sizeof(struct sockaddr_in6));

		const struct endpoint endpoint = endpoint_from_sockaddr(&own);

		found = address_equal(address, &endpoint.address);
	}
	freeifaddrs(all);
	return found;
}

/*
 * True if what is sent to @server would come back to us: a query would wait for itself. The policy
 * has been held against itself already, but knows neither resolv.conf nor the host's addresses.
 */
static bool is_ourselves(const struct policy_resolver *settings, const struct endpoint *server)
{
	for (unsigned i = 0; i < settings->n_listen; i++) {
		const struct endpoint *listen = &settings->listen[i];

		if (endpoint_reaches(server, listen))
			return true;
		if (server->port == listen->port &&
		    server->address.family == listen->address.family &&
		    address_is_unspecified(&listen->address) && is_own_address(&server->address))
			return true;
	}
	return false;
}

static int take_configured(struct upstreams *up, const struct policy_resolver *settings,
			   struct err *err)
{
	char text[ENDPOINT_TEXT_SIZE];

	for (unsigned i = 0; i < settings->n_upstreams && i < RESOLVCONF_MAX; i++) {
		const struct endpoint *server = &settings->upstreams[i];

		if (is_ourselves(settings, server)) {
			endpoint_print(server, text);
			return err_set(err, -EINVAL,
				       "[resolver] upstream %s is where this resolver listens; "
				       "name the server that it should ask",
				       text);
		}
		up->servers[up->n_servers++].endpoint = *server;
	}
	return 0;
}

/* Take the servers of the host's resolv.conf, but for those that are ourselves. */
static void take_resolvconf(struct upstreams *up, const struct policy_resolver *settings)
{
	struct endpoint found[RESOLVCONF_MAX];
	unsigned n = resolvconf_read("/etc/resolv.conf", found);

	for (unsigned i = 0; i < n; i++)
		if (!is_ourselves(settings, &found[i]))
			up->servers[up->n_servers++].endpoint = found[i];
}

int upstreams_new(struct loop *loop, const struct policy *policy, struct cache *cache,
		  struct upstreams **ret_upstreams, struct err *err)
{
	const struct policy_resolver *settings = policy_resolver(policy);
	OWN(own_free) struct upstreams *up = calloc(1, sizeof(*up));
	int r;

	assert(life_kind_complete(&fetch_kind));
	if (up == NULL)
		return err_set(err, -ENOMEM, "no memory for the upstream servers");
	up->loop = loop;
	up->cache = cache;
	up->ttl_min_s = settings->ttl_min_s;
	up->ttl_max_s = settings->ttl_max_s;
	up->max_sockets = descriptors_share(2 * settings->n_listen, settings->threads).upstreams;
	up->seed = hash_seed();
	for (unsigned i = 0; i < N_BUCKETS; i++)
		list_init(&up->fetches[i]);
	r = take_configured(up, settings, err);
	if (r < 0)
		return r;
	if (settings->upstream_auto)
		take_resolvconf(up, settings);
	*ret_upstreams = steal_ptr(up);
	return 0;
}

bool upstreams_any(const struct upstreams *upstreams)
{
	return upstreams->n_servers > 0;
}

void upstreams_free(struct upstreams *upstreams)
{
	if (upstreams == NULL)
		return;
	for (unsigned i = 0; i < N_BUCKETS; i++)
		while (!list_empty(&upstreams->fetches[i])) {
			struct fetch *fetch =
				list_owner(upstreams->fetches[i].next, struct fetch, node);

			while (list_take(&fetch->waits) != NULL)
				;
			life_event(&fetch->life, LIFE_CANCEL, -ECANCELED);
		}
	free(upstreams);
}
