/* SPDX-License-Identifier: MIT */
#include "tests/replay/scripted.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct loop {
	uint64_t now_ms;
	int64_t wall_s;
	int failure;
	unsigned n_open;
	struct heap timers;
	struct list tasks;
	struct scripted_sent sent[SCRIPTED_MAX];
	unsigned n_sent;
	struct scripted_stream streams[SCRIPTED_MAX];
	unsigned n_streams, n_streams_taken;
};

int loop_new(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return -ENOMEM;
	loop->now_ms = 1000;
	loop->wall_s = 1700000000;
	list_init(&loop->tasks);
	*ret_loop = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	assert(loop->n_open == 0);
	heap_done(&loop->timers);
	free(loop);
}

uint64_t loop_now_ms(const struct loop *loop)
{
	return loop->now_ms;
}

uint64_t loop_exact_us(const struct loop *loop)
{
	return loop->now_ms * 1000;
}

int64_t loop_wall_s(const struct loop *loop)
{
	return loop->wall_s + (int64_t)(loop->now_ms / 1000);
}

void scripted_set_wall(struct loop *loop, int64_t wall_s)
{
	loop->wall_s = wall_s - (int64_t)(loop->now_ms / 1000);
}

unsigned scripted_open(const struct loop *loop)
{
	return loop->n_open;
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t ms,
		      void (*fire)(struct loop_timer *timer))
{
	timer->loop = loop;
	timer->fire = fire;
	heap_drop(&loop->timers, &timer->node);
	if (heap_add(&loop->timers, &timer->node, loop->now_ms + ms) < 0)
		abort();
}

void loop_timer_stop(struct loop_timer *timer)
{
	if (heap_holds(&timer->node))
		heap_drop(&timer->loop->timers, &timer->node);
}

void loop_defer(struct loop *loop, struct loop_task *task, void (*run)(struct loop_task *task))
{
	task->run = run;
	if (list_empty(&task->node))
		list_add(&loop->tasks, &task->node);
}

void loop_defer_stop(struct loop_task *task)
{
	list_drop(&task->node);
}

/* There is one thread here: what is rung is heard at once. */
int loop_bell_start(struct loop *loop, struct loop_bell *bell, void (*rung)(struct loop_bell *bell))
{
	bell->handle = loop;
	bell->rung = rung;
	return 0;
}

void loop_bell_ring(struct loop_bell *bell)
{
	bell->rung(bell);
}

void loop_bell_stop(struct loop_bell *bell)
{
	bell->handle = NULL;
}

void scripted_turn(struct loop *loop)
{
	struct list *node;

	while ((node = list_take(&loop->tasks)) != NULL) {
		struct loop_task *task = list_owner(node, struct loop_task, node);

		task->run(task);
	}
}

void scripted_pass(struct loop *loop, uint64_t ms)
{
	struct heap_node *first;

	scripted_turn(loop);
	while (ms-- > 0) {
		loop->now_ms++;
		while ((first = heap_first(&loop->timers)) != NULL && first->key <= loop->now_ms) {
			struct loop_timer *timer = list_owner(first, struct loop_timer, node);

			heap_drop(&loop->timers, first);
			timer->fire(timer);
		}
		scripted_turn(loop);
	}
}

/*
 * The network.
 */

void scripted_fail(struct loop *loop, int status)
{
	loop->failure = status;
}

static struct scripted_sent *add_sent(struct loop *loop, const struct endpoint *peer)
{
	struct scripted_sent *sent = &loop->sent[loop->n_sent++];

	assert(loop->n_sent <= SCRIPTED_MAX);
	sent->peer = *peer;
	return sent;
}

struct scripted_sent *scripted_peek(struct loop *loop, unsigned i)
{
	return i < loop->n_sent ? &loop->sent[i] : NULL;
}

int loop_udp_open(struct loop *loop, struct loop_udp *udp, const struct endpoint *peer,
		  void (*heard)(struct loop_udp *udp, const uint8_t *bytes, long len))
{
	if (loop->failure < 0)
		return loop->failure;
	struct scripted_sent *sent = add_sent(loop, peer);

	sent->udp = udp;
	udp->loop = loop;
	udp->watch.handle = sent;
	udp->heard = heard;
	udp->open = true;
	loop->n_open++;
	return 0;
}

int loop_udp_send(struct loop_udp *udp, const uint8_t *bytes, size_t len)
{
	struct scripted_sent *sent = udp->watch.handle;

	assert(len <= sizeof(sent->bytes) && sent->len == 0);
	memcpy(sent->bytes, bytes, len);
	sent->len = len;
	return 0;
}

