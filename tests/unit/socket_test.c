/* SPDX-License-Identifier: MIT */
/* base/socket.c with the real libuv and real sockets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/loop.h"
#include "tests/unit/test.h"

enum { TOO_LONG_MS = 5000 };

/* A loop with an alarm: a test that would wait for ever fails instead. */
struct bench {
	struct loop *loop;
	struct loop_timer alarm;
};

static void ring(struct loop_timer *timer)
{
	loop_stop(timer->loop);
	fail_msg("nothing came within %d ms", TOO_LONG_MS);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL || loop_new(&bench->loop) < 0)
		return -1;
	loop_timer_start(bench->loop, &bench->alarm, TOO_LONG_MS, ring);
	*state = bench;
	return 0;
}

/* Every test ends here: loop_free() asserts that nothing was left open or running. */
static int tear_down(void **state)
{
	struct bench *bench = *state;

	loop_timer_stop(&bench->alarm);
	loop_free(bench->loop);
	free(bench);
	return 0;
}

/* A plain socket of the test's own, on a port that the kernel picks. */
static int serve(int type, struct endpoint *ret_endpoint)
{
	struct sockaddr_storage sockaddr;
	struct endpoint any;
	socklen_t len;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(endpoint_parse("127.0.0.1", 0, &any), 0);
	len = endpoint_to_sockaddr(&any, &sockaddr);
	assert_int_equal(bind(fd, (struct sockaddr *)&sockaddr, len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 4), 0);
	len = sizeof(sockaddr);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sockaddr, &len), 0);
	*ret_endpoint = endpoint_from_sockaddr(&sockaddr);
	return fd;
}

struct client {
	struct loop_udp udp;
	struct loop_tcp tcp;
	struct loop_timer later;
	struct bench *bench;
	uint8_t bytes[64];
	size_t n_bytes;
	long last;       /* what was heard last */
	int server;      /* listening */
	int peer;        /* accepted */
	size_t n_served; /* bytes that the server has read */
	size_t n_written;
};

static void hear_datagram(struct loop_udp *udp, const uint8_t *bytes, long len)
{
	struct client *client = list_owner(udp, struct client, udp);

	client->last = len;
	if (len > 0) {
		assert_true((size_t)len <= sizeof(client->bytes));
		memcpy(client->bytes, bytes, (size_t)len);
	}
	loop_udp_close(udp);
	loop_stop(client->bench->loop);
}

static void echo(struct loop_timer *timer)
{
	struct client *client = list_owner(timer, struct client, later);
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char bytes[64];
	ssize_t n = recvfrom(client->server, bytes, sizeof(bytes), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);

	assert_int_equal(n, 5);
	sendto(client->server, bytes, (size_t)n, 0, (struct sockaddr *)&from, len);
}

static void datagrams_come_back(void **state)
{
	struct client client = { .bench = *state };
	struct loop *loop = client.bench->loop;
	struct endpoint server;

	client.server = serve(SOCK_DGRAM, &server);
	assert_int_equal(loop_udp_open(loop, &client.udp, &server, hear_datagram), 0);
	assert_int_equal(loop_udp_send(&client.udp, (const uint8_t *)"hello", 5), 0);
	loop_timer_start(loop, &client.later, 5, echo);
	loop_run(loop);
	assert_int_equal(client.last, 5);
	assert_memory_equal(client.bytes, "hello", 5);
	loop_udp_close(&client.udp); /* twice is harmless */
	close(client.server);
}

static void strangers_are_not_heard(void **state)
{
	struct client client = { .bench = *state };
	struct loop *loop = client.bench->loop;
	struct endpoint server, other;
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	int stranger = serve(SOCK_DGRAM, &other);

	client.server = serve(SOCK_DGRAM, &server);
	assert_int_equal(loop_udp_open(loop, &client.udp, &server, hear_datagram), 0);
	assert_int_equal(getsockname(client.udp.fd, (struct sockaddr *)&own, &len), 0);
	assert_int_equal(sendto(stranger, "forged", 6, 0, (struct sockaddr *)&own, len), 6);
	assert_int_equal(loop_udp_send(&client.udp, (const uint8_t *)"hello", 5), 0);
	loop_timer_start(loop, &client.later, 30, echo);
	loop_run(loop);
	assert_int_equal(client.last, 5);
	assert_memory_equal(client.bytes, "hello", 5);
	close(client.server);
	close(stranger);
}

/* Nobody listens: the kernel's ICMP error is heard, once. */
static void refused_datagrams_are_told(void **state)
{
	struct client client = { .bench = *state };
	struct loop *loop = client.bench->loop;
	struct endpoint server;

	close(serve(SOCK_DGRAM, &server));
	assert_int_equal(loop_udp_open(loop, &client.udp, &server, hear_datagram), 0);
	assert_int_equal(loop_udp_send(&client.udp, (const uint8_t *)"hello", 5), 0);
	loop_run(loop);
	assert_int_equal(client.last, -ECONNREFUSED);
}

static void hear_stream(struct loop_tcp *tcp, const uint8_t *bytes, long len)
{
	struct client *client = list_owner(tcp, struct client, tcp);

	client->last = len;
	if (len > 0) {
		assert_true(client->n_bytes + (size_t)len <= sizeof(client->bytes));
		memcpy(client->bytes + client->n_bytes, bytes, (size_t)len);
		client->n_bytes += (size_t)len;
		return;
	}
	loop_tcp_close(tcp);
	loop_stop(client->bench->loop);
}

