/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include "base/list.h"
#include "lease/lease.h"

/*
 * Asks that wait, for one or several elements; each element has a list of
 * those that wait for it. All of it is behind the table's guard.
 *
 * An ask is in one of three forms: not under way (all zero), waiting (waits is
 * the ring of its waits), or ended but not yet told (waits is a node of its
 * desk's told).
 */

/* Let @ask wait among @waiting, those for one element, for that to stand until @until_ms. */
int ask_wait(struct lease_ask *ask, struct list *waiting, uint64_t until_ms)
	__attribute__((warn_unused_result));

/* The element stands until @until_ms: end those of @waiting that now have all they wait for. */
void asks_satisfy(struct list *waiting, uint64_t until_ms);

/* End all asks of @waiting with @status. */
void asks_fail(struct list *waiting, int status);

/* Forget @ask, which is under way: it is not told of anything. */
void ask_forget(struct lease_ask *ask);

/* Forget all asks of @waiting. */
void asks_forget(struct list *waiting);
