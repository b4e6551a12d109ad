/* SPDX-License-Identifier: MIT */
/* resolver/connection.c on a real loop and socket; queries and leases are the test's. */
#include "resolver/connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/limits.h"
#include "resolver/worker.h"
#include "tests/unit/test.h"

enum { TOO_LONG_MS = 5000, QUERY_LEN = 17 };

/* A server with one connection, and the client at its other end. */
static struct bench {
	struct resolver resolver;
	struct connections connections;
	struct loop_timer alarm;
	struct loop_watch watch;
	int client;
	size_t heard, wanted; /* bytes */
	size_t answer_len;
	unsigned n_polls, n_queries;
	bool polled_first;
} bench;

/*
 * What connection.c calls.
 */

void lease_table_poll(struct lease_table *table, struct lease_desk *desk)
{
	(void)table, (void)desk;
	bench.n_polls++;
}

void query_receive(struct resolver *resolver, const struct client *client, const uint8_t *bytes,
		   size_t len)
{
	static const uint8_t answer[LIMIT_MESSAGE_BYTES];

	(void)resolver, (void)bytes;
	assert_int_equal(len, QUERY_LEN);
	bench.n_queries++;
	bench.polled_first = bench.n_polls > 0;
	connection_answer(client->connection, answer, bench.answer_len);
}

void query_cancel(struct client *client)
{
	(void)client;
	fail_msg("no query is held here");
}

/*
 * The client.
 */

static void ring(struct loop_timer *timer)
{
	loop_stop(timer->loop);
	fail_msg("%zu of %zu bytes came within %d ms", bench.heard, bench.wanted, TOO_LONG_MS);
}

static void on_answers(struct loop_watch *watch, unsigned events)
{
	uint8_t bytes[65536];
	ssize_t n = recv(bench.client, bytes, sizeof(bytes), MSG_DONTWAIT);

	(void)watch, (void)events;
	assert_true(n > 0);
	bench.heard += (size_t)n;
	if (bench.heard >= bench.wanted)
		loop_stop(bench.resolver.loop);
}

/* Send @n queries in one piece, and wait for as many answers of @answer_len bytes. */
static void ask(unsigned n, size_t answer_len)
{
	uint8_t queries[8 * (2 + QUERY_LEN)] = { 0 };
	size_t len = n * (size_t)(2 + QUERY_LEN);

	assert_true(len <= sizeof(queries));
	for (unsigned i = 0; i < n; i++)
		queries[i * (2 + QUERY_LEN) + 1] = QUERY_LEN;
	bench.answer_len = answer_len;
	bench.wanted = n * (2 + answer_len);
	assert_int_equal(send(bench.client, queries, len, 0), len);
	loop_run(bench.resolver.loop);
	assert_int_equal(bench.heard, bench.wanted);
	assert_int_equal(bench.n_queries, n);
}

static int set_up(void **state)
{
	static const struct address peer = { 4, { 10, 0, 0, 2 } };
	int ends[2], large = 1 << 20;

	(void)state;
	bench = (struct bench){ .client = -1 };
	if (loop_new(&bench.resolver.loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
	    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)) < 0)
		return -1;
	bench.client = ends[1];
	connections_init(&bench.connections, &bench.resolver, LIMIT_TCP_CLIENTS);
	connection_start(&bench.connections, ends[0], &peer, 0);
	loop_timer_start(bench.resolver.loop, &bench.alarm, TOO_LONG_MS, ring);
	return loop_watch_start(bench.resolver.loop, &bench.watch, bench.client, LOOP_READ,
				on_answers);
}

static int tear_down(void **state)
{
	(void)state;
	connections_done(&bench.connections);
	loop_watch_stop(&bench.watch);
	loop_timer_stop(&bench.alarm);
	close(bench.client);
	loop_free(bench.resolver.loop);
	return 0;
}

/* An element that was already gone when the question came is not trusted, over TCP as over UDP. */
static void test_the_mirror_is_looked_at_before_a_query_is_answered(void **state)
{
	(void)state;
	ask(1, 40);
	assert_true(bench.polled_first);
}

/*
 * Queries that were left lying because too much was unsent are taken up once it is sent, though
 * the client, which waits for their answers, says no more.
 */
static void test_queries_left_lying_are_answered(void **state)
{
	(void)state;
	ask(8, LIMIT_MESSAGE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_the_mirror_is_looked_at_before_a_query_is_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_queries_left_lying_are_answered, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
