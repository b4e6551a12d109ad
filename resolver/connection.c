/* SPDX-License-Identifier: MIT */
/*
 * The life of a client's TCP connection (RFC 7766)
 *
 *   OPEN      queries come, answers go, in any order       take_messages, send_answers
 *   FLUSHING  the client must read before it is heard on   send_answers
 *   LAST      the client has closed its side: what is      send_answers
 *             under way is still answered
 *
 * A whole message is an event, a part of one is not: a client that sends a
 * byte now and then does not put its deadline off.
 */
#include "resolver/connection.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/life.h"
#include "base/limits.h"
#include "resolver/answer.h"
#include "resolver/worker.h"

enum state { DEAD = LIFE_DEAD, OPEN, FLUSHING, LAST, N_STATES };
enum event { HEARD = LIFE_FIRST_OWN_EVENT, ENDED, WRITABLE, N_EVENTS };

struct connection {
	struct life life;
	struct list node; /* in connections->all */
	struct connections *owner;
	struct address peer;
	uint32_t interface; /* by which it was opened; 0: not known */
	int fd;
	struct loop_watch watch;
	struct loop_task flush; /* answers that were given in this turn */
	struct list held;       /* of struct client: queries under way */
	unsigned n_held, n_queries;
	bool ended; /* the client has closed its side */
	uint8_t *out;
	size_t n_out, out_size;
	size_t n_in;
	size_t n_skip; /* bytes still to come of a message that was too long */
	uint8_t in[2 + LIMIT_QUERY_BYTES + 1]; /* one more, to see what is too long */
};
static_assert(offsetof(struct connection, life) == 0, "connection_of() casts");

static life_step_fn take_messages, take_end, send_answers, hang_up;

#define ALWAYS [LIFE_TIMEOUT] = hang_up, [LIFE_ERROR] = hang_up, [LIFE_CANCEL] = hang_up

static const struct life_state states[] = {
	[DEAD] = { .name = "DEAD" },
	[OPEN] = { "OPEN",
		   ANSWER_KEEPALIVE_MS,
		   true,
		   { ALWAYS, [HEARD] = take_messages, [ENDED] = take_end,
		     [WRITABLE] = send_answers } },
	[FLUSHING] = { "FLUSHING", 5000, false, { ALWAYS, [WRITABLE] = send_answers } },
	[LAST] = { "LAST", 6000, false, { ALWAYS, [WRITABLE] = send_answers } },
};
static_assert(sizeof(states) / sizeof(states[0]) == N_STATES, "a state has no row");

static const char *const event_names[] = {
	[LIFE_TIMEOUT] = "TIMEOUT", [LIFE_ERROR] = "ERROR", [LIFE_CANCEL] = "CANCEL",
	[HEARD] = "HEARD",          [ENDED] = "ENDED",      [WRITABLE] = "WRITABLE",
};
static_assert(sizeof(event_names) / sizeof(event_names[0]) == N_EVENTS, "an event has no name");

/* What a step may ask of the loop: answered by HEARD or ENDED, and by WRITABLE. */
static int listen_to(struct connection *c, unsigned events);
static void on_flush(struct loop_task *task); /* WRITABLE, at the end of the turn */

static struct connection *connection_of(struct life *life)
{
	return (struct connection *)life;
}

/* How long the first message in the buffer says it is; 0 if that is not known yet. */
static size_t announced(const struct connection *c)
{
	return c->n_in < 2 ? 0 : (size_t)c->in[0] << 8 | c->in[1];
}

/*
 * Bytes of the first message in the buffer, with its length; 0 if it is not whole. Of one that is
 * too long as much is enough as shows it.
 */
static size_t first_message(const struct connection *c)
{
	size_t len = announced(c);

	if (len > LIMIT_QUERY_BYTES)
		len = LIMIT_QUERY_BYTES + 1;
	return len > 0 && 2 + len <= c->n_in ? 2 + len : 0;
}

/* A length that no message has: who sent it means something else by the stream than we do. */
static bool is_hopeless(const struct connection *c)
{
	return c->n_in >= 2 && announced(c) == 0;
}

