/* SPDX-License-Identifier: MIT */
#include "resolver/listen.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/own.h"
#include "resolver/connection.h"
#include "resolver/descriptors.h"
#include "resolver/worker.h"

enum {
	BATCH = 64,
	BACKLOG = 128,
	BACK_OFF_MS = 100, /* after an accept() that failed for want of something */
	CONTROL = CMSG_SPACE(sizeof(struct in6_pktinfo)),
};

/* Datagrams on their way in or out, with the address on our side of each. */
struct batch {
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct sockaddr_in6 peers[BATCH]; /* large enough for either family */
	union {
		uint8_t bytes[CONTROL];
		struct cmsghdr aligned;
	} controls[BATCH];
};

struct door {
	struct resolver *resolver;
	struct loop_watch watch;
	struct loop_task flush;
	int fd;
	unsigned n_out;
	struct batch in, out;
	uint8_t in_bytes[BATCH][LIMIT_QUERY_BYTES + 1]; /* one more, to see what is too long */
	uint8_t out_bytes[BATCH][LIMIT_UDP_ANSWER_BYTES];
};

/* A listening TCP socket. */
struct gate {
	struct connections *connections;
	struct loop *loop;
	struct loop_watch watch;
	struct loop_timer pause;
	struct endpoint endpoint;
	int fd;
};

struct listeners {
	struct connections connections;
	unsigned n;
	struct door **doors; /* for each endpoint one ... */
	struct gate *gates;  /* ... and one */
};

/*
 * UDP.
 */

/* Lay out @batch so that message i has its bytes at @bytes + i * @size. */
static void lay_out(struct batch *batch, uint8_t *bytes, size_t size)
{
	for (unsigned i = 0; i < BATCH; i++) {
		struct msghdr *header = &batch->messages[i].msg_hdr;

		batch->parts[i] = (struct iovec){ bytes + i * size, size };
		header->msg_iov = &batch->parts[i];
		header->msg_iovlen = 1;
		header->msg_name = &batch->peers[i];
		header->msg_control = &batch->controls[i];
	}
}

/* Whom message @i of the batch came from. Gives false for one that cannot be answered. */
static bool read_client(struct door *door, unsigned i, struct client *ret_client)
{
	struct msghdr *header = &door->in.messages[i].msg_hdr;
	struct sockaddr_storage peer = { .ss_family = 0 };
	struct client client = { .door = door };
	struct cmsghdr *control = CMSG_FIRSTHDR(header);

	if (header->msg_namelen > sizeof(client.peer) || control == NULL)
		return false;
	memcpy(&peer, header->msg_name, header->msg_namelen);
	memcpy(&client.peer, header->msg_name, header->msg_namelen);

	struct endpoint endpoint = endpoint_from_sockaddr(&peer);

	if (endpoint.address.family == 0 || endpoint.port == 0)
		return false;
	client.address = endpoint.address;
	if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO)
		memcpy(&client.local.in, CMSG_DATA(control), sizeof(client.local.in));
	else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO)
		memcpy(&client.local.in6, CMSG_DATA(control), sizeof(client.local.in6));
	else
		return false;
	client.interface = peer.ss_family == AF_INET ? (uint32_t)client.local.in.ipi_ifindex
						     : client.local.in6.ipi6_ifindex;
	*ret_client = client;
	return true;
}

/* Put the source address for an answer to @client into @header's control data. */
static void write_local(const struct client *client, struct msghdr *header)
{
	struct cmsghdr *control = (struct cmsghdr *)header->msg_control;

	if (client->peer.in.sin_family == AF_INET) {
		struct in_pktinfo local = { .ipi_spec_dst = client->local.in.ipi_spec_dst };

		control->cmsg_level = IPPROTO_IP;
		control->cmsg_type = IP_PKTINFO;
		control->cmsg_len = CMSG_LEN(sizeof(local));
		memcpy(CMSG_DATA(control), &local, sizeof(local));
		header->msg_controllen = CMSG_SPACE(sizeof(local));
		header->msg_namelen = sizeof(struct sockaddr_in);
		return;
	}
	struct in6_pktinfo local = client->local.in6;

	/* Only a link-local address says nothing without its interface. */
	if (!IN6_IS_ADDR_LINKLOCAL(&local.ipi6_addr))
		local.ipi6_ifindex = 0;
	control->cmsg_level = IPPROTO_IPV6;
	control->cmsg_type = IPV6_PKTINFO;
	control->cmsg_len = CMSG_LEN(sizeof(local));
	memcpy(CMSG_DATA(control), &local, sizeof(local));
	header->msg_controllen = CMSG_SPACE(sizeof(local));
	header->msg_namelen = sizeof(struct sockaddr_in6);
}

