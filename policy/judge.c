/* SPDX-License-Identifier: MIT */
/*
 * The one place that says allow. What a name or an address is to the policy
 * is looked up once (hosts.c); what follows from it is decided here, from top
 * to bottom, and everything that is not allowed in so many words is denied.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include "policy/doh.h"
#include "policy/host.h"
#include "policy/private.h"

static const struct policy_place built_in = { "built in", 0 };

/* What is asked of a grant: a type of records, or, if @protocol is not 0, a port. */
struct ask {
	unsigned view; /* of who asks */
	int64_t now_s;
	uint16_t type;
	uint8_t protocol;
	uint16_t port;
	bool need_doh; /* the host is on a list of DoH names */
};

static bool has_type(const struct policy_grant *grant, uint16_t type)
{
	for (unsigned i = 0; i < grant->n_types; i++)
		if (grant->types[i] == type)
			return true;
	return false;
}

static bool has_port(const struct policy_grant *grant, uint8_t protocol, uint16_t port)
{
	for (unsigned i = 0; i < grant->n_ports; i++)
		if (grant->ports[i].protocol == protocol && grant->ports[i].from <= port &&
		    port <= grant->ports[i].to)
			return true;
	return false;
}

static bool holds(const struct address *addresses, unsigned n, const struct address *address)
{
	for (unsigned i = 0; i < n; i++)
		if (address_equal(&addresses[i], address))
			return true;
	return false;
}

/* Whether @grant allows what is asked; the reason if it does not, GRANTED if it does. */
static enum policy_reason weigh(const struct policy_grant *grant, const struct ask *ask)
{
	if (ask->need_doh && !grant->allow_doh)
		return POLICY_REASON_DOH;
	if (ask->now_s >= grant->expires_s)
		return POLICY_REASON_EXPIRED;
	if (grant->n_hours > 0 && policy_grant_until(grant, ask->now_s) <= ask->now_s)
		return POLICY_REASON_HOURS;
	if (ask->protocol != 0)
		return has_port(grant, ask->protocol, ask->port) ? POLICY_REASON_GRANTED
								 : POLICY_REASON_PORT;
	return has_type(grant, ask->type) ? POLICY_REASON_GRANTED : POLICY_REASON_TYPE;
}

/* How far a grant got that denies with @reason: what is said is of the one that got farthest. */
static unsigned rank(enum policy_reason reason)
{
	if (reason == POLICY_REASON_DOH)
		return 1;
	if (reason == POLICY_REASON_EXPIRED)
		return 2;
	return reason == POLICY_REASON_HOURS ? 3 : 4;
}

/* Where one would change that @grant denies with @reason. */
static struct policy_place place_of(const struct policy_grant *grant, enum policy_reason reason)
{
	if (reason == POLICY_REASON_COUNTRY)
		return grant->country_place;
	if (reason == POLICY_REASON_ASN)
		return grant->asn_place;
	if (reason == POLICY_REASON_HOURS)
		return (struct policy_place){ grant->place.file, grant->hours_line };
	return grant->place;
}

/* Weigh each of the @n grants that cover the host best: one that allows is enough. */
static struct policy_verdict weigh_all(const struct policy_grant *const *grants, unsigned n,
				       const struct ask *ask)
{
	struct policy_verdict verdict = { .grants = grants, .n_grants = n };

	for (unsigned i = 0; i < n; i++) {
		enum policy_reason reason = weigh(grants[i], ask);

		if (reason == POLICY_REASON_GRANTED) {
			if (verdict.allowing == 0)
				verdict.place = grants[i]->place;
			verdict.allowing |= UINT32_C(1) << i;
			verdict.metered |= grants[i]->budget.rate.actions != 0;
		} else if (verdict.allowing == 0 &&
			   (i == 0 || rank(reason) > rank(verdict.reason))) {
			verdict.reason = reason;
			verdict.place = place_of(grants[i], reason);
		}
	}
	if (verdict.allowing != 0) {
		verdict.code = POLICY_ALLOW;
		verdict.reason = POLICY_REASON_GRANTED;
	}
	return verdict;
}

/* Whether the special-use zone that holds the name decides, whatever grants say. */
static bool is_special(const struct hosts_match *match)
{
	if (match->special == POLICY_SPECIAL_NONE)
		return false;
	return !match->special_yields ||
	       (match->n_exact == 0 &&
		(match->n_wild == 0 || match->wild_labels < match->special_labels));
}

