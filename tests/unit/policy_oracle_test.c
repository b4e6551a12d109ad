/* SPDX-License-Identifier: MIT */
/*
 * Verdicts on random policies and names, against an oracle: the same rules again, by comparing
 * texts with each entry in turn.
 */
#include <stdio.h>
#include <string.h>
#include "policy/policy.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 /* 2026-12-01 */, A = 1, AAAA = 28, HTTPS = 65 };

static const struct address loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };

static struct policy *load(const char *text)
{
	struct policy_faults faults;
	struct policy *policy = NULL;
	struct err err;
	int r = policy_load_text("p.ini", text, strlen(text), NOW, &policy, &faults, &err);

	for (size_t i = 0; r < 0 && i < faults.n; i++)
		print_message("# %u: %s\n", faults.faults[i].line, faults.faults[i].text);
	assert_int_equal(r, 0);
	policy_faults_done(&faults);
	return policy;
}

static struct name name_of(const char *text)
{
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return name;
}

static struct policy_verdict judge(const struct policy *policy, unsigned agent, const char *text,
				   uint16_t type)
{
	struct address client = loopback;
	struct name name = name_of(text);

	client.bytes[3] = (uint8_t)(1 + agent);
	return policy_judge_name(policy, policy_agent_find(policy, &client, NULL), &name, type,
				 NOW);
}

enum { MAX_RULES = 6, MAX_HOSTS = 4, NAME_SIZE = 64, AGENTS = 3 };

struct rule {
	bool deny, expired, closed, doh, only_a;
	unsigned agents; /* a bit for each that has it */
	unsigned n_hosts;
	char hosts[MAX_HOSTS][NAME_SIZE]; /* "*" or "*.x" is a wildcard; "." is not used */
};

struct model {
	struct rule rules[MAX_RULES];
	unsigned n;
	bool doh_permit, agents;
};

struct expected {
	enum policy_reason reason;
	bool exists;
	uint32_t allowing;
};

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state >> 33) % n;
}

/* A name of up to four labels out of few, so that names meet; "" is the root. */
static void random_name(char *name)
{
	static const char *const labels[] = { "a",    "b",         "test",   "internal", "arpa",
					      "home", "localhost", "google", "dns",      "onion" };
	unsigned n = random_below(5);
	char *at = name;

	*name = '\0';
	for (unsigned i = 0; i < n; i++)
		at += sprintf(at, "%s%s", i > 0 ? "." : "", labels[random_below(10)]);
}

/* True if @name lies below @zone, both without final dots; all but the root lies below "". */
static bool is_below(const char *name, const char *zone)
{
	size_t n = strlen(name), z = strlen(zone);

	if (z == 0)
		return n > 0;
	return n > z && name[n - z - 1] == '.' && strcmp(name + n - z, zone) == 0;
}

static bool is_wildcard(const char *host)
{
	return host[0] == '*';
}

/* What a wildcard stands before. */
static const char *base_of(const char *host)
{
	return host[1] == '.' ? host + 2 : "";
}

static bool covers(const char *host, const char *name)
{
	return is_wildcard(host) ? is_below(name, base_of(host)) : strcmp(host, name) == 0;
}

/* How specific a host is that covers the name: 2000 if exact, else by its length. */
static unsigned weight(const char *host)
{
	return is_wildcard(host) ? 1 + (unsigned)strlen(base_of(host)) : 2000;
}

static bool allowed_below(const struct model *m, const char *name)
{
	for (unsigned i = 0; i < m->n; i++)
		for (unsigned j = 0; j < m->rules[i].n_hosts && !m->rules[i].deny; j++) {
			const char *host = m->rules[i].hosts[j];
			const char *bare = is_wildcard(host) ? base_of(host) : host;

			if (is_below(bare, name) || (is_wildcard(host) && strcmp(bare, name) == 0))
				return true;
		}
	return false;
}

/* The weight of the best host of a grant (or of a [deny], if @deny) for @name; 0: none. */
static unsigned best_weight(const struct model *m, const char *name, bool deny)
{
	unsigned best = 0;

	for (unsigned i = 0; i < m->n; i++)
		for (unsigned j = 0; j < m->rules[i].n_hosts; j++)
			if (m->rules[i].deny == deny && covers(m->rules[i].hosts[j], name) &&
			    weight(m->rules[i].hosts[j]) > best)
				best = weight(m->rules[i].hosts[j]);
	return best;
}

