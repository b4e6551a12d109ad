/* SPDX-License-Identifier: MIT */
#include "resolver/crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "resolver/worker.h"

struct member {
	struct loop *loop;
	struct resolver *resolver;
	struct lease_desk *desk;
	struct loop_bell end;
	pthread_t thread;
	bool runs;
};

struct crew {
	unsigned n;
	struct member members[];
};

static void on_end(struct loop_bell *bell)
{
	loop_stop(list_owner(bell, struct member, end)->loop);
}

static void *work(void *arg)
{
	struct member *member = arg;

	pthread_setname_np(pthread_self(), "bailiwick-dns");
	loop_run(member->loop);
	return NULL;
}

static int init_member(struct member *member, struct resolver *first, unsigned number,
		       struct err *err)
{
	int r = loop_new(&member->loop);

	if (r == 0)
		r = loop_bell_start(member->loop, &member->end, on_end);
	if (r < 0)
		return err_set(err, r, "a further thread cannot be prepared: %s", strerror(-r));
	/* What there is to say of upstream servers, the first says. */
	r = worker_new(member->loop, first->policy, first->audit, number, NULL, NULL,
		       &member->resolver, err);
	if (r < 0)
		return r;
	upstreams_share(member->resolver->upstreams, first->upstreams);
	member->resolver->budgets = first->budgets;
	member->resolver->cookie_key = first->cookie_key;
	return 0;
}

/* End the thread of @member, if it runs, and free what is its own. */
static void member_done(struct member *member)
{
	if (member->runs) {
		loop_bell_ring(&member->end);
		pthread_join(member->thread, NULL);
	}
	worker_free(member->resolver);
	lease_desk_close(member->desk);
	loop_bell_stop(&member->end);
	loop_free(member->loop);
}

int crew_new(struct resolver *first, struct crew **ret_crew, struct err *err)
{
	unsigned n = policy_resolver(first->policy)->threads - 1;
	struct crew *crew = NULL;
	int r = 0;

	if (n > 0) {
		crew = calloc(1, sizeof(*crew) + n * sizeof(crew->members[0]));
		if (crew == NULL)
			return err_set(err, -ENOMEM, "no memory for further threads");
		crew->n = n;
	}
	for (unsigned i = 0; i < n && r == 0; i++)
		r = init_member(&crew->members[i], first, i + 1, err);
	if (r < 0) {
		crew_free(crew);
		return r;
	}
	*ret_crew = crew;
	return 0;
}

/* All desks are open before the first thread runs. */
int crew_serve(struct crew *crew, struct lease_table *leases, struct err *err)
{
	unsigned n = crew != NULL ? crew->n : 0;
	int r = 0;

	for (unsigned i = 0; i < n && r == 0; i++) {
		struct member *member = &crew->members[i];

		r = lease_desk_open(leases, member->loop, &member->desk);
		member->resolver->leases = leases;
		member->resolver->desk = member->desk;
		upstreams_watch(member->resolver->upstreams);
	}
	for (unsigned i = 0; i < n && r == 0; i++) {
		r = -pthread_create(&crew->members[i].thread, NULL, work, &crew->members[i]);
		crew->members[i].runs = r == 0;
	}
	return r < 0 ? err_set(err, r, "a further thread cannot be started: %s", strerror(-r)) : 0;
}

void crew_free(struct crew *crew)
{
	if (crew == NULL)
		return;
	for (unsigned i = 0; i < crew->n; i++)
		member_done(&crew->members[i]);
	free(crew);
}
