/* SPDX-License-Identifier: MIT */
/*
 * The life of a probe
 *
 *   ASKED   a server was asked, and may answer    take_answer, note_silence
 */
#include "resolver/probe.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/life.h"
#include "base/own.h"
#include "resolver/try.h"

enum state { DEAD = LIFE_DEAD, ASKED, N_STATES };
enum event { ANSWERED = LIFE_FIRST_OWN_EVENT, N_EVENTS };

enum {
	FIRST_WAIT_MS = 1000,  /* between two probes of a server that is down ... */
	LAST_WAIT_MS = 30000,  /* ... doubled up to this */
	LOOP_WAIT_MS = 60000,  /* of one that is left out because it asks us */
	CALM_WAIT_MS = 600000, /* of one that answers: it may begin to ask us */
};

struct probe {
	struct life life;
	struct server *server;
	struct try try;
	struct name name;
	unsigned slot; /* on the board; PROBE_SLOTS: there was none left */
	uint64_t hash;
};
static_assert(offsetof(struct probe, life) == 0, "probe_of() casts");

static life_step_fn take_answer, note_silence, give_up;

static const struct life_state states[] = {
	[DEAD] = { .name = "DEAD" },
	[ASKED] = { "ASKED",
		    2500,
		    false,
		    { [LIFE_TIMEOUT] = note_silence,
		      [LIFE_ERROR] = note_silence,
		      [LIFE_CANCEL] = give_up,
		      [ANSWERED] = take_answer } },
};
static_assert(sizeof(states) / sizeof(states[0]) == N_STATES, "a state has no row");

static const char *const event_names[] = {
	[LIFE_TIMEOUT] = "TIMEOUT",
	[LIFE_ERROR] = "ERROR",
	[LIFE_CANCEL] = "CANCEL",
	[ANSWERED] = "ANSWERED",
};
static_assert(sizeof(event_names) / sizeof(event_names[0]) == N_EVENTS, "an event has no name");

static void start_probe(struct loop_timer *timer);

static struct probe *probe_of(struct life *life)
{
	return (struct probe *)life;
}

static void wait_ms(struct server *server, unsigned ms)
{
	loop_timer_start(server->servers->loop, &server->next_probe, ms, start_probe);
}

/* Set when @server is probed next, after a probe of it. */
static void wait_longer(struct server *server)
{
	if (server->ourselves) {
		wait_ms(server, LOOP_WAIT_MS);
	} else if (!server->down) {
		wait_ms(server, CALM_WAIT_MS);
	} else {
		unsigned ms = server->probe_wait_ms * 2;

		if (ms == 0)
			ms = FIRST_WAIT_MS;
		server->probe_wait_ms = ms < LAST_WAIT_MS ? ms : LAST_WAIT_MS;
		wait_ms(server, server->probe_wait_ms);
	}
}

/* Note whether the server asks us; if the probe did not come back, only an @answered one says so. */
static void note_seen(const struct probe *probe, bool answered)
{
	bool seen = probe->slot < PROBE_SLOTS &&
		    atomic_load(&probe->server->servers->board->seen[probe->slot]);

	if (seen || answered)
		server_set_ourselves(probe->server, seen);
}

static unsigned take_answer(struct life *life, int status)
{
	struct probe *probe = probe_of(life);

	(void)status;
	note_seen(probe, true);
	wait_longer(probe->server);
	return DEAD;
}

static unsigned note_silence(struct life *life, int status)
{
	struct probe *probe = probe_of(life);

	(void)status;
	note_seen(probe, false);
	wait_longer(probe->server);
	return DEAD;
}

static unsigned give_up(struct life *life, int status)
{
	(void)life, (void)status;
	return DEAD;
}

/*
 * The loop. A callback notes what it was given and names the event; it
 * decides nothing.
 */

static void on_heard(struct try *try, const uint8_t *bytes, long len)
{
	struct probe *probe = list_owner(try, struct probe, try);

	(void)bytes;
	life_event(&probe->life, len < 0 ? LIFE_ERROR : ANSWERED, len < 0 ? (int)len : 0);
}