static bool rule_has_weight(const struct rule *rule, const char *name, unsigned wanted)
{
	for (unsigned j = 0; j < rule->n_hosts; j++)
		if (covers(rule->hosts[j], name) && weight(rule->hosts[j]) == wanted)
			return true;
	return false;
}

/*
 * Whether a special zone holds @name and does not yield to a host of weight @best. What is empty
 * exists, what is closed has nothing below it, whatever grants list there.
 */
static bool oracle_special(const char *name, unsigned best, bool *ret_empty, bool *ret_closed)
{
	static const struct {
		const char *zone;
		bool yields, empty;
	} zones[] = { { "localhost", false, true },
		      { "onion", false, false },
		      { "test", true, false },
		      { "internal", true, false },
		      { "home.arpa", true, true } };

	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		const char *zone = zones[i].zone;

		if (strcmp(name, zone) != 0 && !is_below(name, zone))
			continue;
		*ret_empty = zones[i].empty;
		*ret_closed = !zones[i].empty && !zones[i].yields;
		return !zones[i].yields || best < 1 + strlen(zone);
	}
	return false;
}

/* Weigh the grants with a host of weight @best. */
static struct expected oracle_grants(const struct model *m, const char *name, unsigned best,
				     bool doh, uint16_t type)
{
	struct expected e = { .reason = POLICY_REASON_GRANTED };
	bool any_doh = false, any_live = false, any_open = false;
	unsigned bit = 0;

	for (unsigned i = 0; i < m->n; i++) {
		const struct rule *rule = &m->rules[i];

		if (rule->deny || !rule_has_weight(rule, name, best))
			continue;
		bool passes_doh = !doh || rule->doh;
		bool live = passes_doh && !rule->expired;

		any_doh |= passes_doh;
		any_live |= live;
		any_open |= live && !rule->closed;
		if (live && !rule->closed && (type == A || (type == AAAA && !rule->only_a)))
			e.allowing |= UINT32_C(1) << bit;
		bit++;
	}
	if (e.allowing == 0)
		e.reason = !any_doh    ? POLICY_REASON_DOH
			   : !any_live ? POLICY_REASON_EXPIRED
			   : !any_open ? POLICY_REASON_HOURS
				       : POLICY_REASON_TYPE;
	return e;
}

/* What the rules say of the name itself. */
static struct expected oracle_itself(const struct model *m, const char *name, uint16_t type)
{
	unsigned best = best_weight(m, name, false);
	bool doh = !m->doh_permit && strcmp(name, "dns.google") == 0;
	bool below = allowed_below(m, name) || *name == '\0' || strcmp(name, "arpa") == 0;
	bool empty = false, closed = false;
	struct expected e = { .reason = POLICY_REASON_NOT_LISTED };

	if (oracle_special(name, best, &empty, &closed)) {
		e.reason = POLICY_REASON_SPECIAL;
		e.exists = (below && !closed) || empty;
		return e;
	}
	if (best == 2000 || (best > 0 && best_weight(m, name, true) == 0))
		e = oracle_grants(m, name, best, doh, type);
	else if (doh)
		e.reason = POLICY_REASON_DOH;
	else if (best_weight(m, name, true) > 0)
		e.reason = POLICY_REASON_DENIED;
	else if (allowed_below(m, name))
		e.reason = POLICY_REASON_NAME_ABOVE;
	e.exists = below || e.reason == POLICY_REASON_GRANTED || e.reason == POLICY_REASON_TYPE;
	return e;
}

/* The same, and whether NXDOMAIN would speak for a name below that nobody lists but is allowed. */
static struct expected oracle(const struct model *m, const char *name, uint16_t type)
{
	struct expected e = oracle_itself(m, name, type);
	char below[128];

	if (e.exists || e.reason == POLICY_REASON_DENIED || e.reason == POLICY_REASON_DOH)
		return e;
	snprintf(below, sizeof(below), "unlisted%s%s", *name ? "." : "", name);
	e.exists = oracle_itself(m, below, A).allowing != 0 ||
		   oracle_itself(m, below, AAAA).allowing != 0;
	return e;
}

