/* SPDX-License-Identifier: MIT */
/* What is known of one server. */
#include "resolver/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "resolver/probe.h"

enum { TELL_EVERY_MS = 10000 };

void server_print(const struct server *server, char text[SERVER_TEXT_SIZE])
{
	char endpoint[ENDPOINT_TEXT_SIZE];

	endpoint_print(&server->endpoint, endpoint);
	if (!server->tls)
		snprintf(text, SERVER_TEXT_SIZE, "%s", endpoint);
	else
		snprintf(text, SERVER_TEXT_SIZE, "tls://%s%s%s", endpoint,
			 server->name != NULL ? "#" : "", server->name != NULL ? server->name : "");
}

static void say(const struct server *server, const char *what, const char *more)
{
	char text[SERVER_TEXT_SIZE], line[SERVER_TEXT_SIZE + 256];

	if (server->servers->report == NULL)
		return;
	server_print(server, text);
	snprintf(line, sizeof(line), "the upstream server %s %s%s", text, what, more);
	server->servers->report(server->servers->report_arg, line);
}

void server_use(struct server *server)
{
	server->n_users++;
}

void server_release(struct server *server)
{
	assert(server->n_users > 0);
	if (--server->n_users > 0 || server->listed)
		return;
	loop_timer_stop(&server->next_probe);
	list_drop(&server->node);
	tls_ticket_forget(&server->ticket);
	free(server);
}

void server_heard(struct server *server)
{
	server->heard_ms = loop_now_ms(server->servers->loop);
	if (!server->down)
		return;
	server->down = false;
	server->probe_wait_ms = 0;
	if (server->told)
		say(server, "answers again", "");
	server->told = false;
	server->told_status = 0;
}

/* Note that @server is down. Gives true if people should be told why: @status. */
static bool set_down(struct server *server, int status)
{
	uint64_t now_ms = loop_now_ms(server->servers->loop);
	bool trust = status == -EKEYREJECTED, trusted = server->told_status == -EKEYREJECTED;
	bool news =
		!server->told || (trust != trusted && now_ms - server->told_ms >= TELL_EVERY_MS);

	if (!server->down) {
		server->down = true;
		probe_later(server);
	}
	if (news) {
		server->told = true;
		server->told_status = status;
		server->told_ms = now_ms;
	}
	return news;
}

void server_failed(struct server *server, uint64_t since_ms, int status)
{
	/* Why a connection was refused has been told in words, and stays the reason. */
	if (server->heard_ms > since_ms || status == -EKEYREJECTED)
		return;
	if (status == -ETIMEDOUT && server->down)
		return;
	if (!set_down(server, status))
		return;
	if (status == -ETIMEDOUT)
		say(server, "does not answer", "");
	else if (status == -EREMOTEIO)
		say(server, "refuses to answer", "");
	else
		say(server, "cannot be reached: ", strerror(-status));
}

void server_untrusted(struct server *server, const char *reason)
{
	if (set_down(server, -EKEYREJECTED))
		say(server, "is not trusted, and is asked nothing: ", reason);
}

void server_set_ourselves(struct server *server, bool ourselves)
{
	if (server->ourselves == ourselves)
		return;
	server->ourselves = ourselves;
	if (ourselves)
		say(server, "is left out: what it is asked, it asks this resolver", "");
	else
		say(server, "is asked again: it does not ask this resolver any more", "");
}