static struct policy_verdict deny(enum policy_reason reason, struct policy_place place)
{
	return (struct policy_verdict){ .code = POLICY_DENY, .reason = reason, .place = place };
}

/* As weigh_all(), of the longest wildcard: what it allows is metered by registered domain. */
static struct policy_verdict weigh_wildcard(const struct hosts_match *match,
					    const struct name *name, const struct ask *ask)
{
	struct policy_verdict verdict = weigh_all(match->wild, match->n_wild, ask);

	if (verdict.code != POLICY_ALLOW)
		return verdict;
	verdict.metered = true;
	verdict.domain_labels = (uint8_t)match->wild_domain;
	if (match->wild_domain == 0)
		verdict.domain_labels = (uint8_t)host_domain_labels(name);
	/* A public suffix belongs to nobody but itself. */
	if (verdict.domain_labels == 0)
		verdict.domain_labels = name->labels;
	return verdict;
}

/* Where the source that denies stands: in a list its very line. */
static struct policy_place denial_place(const struct policy *policy,
					const struct hosts_match *match)
{
	struct policy_place place = policy->denies[match->denied_by - 1].place;

	if (match->denied_line != 0)
		place.line = match->denied_line;
	return place;
}

static struct policy_verdict judge_grants(const struct policy *policy,
					  const struct hosts_match *match, const struct name *name,
					  const struct ask *ask)
{
	if (match->n_exact > 0)
		return weigh_all(match->exact, match->n_exact, ask);
	if (match->denied_by != 0)
		return deny(POLICY_REASON_DENIED, denial_place(policy, match));
	if (match->n_wild > 0)
		return weigh_wildcard(match, name, ask);
	return deny(match->allowed_below ? POLICY_REASON_NAME_ABOVE : POLICY_REASON_NOT_LISTED,
		    policy->place);
}

/* Whether the wildcard that holds the name allows what lies below it, be the name itself denied. */
static bool wildcard_reaches_below(const struct hosts_match *match, int64_t now_s)
{
	bool into_zone = match->special_yields && match->wild_labels >= match->special_labels;

	if (match->denied_below || (match->special != POLICY_SPECIAL_NONE && !into_zone))
		return false;
	for (unsigned i = 0; i < match->n_wild; i++)
		if (now_s < policy_grant_until(match->wild[i], now_s) &&
		    (!match->doh_below || match->wild[i]->allow_doh))
			return true;
	return false;
}

/* Whether a denial must be NODATA: NXDOMAIN speaks for all that lies below (RFC 8020, 2). */
static bool name_exists(const struct hosts_match *match, const struct policy_verdict *verdict,
			int64_t now_s)
{
	/* In a zone that yields to no grant, what a grant lists below is not allowed either. */
	if (verdict->special == POLICY_SPECIAL_NXDOMAIN && !match->special_yields)
		return false;
	if (match->allowed_below || match->special_below ||
	    verdict->reason == POLICY_REASON_GRANTED || verdict->reason == POLICY_REASON_TYPE ||
	    verdict->special == POLICY_SPECIAL_EMPTY ||
	    verdict->special == POLICY_SPECIAL_LOCALHOST)
		return true;
	/* What is denied by its own name is to be gone, be it with what is below. */
	return verdict->reason != POLICY_REASON_DENIED && verdict->reason != POLICY_REASON_DOH &&
	       wildcard_reaches_below(match, now_s);
}

/* Whether any grant may list @type. */
static bool is_answered(uint16_t type)
{
	enum { A = 1, AAAA = 28 };

	return type == A || type == AAAA;
}

/* Whether a policy that observes lets through what is denied with @reason. */
static bool may_observe(enum policy_reason reason)
{
	return reason != POLICY_REASON_CLIENT && reason != POLICY_REASON_SPECIAL &&
	       reason != POLICY_REASON_DOH;
}

/* Turn @verdict, of a policy that observes, into what is done. */
static void observe(struct policy_verdict *verdict)
{
	if (verdict->code == POLICY_ALLOW || !may_observe(verdict->reason))
		return;
	verdict->code = POLICY_ALLOW;
	verdict->observed = true;
	verdict->exists = true;
}

/* The same of a question. Of a name that is let through, other types are NODATA, as ever. */
static void observe_name(const struct ask *ask, struct policy_verdict *verdict)
{
	if (ask->protocol == 0 && !is_answered(ask->type))
		verdict->exists |= may_observe(verdict->reason);
	else
		observe(verdict);
}

static struct policy_verdict judge(const struct policy *policy, const struct name *name,
				   struct ask *ask)
{
	struct hosts_match match = hosts_find(&policy->hosts, ask->view, name);
	struct policy_verdict verdict;

