/* SPDX-License-Identifier: MIT */
/*
 * The ruleset under real packets: two agents and an origin, each in a network
 * namespace of its own, and the gateway between them in ours.
 *
 *   agent  10.0.0.2 fd00:a::2 --- a0 (gateway, confined)
 *   other  10.0.1.2 fd00:b::2 --- b0 (gateway, confined)
 *   origin 192.0.2.1 2001:db8::1, 198.51.100.1 --- o0 (gateway)
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/loop.h"
#include "base/own.h"
#include "lease/lease.h"
#include "tests/kernel/tap.h"
#include "tests/unit/fake_policy.h"

enum { AT_ONCE_MS = 500, PATIENCE_MS = 1500, GRACE_S = 2, MAX_LISTENERS = 32 };

struct world {
	struct policy policy;
	struct loop *loop;
	struct lease_table *table;
	struct lease_ask ask;
	struct loop_timer patience;
	bool done;
	int status;
	int listeners[MAX_LISTENERS];
	unsigned n_listeners;
	int home; /* our own network namespace */
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * Sockets in other namespaces: a socket stays where it was made.
 */

static int open_in(const struct world *w, const char *netns, int family, int type)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	OWN(own_close) int there = open(path, O_RDONLY | O_CLOEXEC);

	if (strcmp(netns, "gateway") != 0 && setns(there, CLONE_NEWNET) < 0)
		abort();
	fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (setns(w->home, CLONE_NEWNET) < 0 || fd < 0)
		abort();
	return fd;
}

static int listen_in(struct world *w, const char *netns, int type, const char *at)
{
	struct sockaddr_storage to;
	struct endpoint endpoint;
	int one = 1;

	if (endpoint_parse(at, 0, &endpoint) < 0 || w->n_listeners == MAX_LISTENERS)
		abort();
	socklen_t len = endpoint_to_sockaddr(&endpoint, &to);
	int fd = open_in(w, netns, to.ss_family, type);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (to.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&to, len) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 16) < 0))
		abort();
	w->listeners[w->n_listeners++] = fd;
	return fd;
}

static int wait_for(int fd, short events, unsigned ms)
{
	struct pollfd polled = { .fd = fd, .events = events };
	int error = 0;
	socklen_t len = sizeof(error);

	if (poll(&polled, 1, (int)ms) == 0)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return -error;
}