/*
 * Each millisecond the server reads what there is, and the client writes what can wait. The server
 * answers when it has all 4 MiB.
 */
enum { REQUEST_BYTES = 4 << 20, PIECE_BYTES = 1 << 16 };

static void write_on(struct client *client)
{
	static const uint8_t piece[PIECE_BYTES] = { 1, 2, 3 };

	/* A full queue takes nothing of a piece, as the kernel took nothing before. */
	while (client->n_written < REQUEST_BYTES &&
	       client->tcp.n_unsent + PIECE_BYTES <= LIMIT_STREAM_UNSENT_BYTES) {
		assert_int_equal(loop_tcp_write(&client->tcp, piece, PIECE_BYTES), 0);
		client->n_written += PIECE_BYTES;
	}
}

static void read_slowly(struct loop_timer *timer)
{
	struct client *client = list_owner(timer, struct client, later);
	static uint8_t bytes[1 << 18];
	ssize_t n;

	if (client->peer < 0)
		client->peer = accept4(client->server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	n = client->peer < 0 ? -1 : recv(client->peer, bytes, sizeof(bytes), 0);
	for (ssize_t i = 0; i < n; i++)
		if (client->n_served++ % PIECE_BYTES < 3)
			assert_int_equal(bytes[i], (client->n_served - 1) % PIECE_BYTES + 1);
	write_on(client);
	if (client->n_served < REQUEST_BYTES) {
		loop_timer_start(timer->loop, timer, 1, read_slowly);
		return;
	}
	assert_int_equal(send(client->peer, "answer", 6, MSG_NOSIGNAL), 6);
	close(client->peer);
}

static void a_slow_server_gets_all_and_answers(void **state)
{
	struct client client = { .bench = *state, .peer = -1 };
	struct loop *loop = client.bench->loop;
	struct endpoint server;

	client.server = serve(SOCK_STREAM, &server);
	assert_int_equal(loop_tcp_open(loop, &client.tcp, &server, hear_stream), 0);
	write_on(&client); /* before it is connected */
	loop_timer_start(loop, &client.later, 1, read_slowly);
	loop_run(loop);
	assert_int_equal(client.n_served, REQUEST_BYTES);
	assert_int_equal(client.last, 0); /* the server closed */
	assert_int_equal(client.n_bytes, 6);
	assert_memory_equal(client.bytes, "answer", 6);
	loop_tcp_close(&client.tcp); /* twice is harmless */
	close(client.server);
}

/* There is an end to what waits for a server that reads nothing. */
static void what_waits_to_be_sent_is_limited(void **state)
{
	static const uint8_t piece[PIECE_BYTES];
	struct client client = { .bench = *state };
	struct loop *loop = client.bench->loop;
	struct endpoint server;
	size_t n = 0;
	int r;

	client.server = serve(SOCK_STREAM, &server);
	assert_int_equal(loop_tcp_open(loop, &client.tcp, &server, hear_stream), 0);
	while ((r = loop_tcp_write(&client.tcp, piece, sizeof(piece))) == 0)
		assert_true(++n < 1024);
	assert_int_equal(r, -ENOBUFS);
	assert_true(n * PIECE_BYTES >= LIMIT_STREAM_UNSENT_BYTES);
	loop_tcp_close(&client.tcp);
	close(client.server);
}

static void hang_up(struct loop_timer *timer)
{
	struct client *client = list_owner(timer, struct client, later);
	struct linger now = { .l_onoff = 1 };

	client->peer = accept4(client->server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(client->peer >= 0);
	setsockopt(client->peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(client->peer);
}

static void a_reset_is_told(void **state)
{
	struct client client = { .bench = *state };
	struct loop *loop = client.bench->loop;
	struct endpoint server;

	client.server = serve(SOCK_STREAM, &server);
	assert_int_equal(loop_tcp_open(loop, &client.tcp, &server, hear_stream), 0);
	assert_int_equal(loop_tcp_write(&client.tcp, (const uint8_t *)"hi", 2), 0);
	loop_timer_start(loop, &client.later, 10, hang_up);
	loop_run(loop);
	assert_int_equal(client.last, -ECONNRESET);
	close(client.server);
}

static void a_refused_connection_is_told_later(void **state)
{
	struct client client = { .bench = *state, .last = 1 };
	struct loop *loop = client.bench->loop;
	struct endpoint server;

	close(serve(SOCK_STREAM, &server));
	int r = loop_tcp_open(loop, &client.tcp, &server, hear_stream);

	/* The loopback may refuse within connect(); then nothing comes later. */
	assert_int_equal(client.last, 1);
	if (r == 0) {
		loop_run(loop);
		r = (int)client.last;
	}
	assert_int_equal(r, -ECONNREFUSED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(datagrams_come_back),
		TEST(strangers_are_not_heard),
		TEST(refused_datagrams_are_told),
		TEST(a_slow_server_gets_all_and_answers),
		TEST(what_waits_to_be_sent_is_limited),
		TEST(a_reset_is_told),
		TEST(a_refused_connection_is_told_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
