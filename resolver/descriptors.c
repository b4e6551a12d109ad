/* SPDX-License-Identifier: MIT */
#include "resolver/descriptors.h"

#include <sys/resource.h>
#include "base/limits.h"

/* A quarter goes to clients; so many as no limit on descriptors makes fewer of, at most. */
static struct descriptors share_all(unsigned n_listeners)
{
	const unsigned kept = LIMIT_DESCRIPTORS_KEPT + n_listeners;
	struct descriptors share = { LIMIT_TCP_CLIENTS, LIMIT_UPSTREAM_SOCKETS };
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur >= kept + LIMIT_TCP_CLIENTS + LIMIT_UPSTREAM_SOCKETS)
		return share;

	unsigned left = limit.rlim_cur > kept ? (unsigned)limit.rlim_cur - kept : 0;

	if (share.clients > left / 4)
		share.clients = left / 4;
	if (share.upstreams > left - share.clients)
		share.upstreams = left - share.clients;
	return share;
}

struct descriptors descriptors_share(unsigned n_listeners, unsigned n_threads)
{
	struct descriptors all = share_all(n_listeners * n_threads);

	return (struct descriptors){ all.clients / n_threads, all.upstreams / n_threads };
}
