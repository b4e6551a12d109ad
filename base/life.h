/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/loop.h"

/*
 * A life is one object that the event loop drives from birth to death: a DNS
 * query, a connection, a sandbox run. Its source file holds one table: for
 * each state, how long the life may wait there and which step answers each
 * event. The steps below the table, read in order, are the life.
 *
 * Rules kept here once, so that no step repeats them:
 *  - only life_event() changes the state, and it traces each change;
 *  - every state has a deadline; a step that answers TIMEOUT by staying gets it anew;
 *  - an event that the table does not name ends the life (fail closed);
 *  - a life is freed once, at the end of the event that ended it; what hangs
 *    on it is closed by its kind's free(), and base/loop.h sees to it that
 *    nothing closed calls back.
 */

enum {
	LIFE_DEAD = 0, /* state 0 of every kind */
	LIFE_MAX_EVENTS = 8,
};

/* Events that every kind must answer in every state; a kind adds its own. */
enum {
	LIFE_TIMEOUT = 0,
	LIFE_ERROR,
	LIFE_CANCEL,
	LIFE_FIRST_OWN_EVENT,
};

struct life;

/* Do one step of @life; give the next state. @status is 0 or a negative errno. */
typedef unsigned life_step_fn(struct life *life, int status);

struct life_state {
	const char *name;
	unsigned deadline_ms; /* from entering the state ... */
	bool idle;            /* ... or, if set, from its last event */
	life_step_fn *on[LIFE_MAX_EVENTS];
};

struct life_kind {
	const char *name;
	const char *const *event_names;
	const struct life_state *states;
	unsigned n_states, n_events;
	void (*free)(struct life *life);
	/* Told of each change, if not NULL: what a test compares. */
	void (*trace)(const struct life *life, const char *event, const char *to, int status);
};

struct life {
	const struct life_kind *kind;
	struct loop *loop;
	struct loop_timer timer;
	unsigned state;
	bool stepping;
};

/* Begin @life of @kind in @state on @loop. From here on only life_event() may end it. */
void life_start(struct life *life, const struct life_kind *kind, unsigned state, struct loop *loop);

/*
 * Tell @life that @event happened, with @status: the only way in for a callback.
 *
 * Given  the life is not within one of its own steps.
 * Later  @life may be gone when this returns: do not touch it again.
 */
void life_event(struct life *life, unsigned event, int status);

/*
 * True if every state of @kind but DEAD has a name, a deadline and the common events, and every
 * event a name and a place in the table.
 */
bool life_kind_complete(const struct life_kind *kind);
