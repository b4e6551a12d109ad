/* SPDX-License-Identifier: MIT */
#include "lease/guard.h"

#include "lease/lease.h"

void guard_init(struct guard *guard, struct loop *loop)
{
	guard->home = (struct lease_desk){ .guard = guard, .loop = loop };
	list_init(&guard->home.told);
	guard->at = loop;
	pthread_mutex_init(&guard->mutex, NULL);
}

int guard_listen(struct guard *guard, void (*called)(struct loop_bell *bell))
{
	return loop_bell_start(guard->home.loop, &guard->home.bell, called);
}

void guard_done(struct guard *guard)
{
	loop_bell_stop(&guard->home.bell);
	pthread_mutex_destroy(&guard->mutex);
}

void guard_enter(struct guard *guard, struct loop *at)
{
	uint64_t now_ms = loop_now_ms(at);

	if (guard->shared)
		pthread_mutex_lock(&guard->mutex);
	guard->at = at;
	if (guard->now_ms < now_ms)
		guard->now_ms = now_ms;
}

void guard_leave(struct guard *guard)
{
	if (guard->shared)
		pthread_mutex_unlock(&guard->mutex);
}

void guard_call_home(struct guard *guard)
{
	loop_bell_ring(&guard->home.bell);
}

void guard_tell(struct lease_desk *desk)
{
	struct list *node;

	guard_enter(desk->guard, desk->loop);
	while ((node = list_take(&desk->told)) != NULL) {
		struct lease_ask *ask = list_owner(node, struct lease_ask, waits);
		int status = ask->status;

		ask->waits = (struct list){ .next = NULL };
		ask->guard = NULL;
		guard_leave(desk->guard);
		ask->done(ask, status);
		guard_enter(desk->guard, desk->loop);
	}
	guard_leave(desk->guard);
}

static void on_bell(struct loop_bell *bell)
{
	guard_tell(list_owner(bell, struct lease_desk, bell));
}

int guard_desk_open(struct guard *guard, struct lease_desk *desk, struct loop *loop)
{
	*desk = (struct lease_desk){ .guard = guard, .loop = loop };
	list_init(&desk->told);
	guard->shared = true;
	return loop_bell_start(loop, &desk->bell, on_bell);
}

void guard_desk_close(struct lease_desk *desk)
{
	struct list *node;

	guard_enter(desk->guard, desk->loop);
	while ((node = list_take(&desk->told)) != NULL)
		*list_owner(node, struct lease_ask, waits) = (struct lease_ask){ .status = 0 };
	guard_leave(desk->guard);
	loop_bell_stop(&desk->bell);
}
