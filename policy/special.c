/* SPDX-License-Identifier: MIT */
/*
 * Special-use names: what no upstream is ever asked for, whatever a grant
 * says (IANA, "Special-Use Domain Names" and "Locally-Served DNS Zones").
 *
 * A zone that YIELDS is private: who lists a host inside of it means the
 * zone of the own network, and has it asked for. A wildcard above it, or
 * `*`, does not reach into it.
 */
#include "policy/special.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

enum { YIELDS = 1 };

static const struct {
	const char *zone;
	enum policy_special special;
	int yields;
} zones[] = {
	{ "localhost", POLICY_SPECIAL_LOCALHOST, 0 }, /* RFC 6761, 6.3 */
	{ "invalid", POLICY_SPECIAL_NXDOMAIN, 0 },    /* RFC 6761, 6.4 */
	{ "onion", POLICY_SPECIAL_NXDOMAIN, 0 },      /* RFC 7686, 2 */
	{ "alt", POLICY_SPECIAL_NXDOMAIN, 0 },        /* RFC 9476, 2 */
	{ "resolver.arpa", POLICY_SPECIAL_EMPTY, 0 }, /* RFC 9462, 6.4: no discovery of DoH */
	{ "service.arpa", POLICY_SPECIAL_EMPTY, 0 },  /* RFC 9665 */

	{ "test", POLICY_SPECIAL_NXDOMAIN, YIELDS },       /* RFC 6761, 6.2 */
	{ "local", POLICY_SPECIAL_NXDOMAIN, YIELDS },      /* RFC 6762, 3 */
	{ "internal", POLICY_SPECIAL_NXDOMAIN, YIELDS },   /* reserved by ICANN in 2024 */
	{ "home.arpa", POLICY_SPECIAL_EMPTY, YIELDS },     /* RFC 8375, 4 */
	{ "ipv4only.arpa", POLICY_SPECIAL_EMPTY, YIELDS }, /* RFC 8880: there is no NAT64 here */

	/* Reverse zones of RFC 1918 (RFC 6303, 4.1); 172.16/12 is made by add_range(). */
	{ "10.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "168.192.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	/* RFC 6303, 4.2 */
	{ "0.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "127.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "254.169.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "2.0.192.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "100.51.198.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "113.0.203.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "255.255.255.255.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	/* RFC 6303, 4.3: the unspecified address and the loopback address */
	{ "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
	  POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
	  POLICY_SPECIAL_NXDOMAIN, YIELDS },
	/* RFC 6303, 4.4 to 4.6: unique local, link-local, documentation */
	{ "d.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "8.e.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "9.e.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "a.e.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "b.e.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
	{ "8.b.d.0.1.0.0.2.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, YIELDS },
};

static int add(struct hosts *hosts, const char *zone, enum policy_special special, bool yields)
{
	struct name name;
	int r = name_parse(zone, &name);

	assert(r == 0);
	return hosts_add_special(hosts, &name, special, yields);
}

/* Add the reverse zones of FIRST.@net to LAST.@net. */
static int add_range(struct hosts *hosts, unsigned first, unsigned last, unsigned net)
{
	char zone[32];

	for (unsigned i = first; i <= last; i++) {
		snprintf(zone, sizeof(zone), "%u.%u.in-addr.arpa", i, net);
		if (add(hosts, zone, POLICY_SPECIAL_NXDOMAIN, true) < 0)
			return -1;
	}
	return 0;
}

int special_add_all(struct hosts *hosts)
{
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		int r = add(hosts, zones[i].zone, zones[i].special, zones[i].yields != 0);

		if (r < 0)
			return r;
	}
	if (add_range(hosts, 16, 31, 172) < 0 || /* RFC 6303, 4.1 */
	    add_range(hosts, 64, 127, 100) < 0)  /* RFC 7793, 2.1 */
		return -ENOMEM;
	return 0;
}