/* Send what can be sent. Gives 0, or a negative errno. */
static int send_some(struct connection *c)
{
	while (c->n_out > 0) {
		ssize_t n = send(c->fd, c->out, c->n_out, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->n_out -= (size_t)n;
		memmove(c->out, c->out + n, c->n_out);
	}
	return 0;
}

/* Where the connection stands now, and what it waits for there. */
static unsigned settle(struct connection *c)
{
	if (send_some(c) < 0)
		return DEAD;
	if (c->n_out > 0)
		return listen_to(c, LOOP_WRITE) == 0 ? (c->ended ? LAST : FLUSHING) : DEAD;
	if (c->ended || c->n_queries == LIMIT_TCP_QUERIES) {
		loop_watch_stop(&c->watch);
		return c->n_held > 0 ? LAST : DEAD;
	}
	if (c->n_held == LIMIT_TCP_PIPELINE) {
		loop_watch_stop(&c->watch);
		return OPEN;
	}
	if (first_message(c) > 0) {
		/* Left lying while too much was unsent. The client may have nothing more to say. */
		loop_watch_stop(&c->watch);
		loop_defer(c->life.loop, &c->flush, on_flush);
		return OPEN;
	}
	return listen_to(c, LOOP_READ) == 0 ? OPEN : DEAD;
}

static unsigned take_messages(struct life *life, int status)
{
	struct connection *c = connection_of(life);
	struct client client = { .address = c->peer, .interface = c->interface, .connection = c };
	size_t len;

	(void)status;
	while ((len = first_message(c)) > 0 && c->n_held < LIMIT_TCP_PIPELINE &&
	       c->n_queries < LIMIT_TCP_QUERIES && c->n_out < LIMIT_TCP_UNSENT_BYTES) {
		c->n_queries++;
		c->n_skip = 2 + announced(c) - len;
		query_receive(c->owner->resolver, &client, c->in + 2, len - 2);
		c->n_in -= len;
		memmove(c->in, c->in + len, c->n_in);
	}
	return is_hopeless(c) ? DEAD : settle(c);
}

static unsigned take_end(struct life *life, int status)
{
	struct connection *c = connection_of(life);

	(void)status;
	c->ended = true;
	return settle(c);
}

/* Answers were given, or the client has read some: go on with what was left lying, too. */
static unsigned send_answers(struct life *life, int status)
{
	struct connection *c = connection_of(life);

	if (send_some(c) < 0)
		return DEAD;
	return c->n_out == 0 && !c->ended ? take_messages(life, status) : settle(c);
}

static unsigned hang_up(struct life *life, int status)
{
	(void)life, (void)status;
	return DEAD;
}

/*
 * The loop. A callback notes what it was given and names the event; it
 * decides nothing.
 */

/* Drop what came of a message that was refused already. */
static void skip_rest(struct connection *c)
{
	size_t n = c->n_skip < c->n_in ? c->n_skip : c->n_in;

	if (n == 0)
		return;
	c->n_skip -= n;
	c->n_in -= n;
	memmove(c->in, c->in + n, c->n_in);
}

static void on_ready(struct loop_watch *watch, unsigned events)
{
	struct connection *c = list_owner(watch, struct connection, watch);

	if (events & LOOP_WRITE || c->life.state == FLUSHING) {
		life_event(&c->life, WRITABLE, 0);
		return;
	}
	ssize_t n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - c->n_in, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		life_event(&c->life, LIFE_ERROR, -errno);
		return;
	}
	c->n_in += (size_t)n;
	skip_rest(c);
	lease_table_poll(c->owner->resolver->leases, c->owner->resolver->desk);
	if (n == 0)
		life_event(&c->life, ENDED, 0);
	else if (first_message(c) > 0 || is_hopeless(c))
		life_event(&c->life, HEARD, 0);
}

static void on_flush(struct loop_task *task)
{
	life_event(&list_owner(task, struct connection, flush)->life, WRITABLE, 0);
}

static int listen_to(struct connection *c, unsigned events)
{
	return loop_watch_start(c->life.loop, &c->watch, c->fd, events, on_ready);
}

/*
 * Birth and death.
 */

static void connection_free(struct life *life)
{
	struct connection *c = connection_of(life);

	while (!list_empty(&c->held))
		query_cancel(list_owner(c->held.next, struct client, held));
	loop_watch_stop(&c->watch);
	loop_defer_stop(&c->flush);
	close(c->fd);
	list_drop(&c->node);
	c->owner->n--;
	free(c->out);
	free(c);
}