/* Send what has gathered. What the kernel does not take is dropped: the client asks again. */
static void send_batch(struct door *door)
{
	unsigned sent = 0;

	while (sent < door->n_out) {
		int n = sendmmsg(door->fd, door->out.messages + sent, door->n_out - sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		/* The first of the rest failed: the others may still go. */
		sent += n > 0 ? (unsigned)n : 1;
	}
	door->n_out = 0;
}

static void on_flush(struct loop_task *task)
{
	send_batch(list_owner(task, struct door, flush));
}

static void answer_datagram(struct client *client, const uint8_t *bytes, size_t len)
{
	struct door *door = client->door;
	unsigned i = door->n_out++;

	assert(len <= LIMIT_UDP_ANSWER_BYTES);
	memcpy(door->out_bytes[i], bytes, len);
	door->out.parts[i].iov_len = len;
	memcpy(&door->out.peers[i], &client->peer, sizeof(client->peer));
	write_local(client, &door->out.messages[i].msg_hdr);
	if (door->n_out == BATCH)
		send_batch(door);
	else
		loop_defer(door->resolver->loop, &door->flush, on_flush);
}

static void on_datagrams(struct loop_watch *watch, unsigned events)
{
	struct door *door = list_owner(watch, struct door, watch);
	struct client client;
	int n;

	(void)events;
	for (unsigned i = 0; i < BATCH; i++) {
		door->in.messages[i].msg_hdr.msg_namelen = sizeof(door->in.peers[i]);
		door->in.messages[i].msg_hdr.msg_controllen = CONTROL;
	}
	n = recvmmsg(door->fd, door->in.messages, BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return;
	lease_table_poll(door->resolver->leases, door->resolver->desk);
	for (unsigned i = 0; i < (unsigned)n; i++)
		if (read_client(door, i, &client))
			query_receive(door->resolver, &client, door->in_bytes[i],
				      door->in.messages[i].msg_len);
}

/*
 * TCP.
 */

static void on_pause_over(struct loop_timer *timer);
static void on_connection(struct loop_watch *watch, unsigned events);

static int open_gate(struct gate *gate)
{
	return loop_watch_start(gate->loop, &gate->watch, gate->fd, LOOP_READ, on_connection);
}

static void pause_gate(struct gate *gate)
{
	loop_watch_stop(&gate->watch);
	loop_timer_start(gate->loop, &gate->pause, BACK_OFF_MS, on_pause_over);
}

static void on_pause_over(struct loop_timer *timer)
{
	struct gate *gate = list_owner(timer, struct gate, pause);

	if (open_gate(gate) < 0)
		pause_gate(gate);
}

/*
 * The number of the interface by which the connection @fd of @family was opened, 0 if it is not
 * known: the kernel keeps it of the packet that completed the handshake, for sockets that ask for
 * it by IP_PKTINFO (ip(7), ipv6(7)).
 */
static uint32_t find_interface(int fd, uint8_t family)
{
	union {
		uint8_t bytes[256];
		struct cmsghdr aligned;
	} control;
	struct msghdr header = { .msg_control = &control };
	struct in6_pktinfo in6;
	struct in_pktinfo in;
	socklen_t len = sizeof(control);

	if (getsockopt(fd, family == 4 ? IPPROTO_IP : IPPROTO_IPV6,
		       family == 4 ? IP_PKTOPTIONS : IPV6_2292PKTOPTIONS, &control, &len) < 0)
		return 0;
	header.msg_controllen = len;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c != NULL; c = CMSG_NXTHDR(&header, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&in, CMSG_DATA(c), sizeof(in));
			return (uint32_t)in.ipi_ifindex;
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&in6, CMSG_DATA(c), sizeof(in6));
			return in6.ipi6_ifindex;
		}
	}
	return 0;
}

