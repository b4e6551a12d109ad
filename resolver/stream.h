/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "resolver/server.h"

/*
 * A connection to an upstream server, plain or TLS, which is kept and carries
 * many queries at once, answered in any order (RFC 7766, 6.2.1; RFC 7858, 3.3).
 */

/* A query on a stream, inside the asker. All zero is one that is not under way. */
struct stream_ask {
	struct list node; /* among its stream's */
	struct stream *stream;
	uint8_t *query; /* behind its length */
	size_t len;     /* of it, without the length */
	size_t question_end;
	bool again; /* its stream broke once, and it was sent on another */
	/* Later, once: @len bytes at @bytes that answer it; or @len is a negative errno. */
	void (*heard)(struct stream_ask *ask, const uint8_t *bytes, long len);
};

/*
 * Send the query of @ask to @server, over the connection that is kept or a new one. Its id is
 * changed if another query on the connection has it.
 *
 * Given  @ask->query, of @ask->len bytes behind two for the length, and @ask->question_end are
 *        set, and stay in place; @ask->again is false.
 * Later  @heard. If the connection breaks that was kept, the query is sent on a new one first.
 * Fails  what connecting says; -EBUSY: there are no sockets left; -ENOMEM.
 */
int stream_ask(struct server *server, struct stream_ask *ask,
	       void (*heard)(struct stream_ask *ask, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/* Forget @ask; nothing happens if it is not under way. */
void stream_forget(struct stream_ask *ask);

/* End all streams of @servers. Given no ask is under way. */
void streams_close(struct servers *servers);
