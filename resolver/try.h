/* SPDX-License-Identifier: MIT */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/loop.h"
#include "base/name.h"
#include "resolver/server.h"
#include "resolver/stream.h"
#include "resolver/wire.h"

/*
 * One query that is sent to one server: by UDP with a socket, a port and an id
 * of its own and a pattern of upper and lower case ("0x20"), so that an
 * answer is hard to forge (RFC 5452, 9.2), or on a stream. It carries nothing
 * of what a client sent but the name, the type, and its DO and CD bits.
 */
enum {
	TRY_QUERY_MAX = 384,     /* header, the longest name, OPT; a multiple of the padding */
	TRY_FORGED = -EBADE,     /* LIMIT_WRONG_ANSWERS came: ask over a stream */
	TRY_FAILED = -EREMOTEIO, /* the server answered that, or in a way that, it cannot */
};

/* All zero is one that is not under way. */
struct
try {
	struct server *server; /* NULL: not under way */
	void *user;            /* whose it is: the user's to set, once it is under way */
	struct loop_udp udp;
	struct stream_ask ask;
	bool stream; /* by which of them */
	bool failed; /* its user's: the server has answered to no use, or cannot be reached */
	uint64_t sent_ms;
	unsigned n_wrong; /* datagrams that came and were no answer to it */
	uint16_t len;
	uint16_t question_end;            /* of it */
	uint8_t query[2 + TRY_QUERY_MAX]; /* behind its length */
	/* @len bytes at @bytes, valid during the call, answer it; or @len is a negative errno. */
	void (*heard)(struct try * try, const uint8_t *bytes, long len);
};

/*
 * Ask @server for records of @type (with ASK_DO and ASK_CD) at @name, over a @stream (always, if it
 * is asked by TLS) or by UDP, as @try.
 *
 * Later  @heard, also more than once: of a datagram that is not the answer it is not called, since
 *        that is as if it had not come (RFC 5452, 9.1).
 * Fails  -ENETUNREACH and the like; -EBUSY: no socket is left. @try is not under way then.
 */
int try_open(struct try *try, struct server *server, const struct name *name, uint32_t type,
	     bool stream, void (*heard)(struct try *try, const uint8_t *bytes, long len))
	__attribute__((warn_unused_result));

/* End @try; nothing happens if it is not under way. */
void try_close(struct try *try);