void loop_udp_close(struct loop_udp *udp)
{
	if (!udp->open)
		return;
	((struct scripted_sent *)udp->watch.handle)->udp = NULL;
	udp->open = false;
	udp->loop->n_open--;
}

/*
 * Streams. A write is one message, whole (RFC 7766, 8).
 */

static struct scripted_stream *add_stream(struct loop *loop, const struct endpoint *peer)
{
	struct scripted_stream *stream = &loop->streams[loop->n_streams++];

	assert(loop->n_streams <= SCRIPTED_MAX);
	stream->loop = loop;
	stream->peer = *peer;
	stream->open = true;
	loop->n_open++;
	return stream;
}

static int write_stream(struct scripted_stream *stream, const uint8_t *bytes, size_t len)
{
	struct scripted_sent *sent;

	if (stream->failure < 0)
		return stream->failure;
	sent = add_sent(stream->loop, &stream->peer);
	assert(len >= 2 && len - 2 <= sizeof(sent->bytes));
	assert(len - 2 == ((size_t)bytes[0] << 8 | bytes[1]));
	memcpy(sent->bytes, bytes + 2, len - 2);
	sent->len = len - 2;
	sent->stream = stream;
	return 0;
}

static void close_stream(struct scripted_stream *stream)
{
	stream->open = false;
	stream->tcp = NULL;
	stream->tls = NULL;
	stream->loop->n_open--;
}

struct scripted_stream *scripted_take_stream(struct loop *loop)
{
	return loop->n_streams_taken < loop->n_streams ? &loop->streams[loop->n_streams_taken++]
						       : NULL;
}

void scripted_hear(struct scripted_stream *stream, const uint8_t *bytes, long len)
{
	if (stream->tcp != NULL)
		stream->tcp->heard(stream->tcp, bytes, len);
	else if (stream->tls != NULL)
		stream->tls->heard(stream->tls, bytes, len);
}

int loop_tcp_open(struct loop *loop, struct loop_tcp *tcp, const struct endpoint *peer,
		  void (*heard)(struct loop_tcp *tcp, const uint8_t *bytes, long len))
{
	struct scripted_stream *stream;

	if (loop->failure < 0)
		return loop->failure;
	stream = add_stream(loop, peer);
	stream->tcp = tcp;
	tcp->loop = loop;
	tcp->watch.handle = stream;
	tcp->heard = heard;
	tcp->open = true;
	return 0;
}

int loop_tcp_write(struct loop_tcp *tcp, const uint8_t *bytes, size_t len)
{
	return write_stream(tcp->watch.handle, bytes, len);
}

void loop_tcp_close(struct loop_tcp *tcp)
{
	if (!tcp->open)
		return;
	close_stream(tcp->watch.handle);
	tcp->open = false;
}

/*
 * TLS: a script says when the server is verified, or that it is not. Nothing is encrypted.
 */

static struct tls_stream *hide(struct scripted_stream *stream)
{
	return (struct tls_stream *)(void *)stream;
}

static struct scripted_stream *shown(const struct tls *tls)
{
	return (struct scripted_stream *)(void *)tls->stream;
}

int tls_client_context_new(const char *ca_file, const char *protocol,
			   struct tls_context **ret_context, struct err *err)
{
	static char nothing;

	(void)ca_file, (void)err;
	assert(strcmp(protocol, "dot") == 0);
	*ret_context = (struct tls_context *)(void *)&nothing;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	(void)context;
}

void tls_ticket_forget(struct tls_ticket *ticket)
{
	(void)ticket;
}

int tls_open(struct loop *loop, struct tls *tls, const struct tls_server *server,
	     void (*opened)(struct tls *tls),
	     void (*heard)(struct tls *tls, const uint8_t *bytes, long len))
{
	struct scripted_stream *stream;

	if (loop->failure < 0)
		return loop->failure;
	stream = add_stream(loop, &server->endpoint);
	stream->tls = tls;
	*tls = (struct tls){ hide(stream), opened, heard };
	return 0;
}

int tls_write(struct tls *tls, const uint8_t *bytes, size_t len)
{
	assert(shown(tls)->verified);
	return write_stream(shown(tls), bytes, len);
}

const char *tls_reason(const struct tls *tls)
{
	(void)tls;
	return "its certificate: the script says no";
}

void tls_close(struct tls *tls)
{
	if (tls->stream == NULL)
		return;
	close_stream(shown(tls));
	tls->stream = NULL;
}
