/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/loop.h"

/*
 * A loop whose clock and network a script drives: scripted.c serves
 * base/loop.h in place of base/loop.c.
 */

enum { SCRIPTED_MAX = 64 };

/* Something that was sent to a server, on a socket that may be closed by now. */
struct scripted_sent {
	struct loop_udp *udp; /* NULL: TCP, or closed */
	struct loop_tcp *tcp; /* NULL: UDP, or closed */
	bool stream;
	struct endpoint peer;
	size_t len;
	uint8_t bytes[1024]; /* over TCP without the length in front */
};

/* What was sent up to now on @loop and not yet taken, the oldest first; NULL if there is nothing. */
struct scripted_sent *scripted_take(struct loop *loop);

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