static void probe_free(struct life *life)
{
	struct probe *probe = probe_of(life);
	struct server *server = probe->server;

	server->probe = NULL;
	if (probe->slot < PROBE_SLOTS)
		atomic_store(&server->servers->board->names[probe->slot], 0);
	try_close(&probe->try);
	free(probe);
	server_release(server);
}

static const struct life_kind probe_kind = {
	.name = "probe",
	.event_names = event_names,
	.states = states,
	.n_states = N_STATES,
	.n_events = N_EVENTS,
	.free = probe_free,
};

static void make_name(struct name *name)
{
	uint8_t random[16];
	char text[NAME_TEXT_SIZE];

	arc4random_buf(random, sizeof(random));
	for (unsigned i = 0; i < sizeof(random); i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", random[i]);
	snprintf(text + 2 * sizeof(random), sizeof(text) - 2 * sizeof(random), ".%s", PROBE_DOMAIN);
	int r = name_parse(text, name);

	assert(r == 0 && name->len == PROBE_NAME_LEN);
	(void)r;
}

static uint64_t hash_of(const struct name *name)
{
	return hash_bytes(0, name->wire, name->len) | 1;
}

/* Put @probe on the board, where the doors look. */
static void put_up(struct probe *probe)
{
	struct probe_board *board = probe->server->servers->board;

	probe->hash = hash_of(&probe->name);
	for (probe->slot = 0; probe->slot < PROBE_SLOTS; probe->slot++) {
		uint64_t none = 0;

		/* Claimed as one that nobody knows yet, so that an old mark can be taken off. */
		if (!atomic_compare_exchange_strong(&board->names[probe->slot], &none,
						    UINT64_MAX - 1))
			continue;
		atomic_store(&board->seen[probe->slot], false);
		atomic_store(&board->names[probe->slot], probe->hash);
		return;
	}
}

static void start_probe(struct loop_timer *timer)
{
	struct server *server = list_owner(timer, struct server, next_probe);
	struct servers *servers = server->servers;
	struct probe *probe;

	assert(life_kind_complete(&probe_kind) && server->probe == NULL);
	if (!server->listed)
		return;
	probe = calloc(1, sizeof(*probe));
	if (probe == NULL) {
		wait_longer(server);
		return;
	}
	make_name(&probe->name);
	if (try_open(&probe->try, server, &probe->name, WIRE_A, false, on_heard) < 0) {
		free(probe);
		wait_longer(server);
		return;
	}
	probe->server = server;
	server->probe = probe;
	put_up(probe);
	server_use(server);
	life_start(&probe->life, &probe_kind, ASKED, servers->loop);
}

void probe_later(struct server *server)
{
	if (!server->servers->watching || server->probe != NULL)
		return;
	if (server->down)
		wait_longer(server);
	else
		wait_ms(server, 1);
}

void probe_end(struct server *server)
{
	loop_timer_stop(&server->next_probe);
	if (server->probe != NULL)
		life_event(&server->probe->life, LIFE_CANCEL, -ECANCELED);
}

bool probe_recognize(struct servers *servers, const struct name *name)
{
	struct probe_board *board = servers->board;
	uint64_t hash;
	bool known = false;

	if (name->len != PROBE_NAME_LEN)
		return false;
	hash = hash_of(name);
	for (unsigned i = 0; i < PROBE_SLOTS; i++)
		if (atomic_load(&board->names[i]) == hash) {
			atomic_store(&board->seen[i], true);
			known = true;
		}
	for (struct list *node = servers->all.next; node != &servers->all; node = node->next) {
		struct server *server = list_owner(node, struct server, node);

		/* Its own thread knows at once, another when the probe has ended. */
		if (known && server->probe != NULL && server->probe->hash == hash)
			server_set_ourselves(server, true);
	}
	return known;
}