	if (is_special(&match)) {
		verdict = deny(POLICY_REASON_SPECIAL, built_in);
		verdict.special = match.special;
	} else {
		ask->need_doh = match.doh;
		verdict = judge_grants(policy, &match, name, ask);
		/* Without a grant that could override the list, it is the list that denies. */
		if (match.doh && verdict.n_grants == 0)
			verdict =
				deny(POLICY_REASON_DOH,
				     match.doh_by ? policy->doh_lists[match.doh_by - 1] : built_in);
	}
	verdict.exists = name_exists(&match, &verdict, ask->now_s);
	verdict.listed_below = match.allowed_below || match.special_below;
	if (policy->observes)
		observe_name(ask, &verdict);
	return verdict;
}

void policy_verdict_observe(const struct policy *policy, struct policy_verdict *verdict)
{
	if (policy->observes)
		observe(verdict);
}

struct policy_verdict policy_judge_stranger(const struct policy *policy)
{
	bool of_clients = policy->n_agents == 0 || policy->clients_bound;

	return deny(POLICY_REASON_CLIENT, of_clients ? policy->clients_place : policy->place);
}

struct policy_verdict policy_judge_name(const struct policy *policy,
					const struct policy_agent *agent, const struct name *name,
					uint16_t type, int64_t now_s)
{
	struct ask ask = { .now_s = now_s, .type = type };

	assert(agent != NULL);
	ask.view = agent->view;
	return judge(policy, name, &ask);
}

struct policy_verdict policy_judge_target(const struct policy *policy,
					  const struct policy_verdict *asked,
					  const struct name *target)
{
	struct policy_verdict verdict = *asked;
	struct hosts_match match = hosts_find(&policy->hosts, 0, target);

	assert(asked->code == POLICY_ALLOW);
	if (!match.doh)
		return verdict;
	verdict.observed = false;
	for (unsigned i = 0; i < asked->n_grants; i++)
		if ((asked->allowing & UINT32_C(1) << i) && !asked->grants[i]->allow_doh)
			verdict.allowing &= ~(UINT32_C(1) << i);
	if (verdict.allowing == 0) {
		verdict.code = POLICY_DENY;
		verdict.reason = POLICY_REASON_DOH;
	}
	return verdict;
}

/* Whether an address that is where @origin says is where @grant wants it. */
static enum policy_reason weigh_origin(const struct policy_grant *grant,
				       const struct origin *origin)
{
	bool in_country = grant->n_countries == 0, in_asn = grant->n_asns == 0;
	const struct origin *countries = grant->origins, *asns;

	if (countries == NULL)
		return POLICY_REASON_GRANTED;
	asns = countries + grant->n_countries;
	for (unsigned i = 0; i < grant->n_countries; i++)
		in_country |= memcmp(countries[i].country, origin->country, 2) == 0;
	for (unsigned i = 0; i < grant->n_asns; i++)
		in_asn |= asns[i].asn == origin->asn;
	if (!in_country)
		return POLICY_REASON_COUNTRY;
	return in_asn ? POLICY_REASON_GRANTED : POLICY_REASON_ASN;
}

/* Whether @grant permits @address in an answer; the reason if it does not, GRANTED if it does. */
static enum policy_reason weigh_address(const struct policy *policy,
					const struct policy_grant *grant,
					const struct address *address, const struct origin *origin)
{
	if (holds(grant->pins, grant->n_pins, address))
		return POLICY_REASON_GRANTED;
	/* What is special-purpose is in no country; the grant says that it wants it. */
	if (address_special(address) != NULL)
		return grant->allow_private ? POLICY_REASON_GRANTED : POLICY_REASON_PRIVATE;
	if (policy->block_doh && !grant->allow_doh && doh_has_address(address))
		return POLICY_REASON_DOH;
	return weigh_origin(grant, origin);
}

bool policy_has_geo(const struct policy *policy)
{
	return policy->countries != NULL || policy->asns != NULL;
}

struct origin policy_origin_find(const struct policy *policy, const struct address *address)
{
	struct origin origin = { .asn = 0 };

	if (policy->countries != NULL)
		geo_find(policy->countries, address, &origin);
	if (policy->asns != NULL)
		geo_find(policy->asns, address, &origin);
	return origin;
}