static const struct life_kind connection_kind = {
	.name = "connection",
	.event_names = event_names,
	.states = states,
	.n_states = N_STATES,
	.n_events = N_EVENTS,
	.free = connection_free,
};

void connections_init(struct connections *connections, struct resolver *resolver, unsigned max)
{
	assert(life_kind_complete(&connection_kind));
	connections->resolver = resolver;
	connections->n = 0;
	connections->max = max;
	list_init(&connections->all);
}

void connections_done(struct connections *connections)
{
	while (!list_empty(&connections->all))
		life_event(&list_owner(connections->all.next, struct connection, node)->life,
			   LIFE_CANCEL, -ECANCELED);
}

/* The oldest connection that waits for nothing; only from @peer, unless that is NULL. */
static struct connection *find_idle(struct connections *connections, const struct address *peer)
{
	struct list *all = &connections->all;

	for (struct list *node = all->next; node != all; node = node->next) {
		struct connection *c = list_owner(node, struct connection, node);

		if (c->n_held == 0 && !c->life.stepping &&
		    (peer == NULL || address_equal(peer, &c->peer)))
			return c;
	}
	return NULL;
}

static unsigned count_from(struct connections *connections, const struct address *peer)
{
	struct list *all = &connections->all;
	unsigned n = 0;

	for (struct list *node = all->next; node != all; node = node->next)
		n += address_equal(peer, &list_owner(node, struct connection, node)->peer);
	return n;
}

/* True if there is room for one more connection from @peer. */
static bool make_room(struct connections *connections, const struct address *peer)
{
	bool too_many_each = count_from(connections, peer) >= LIMIT_TCP_CLIENTS_EACH;
	struct connection *idle;

	if (!too_many_each && connections->n < connections->max)
		return true;
	idle = find_idle(connections, too_many_each ? peer : NULL);
	if (idle == NULL)
		return false;
	life_event(&idle->life, LIFE_CANCEL, -ECANCELED);
	return true;
}

void connection_start(struct connections *connections, int fd, const struct address *peer,
		      uint32_t interface)
{
	struct connection *c = make_room(connections, peer) ? calloc(1, sizeof(*c)) : NULL;

	if (c == NULL) {
		close(fd);
		return;
	}
	c->owner = connections;
	c->peer = *peer;
	c->interface = interface;
	c->fd = fd;
	list_init(&c->held);
	list_init(&c->flush.node);
	list_add(&connections->all, &c->node);
	connections->n++;
	life_start(&c->life, &connection_kind, OPEN, connections->resolver->loop);
	if (listen_to(c, LOOP_READ) < 0)
		life_event(&c->life, LIFE_ERROR, -ENOMEM);
}

/* Make room for @len more bytes of output. */
static bool grow_out(struct connection *c, size_t len)
{
	size_t size = c->out_size > 0 ? c->out_size : 4096;
	uint8_t *out;

	if (c->n_out + len > LIMIT_TCP_UNSENT_BYTES + 2 + LIMIT_MESSAGE_BYTES)
		return false;
	while (size < c->n_out + len)
		size *= 2;
	if (size == c->out_size)
		return true;
	out = realloc(c->out, size);
	if (out == NULL)
		return false;
	c->out = out;
	c->out_size = size;
	return true;
}

int connection_fd(const struct connection *connection)
{
	return connection->fd;
}

void connection_answer(struct connection *connection, const uint8_t *bytes, size_t len)
{
	struct connection *c = connection;

	assert(len <= LIMIT_MESSAGE_BYTES);
	if (!grow_out(c, 2 + len))
		return;
	c->out[c->n_out] = (uint8_t)(len >> 8);
	c->out[c->n_out + 1] = (uint8_t)len;
	memcpy(c->out + c->n_out + 2, bytes, len);
	c->n_out += 2 + len;
	if (!c->life.stepping)
		loop_defer(c->life.loop, &c->flush, on_flush);
}

void connection_hold(struct connection *connection, struct client *client)
{
	list_add(&connection->held, &client->held);
	connection->n_held++;
}

void connection_release(struct connection *connection, struct client *client)
{
	list_drop(&client->held);
	connection->n_held--;
	if (!connection->life.stepping && connection->life.state != DEAD)
		loop_defer(connection->life.loop, &connection->flush, on_flush);
}
