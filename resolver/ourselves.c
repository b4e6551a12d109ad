/* SPDX-License-Identifier: MIT */
#include "resolver/ourselves.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

/* True if @address is one of this host's, on any of its links. */
static bool is_own_address(const struct address *address)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *at = all; at != NULL && !found; at = at->ifa_next) {
		int family = at->ifa_addr != NULL ? at->ifa_addr->sa_family : AF_UNSPEC;
		struct sockaddr_storage own = { .ss_family = AF_UNSPEC };

		if (family == AF_INET)
			memcpy(&own, at->ifa_addr, sizeof(struct sockaddr_in));
		else if (family == AF_INET6)
			memcpy(&own, at->ifa_addr, sizeof(struct sockaddr_in6));

		const struct endpoint endpoint = endpoint_from_sockaddr(&own);

		found = address_equal(address, &endpoint.address);
	}
	freeifaddrs(all);
	return found;
}

bool is_ourselves(const struct policy_resolver *settings, const struct endpoint *server)
{
	for (unsigned i = 0; i < settings->n_listen; i++) {
		const struct endpoint *listen = &settings->listen[i];

		if (endpoint_reaches(server, listen))
			return true;
		if (server->port == listen->port &&
		    server->address.family == listen->address.family &&
		    address_is_unspecified(&listen->address) && is_own_address(&server->address))
			return true;
	}
	return false;
}