/* The same for a name that no grant allows: only what would hide names is denied. */
static struct policy_verdict observe_address(const struct policy *policy,
					     const struct policy_verdict *asked,
					     const struct address *address)
{
	struct policy_verdict verdict = *asked;

	if (policy->block_doh && doh_has_address(address)) {
		verdict.code = POLICY_DENY;
		verdict.reason = POLICY_REASON_DOH;
		verdict.observed = false;
	}
	return verdict;
}

struct policy_verdict policy_judge_address(const struct policy *policy,
					   const struct policy_verdict *asked,
					   const struct address *address)
{
	struct origin origin = policy_origin_find(policy, address);

	return policy_judge_origin(policy, asked, address, &origin);
}

struct policy_verdict policy_judge_origin(const struct policy *policy,
					  const struct policy_verdict *asked,
					  const struct address *address,
					  const struct origin *origin)
{
	struct policy_verdict verdict = *asked;

	assert(asked->code == POLICY_ALLOW);
	if (asked->observed)
		return observe_address(policy, asked, address);
	for (unsigned i = 0; i < asked->n_grants; i++) {
		enum policy_reason reason =
			weigh_address(policy, asked->grants[i], address, origin);

		if (!(asked->allowing & UINT32_C(1) << i) || reason == POLICY_REASON_GRANTED)
			continue;
		verdict.allowing &= ~(UINT32_C(1) << i);
		verdict.reason = reason;
		verdict.place = place_of(asked->grants[i], reason);
	}
	if (verdict.allowing != 0) {
		verdict.reason = asked->reason;
		verdict.place = asked->place;
		return verdict;
	}
	verdict.code = POLICY_DENY;
	if (policy->observes)
		observe(&verdict);
	return verdict;
}

/* The grants that list @address in the longest prefix. */
static struct policy_verdict judge_literal(const struct policy *policy,
					   const struct address *address, const struct ask *ask)
{
	struct policy_verdict verdict = deny(POLICY_REASON_NO_LEASE, policy->place);

	for (unsigned i = 0; i < policy->n_literals; i++) {
		const struct policy_literal *literal = &policy->literals[i];

		if (literal->view != ask->view || !network_contains(&literal->network, address))
			continue;
		verdict = weigh_all(literal->grants, literal->n_grants, ask);
		if (verdict.code == POLICY_ALLOW)
			verdict.reason = POLICY_REASON_LITERAL;
		break;
	}
	return verdict;
}

struct policy_verdict policy_judge_connect(const struct policy *policy,
					   const struct policy_agent *agent,
					   const struct name *name, const struct address *address,
					   uint8_t protocol, uint16_t port, int64_t now_s)
{
	struct ask ask = { .now_s = now_s, .protocol = protocol, .port = port };

	assert(agent != NULL && protocol != 0 && (name != NULL || address != NULL));
	ask.view = agent->view;
	if (name != NULL)
		return judge(policy, name, &ask);

	struct policy_verdict verdict = judge_literal(policy, address, &ask);

	if (policy->observes)
		observe(&verdict);
	return verdict;
}

const struct policy_grant *policy_verdict_grant(const struct policy_verdict *verdict)
{
	for (unsigned i = 0; i < verdict->n_grants; i++)
		if (verdict->allowing & UINT32_C(1) << i)
			return verdict->grants[i];
	return NULL;
}

bool policy_verdict_is_pinned(const struct policy_verdict *verdict)
{
	for (unsigned i = 0; i < verdict->n_grants; i++)
		if ((verdict->allowing & UINT32_C(1) << i) && verdict->grants[i]->n_pins > 0)
			return true;
	return false;
}

unsigned policy_verdict_pins(const struct policy_verdict *verdict, uint8_t family,
			     struct address *ret_pins, unsigned size)
{
	unsigned n = 0;

	for (unsigned i = 0; i < verdict->n_grants; i++) {
		const struct policy_grant *grant = verdict->grants[i];

		if (!(verdict->allowing & UINT32_C(1) << i))
			continue;
		for (unsigned j = 0; j < grant->n_pins && n < size; j++)
			if (grant->pins[j].family == family && !holds(ret_pins, n, &grant->pins[j]))
				ret_pins[n++] = grant->pins[j];
	}
	return n;
}

static const struct {
	const char *word, *sentence;
} reasons[] = {
#define X(name, word, sentence) [POLICY_REASON_##name] = { word, sentence },
	POLICY_REASONS(X)
#undef X
};

const char *policy_reason_word(enum policy_reason reason)
{
	return reasons[reason].word;
}

const char *policy_reason_sentence(enum policy_reason reason)
{
	return reasons[reason].sentence;
}
