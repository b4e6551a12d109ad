/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "resolver/listen.h"

struct query;
struct resolver;

/*
 * A message of @len bytes at @bytes came from @client, which is copied.
 *
 * Later  client_answer(), from within this call or after it; for some messages never.
 */
void query_receive(struct resolver *resolver, const struct client *client, const uint8_t *bytes,
		   size_t len);

/* The connection of @client, which client_hold() noted, is gone: end its query. */
void query_cancel(struct client *client);

/* End all queries of @resolver without an answer, and free what is kept for the next. */
void query_end_all(struct resolver *resolver);
