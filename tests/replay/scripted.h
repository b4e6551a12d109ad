/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/loop.h"
#include "tls/tls.h"

/*
 * A loop whose clock and network a script drives: scripted.c serves
 * base/loop.h in place of base/loop.c, and tls/tls.h in place of tls/.
 */

enum { SCRIPTED_MAX = 1024 };

/* A connection to a server. */
struct scripted_stream {
	struct loop *loop;
	struct loop_tcp *tcp; /* NULL: TLS, or closed */
	struct tls *tls;      /* NULL: plain, or closed */
	bool open;
	bool verified; /* the script has said so */
	int failure;   /* what writing to it says; 0: it can be written to */
	struct endpoint peer;
};

/* Something that was sent to a server, on a socket that may be closed by now. */
struct scripted_sent {
	struct loop_udp *udp;           /* NULL: on a stream, or closed */
	struct scripted_stream *stream; /* NULL: UDP */
	bool taken;                     /* the script has seen it */
	struct endpoint peer;
	size_t len;
	uint8_t bytes[1024]; /* on a stream without the length in front */
};

/* What was sent on @loop as number @i, from 0; NULL if nothing was. */
struct scripted_sent *scripted_peek(struct loop *loop, unsigned i);

/* The next connection that was opened on @loop and not yet taken; NULL if there is none. */
struct scripted_stream *scripted_take_stream(struct loop *loop);

/* Let @len bytes at @bytes come on @stream, or its end as in loop_tcp's heard(). */
void scripted_hear(struct scripted_stream *stream, const uint8_t *bytes, long len);

/* Let sending on @loop fail with @status (a negative errno) from here on; 0: no more. */
void scripted_fail(struct loop *loop, int status);

/* Let @ms milliseconds pass on @loop, one by one: timers fire, turns end. */
void scripted_pass(struct loop *loop, uint64_t ms);

/* End the turn of @loop. */
void scripted_turn(struct loop *loop);

/* Set the time of day of @loop to @wall_s, in seconds since 1970 UTC. */
void scripted_set_wall(struct loop *loop, int64_t wall_s);

/* How many sockets of @loop are open. */
unsigned scripted_open(const struct loop *loop);
