/* SPDX-License-Identifier: MIT */
#include "resolver/upstream.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "resolver/fetch.h"
#include "resolver/probe.h"

int upstream_ask(struct upstreams *upstreams, const struct name *name, uint32_t type,
		 struct upstream_wait *wait)
{
	struct fetch *fetch = fetch_find(upstreams, name, type);

	if (fetch == NULL) {
		servers_look(&upstreams->servers);
		int r = fetch_start(upstreams, name, type, &fetch);

		if (r < 0)
			return r;
	}
	fetch_join(fetch, wait);
	return 0;
}

void upstream_forget(struct upstream_wait *wait)
{
	list_drop(&wait->node);
}

void upstreams_share(struct upstreams *upstreams, struct upstreams *first)
{
	upstreams->servers.board = first->servers.board;
}

bool upstreams_recognize(struct upstreams *upstreams, const struct name *name)
{
	return probe_recognize(&upstreams->servers, name);
}

int upstreams_new(struct loop *loop, struct policy *policy, struct cache *cache,
		  void (*report)(void *arg, const char *text), void *arg,
		  struct upstreams **ret_upstreams, struct err *err)
{
	const struct policy_resolver *settings = policy_resolver(policy);
	struct upstreams *up = calloc(1, sizeof(*up));
	int r;

	if (up == NULL)
		return err_set(err, -ENOMEM, "no memory for the upstream servers");
	up->cache = cache;
	up->ttl_min_s = settings->ttl_min_s;
	up->ttl_max_s = settings->ttl_max_s;
	up->seed = hash_seed();
	for (unsigned i = 0; i < FETCH_BUCKETS; i++)
		list_init(&up->fetches[i]);
	r = servers_open(&up->servers, loop, policy, report, arg, err);
	if (r < 0) {
		upstreams_free(up);
		return r;
	}
	*ret_upstreams = up;
	return 0;
}

void upstreams_watch(struct upstreams *upstreams)
{
	servers_watch(&upstreams->servers);
}

bool upstreams_any(const struct upstreams *upstreams)
{
	return upstreams->servers.n_listed > 0;
}

void upstreams_free(struct upstreams *upstreams)
{
	if (upstreams == NULL)
		return;
	fetches_end(upstreams);
	servers_close(&upstreams->servers);
	free(upstreams);
}
