/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/loop.h"
#include "policy/policy.h"
#include "resolver/worker.h"

/*
 * What the queries of a script live in: a resolver on a scripted loop, whose
 * clients, lease table and audit log are the script's (world.c serves their
 * headers). query.c, upstream.c, cache.c, vet.c and all below are the real
 * ones.
 */

enum { WORLD_CLIENTS = 64 };

/* A client's one query, and what came back. */
struct world_client {
	struct client client;
	struct client *waiting; /* its query's copy, if that came over TCP and waits */
	char name[32];          /* in the script */
	unsigned n_answers;     /* more than one is a fault */
	size_t len;
	uint8_t bytes[65535];
};

struct world {
	struct loop *loop;
	struct resolver resolver;
	struct world_client clients[WORLD_CLIENTS];
	unsigned n_clients;

	/* Leases. */
	int lease_status;  /* what lease_grant() gives: 0, -EINPROGRESS, or a failure */
	struct list asks;  /* of struct lease_ask: pending ones */
	unsigned n_leased; /* addresses for which lease_grant() was called */

	/* What is said of upstream servers. */
	unsigned n_reports;
	char said[512]; /* the last */

	/* The log. */
	int audit_status;
	unsigned n_records;
	char record[256]; /* the last: "VERDICT REASON" */
};

/* The world that the headers' functions below serve; one at a time. */
extern struct world *world;

/* Make a world with the policy in @len bytes at @text; ends the program, with a message, on faults. */
struct world *world_new(const char *text, size_t len);

/* End it. Everything that was opened must be closed by then. */
void world_free(struct world *w);

/* Tell those who wait for leases in @w that they stand, or the negative errno in @status. */
void world_settle_leases(struct world *w, int status);
