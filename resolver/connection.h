/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "resolver/listen.h"

/* The TCP connections of a resolver. */
struct connections {
	struct resolver *resolver;
	struct list all; /* of struct connection, the oldest first */
	unsigned n, max;
};

/* Make @connections of @resolver, without any, for at most @max at once. */
void connections_init(struct connections *connections, struct resolver *resolver, unsigned max);

/* End all of @connections. */
void connections_done(struct connections *connections);

/*
 * Serve the connection @fd from @peer, which came by @interface, among @connections. Where there are too many, the oldest
 * that waits for nothing makes room, from the same address if that has too many.
 *
 * Owns   @fd from here on.
 */
void connection_start(struct connections *connections, int fd, const struct address *peer,
		      uint32_t interface);

/* The socket of @connection. */
int connection_fd(const struct connection *connection);

/* Send the @len bytes at @bytes to @connection as one message, at the end of the turn. */
void connection_answer(struct connection *connection, const uint8_t *bytes, size_t len);

/* Note that the query of @client, which came on @connection, is under way. */
void connection_hold(struct connection *connection, struct client *client);

/* The query of @client, which came on @connection, has ended. */
void connection_release(struct connection *connection, struct client *client);