static void on_connection(struct loop_watch *watch, unsigned events)
{
	struct gate *gate = list_owner(watch, struct gate, watch);
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd = accept4(gate->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0) {
		/* Out of descriptors or memory: others may go on, and so do we a little later. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_gate(gate);
		return;
	}
	struct endpoint endpoint = endpoint_from_sockaddr(&peer);

	connection_start(gate->connections, fd, &endpoint.address,
			 find_interface(fd, gate->endpoint.address.family));
}

/*
 * Both.
 */

void client_answer(struct client *client, const uint8_t *bytes, size_t len)
{
	if (client->door != NULL)
		answer_datagram(client, bytes, len);
	else if (client->connection != NULL)
		connection_answer(client->connection, bytes, len);
}

const char *client_interface(const struct client *client, char ret_name[IF_NAMESIZE])
{
	struct ifreq request = { .ifr_ifindex = (int)client->interface };
	int fd = client->door != NULL         ? client->door->fd
		 : client->connection != NULL ? connection_fd(client->connection)
					      : -1;

	if (client->interface == 0 || fd < 0 || ioctl(fd, SIOCGIFNAME, &request) < 0)
		return NULL;
	memcpy(ret_name, request.ifr_name, IF_NAMESIZE);
	return ret_name;
}

void client_hold(struct client *client)
{
	list_init(&client->held);
	if (client->connection != NULL)
		connection_hold(client->connection, client);
}

void client_release(struct client *client)
{
	if (client->connection != NULL)
		connection_release(client->connection, client);
	client->connection = NULL;
}

static int set_options(int fd, const struct endpoint *endpoint, int type)
{
	bool v4 = endpoint->address.family == 4;
	int on = 1;

	if (!v4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_PKTINFO : IPV6_RECVPKTINFO, &on,
		       sizeof(on)) < 0)
		return -errno;
	/* A TCP port in TIME_WAIT is no other server; a UDP port must not be shared with one. */
	if (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	return 0;
}

/*
 * Several workers share an address, and the kernel deals out what comes (SO_REUSEPORT). The first
 * binds as if it were alone, so that it fails where another process has the address; only then
 * does it let the others, which say so before they bind, share it.
 */
static int bind_shared(int fd, const struct resolver *worker, const struct sockaddr *at,
		       socklen_t len)
{
	bool shared = policy_resolver(worker->policy)->threads > 1;
	int on = 1;

	if (worker->number == 0 && bind(fd, at, len) < 0)
		return -errno;
	if (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
		return -errno;
	if (worker->number > 0 && bind(fd, at, len) < 0)
		return -errno;
	return 0;
}

static int open_socket(const struct resolver *worker, const struct endpoint *endpoint, int type,
		       struct err *err)
{
	char text[ENDPOINT_TEXT_SIZE];
	struct sockaddr_storage at;
	socklen_t len = endpoint_to_sockaddr(endpoint, &at);
	OWN(own_close) int fd = socket(at.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : set_options(fd, endpoint, type);

	if (r == 0)
		r = bind_shared(fd, worker, (const struct sockaddr *)&at, len);
	if (r == 0 && type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0)
		return steal_fd(fd);
	endpoint_print(endpoint, text);
	return err_set(err, r, "[resolver] listen: %s over %s: %s", text,
		       type == SOCK_STREAM ? "TCP" : "UDP", strerror(-r));
}

static void door_free(struct door *door)
{
	if (door == NULL)
		return;
	loop_watch_stop(&door->watch);
	loop_defer_stop(&door->flush);
	close(door->fd);
	free(door);
}

static int door_new(struct resolver *resolver, const struct endpoint *endpoint,
		    struct door **ret_door, struct err *err)
{
	struct door *door;
	int fd = open_socket(resolver, endpoint, SOCK_DGRAM, err);

	if (fd < 0)
		return fd;
	door = calloc(1, sizeof(*door));
	if (door == NULL) {
		close(fd);
		return err_set(err, -ENOMEM, "no memory for a listener");
	}
	door->resolver = resolver;
	door->fd = fd;
	list_init(&door->flush.node);
	lay_out(&door->in, door->in_bytes[0], sizeof(door->in_bytes[0]));
	lay_out(&door->out, door->out_bytes[0], sizeof(door->out_bytes[0]));
	int r = loop_watch_start(resolver->loop, &door->watch, fd, LOOP_READ, on_datagrams);

	if (r < 0) {
		door_free(door);
		return err_set(err, r, "a UDP socket cannot be watched: %s", strerror(-r));
	}
	*ret_door = door;
	return 0;
}

static int gate_init(struct gate *gate, struct listeners *listeners, struct resolver *resolver,
		     const struct endpoint *endpoint, struct err *err)
{
	gate->connections = &listeners->connections;
	gate->loop = resolver->loop;
	gate->endpoint = *endpoint;
	gate->fd = open_socket(resolver, endpoint, SOCK_STREAM, err);
	if (gate->fd < 0)
		return gate->fd;
	int r = open_gate(gate);

	return r < 0 ? err_set(err, r, "a TCP socket cannot be watched: %s", strerror(-r)) : 0;
}

static void gate_done(struct gate *gate)
{
	loop_watch_stop(&gate->watch);
	loop_timer_stop(&gate->pause);
	if (gate->fd >= 0)
		close(gate->fd);
}

void listeners_free(struct listeners *listeners)
{
	if (listeners == NULL)
		return;
	connections_done(&listeners->connections);
	for (unsigned i = 0; i < listeners->n; i++) {
		door_free(listeners->doors[i]);
		gate_done(&listeners->gates[i]);
	}
	free(listeners->doors);
	free(listeners->gates);
	free(listeners);
}

static struct listeners *allocate(struct resolver *resolver, unsigned n)
{
	struct listeners *listeners = calloc(1, sizeof(*listeners));

	if (listeners == NULL)
		return NULL;
	connections_init(
		&listeners->connections, resolver,
		descriptors_share(2 * n, policy_resolver(resolver->policy)->threads).clients);
	listeners->doors = calloc(n, sizeof(struct door *));
	listeners->gates = calloc(n, sizeof(listeners->gates[0]));
	if (listeners->doors != NULL && listeners->gates != NULL)
		return listeners;
	listeners_free(listeners);
	return NULL;
}

static int open_both(struct listeners *listeners, struct resolver *resolver,
		     const struct endpoint *endpoint, struct err *err)
{
	unsigned i = listeners->n;
	int r = door_new(resolver, endpoint, &listeners->doors[i], err);

	if (r < 0)
		return r;
	listeners->n++;
	return gate_init(&listeners->gates[i], listeners, resolver, endpoint, err);
}

/* True if opening @endpoint failed with @status because the host has no IPv6. */
static bool is_missing(const struct endpoint *endpoint, int status)
{
	return endpoint->address.family == 6 &&
	       (status == -EAFNOSUPPORT || status == -EADDRNOTAVAIL);
}

bool listeners_endpoint(const struct listeners *listeners, unsigned i,
			struct endpoint *ret_endpoint)
{
	if (i >= listeners->n)
		return false;
	*ret_endpoint = listeners->gates[i].endpoint;
	return true;
}

int listeners_new(struct resolver *resolver, struct listeners **ret_listeners, struct err *err)
{
	const struct policy_resolver *settings = policy_resolver(resolver->policy);
	struct listeners *listeners = allocate(resolver, settings->n_listen);
	int r = 0;

	if (listeners == NULL)
		return err_set(err, -ENOMEM, "no memory for the listeners");
	for (unsigned i = 0; r == 0 && i < settings->n_listen; i++) {
		const struct endpoint *endpoint = &settings->listen[i];

		r = open_both(listeners, resolver, endpoint, err);
		if (r < 0 && settings->listen_default && is_missing(endpoint, r))
			r = 0;
	}
	if (r < 0) {
		listeners_free(listeners);
		return r;
	}
	*ret_listeners = listeners;
	return 0;
}
