/* SPDX-License-Identifier: MIT */
#include "lease/ask.h"

#include <errno.h>
#include <stdlib.h>
#include "lease/guard.h"

/* An ask that waits for an element. */
struct wait {
	struct list of_ask, of_element;
	struct lease_ask *ask;
	uint64_t until_ms; /* to which end the element must stand */
};

int ask_wait(struct lease_ask *ask, struct list *waiting, uint64_t until_ms)
{
	struct wait *wait = malloc(sizeof(*wait));

	if (wait == NULL)
		return -ENOMEM;
	if (ask->waits.next == NULL)
		list_init(&ask->waits);
	wait->ask = ask;
	wait->until_ms = until_ms;
	ask->n_waits++;
	list_init(&wait->of_ask);
	list_init(&wait->of_element);
	list_add(&ask->waits, &wait->of_ask);
	list_add(waiting, &wait->of_element);
	return 0;
}

static void drop_wait(struct wait *wait)
{
	list_drop(&wait->of_ask);
	list_drop(&wait->of_element);
	wait->ask->n_waits--;
	free(wait);
}

static void forget_waits(struct lease_ask *ask)
{
	while (ask->n_waits > 0)
		drop_wait(list_owner(ask->waits.next, struct wait, of_ask));
}

static void end_ask(struct lease_ask *ask, int status)
{
	struct lease_desk *desk = ask->desk;

	forget_waits(ask);
	ask->status = status;
	list_add(&desk->told, &ask->waits);
	if (desk != &desk->guard->home)
		loop_bell_ring(&desk->bell);
}

static struct lease_ask *first_of(const struct list *waiting)
{
	return list_owner(waiting->next, struct wait, of_element)->ask;
}

void asks_fail(struct list *waiting, int status)
{
	while (!list_empty(waiting))
		end_ask(first_of(waiting), status);
}

void asks_satisfy(struct list *waiting, uint64_t until_ms)
{
	struct list *next;

	for (struct list *at = waiting->next; at != waiting; at = next) {
		struct wait *wait = list_owner(at, struct wait, of_element);
		struct lease_ask *ask = wait->ask;

		next = at->next;
		if (wait->until_ms > until_ms)
			continue;
		drop_wait(wait);
		if (ask->n_waits == 0)
			end_ask(ask, 0);
	}
}

void ask_forget(struct lease_ask *ask)
{
	forget_waits(ask);
	list_drop(&ask->waits);
	ask->waits = (struct list){ .next = NULL };
	ask->guard = NULL;
}

void asks_forget(struct list *waiting)
{
	while (!list_empty(waiting))
		ask_forget(first_of(waiting));
}

void lease_ask_drop(struct lease_ask *ask)
{
	struct guard *guard = ask->guard;

	if (guard == NULL)
		return;
	guard_enter(guard, ask->desk->loop);
	if (ask->waits.next != NULL)
		ask_forget(ask);
	ask->guard = NULL;
	guard_leave(guard);
}
