/* SPDX-License-Identifier: MIT */
#include "policy/origin.h"

#include <errno.h>
#include <string.h>
#include "policy/host.h"

static void open_database(struct load *load, const struct draft_geo *d, const char *key,
			  const char *path, enum geo_kind kind, struct geo **ret_geo)
{
	struct err err;
	int r;

	if (path == NULL || path[0] != '/')
		return; /* not set, or told already */
	r = geo_open(path, kind, ret_geo, &err);
	if (r == -ENOMEM)
		load->no_memory = true;
	else if (r < 0)
		load_fault(load, schema_place(&d->draft, key), "%s", err.text);
}

void origin_open(struct load *load, const struct draft_geo *d, struct policy *policy)
{
	open_database(load, d, "country", d->country, GEO_COUNTRY, &policy->countries);
	open_database(load, d, "asn", d->asn, GEO_ASN, &policy->asns);
}

/* Check that @key, if it stands in @d, can be judged, and says something. */
static void check_condition(struct load *load, const struct draft_allow *d, const char *key,
			    const struct geo *geo)
{
	struct policy_place place = schema_place(&d->draft, key);
	const struct host *hosts = d->hosts.items;

	if (schema_line(&d->draft, key) == 0)
		return;
	if (geo == NULL)
		load_fault(load, place, "`%s` needs a database that can be read: `%s` in [geo]",
			   key, key);
	if (d->pins.n > 0)
		load_fault(load, place,
			   "`%s` has no effect beside `address`: pins are answered as they stand",
			   key);
	for (unsigned i = 0; i < d->hosts.n; i++)
		if (hosts[i].kind == HOST_LITERAL) {
			load_fault(load,
				   (struct policy_place){ d->draft.place.file, hosts[i].line },
				   "`%s` is opened as it stands, and `%s` is no condition for it; "
				   "put it into a grant of its own",
				   hosts[i].text, key);
			break;
		}
}

void origin_set(struct load *load, const struct draft_allow *d, const struct policy *policy,
		struct policy_grant *grant)
{
	unsigned n = d->countries.n + d->asns.n;
	struct origin *origins;

	grant->country_place = schema_place(&d->draft, "country");
	grant->asn_place = schema_place(&d->draft, "asn");
	check_condition(load, d, "country", policy->countries);
	check_condition(load, d, "asn", policy->asns);
	if (n == 0)
		return;
	origins = load_keep(load, n * sizeof(*origins));
	if (origins == NULL)
		return;
	if (d->countries.n > 0)
		memcpy(origins, d->countries.items, d->countries.n * sizeof(*origins));
	if (d->asns.n > 0)
		memcpy(origins + d->countries.n, d->asns.items, d->asns.n * sizeof(*origins));
	grant->origins = origins;
	grant->n_countries = d->countries.n;
	grant->n_asns = d->asns.n;
}
