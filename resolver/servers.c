/* SPDX-License-Identifier: MIT */
/* Which servers there are. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "resolver/descriptors.h"
#include "resolver/ourselves.h"
#include "resolver/probe.h"
#include "resolver/server.h"
#include "resolver/stream.h"

#define RESOLV_CONF "/etc/resolv.conf"

enum { LOOK_EVERY_MS = 5000 };
static_assert((int)RESOLVCONF_MAX <= (int)SERVERS_MAX, "all of a resolv.conf can be listed");

static struct server *add_server(struct servers *servers, const struct endpoint *endpoint)
{
	struct server *server = calloc(1, sizeof(*server));

	if (server == NULL)
		return NULL;
	server->servers = servers;
	server->endpoint = *endpoint;
	server->listed = true;
	server->place = servers->n_listed++;
	list_add(&servers->all, &server->node);
	return server;
}

static int take_configured(struct servers *servers, struct err *err)
{
	const struct policy_resolver *settings = servers->settings;
	char text[ENDPOINT_TEXT_SIZE];

	for (unsigned i = 0; i < settings->n_upstreams && i < SERVERS_MAX; i++) {
		const struct policy_upstream *wanted = &settings->upstreams[i];
		const struct endpoint *endpoint = &wanted->endpoint;

		if (is_ourselves(settings, endpoint)) {
			endpoint_print(endpoint, text);
			return err_set(err, -EINVAL,
				       "[resolver] upstream %s is where this resolver listens; "
				       "name the server that it should ask",
				       text);
		}
		struct server *server = add_server(servers, endpoint);

		if (server == NULL)
			return err_set(err, -ENOMEM, "no memory for the upstream servers");
		server->tls = wanted->tls;
		server->name = wanted->name;
		if (!server->tls || servers->tls != NULL)
			continue;
		int r = tls_client_context_new(settings->upstream_ca, "dot", &servers->tls, err);

		if (r < 0)
			return err_wrap(err, "[resolver] upstream");
	}
	return 0;
}

static struct server *find_server(struct servers *servers, const struct endpoint *endpoint)
{
	for (struct list *node = servers->all.next; node != &servers->all; node = node->next) {
		struct server *server = list_owner(node, struct server, node);

		if (endpoint_equal(&server->endpoint, endpoint))
			return server;
	}
	return NULL;
}

/* Take the servers of the host's resolv.conf, but for those that are ourselves. */
static void take_resolvconf(struct servers *servers)
{
	struct endpoint found[RESOLVCONF_MAX];
	unsigned n = resolvconf_read(RESOLV_CONF, found);

	for (unsigned i = 0; i < n; i++) {
		struct server *server = find_server(servers, &found[i]);

		if (is_ourselves(servers->settings, &found[i]) ||
		    (server != NULL && server->listed))
			continue;
		if (server == NULL) {
			server = add_server(servers, &found[i]);
			if (server != NULL)
				probe_later(server);
			continue;
		}
		server->listed = true;
		server->place = servers->n_listed++;
	}
}

void servers_look(struct servers *servers)
{
	uint64_t now_ms = loop_now_ms(servers->loop);
	struct list *node = servers->all.next;

	if (!servers->settings->upstream_auto || now_ms < servers->look_ms)
		return;
	servers->look_ms = now_ms + LOOK_EVERY_MS;
	if (!resolvconf_changed(RESOLV_CONF, &servers->stamp))
		return;
	for (; node != &servers->all; node = node->next)
		list_owner(node, struct server, node)->listed = false;
	servers->n_listed = 0;
	take_resolvconf(servers);
	for (node = servers->all.next; node != &servers->all;) {
		struct server *server = list_owner(node, struct server, node);

		/* The last user lets go of one that is not listed, and that may be us. */
		node = node->next;
		server_use(server);
		server_release(server);
	}
}

int servers_open(struct servers *servers, struct loop *loop, struct policy *policy,
		 void (*report)(void *arg, const char *text), void *arg, struct err *err)
{
	servers->loop = loop;
	servers->policy = policy_ref(policy);
	servers->settings = policy_resolver(policy);
	servers->report = report;
	servers->report_arg = arg;
	servers->max_sockets =
		descriptors_share(2 * servers->settings->n_listen, servers->settings->threads)
			.upstreams;
	servers->board = &servers->own_board;
	list_init(&servers->all);
	list_init(&servers->streams);
	servers_look(servers);
	return take_configured(servers, err);
}

void servers_watch(struct servers *servers)
{
	servers->watching = true;
	for (struct list *node = servers->all.next; node != &servers->all; node = node->next)
		probe_later(list_owner(node, struct server, node));
}

void servers_close(struct servers *servers)
{
	struct list *node = servers->all.next;

	for (; node != &servers->all; node = node->next) {
		struct server *server = list_owner(node, struct server, node);

		server->listed = false;
		server->n_users++; /* us, so that it stays until it is let go of below */
		probe_end(server);
	}
	streams_close(servers);
	while (!list_empty(&servers->all)) {
		struct server *server = list_owner(servers->all.next, struct server, node);

		assert(server->n_users == 1);
		server_release(server);
	}
	tls_context_free(servers->tls);
	policy_unref(servers->policy);
}

int servers_take_socket(struct servers *servers)
{
	if (servers->n_sockets >= servers->max_sockets)
		return -EBUSY;
	servers->n_sockets++;
	return 0;
}

void servers_give_socket(struct servers *servers)
{
	assert(servers->n_sockets > 0);
	servers->n_sockets--;
}
