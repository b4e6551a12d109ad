/* SPDX-License-Identifier: MIT */
/*
 * The life of a connection to an upstream server
 *
 *   CONNECTING  nothing came yet; queries wait for the server    send_all, take_answers
 *               to be verified, if it is asked by TLS
 *   KEPT        queries go and answers come, in any order        take_answers
 *
 * One that breaks after it was of use is no failure of the server, which may
 * close what is idle whenever it likes: its queries go out on a new one, once.
 * One on which nothing comes while something is waited for is suspect: it is
 * let go of, but listened to as long as anybody waits for it.
 */
#include "resolver/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/life.h"
#include "base/limits.h"
#include "resolver/frames.h"
#include "resolver/message.h"

enum state { DEAD = LIFE_DEAD, CONNECTING, KEPT, N_STATES };
enum event { HEARD = LIFE_FIRST_OWN_EVENT, OPENED, N_EVENTS };

enum {
	N_BUCKETS = 64,
	SUSPECT_MS = 500, /* of silence while a query waits */
};

struct stream {
	struct life life;
	struct list node; /* in servers->streams */
	struct server *server;
	struct tls_server whom;
	struct loop_tcp tcp; /* one of them */
	struct tls tls;
	struct frames frames;
	struct list asks[N_BUCKETS]; /* by their ids */
	unsigned n_asks;
	uint64_t waiting_ms; /* since when something is waited for and nothing came; 0: it is not */
};
static_assert(offsetof(struct stream, life) == 0, "stream_of() casts");

static life_step_fn take_answers, send_all, fail_all, move_all;

static const struct life_state states[] = {
	[DEAD] = { .name = "DEAD" },
	[CONNECTING] = { "CONNECTING",
			 4000,
			 false,
			 { [LIFE_TIMEOUT] = fail_all,
			   [LIFE_ERROR] = fail_all,
			   [LIFE_CANCEL] = fail_all,
			   [HEARD] = take_answers,
			   [OPENED] = send_all } },
	[KEPT] = { "KEPT",
		   10000,
		   true,
		   { [LIFE_TIMEOUT] = fail_all,
		     [LIFE_ERROR] = move_all,
		     [LIFE_CANCEL] = fail_all,
		     [HEARD] = take_answers } },
};
static_assert(sizeof(states) / sizeof(states[0]) == N_STATES, "a state has no row");

static const char *const event_names[] = {
	[LIFE_TIMEOUT] = "TIMEOUT", [LIFE_ERROR] = "ERROR", [LIFE_CANCEL] = "CANCEL",
	[HEARD] = "HEARD",          [OPENED] = "OPENED",
};
static_assert(sizeof(event_names) / sizeof(event_names[0]) == N_EVENTS, "an event has no name");

static struct stream *stream_of(struct life *life)
{
	return (struct stream *)life;
}

static struct list *bucket_of(struct stream *stream, const uint8_t *id)
{
	return &stream->asks[id[1] % N_BUCKETS];
}

/* The query of @stream that has the two bytes at @id for its id. */
static struct stream_ask *find_ask(struct stream *stream, const uint8_t *id)
{
	struct list *bucket = bucket_of(stream, id);

	for (struct list *node = bucket->next; node != bucket; node = node->next) {
		struct stream_ask *ask = list_owner(node, struct stream_ask, node);

		if (memcmp(ask->query + 2, id, 2) == 0)
			return ask;
	}
	return NULL;
}

static int send_one(struct stream *stream, const struct stream_ask *ask)
{
	if (stream->waiting_ms == 0)
		stream->waiting_ms = loop_now_ms(stream->life.loop);
	return stream->server->tls ? tls_write(&stream->tls, ask->query, 2 + ask->len)
				   : loop_tcp_write(&stream->tcp, ask->query, 2 + ask->len);
}

/* Nobody is sent to it any more: whoever asks next gets a new one. */
static void let_go(struct stream *stream)
{
	if (stream->server->stream == stream)
		stream->server->stream = NULL;
}

/*
 * End @stream, of which those who wait hear @status; but if it was of use before, they are @moved
 * to a new one. Each asker may ask anew from within its call.
 */
static unsigned end_stream(struct stream *stream, bool moved, int status)
{
	struct list waiting;
	struct list *node;

	let_go(stream);
	list_init(&waiting);
	for (unsigned i = 0; i < N_BUCKETS; i++)
		list_move_all(&waiting, &stream->asks[i]);
	while ((node = list_take(&waiting)) != NULL) {
		struct stream_ask *ask = list_owner(node, struct stream_ask, node);
		int r = status;

		ask->stream = NULL;
		stream->n_asks--;
		if (moved && !ask->again) {
			ask->again = true;
			r = stream_ask(stream->server, ask, ask->heard);
		}
		if (r < 0)
			ask->heard(ask, NULL, r);
	}
	return DEAD;
}

static unsigned fail_all(struct life *life, int status)
{
	return end_stream(stream_of(life), false, status);
}

static unsigned move_all(struct life *life, int status)
{
	return end_stream(stream_of(life), true, status);
}

static unsigned send_all(struct life *life, int status)
{
	struct stream *stream = stream_of(life);

	(void)status;
	for (unsigned i = 0; i < N_BUCKETS; i++) {
		struct list *bucket = &stream->asks[i];

		for (struct list *node = bucket->next; node != bucket; node = node->next) {
			int r = send_one(stream, list_owner(node, struct stream_ask, node));

			if (r < 0)
				return end_stream(stream, true, r);
		}
	}
	return KEPT;
}

