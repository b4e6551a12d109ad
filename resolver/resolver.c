/* SPDX-License-Identifier: MIT */
#include "resolver/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include "base/own.h"
#include "resolver/crew.h"
#include "resolver/worker.h"

void worker_free(struct resolver *worker)
{
	if (worker == NULL)
		return;
	query_end_all(worker);
	listeners_free(worker->listeners);
	upstreams_free(worker->upstreams);
	cache_free(worker->cache);
	policy_unref(worker->policy);
	free(worker);
}

int worker_new(struct loop *loop, struct policy *policy, struct audit *audit, unsigned number,
	       void (*report)(void *arg, const char *text), void *arg, struct resolver **ret_worker,
	       struct err *err)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (resolver == NULL)
		return err_set(err, -ENOMEM, "no memory for the resolver");
	resolver->loop = loop;
	resolver->number = number;
	resolver->policy = policy_ref(policy);
	resolver->audit = audit;
	resolver->generation = 1;
	list_init(&resolver->queries);

	r = cache_new(policy_resolver(policy)->cache_entries, &resolver->cache);
	if (r < 0)
		r = err_set(err, r, "no memory for the cache");
	if (r == 0)
		r = upstreams_new(loop, policy, resolver->cache, report, arg, &resolver->upstreams,
				  err);
	if (r == 0)
		r = listeners_new(resolver, &resolver->listeners, err);
	if (r < 0) {
		worker_free(resolver);
		return r;
	}
	*ret_worker = resolver;
	return 0;
}

void resolver_stop(struct resolver *resolver)
{
	if (resolver == NULL)
		return;
	struct budgets *budgets = resolver->budgets;

	crew_free(resolver->crew);
	worker_free(resolver);
	budgets_free(budgets);
}

int resolver_open(struct loop *loop, struct policy *policy, struct audit *audit,
		  void (*report)(void *arg, const char *text), void *arg,
		  struct resolver **ret_resolver, struct err *err)
{
	struct resolver *resolver = NULL;
	int r = worker_new(loop, policy, audit, 0, report, arg, &resolver, err);

	if (r < 0)
		return r;
	cookie_key_init(&resolver->cookie_key);
	r = budgets_new(&resolver->budgets);
	if (r < 0)
		r = err_set(err, r, "no memory for the budgets");
	if (r == 0)
		r = crew_new(resolver, &resolver->crew, err);
	if (r < 0) {
		resolver_stop(resolver);
		return r;
	}
	*ret_resolver = resolver;
	return 0;
}

int resolver_serve(struct resolver *resolver, struct lease_table *leases, struct err *err)
{
	resolver->leases = leases;
	upstreams_watch(resolver->upstreams);
	return crew_serve(resolver->crew, leases, err);
}

bool resolver_has_upstream(const struct resolver *resolver)
{
	return upstreams_any(resolver->upstreams);
}

bool resolver_endpoint(const struct resolver *resolver, unsigned i, struct endpoint *ret_endpoint)
{
	return listeners_endpoint(resolver->listeners, i, ret_endpoint);
}