static void random_rule(struct rule *rule)
{
	*rule = (struct rule){ .deny = random_below(4) == 0,
			       .expired = random_below(5) == 0,
			       .closed = random_below(5) == 0,
			       .agents = random_below(1u << AGENTS),
			       .doh = random_below(3) == 0,
			       .only_a = random_below(3) == 0,
			       .n_hosts = 1 + random_below(MAX_HOSTS) };
	for (unsigned i = 0; i < rule->n_hosts; i++) {
		char name[NAME_SIZE - 2];
		bool wildcard = random_below(2);

		random_name(name);
		if (*name == '\0')
			strcpy(rule->hosts[i], "*");
		else
			snprintf(rule->hosts[i], NAME_SIZE, "%s%s", wildcard ? "*." : "", name);
	}
}

static void print_model(const struct model *m, char *text, size_t size)
{
	size_t len = (size_t)snprintf(text, size, "[resolver]\ndoh = %s\n",
				      m->doh_permit ? "permit" : "block");

	for (unsigned i = 0; i < m->n; i++) {
		const struct rule *rule = &m->rules[i];

		len += (size_t)snprintf(text + len, size - len, "[%s r%u]\nreason = r\n",
					rule->deny ? "deny" : "allow", i);
		if (!rule->deny)
			len += (size_t)snprintf(
				text + len, size - len,
				"owner = o\nwide = yes\ndoh = %s\ntype = %s\n"
				"expires = %s\nhours = %s\n",
				rule->doh ? "yes" : "no", rule->only_a ? "A" : "A AAAA",
				rule->expired ? "2020-01-01" : "2100-01-01",
				rule->closed ? "Mon Wed-Sun 00:00-24:00" : "Tue 00:00-00:01");
		len += (size_t)snprintf(text + len, size - len, "host =");
		for (unsigned j = 0; j < rule->n_hosts; j++)
			len += (size_t)snprintf(text + len, size - len, " %s", rule->hosts[j]);
		len += (size_t)snprintf(text + len, size - len, "\n");
	}
	for (unsigned agent = 0; agent < AGENTS && m->agents; agent++) {
		len += (size_t)snprintf(text + len, size - len,
					"[agent a%u]\nclient = 127.0.0.%u\n", agent, 1 + agent);
		for (unsigned i = 0, any = 0; i < m->n; i++)
			if (!m->rules[i].deny && (m->rules[i].agents & 1u << agent))
				len += (size_t)snprintf(text + len, size - len, "%s r%u\n",
							any++ ? " " : "allow =", i);
	}
	assert_true(len < size);
}

/* What is left of @m for @agent: the rules again, without the grants of others. */
static struct model seen_by(const struct model *m, unsigned agent)
{
	struct model seen = { .doh_permit = m->doh_permit };

	for (unsigned i = 0; i < m->n; i++)
		if (!m->agents || m->rules[i].deny || (m->rules[i].agents & 1u << agent))
			seen.rules[seen.n++] = m->rules[i];
	return seen;
}

static void compare(const struct model *all, const struct policy *policy, const char *text)
{
	static const uint16_t types[] = { A, AAAA, HTTPS };
	unsigned agent = random_below(AGENTS);
	const struct model seen = seen_by(all, agent), *m = &seen;
	char name[NAME_SIZE];

	random_name(name);
	for (size_t i = 0; i < 3; i++) {
		struct policy_verdict v = judge(policy, agent, *name ? name : ".", types[i]);
		struct expected e = oracle(m, name, types[i]);
		bool allowed = e.reason == POLICY_REASON_GRANTED;

		if (v.reason == e.reason && v.exists == e.exists && v.allowing == e.allowing &&
		    (v.code == POLICY_ALLOW) == allowed)
			continue;
		fail_msg("agent %u: `%s` type %u: %s %d %x, but the oracle says %s %d %x, of\n%s",
			 agent, name, types[i], policy_reason_word(v.reason), v.exists, v.allowing,
			 policy_reason_word(e.reason), e.exists, e.allowing, text);
	}
}

static void verdicts_are_those_of_an_oracle(void **state)
{
	enum { POLICIES = 3000, NAMES = 60 };
	static char text[16384];
	struct model model;

	(void)state;
	random_state = 0x2545f4914f6cdd1du;
	for (unsigned i = 0; i < POLICIES; i++) {
		struct policy *policy;

		model.n = random_below(MAX_RULES + 1);
		model.doh_permit = random_below(4) == 0;
		model.agents = random_below(3) > 0;
		for (unsigned j = 0; j < model.n; j++)
			random_rule(&model.rules[j]);
		print_model(&model, text, sizeof(text));
		policy = load(text);
		for (unsigned j = 0; j < NAMES; j++)
			compare(&model, policy, text);
		policy_unref(policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_are_those_of_an_oracle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
