/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include "base/name.h"
#include "resolver/server.h"

/*
 * Probes: a question of our own to a server, to see whether it answers, and
 * whether it asks us. Its name is one that nobody has, with a label at random
 * that only we and the server know: if that comes to our own door while the
 * probe is under way, then what the server is asked, it asks us.
 */
#define PROBE_DOMAIN "probe.bailiwick.example"

enum { PROBE_NAME_LEN = 1 + 32 + 1 + sizeof(PROBE_DOMAIN) };

/* Probe @server after a while, if its servers are watched: soon if it is down or new. */
void probe_later(struct server *server);

/* End what probing of @server is under way. */
void probe_end(struct server *server);

/*
 * Whether @name, which a client asks for, is that of a probe to one of @servers. If so the server
 * is one that asks us, and is left out from here on.
 */
bool probe_recognize(struct servers *servers, const struct name *name);