/* Give the @len bytes at @bytes to whom they answer; to nobody, if they answer nothing. */
static void take_answer(struct stream *stream, const uint8_t *bytes, size_t len)
{
	struct stream_ask *ask = find_ask(stream, bytes);

	/* Who speaks here need not guess, so the letters' case proves nothing. */
	if (ask == NULL ||
	    message_compare(bytes, len, ask->query + 2, ask->question_end) == MESSAGE_OTHER)
		return;
	stream_forget(ask);
	ask->heard(ask, bytes, (long)len);
}

static unsigned take_answers(struct life *life, int status)
{
	struct stream *stream = stream_of(life);
	const uint8_t *bytes;
	size_t len;

	(void)status;
	stream->waiting_ms = 0;
	while (frames_take(&stream->frames, &bytes, &len))
		take_answer(stream, bytes, len);
	if (stream->n_asks > 0 && stream->waiting_ms == 0)
		stream->waiting_ms = loop_now_ms(life->loop);
	return stream->n_asks == 0 && stream->server->stream != stream ? DEAD : KEPT;
}

/*
 * The loop. A callback notes what it was given and names the event; it
 * decides nothing.
 */

static void note_bytes(struct stream *stream, const uint8_t *bytes, long len)
{
	int r = len > 0 ? frames_add(&stream->frames, bytes, (size_t)len)
			: (int)(len == 0 ? -ECONNRESET : len);

	if (r < 0)
		life_event(&stream->life, LIFE_ERROR, r);
	else if (frames_whole(&stream->frames))
		life_event(&stream->life, HEARD, 0);
}

static void on_tcp(struct loop_tcp *tcp, const uint8_t *bytes, long len)
{
	note_bytes(list_owner(tcp, struct stream, tcp), bytes, len);
}

static void on_tls(struct tls *tls, const uint8_t *bytes, long len)
{
	struct stream *stream = list_owner(tls, struct stream, tls);

	if (len == -EKEYREJECTED)
		server_untrusted(stream->server, tls_reason(tls));
	note_bytes(stream, bytes, len);
}

static void on_opened(struct tls *tls)
{
	life_event(&list_owner(tls, struct stream, tls)->life, OPENED, 0);
}

/*
 * Birth and death.
 */

static void stream_free(struct life *life)
{
	struct stream *stream = stream_of(life);
	struct server *server = stream->server;

	assert(stream->n_asks == 0);
	let_go(stream);
	loop_tcp_close(&stream->tcp);
	tls_close(&stream->tls);
	frames_done(&stream->frames);
	list_drop(&stream->node);
	free(stream);
	servers_give_socket(server->servers);
	server_release(server);
}

static const struct life_kind stream_kind = {
	.name = "stream",
	.event_names = event_names,
	.states = states,
	.n_states = N_STATES,
	.n_events = N_EVENTS,
	.free = stream_free,
};

static int connect_stream(struct stream *stream)
{
	struct server *server = stream->server;
	struct loop *loop = server->servers->loop;

	if (!server->tls)
		return loop_tcp_open(loop, &stream->tcp, &server->endpoint, on_tcp);
	stream->whom = (struct tls_server){ server->servers->tls, server->endpoint, server->name,
					    &server->ticket };
	return tls_open(loop, &stream->tls, &stream->whom, on_opened, on_tls);
}

/* Connect to @server, and keep that. */
static int start_stream(struct server *server)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int r;

	assert(life_kind_complete(&stream_kind));
	if (stream == NULL)
		return -ENOMEM;
	stream->server = server;
	for (unsigned i = 0; i < N_BUCKETS; i++)
		list_init(&stream->asks[i]);
	r = servers_take_socket(server->servers);
	if (r == 0) {
		r = connect_stream(stream);
		if (r < 0)
			servers_give_socket(server->servers);
	}
	if (r < 0) {
		free(stream);
		return r;
	}
	server_use(server);
	list_add(&server->servers->streams, &stream->node);
	server->stream = stream;
	life_start(&stream->life, &stream_kind, CONNECTING, server->servers->loop);
	return 0;
}

static bool is_suspect(const struct stream *stream)
{
	return stream->life.state == KEPT && stream->waiting_ms > 0 &&
	       loop_now_ms(stream->life.loop) - stream->waiting_ms >= SUSPECT_MS;
}

/* Note @ask on the stream of its server, under an id that no other has there, and send it. */
static int add_ask(struct stream *stream, struct stream_ask *ask)
{
	while (find_ask(stream, ask->query + 2) != NULL)
		arc4random_buf(ask->query + 2, 2);
	list_add(bucket_of(stream, ask->query + 2), &ask->node);
	ask->stream = stream;
	stream->n_asks++;
	if (stream->server->tls && stream->life.state == CONNECTING)
		return 0;
	return send_one(stream, ask);
}

int stream_ask(struct server *server, struct stream_ask *ask,
	       void (*heard)(struct stream_ask *ask, const uint8_t *bytes, long len))
{
	bool fresh = false;
	int r;

	assert(ask->stream == NULL);
	ask->heard = heard;
	list_init(&ask->node);
	if (server->stream != NULL &&
	    (is_suspect(server->stream) || server->stream->n_asks == LIMIT_STREAM_PIPELINE))
		let_go(server->stream);
	for (;;) {
		if (server->stream == NULL) {
			r = start_stream(server);
			if (r < 0)
				return r;
			fresh = true;
		}
		r = add_ask(server->stream, ask);
		if (r == 0)
			return 0;
		stream_forget(ask);
		let_go(server->stream);
		if (fresh)
			return r;
	}
}

void stream_forget(struct stream_ask *ask)
{
	if (ask->stream == NULL)
		return;
	list_drop(&ask->node);
	ask->stream->n_asks--;
	ask->stream = NULL;
}

void streams_close(struct servers *servers)
{
	while (!list_empty(&servers->streams))
		life_event(&list_owner(servers->streams.next, struct stream, node)->life,
			   LIFE_CANCEL, -ECANCELED);
}
