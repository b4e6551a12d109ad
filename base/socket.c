/* SPDX-License-Identifier: MIT */
/* The sockets of base/loop.h: what they need of the loop is that it watches a descriptor. */
#include "base/loop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/own.h"

static int open_socket(const struct endpoint *peer, int type)
{
	struct sockaddr_storage to;
	socklen_t len = endpoint_to_sockaddr(peer, &to);
	OWN(own_close) int fd = socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS)
		return -errno;
	return steal_fd(fd);
}

/*
 * Datagrams.
 */

static void on_udp(struct loop_watch *watch, unsigned events)
{
	struct loop_udp *udp = list_owner(watch, struct loop_udp, watch);
	uint8_t bytes[LIMIT_MESSAGE_BYTES];
	ssize_t n = recv(udp->fd, bytes, sizeof(bytes), 0);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	udp->heard(udp, bytes, n < 0 ? -errno : n);
}

int loop_udp_open(struct loop *loop, struct loop_udp *udp, const struct endpoint *peer,
		  void (*heard)(struct loop_udp *udp, const uint8_t *bytes, long len))
{
	OWN(own_close) int fd = open_socket(peer, SOCK_DGRAM);

	if (fd < 0)
		return fd;
	int r = loop_watch_start(loop, &udp->watch, fd, LOOP_READ, on_udp);

	if (r < 0)
		return r;
	udp->loop = loop;
	udp->fd = steal_fd(fd);
	udp->heard = heard;
	udp->open = true;
	return 0;
}

int loop_udp_send(struct loop_udp *udp, const uint8_t *bytes, size_t len)
{
	return send(udp->fd, bytes, len, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void loop_udp_close(struct loop_udp *udp)
{
	if (!udp->open)
		return;
	loop_watch_stop(&udp->watch);
	close(udp->fd);
	udp->open = false;
}

/*
 * Streams. What the kernel does not take at once is kept, and sent as it takes it.
 */

/* Send @len bytes at @bytes, or as many of them as the kernel takes. Gives how many. */
static ssize_t send_some(struct loop_tcp *tcp, const uint8_t *bytes, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		ssize_t n = send(tcp->fd, bytes + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? (ssize_t)sent : -errno;
		sent += (size_t)n;
	}
	return (ssize_t)sent;
}

static int send_unsent(struct loop_tcp *tcp)
{
	ssize_t n;

	if (tcp->n_unsent == 0)
		return 0;
	n = send_some(tcp, tcp->unsent, tcp->n_unsent);
	if (n < 0)
		return (int)n;
	tcp->n_unsent -= (size_t)n;
	memmove(tcp->unsent, tcp->unsent + n, tcp->n_unsent);
	return 0;
}

static void on_tcp(struct loop_watch *watch, unsigned events)
{
	struct loop_tcp *tcp = list_owner(watch, struct loop_tcp, watch);
	uint8_t bytes[16384];

	if (events & LOOP_WRITE) {
		int r = send_unsent(tcp);

		if (r == 0 && tcp->n_unsent == 0)
			r = loop_watch_start(tcp->loop, watch, tcp->fd, LOOP_READ, on_tcp);
		if (r < 0) {
			tcp->heard(tcp, NULL, r);
			return;
		}
	}
	if (!(events & LOOP_READ))
		return;
	ssize_t n = recv(tcp->fd, bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	tcp->heard(tcp, bytes, n < 0 ? -errno : n);
}

int loop_tcp_adopt(struct loop *loop, struct loop_tcp *tcp, int fd,
		   void (*heard)(struct loop_tcp *tcp, const uint8_t *bytes, long len))
{
	struct loop_tcp fresh = { .loop = loop, .fd = fd, .heard = heard };
	int at_once = 1;

	*tcp = fresh;
	/* What is written is written whole: to wait for more would only delay it. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
	int r = loop_watch_start(loop, &tcp->watch, fd, LOOP_READ | LOOP_WRITE, on_tcp);

	if (r == 0)
		tcp->open = true;
	else
		close(fd);
	return r;
}

int loop_tcp_open(struct loop *loop, struct loop_tcp *tcp, const struct endpoint *peer,
		  void (*heard)(struct loop_tcp *tcp, const uint8_t *bytes, long len))
{
	int fd = open_socket(peer, SOCK_STREAM);

	return fd < 0 ? fd : loop_tcp_adopt(loop, tcp, fd, heard);
}

/* Keep the @len bytes at @bytes until they can be sent. */
static int keep_unsent(struct loop_tcp *tcp, const uint8_t *bytes, size_t len)
{
	size_t size = tcp->unsent_size > 0 ? tcp->unsent_size : 4096;
	uint8_t *unsent;

	if (tcp->n_unsent + len > LIMIT_STREAM_UNSENT_BYTES)
		return -ENOBUFS;
	while (size < tcp->n_unsent + len)
		size *= 2;
	unsent = size > tcp->unsent_size ? realloc(tcp->unsent, size) : tcp->unsent;
	if (unsent == NULL)
		return -ENOMEM;
	tcp->unsent = unsent;
	tcp->unsent_size = size;
	memcpy(unsent + tcp->n_unsent, bytes, len);
	tcp->n_unsent += len;
	return loop_watch_start(tcp->loop, &tcp->watch, tcp->fd, LOOP_READ | LOOP_WRITE, on_tcp);
}

int loop_tcp_write(struct loop_tcp *tcp, const uint8_t *bytes, size_t len)
{
	ssize_t n = tcp->n_unsent == 0 ? send_some(tcp, bytes, len) : 0;

	if (n < 0)
		return (int)n;
	return (size_t)n < len ? keep_unsent(tcp, bytes + n, len - (size_t)n) : 0;
}

void loop_tcp_close(struct loop_tcp *tcp)
{
	if (!tcp->open)
		return;
	loop_watch_stop(&tcp->watch);
	close(tcp->fd);
	free(tcp->unsent);
	tcp->unsent = NULL;
	tcp->n_unsent = tcp->unsent_size = 0;
	tcp->open = false;
}