/* Connect from @netns to @to. Gives the socket, or a negative errno. */
static int dial(const struct world *w, const char *netns, const char *to)
{
	struct sockaddr_storage address;
	struct endpoint endpoint;

	if (endpoint_parse(to, 0, &endpoint) < 0)
		abort();
	socklen_t len = endpoint_to_sockaddr(&endpoint, &address);
	OWN(own_close) int fd = open_in(w, netns, address.ss_family, SOCK_STREAM);

	if (connect(fd, (const struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS)
		return -errno;
	int r = wait_for(fd, POLLOUT, PATIENCE_MS);

	return r < 0 ? r : steal_fd(fd);
}

static bool connects(const struct world *w, const char *netns, const char *to)
{
	OWN(own_close) int fd = dial(w, netns, to);

	if (fd < 0)
		printf("# %s to %s: %s\n", netns, to, strerror(-fd));
	return fd >= 0;
}

/* Refused, and at once: nobody shall wait for a timeout to learn that he may not. */
static bool is_refused(const struct world *w, const char *netns, const char *to)
{
	uint64_t before = now_ms();
	OWN(own_close) int fd = dial(w, netns, to);

	if (fd != -ECONNREFUSED)
		printf("# %s to %s: %s\n", netns, to, fd < 0 ? strerror(-fd) : "connected");
	return fd == -ECONNREFUSED && now_ms() - before < AT_ONCE_MS;
}

/* Send a datagram from @netns to @to. Gives -ETIMEDOUT if nothing came back, or why not. */
static int throw(const struct world *w, const char *netns, const char *to)
{
	struct sockaddr_storage address;
	struct endpoint endpoint;

	if (endpoint_parse(to, 0, &endpoint) < 0)
		abort();
	socklen_t len = endpoint_to_sockaddr(&endpoint, &address);
	OWN(own_close) int fd = open_in(w, netns, address.ss_family, SOCK_DGRAM);

	if (connect(fd, (const struct sockaddr *)&address, len) < 0 || send(fd, "x", 1, 0) < 0)
		return -errno;
	return wait_for(fd, POLLIN, 200);
}

static bool hears(int fd)
{
	char byte;

	return wait_for(fd, POLLIN, AT_ONCE_MS) == 0 && recv(fd, &byte, 1, 0) == 1;
}

/*
 * The gateway.
 */

static void on_report(void *arg, int status, const char *text)
{
	(void)arg;
	printf("# report %d: %s\n", status, text);
}

static void on_done(struct lease_ask *ask, int status)
{
	struct world *w = list_owner(ask, struct world, ask);

	w->done = true;
	w->status = status;
	loop_stop(w->loop);
}

static void on_patience_over(struct loop_timer *timer)
{
	loop_stop(list_owner(timer, struct world, patience)->loop);
}

static void serve(struct world *w, unsigned ms)
{
	loop_timer_start(w->loop, &w->patience, ms, on_patience_over);
	loop_run(w->loop);
	loop_timer_stop(&w->patience);
}

/* The same; the loop's clock stood still while nobody served it, so one turn comes first. */
static void pass(struct world *w, unsigned ms)
{
	serve(w, 1);
	serve(w, ms);
}

static const struct policy_port leased_ports[] = { { 443, 443, IPPROTO_TCP },
						   { 853, 853, IPPROTO_TCP } };
static const struct policy_grant leased = {
	.label = "leased", .ports = leased_ports, .n_ports = 2, .expires_s = INT64_MAX
};

static int grant(struct world *w, const char *agent, const char *address, uint32_t ttl_s)
{
	static const struct policy_grant *const grants[] = { &leased };
	const struct policy_verdict verdict = {
		.code = POLICY_ALLOW, .grants = grants, .n_grants = 1, .allowing = 1
	};
	struct address to;
	struct name name;
	struct lease_wanted wanted = { .name = &name,
				       .addresses = &to,
				       .verdicts = &verdict,
				       .n_addresses = 1,
				       .ttl_s = ttl_s };

	if (address_parse(agent, &wanted.agent) < 0 || address_parse(address, &to) < 0 ||
	    name_parse("www.example.com", &name) < 0)
		abort();
	pass(w, 1);
	lease_table_poll(w->table, NULL);
	int r = lease_grant(w->table, &w->ask, &w->policy, &wanted);

	if (r != -EINPROGRESS)
		return r;
	w->done = false;
	serve(w, 3000);
	return w->done ? w->status : -EBUSY;
}

static void build_link(const char *netns, const char *link, const char *net4, const char *net6)
{
	tap_sh("ip netns add %s && ip link add %s type veth peer name eth0 netns %s && "
	       "ip addr add %s.254/24 dev %s && ip -6 addr add %s::254/64 dev %s nodad && "
	       "ip link set %s up && ip -n %s link set lo up && ip -n %s link set eth0 up",
	       netns, link, netns, net4, link, net6, link, link, netns, netns);
	tap_sh("ip -n %s route add default via %s.254 dev eth0 onlink && "
	       "ip -n %s -6 route add default via %s::254 dev eth0 onlink",
	       netns, net4, netns, net6);
}

static void build_network(void)
{
	build_link("agent", "a0", "10.0.0", "fd00:a");
	build_link("other", "b0", "10.0.1", "fd00:b");
	build_link("origin", "o0", "192.0.2", "2001:db8");
	tap_sh("ip -n agent addr add 10.0.0.2/24 dev eth0; "
	       "ip -n agent addr add fd00:a::2/64 dev eth0 nodad; "
	       "ip -n other addr add 10.0.1.2/24 dev eth0; "
	       "ip -n other addr add fd00:b::2/64 dev eth0 nodad; "
	       "ip -n origin addr add 192.0.2.1/24 dev eth0; "
	       "ip -n origin addr add 192.0.2.2/24 dev eth0; "
	       "ip -n origin addr add 2001:db8::1/64 dev eth0 nodad; "
	       "ip -n origin addr add 198.51.100.1/24 dev eth0; "
	       "ip route add 198.51.100.0/24 via 192.0.2.1; "
	       "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
}

static void open_gateway(struct world *w)
{
	struct err err = { .code = 0 };

	w->ask.done = on_done;
	if (loop_new(&w->loop) < 0)
		abort();
	int r = lease_table_new(w->loop, &w->policy, on_report, w, &w->table, &err);

	if (!tap_ok(r == 0, "the ruleset is loaded: %s", r < 0 ? err.text : "yes"))
		exit(tap_end());
}

static void close_gateway(struct world *w)
{
	lease_table_free(w->table);
	loop_free(w->loop);
	for (unsigned i = 0; i < w->n_listeners; i++)
		close(w->listeners[i]);
	w->n_listeners = 0;
}

/*
 * What is allowed and what is not.
 */

static void only_leases_open(struct world *w)
{
	int quic = listen_in(w, "origin", SOCK_DGRAM, "192.0.2.1:443");

	listen_in(w, "origin", SOCK_STREAM, "192.0.2.1:443");
	listen_in(w, "origin", SOCK_STREAM, "192.0.2.1:853");
	listen_in(w, "origin", SOCK_STREAM, "192.0.2.1:22");
	tap_ok(is_refused(w, "agent", "192.0.2.1:443"), "without a lease a connection is refused");
	tap_ok(grant(w, "10.0.0.2", "192.0.2.1", 60) == 0, "a lease is granted");
	tap_ok(connects(w, "agent", "192.0.2.1:443"), "then it connects");
	tap_ok(is_refused(w, "agent", "192.0.2.1:22"), "not to another port");
	tap_ok(is_refused(w, "agent", "192.0.2.2:443"), "not to another address");
	tap_ok(is_refused(w, "other", "192.0.2.1:443"), "not for another agent");
	tap_ok(throw(w, "agent", "192.0.2.1:443") == -ECONNREFUSED && !hears(quic),
	       "not by another protocol: QUIC is refused");
	tap_ok(is_refused(w, "agent", "192.0.2.1:853"),
	       "DNS over TLS is refused even with a lease");
	tap_ok(tap_says("nft list counter inet bailiwick dot", "packets 1 ") &&
		       tap_says("nft list counter inet bailiwick quic", "packets 1 ") &&
		       tap_says("nft list counter inet bailiwick no_lease", "packets 4 "),
	       "each refusal is counted by its reason");
}

static void old_flow_outlives_its_lease(struct world *w)
{
	listen_in(w, "origin", SOCK_STREAM, "192.0.2.2:443");
	tap_ok(grant(w, "10.0.0.2", "192.0.2.2", 1) == 0, "a short lease");
	OWN(own_close) int flow = dial(w, "agent", "192.0.2.2:443");
	OWN(own_close)
	int peer =
		accept4(w->listeners[w->n_listeners - 1], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	tap_ok(flow >= 0 && peer >= 0, "opens a flow");
	pass(w, 1000 * (GRACE_S + 1) + 1200);
	tap_ok(is_refused(w, "agent", "192.0.2.2:443"), "after its end nothing new is let through");
	tap_ok(send(flow, "x", 1, MSG_NOSIGNAL) == 1 && hears(peer), "but the flow goes on");
}

static void ipv6_is_the_same(struct world *w)
{
	listen_in(w, "origin", SOCK_STREAM, "[2001:db8::1]:443");
	tap_ok(is_refused(w, "agent", "[2001:db8::1]:443"), "IPv6 is refused without a lease");
	tap_ok(grant(w, "fd00:a::2", "2001:db8::1", 60) == 0 &&
		       connects(w, "agent", "[2001:db8::1]:443"),
	       "and connects with one");
	tap_ok(is_refused(w, "other", "[2001:db8::1]:443"), "not for another agent");
}

/* Who asks over IPv4 is known over IPv6 by its link-layer address. */
static void families_may_mix(struct world *w)
{
	tap_ok(grant(w, "10.0.1.2", "2001:db8::1", 60) == 0, "an agent asks over IPv4 for AAAA");
	tap_ok(tap_says("nft list set inet bailiwick ether6", ". 2001:db8::1 . tcp . 443"),
	       "which is leased to its link-layer address");
	tap_ok(connects(w, "other", "[2001:db8::1]:443"), "and it connects over IPv6");
}

static void literals_need_no_lease(struct world *w)
{
	listen_in(w, "origin", SOCK_STREAM, "198.51.100.1:8443");
	listen_in(w, "origin", SOCK_STREAM, "198.51.100.1:8444");
	listen_in(w, "origin", SOCK_STREAM, "198.51.100.1:9443");
	listen_in(w, "origin", SOCK_STREAM, "198.51.100.1:9444");
	tap_ok(connects(w, "agent", "198.51.100.1:8443"), "a host that is an address is open");
	tap_ok(is_refused(w, "agent", "198.51.100.1:8444"), "on its ports alone");
	tap_ok(is_refused(w, "agent", "198.51.100.1:9443"), "not after its grant's end");
	tap_ok(connects(w, "agent", "198.51.100.1:9444"), "but before it");
}

static void host_is_closed(struct world *w)
{
	listen_in(w, "gateway", SOCK_STREAM, "0.0.0.0:22");
	listen_in(w, "gateway", SOCK_STREAM, "[::]:22");
	tap_ok(is_refused(w, "agent", "10.0.0.254:22"), "the gateway's own services are closed");
	tap_ok(is_refused(w, "agent", "192.0.2.254:22"), "on each of its addresses");
	tap_ok(is_refused(w, "agent", "[fd00:a::254]:22"), "over IPv6 too");
	tap_ok(connects(w, "origin", "192.0.2.254:22"), "but not to who is not confined");
}

/* Who can be reached by somebody outside could answer him with anything. */
static void nobody_opens_a_way_out_from_outside(struct world *w)
{
	listen_in(w, "agent", SOCK_STREAM, "10.0.0.2:8080");
	tap_ok(!connects(w, "origin", "10.0.0.2:8080"),
	       "a connection that somebody outside begins to an agent gets no answer");
}

static void dns_comes_to_us(struct world *w)
{
	int udp4 = listen_in(w, "gateway", SOCK_DGRAM, "0.0.0.0:5353");
	int udp6 = listen_in(w, "gateway", SOCK_DGRAM, "[::]:5353");

	listen_in(w, "gateway", SOCK_STREAM, "0.0.0.0:5353");
	tap_ok(throw(w, "agent", "203.0.113.9:53") == -ETIMEDOUT && hears(udp4),
	       "DNS to any server comes to the resolver");
	tap_ok(throw(w, "agent", "10.0.0.254:53") == -ETIMEDOUT && hears(udp4),
	       "to our own address");
	tap_ok(connects(w, "agent", "203.0.113.9:53"), "over TCP");
	tap_ok(throw(w, "agent", "[2001:db8::9]:53") == -ETIMEDOUT && hears(udp6), "over IPv6");
}

static void rules_that_others_delete_come_back(struct world *w)
{
	tap_sh("nft flush chain inet bailiwick through_host");
	pass(w, 300);
	tap_ok(is_refused(w, "agent", "192.0.2.1:22"), "rules that others delete come back");
	tap_ok(connects(w, "agent", "192.0.2.1:443"), "and with them the leases");
	tap_sh("nft delete table inet bailiwick");
	pass(w, 300);
	tap_ok(is_refused(w, "agent", "192.0.2.1:22"), "a table that others delete comes back");
	tap_ok(connects(w, "agent", "192.0.2.1:443"), "with its leases");
}

/* The resolver has one IPv4 address: IPv6 has no way to it, nor anywhere else. */
static void dns_goes_to_the_one_address(struct world *w)
{
	const struct endpoint listen = { .address = { 4, { 10, 0, 0, 254 } }, .port = 5353 };

	w->policy.resolver.listen = &listen;
	w->policy.resolver.n_listen = 1;
	open_gateway(w);
	int udp = listen_in(w, "gateway", SOCK_DGRAM, "10.0.0.254:5353");

	listen_in(w, "origin", SOCK_DGRAM, "[2001:db8::1]:53");
	tap_ok(throw(w, "agent", "203.0.113.9:53") == -ETIMEDOUT && hears(udp),
	       "DNS comes to the resolver's one address");
	tap_ok(throw(w, "other", "203.0.113.9:53") == -ETIMEDOUT && hears(udp),
	       "from another interface too");
	tap_ok(throw(w, "agent", "[2001:db8::1]:53") == -ECONNREFUSED,
	       "IPv6 DNS is refused if the resolver has no IPv6 address");
	close_gateway(w);
}

int main(void)
{
	static const char *const interfaces[] = { "a0", "b0" };
	static const struct policy_port ports[] = { { 8443, 8443, IPPROTO_TCP } };
	static const struct policy_port old_ports[] = { { 9443, 9443, IPPROTO_TCP } };
	static const struct policy_port new_ports[] = { { 9444, 9444, IPPROTO_TCP } };
	static const struct network net = { { 4, { 198, 51, 100 } }, 24 };
	const struct policy_grant plain = { .label = "net",
					    .ports = ports,
					    .n_ports = 1,
					    .literals = &net,
					    .n_literals = 1,
					    .expires_s = INT64_MAX };
	const struct policy_grant old = { .label = "old",
					  .ports = old_ports,
					  .n_ports = 1,
					  .literals = &net,
					  .n_literals = 1,
					  .expires_s = time(NULL) - 1 };
	const struct policy_grant new = { .label = "new",
					  .ports = new_ports,
					  .n_ports = 1,
					  .literals = &net,
					  .n_literals = 1,
					  .expires_s = time(NULL) + 600 };
	const struct policy_grant *const grants[] = { &leased, &plain, &old, &new };
	const struct endpoint listens[] = { { { 4, { 127, 0, 0, 1 } }, 5353 },
					    { { 4, { 0 } }, 5353 },
					    { { 6, { 0 } }, 5353 } };
	struct world w = {
		.policy = { .nftables = { .family = "inet",
					  .table = "bailiwick",
					  .manage = POLICY_MANAGE_CHAINS,
					  .interfaces = interfaces,
					  .n_interfaces = 2,
					  .size = 1000,
					  .grace_s = GRACE_S },
			    .resolver = { .listen = listens, .n_listen = 3 },
			    .grants = grants,
			    .n_grants = 4 },
	};

	tap_unshare();
	w.home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	build_network();
	open_gateway(&w);
	only_leases_open(&w);
	old_flow_outlives_its_lease(&w);
	ipv6_is_the_same(&w);
	families_may_mix(&w);
	literals_need_no_lease(&w);
	host_is_closed(&w);
	nobody_opens_a_way_out_from_outside(&w);
	dns_comes_to_us(&w);
	rules_that_others_delete_come_back(&w);
	close_gateway(&w);
	dns_goes_to_the_one_address(&w);
	close(w.home);
	return tap_end();
}
