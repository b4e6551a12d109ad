/* SPDX-License-Identifier: MIT */
/* Warnings: what is good, and yet not what its writer may have meant, or reviewed lately. */
#include <string.h>
#include "policy/agents.h"
#include "policy/compile.h"
#include "policy/host.h"

enum { SOON_DAYS = 14 };

static const int64_t day_s = 86400;

static void review_dates(struct load *load, const struct draft_allow *d, uint64_t review_every_s)
{
	struct policy_place expires = schema_place(&d->draft, "expires");
	bool ends = schema_line(&d->draft, "expires") != 0;
	struct policy_place reviewed = schema_place(&d->draft, "reviewed");
	int64_t now_s = load->now_s;

	if (ends && d->expires_s <= now_s)
		load_warn(load, expires, "the grant `%s` has expired", d->draft.label);
	else if (ends && d->expires_s - now_s <= SOON_DAYS * day_s)
		load_warn(load, expires, "the grant `%s` expires within %d days", d->draft.label,
			  SOON_DAYS);
	if (schema_line(&d->draft, "reviewed") == 0)
		load_warn(load, reviewed, "the grant `%s` has never been `reviewed`",
			  d->draft.label);
	else if (d->reviewed_s > now_s)
		load_warn(load, reviewed, "the review of the grant `%s` lies in the future",
			  d->draft.label);
	else if (now_s - d->reviewed_s > (int64_t)review_every_s)
		load_warn(load, reviewed, "the grant `%s` was reviewed more than %llu days ago",
			  d->draft.label, (unsigned long long)review_every_s / (unsigned)day_s);
}

/* Why the host @name of @d can never be reached by it; NULL if it can. */
static const char *why_never(const struct policy *policy, const struct draft_allow *d,
			     const struct name *name, bool wildcard)
{
	struct hosts_match match = hosts_find(&policy->hosts, 0, name);
	/* Below any name, a label that nobody lists stands for all the others. */
	static const uint8_t unlikely[] = { 8, 0, '*', 0, '*', 0, '*', 0, '*' };
	struct name below;

	if (match.special != POLICY_SPECIAL_NONE && !match.special_yields)
		return "special-use names are answered here";
	if (match.doh && !d->doh)
		return match.doh_by
			       ? "it is on a `doh_list`, and the grant does not say `doh = yes`"
			       : "it is on the built-in list of DoH names, and the grant does "
				 "not say `doh = yes`";
	if (!wildcard || name->len + sizeof(unlikely) > NAME_WIRE_MAX)
		return NULL;
	memcpy(below.wire, unlikely, sizeof(unlikely));
	memcpy(below.wire + sizeof(unlikely), name->wire, name->len);
	below.len = (uint8_t)(name->len + sizeof(unlikely));
	below.labels = (uint8_t)(name->labels + 1);
	match = hosts_find(&policy->hosts, 0, &below);
	return match.denied_by ? "a [deny] section denies all below it" : NULL;
}

/* Warn if a list denies the host @name of a grant, which beats it; once, though several list it. */
static void review_listed(struct load *load, const struct policy *policy,
			  const struct draft_allow *d, const struct host *host,
			  const struct name *name)
{
	struct hosts_match match = hosts_find(&policy->hosts, 0, name);
	unsigned line = 0;
	unsigned source = hosts_denied_exactly(&policy->hosts, name, &line);

	if (source == 0 || !policy->denies[source - 1].is_list ||
	    (match.n_exact > 0 && strcmp(match.exact[0]->label, d->draft.label) != 0))
		return;
	load_warn(load, (struct policy_place){ policy->denies[source - 1].place.file, line },
		  "`%s` is not denied: the grant `%s` lists it as a host", host->text,
		  d->draft.label);
}

static void review_host(struct load *load, const struct policy *policy, const struct draft_allow *d,
			const struct host *host)
{
	struct policy_place place = { d->draft.place.file, host->line };
	bool wildcard = host->kind == HOST_WILDCARD;
	struct name name;
	const char *why;

	if (!host_name(host, &name))
		return;
	if (wildcard && d->wide && host_is_public_suffix(&name))
		load_warn(load, place,
			  "`%s` is as wide as a public suffix; anyone may own names "
			  "below it",
			  host->text);
	/* The name of a DoH service does not stand in the way of the wildcard's other names. */
	if (!wildcard)
		review_listed(load, policy, d, host, &name);
	why = why_never(policy, d, &name, wildcard);
	if (why != NULL)
		load_warn(load, place, "`%s` can never match: %s", host->text, why);
}

static void review_grant(struct load *load, const struct policy *policy,
			 const struct draft_allow *d)
{
	const struct host *hosts = d->hosts.items;
	bool any_name = false;

	for (unsigned i = 0; i < d->hosts.n; i++) {
		any_name |= hosts[i].kind != HOST_LITERAL;
		review_host(load, policy, d, &hosts[i]);
	}
	if (!any_name && d->hosts.n > 0 && d->pins.n > 0)
		load_warn(load, schema_place(&d->draft, "address"),
			  "`address` has no effect: the grant `%s` lists no name", d->draft.label);
}

/* Warn of names of the [deny] section @d that a grant lists, which beats it. */
static void review_deny(struct load *load, const struct policy *policy, const struct draft_deny *d)
{
	const struct host *hosts = d->hosts.items;
	struct hosts_match match = { .n_exact = 0 };
	struct name name;

	for (unsigned i = 0; i < d->hosts.n; i++) {
		struct policy_place place = { d->draft.place.file, hosts[i].line };

		if (hosts[i].kind != HOST_NAME || !host_name(&hosts[i], &name))
			continue;
		match.n_exact = 0;
		for (unsigned v = 0; v < policy->hosts.n_views && match.n_exact == 0; v++)
			match = hosts_find(&policy->hosts, v, &name);
		if (match.n_exact > 0)
			load_warn(load, place,
				  "`%s` is not denied: the grant `%s` lists it as a host",
				  hosts[i].text, match.exact[0]->label);
	}
}

void review_policy(struct load *load, const struct drafts *drafts, const struct policy *policy)
{
	struct policy_place owner = drafts->policy->draft.place;

	/* Without the section, the line where it would stand. */
	owner.line = owner.line ? owner.line : 1;
	if (drafts->policy->owner == NULL)
		load_warn(load, owner, "[policy] names no `owner`");
	for (unsigned i = 0; i < drafts->n_allows; i++) {
		review_dates(load, drafts->allows[i], drafts->policy->review_every_s);
		review_grant(load, policy, drafts->allows[i]);
	}
	if (policy->observes)
		load_warn(
			load, schema_place(&drafts->policy->draft, "mode"),
			"nothing is enforced: `mode = observe` lets through what is not allowed%s",
			policy->nftables.manage == POLICY_MANAGE_CHAINS
				? ""
				: "; rules of others may still stop it");
	agents_review(load, drafts, policy);
	for (unsigned i = 0; i < drafts->n_denies; i++)
		review_deny(load, policy, drafts->denies[i]);
}
