/* SPDX-License-Identifier: MIT */
/* Who asks, when, and what is let through: agents, hours, and a policy that observes. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "policy/policy.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 /* Tuesday, 2026-12-01 */, A = 1, AAAA = 28, MX = 15 };

#define MINUTE INT64_C(60) /* seconds */
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define MONDAY (NOW - DAY)

#define HEAD         "[policy]\nowner = o\n"
#define GRANT(label) "[allow " label "]\nowner = o\nreason = r\nreviewed = 2026-11-30\n"

static struct policy *load(const char *text, struct policy_faults *faults)
{
	struct policy *policy = NULL;
	struct err err;
	int r = policy_load_text("p.ini", text, strlen(text), NOW, &policy, faults, &err);

	assert_true((r == 0) == (faults->n_errors == 0));
	return policy;
}

static struct policy *load_good(const char *text)
{
	struct policy_faults faults;
	struct policy *policy = load(text, &faults);

	for (size_t i = 0; i < faults.n; i++)
		print_message("# %u: %s\n", faults.faults[i].line, faults.faults[i].text);
	assert_non_null(policy);
	policy_faults_done(&faults);
	return policy;
}

/* Expect a fault (or a @warning) in @line of @text with @part in it. */
static void expect(const char *text, bool warning, unsigned line, const char *part)
{
	struct policy_faults faults;
	struct policy *policy = load(text, &faults);
	bool found = false;

	for (size_t i = 0; i < faults.n; i++)
		found |= faults.faults[i].line == line && faults.faults[i].warning == warning &&
			 strstr(faults.faults[i].text, part) != NULL;
	for (size_t i = 0; i < faults.n && !found; i++)
		print_message("# %u: %s\n", faults.faults[i].line, faults.faults[i].text);
	assert_true(found);
	policy_faults_done(&faults);
	policy_unref(policy);
}

static const struct policy_agent *find(const struct policy *policy, const char *client,
				       const char *interface)
{
	struct address address;

	assert_int_equal(address_parse(client, &address), 0);
	return policy_agent_find(policy, &address, interface);
}

/* The name of the agent that @client is; "-" for none. */
static const char *who(const struct policy *policy, const char *client, const char *interface)
{
	const struct policy_agent *agent = find(policy, client, interface);

	return agent != NULL ? policy_agent_name(agent) : "-";
}

static struct policy_verdict ask_at(const struct policy *policy, const char *client,
				    const char *text, uint16_t type, int64_t now_s)
{
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return policy_judge_name(policy, find(policy, client, NULL), &name, type, now_s);
}

static struct policy_verdict ask(const struct policy *policy, const char *client, const char *text)
{
	return ask_at(policy, client, text, A, NOW);
}

/*
 * Agents.
 */

static void without_agents_every_client_is_the_one(void **state)
{
	struct policy *policy = load_good(HEAD "[resolver]\nclients = 10.0.0.0/8\n");

	(void)state;
	assert_null(policy_agent_at(policy, 0));
	assert_string_equal(who(policy, "10.1.2.3", NULL), "");
	assert_string_equal(who(policy, "::ffff:10.1.2.3", NULL), "");
	assert_null(find(policy, "192.0.2.1", NULL));
	assert_false(policy_wants_interface(policy));
	policy_unref(policy);
}

static void the_longest_network_says_who_it_is(void **state)
{
	struct policy *policy = load_good(HEAD "[agent wide]\nclient = 10.0.0.0/8 fd00::/8\n"
					       "[agent middle]\nclient = 10.1.0.0/16\n"
					       "[agent odd]\nclient = 10.1.16.0/20 fd00:1::/33\n"
					       "[agent one]\nclient = 10.1.2.3 ::ffff:10.9.9.9\n");

	(void)state;
	assert_string_equal(who(policy, "10.1.2.3", NULL), "one");
	assert_string_equal(who(policy, "10.9.9.9", NULL), "one");
	assert_string_equal(who(policy, "::ffff:10.1.2.3", NULL), "one");
	assert_string_equal(who(policy, "10.1.2.4", NULL), "middle");
	assert_string_equal(who(policy, "10.1.31.255", NULL), "odd");
	assert_string_equal(who(policy, "10.1.32.0", NULL), "middle");
	assert_string_equal(who(policy, "10.2.0.1", NULL), "wide");
	assert_string_equal(who(policy, "fd00:1:7fff::1", NULL), "odd");
	assert_string_equal(who(policy, "fd00:1:8000::1", NULL), "wide");
	assert_string_equal(who(policy, "11.0.0.1", NULL), "-");
	assert_string_equal(who(policy, "127.0.0.1", NULL), "-");
	assert_string_equal(who(policy, "a00::1", NULL), "-");
	assert_int_equal(policy_agent_number(policy_agent_at(policy, 2)), 2);
	assert_null(policy_agent_at(policy, 4));
	policy_unref(policy);
}

static void an_interface_says_who_it_is(void **state)
{
	struct policy *policy =
		load_good(HEAD "[agent a]\ninterface = eth1 eth2\n"
			       "[agent b]\nclient = 10.0.0.0/8\n"
			       "[agent c]\nclient = 10.0.0.0/8\ninterface = eth3\n"
			       "[agent d]\nclient = 0.0.0.0/0 10.7.0.0/16\n"
			       "[agent e]\nclient = 10.7.0.0/16\ninterface = eth4 eth5\n"
			       "[agent f]\nclient = 10.7.0.0/16\ninterface = eth6\n");

	(void)state;
	assert_true(policy_wants_interface(policy));
	assert_string_equal(who(policy, "192.0.2.1", "eth2"), "a");
	assert_string_equal(who(policy, "2001:db8::1", "eth1"), "a");
	assert_string_equal(who(policy, "2001:db8::1", NULL), "-");
	assert_string_equal(who(policy, "2001:db8::1", "eth"), "-");
	assert_string_equal(who(policy, "192.0.2.1", "eth9"), "d");
	assert_string_equal(who(policy, "192.0.2.1", NULL), "d");
	assert_string_equal(who(policy, "10.1.1.1", "eth1"), "b");
	assert_string_equal(who(policy, "10.1.1.1", "eth3"), "c");
	assert_string_equal(who(policy, "10.7.1.1", "eth5"), "e");
	assert_string_equal(who(policy, "10.7.1.1", "eth6"), "f");
	assert_string_equal(who(policy, "10.7.1.1", "eth1"), "d");
	policy_unref(policy);
}

static void clients_bound_agents_where_they_are_given(void **state)
{
	struct policy *policy =
		load_good(HEAD "[resolver]\nclients = 10.0.0.0/8\n"
			       "[agent a]\nclient = 10.1.0.0/16\n[agent b]\ninterface = eth1\n");

	(void)state;
	assert_string_equal(who(policy, "10.1.0.1", NULL), "a");
	assert_string_equal(who(policy, "10.2.0.1", "eth1"), "b");
	assert_string_equal(who(policy, "192.0.2.1", "eth1"), "-");
	assert_int_equal(policy_judge_stranger(policy).place.line, 4);
	policy_unref(policy);
	expect(HEAD "[resolver]\nclients = 10.0.0.0/16\n[agent a]\nclient = 10.0.0.0/8\n", false, 6,
	       "not within [resolver] clients");
}

static void agents_that_are_no_good_are_refused(void **state)
{
	(void)state;
	expect(HEAD "[agent a]\n", false, 3, "needs `client` or `interface`");
	expect(HEAD "[agent a]\nclient = 10.0.0.0/7\nallow = b\n", false, 5, "no grant `b`");
	expect(HEAD GRANT("web") "host = a.example\n[agent a]\nclient = 10.0.0.1\nallow =\n  wbe\n",
	       false, 11, "nearest is `web`");
	expect(HEAD "[agent a]\nclient = 10.0.0.1\n[agent b]\nclient = 10.0.0.1\n", false, 6,
	       "agent `a`");
	expect(HEAD "[agent a]\nclient = 10.0.0.1\n[agent b]\nclient = ::ffff:10.0.0.1\n", false, 6,
	       "agent `a`");
	expect(HEAD "[agent a]\ninterface = x y\n[agent b]\ninterface = z x\n", false, 6,
	       "agent `a`");
	expect(HEAD "[agent a]\nclient = 10.0.0.0\n[agent a]\nclient = 10.0.0.1\n", false, 5,
	       "stands twice");
	expect(HEAD GRANT("web") "host = a.example\n[agent a]\nclient = 10.0.0.1\n", true, 3,
	       "no agent has the grant `web`");
	expect(HEAD GRANT(
		       "web") "host = a.example\n[agent a]\nclient = 10.0.0.1\nallow = web web\n",
	       true, 10, "twice");
	expect(HEAD "[resolver]\nlisten = 10.0.0.1\n[nftables]\nmanage = chains\ninterface = eth1\n"
		    "[agent a]\ninterface = eth2\n",
	       true, 9, "not confined");
}

static const char two_agents[] = HEAD
	GRANT("wide") "host = *.example\n       192.0.2.0/25\nprivate = yes\nwide = yes\n" GRANT(
		"narrow") "host = a.b.example\n       192.0.2.7\nprivate = yes\nport = "
			  "22\n" GRANT("pin") "host = pin.example\naddress = "
					      "192.0.2.9\n" GRANT("other") "host = "
									   "other.test."
									   "example\n"
									   "[agent "
									   "a]\nclient = "
									   "10.0.0."
									   "1\nallow = "
									   "wide\n"
									   "[agent "
									   "b]\nclient = "
									   "10.0.0."
									   "2\nallow = pin "
									   "narrow\n"
									   "[agent "
									   "c]\nclient = "
									   "10.0.0."
									   "3\nallow = "
									   "narrow pin\n"
									   "[agent "
									   "none]\nclient "
									   "= 10.0.0.4\n"
									   "[agent "
									   "d]\nclient = "
									   "10.0.0."
									   "5\nallow = "
									   "other\n";

static void only_the_agents_own_grants_are_looked_at(void **state)
{
	struct policy *policy = load_good(two_agents);
	struct policy_verdict v;
	size_t n;

	(void)state;
	/* Another agent's more specific host does not shadow one's own wildcard. */
	v = ask(policy, "10.0.0.1", "a.b.example");
	assert_int_equal(v.code, POLICY_ALLOW);
	assert_string_equal(policy_verdict_grant(&v)->label, "wide");
	v = ask(policy, "10.0.0.2", "a.b.example");
	assert_string_equal(policy_verdict_grant(&v)->label, "narrow");
	assert_int_equal(ask(policy, "10.0.0.2", "x.example").reason, POLICY_REASON_NOT_LISTED);
	assert_int_equal(ask(policy, "10.0.0.4", "a.b.example").code, POLICY_DENY);
	assert_int_equal(ask(policy, "10.0.0.4", "a.b.example").n_grants, 0);
	/* What exists for one does not for another. */
	assert_true(ask(policy, "10.0.0.2", "b.example").exists);
	assert_true(ask(policy, "10.0.0.2", "example").exists);
	assert_false(ask(policy, "10.0.0.5", "b.example").exists);
	assert_true(ask(policy, "10.0.0.5", "test.example").exists);
	assert_false(ask(policy, "10.0.0.2", "test.example").exists);
	assert_false(ask(policy, "10.0.0.4", "example").exists);
	/* Pins. */
	v = ask(policy, "10.0.0.3", "pin.example");
	assert_true(policy_verdict_is_pinned(&v));
	v = ask(policy, "10.0.0.1", "pin.example");
	assert_false(policy_verdict_is_pinned(&v));
	assert_int_equal(v.code, POLICY_ALLOW);
	(void)policy_agent_grants(policy, find(policy, "10.0.0.2", NULL), &n);
	assert_int_equal(n, 2);
	policy_unref(policy);
}

static enum policy_code connect_to(const struct policy *policy, const char *client,
				   const char *text, uint16_t port)
{
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	return policy_judge_connect(policy, find(policy, client, NULL), NULL, &address, IPPROTO_TCP,
				    port, NOW)
		.code;
}

static void literals_are_the_agents_own(void **state)
{
	struct policy *policy = load_good(two_agents);

	(void)state;
	assert_int_equal(connect_to(policy, "10.0.0.1", "192.0.2.7", 443), POLICY_ALLOW);
	assert_int_equal(connect_to(policy, "10.0.0.1", "192.0.2.7", 22), POLICY_DENY);
	assert_int_equal(connect_to(policy, "10.0.0.2", "192.0.2.7", 22), POLICY_ALLOW);
	assert_int_equal(connect_to(policy, "10.0.0.3", "192.0.2.7", 22), POLICY_ALLOW);
	assert_int_equal(connect_to(policy, "10.0.0.2", "192.0.2.8", 22), POLICY_DENY);
	assert_int_equal(connect_to(policy, "10.0.0.4", "192.0.2.7", 22), POLICY_DENY);
	policy_unref(policy);
}

/* The limit of grants for a host is of one agent: a hundred may have one each. */
static void many_agents_list_the_same_host(void **state)
{
	enum { N = 100 };
	char text[N * 256], *at = text + sprintf(text, "%s", HEAD);
	struct policy *policy;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		at += sprintf(at,
			      "[allow g%u]\nowner = o\nreason = r\nhost = a.example *.h%u.example\n"
			      "[agent a%u]\nclient = 10.0.0.%u\nallow = g%u\n",
			      i, i, i, i, i);
	policy = load_good(text);
	for (unsigned i = 0; i < N; i++) {
		char client[32], name[32], label[16];
		struct policy_verdict v;

		sprintf(client, "10.0.0.%u", i);
		sprintf(label, "g%u", i);
		v = ask(policy, client, "a.example");
		assert_string_equal(policy_verdict_grant(&v)->label, label);
		sprintf(name, "x.h%u.example", i);
		assert_int_equal(ask(policy, client, name).code, POLICY_ALLOW);
		assert_true(ask(policy, client, name + 2).exists);
		sprintf(name, "x.h%u.example", (i + 1) % N);
		assert_int_equal(ask(policy, client, name).code, POLICY_DENY);
		assert_false(ask(policy, client, name + 2).exists);
	}
	policy_unref(policy);
}

/*
 * Hours.
 */

static struct policy *with_hours(const char *hours)
{
	char text[512];

	snprintf(text, sizeof(text), "%s%shost = a.example\nhours = %s\n", HEAD, GRANT("web"),
		 hours);
	return load_good(text);
}

static const struct policy_grant *first_grant(const struct policy *policy)
{
	size_t n;

	return policy_grants(policy, &n)[0];
}

/* Expect that the grant allows from @from up to before @to, seconds from Monday, and not beside. */
static void expect_open(const struct policy *policy, int64_t from, int64_t to)
{
	const struct policy_grant *grant = first_grant(policy);

	for (int week = -3000; week <= 3000; week += 1500) {
		int64_t monday = MONDAY + (int64_t)week * 7 * DAY;

		assert_true(policy_grant_until(grant, monday + from) == monday + to);
		assert_true(policy_grant_until(grant, monday + to - 1) == monday + to);
		assert_true(policy_grant_until(grant, monday + from - 1) <= monday + from - 1);
		assert_true(policy_grant_until(grant, monday + to) <= monday + to);
		assert_true(policy_grant_opens(grant, monday + from - 1) == monday + from);
		assert_true(policy_grant_opens(grant, monday + from) == monday + from);
	}
	assert_int_equal(ask_at(policy, "127.0.0.1", "a.example", A, MONDAY + from).code,
			 POLICY_ALLOW);
	assert_int_equal(ask_at(policy, "127.0.0.1", "a.example", A, MONDAY + to).reason,
			 POLICY_REASON_HOURS);
}

static void hours_have_borders(void **state)
{
	struct policy *policy = with_hours("Mon-Fri 08:00-18:00");
	struct policy_verdict v;

	(void)state;
	for (int day = 0; day < 5; day++)
		expect_open(policy, day * DAY + 8 * HOUR, day * DAY + 18 * HOUR);
	v = ask_at(policy, "127.0.0.1", "a.example", A, MONDAY + 5 * DAY + 9 * HOUR);
	assert_int_equal(v.reason, POLICY_REASON_HOURS);
	assert_int_equal(v.place.line, 8);
	assert_true(policy_grant_opens(first_grant(policy), MONDAY + 5 * DAY) ==
		    MONDAY + 7 * DAY + 8 * HOUR);
	policy_unref(policy);
}

static void hours_go_over_midnight_and_the_weeks_end(void **state)
{
	struct policy *policy = with_hours("Sun 22:00-06:00\n Wed 00:00-24:00 Sat 10:30-10:31");

	(void)state;
	expect_open(policy, 6 * DAY + 22 * HOUR, 7 * DAY + 6 * HOUR);
	expect_open(policy, 2 * DAY, 3 * DAY);
	expect_open(policy, 5 * DAY + 10 * HOUR + 30 * MINUTE, 5 * DAY + 10 * HOUR + 31 * MINUTE);
	policy_unref(policy);
	policy = with_hours("Fri-Mon 00:00-24:00 Tue 00:00-01:00");
	expect_open(policy, 4 * DAY, 8 * DAY + HOUR);
	policy_unref(policy);
	policy = with_hours("Mon-Sun 00:00-24:00");
	assert_true(policy_grant_until(first_grant(policy), NOW) == INT64_MAX);
	policy_unref(policy);
}

static void hours_end_with_the_grant(void **state)
{
	/* A Sunday. */
	struct policy *policy = load_good(HEAD GRANT(
		"web") "host = a.example\nexpires = 2026-12-20\nhours = Sat 22:00-04:00\n");
	const struct policy_grant *grant = first_grant(policy);
	int64_t end = MONDAY + 20 * DAY, saturday = end - DAY;

	(void)state;
	assert_true(policy_grant_until(grant, saturday + 23 * HOUR) == end);
	assert_true(policy_grant_until(grant, saturday - 7 * DAY + 23 * HOUR) ==
		    saturday - 6 * DAY + 4 * HOUR);
	assert_true(policy_grant_opens(grant, saturday) == saturday + 22 * HOUR);
	assert_true(policy_grant_until(grant, end) <= end);
	assert_true(policy_grant_opens(grant, end) == INT64_MAX);
	assert_int_equal(ask_at(policy, "127.0.0.1", "a.example", A, end).reason,
			 POLICY_REASON_EXPIRED);
	policy_unref(policy);
}

static void hours_that_are_none_are_refused(void **state)
{
	static const char *const wrong[] = { "08:00-18:00",
					     "Mon-Fri",
					     "mon 08:00-18:00",
					     "Mon 8:00-18:00",
					     "Mon 08:00-08:00",
					     "Mon 24:00-08:00",
					     "Mon 08:00-24:01",
					     "Mon 08:60-09:00",
					     "Mon-Fr 08:00-09:00",
					     "Mon 08:00",
					     "Monday 08:00-9:00",
					     "Mon- 08:00-09:00",
					     "Mon 08:00-09:00 10:00-11:00",
					     "Mon 08:00-09:00 Tue" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text), "%s%shost = a.example\nhours =\n  %s\n", HEAD,
			 GRANT("web"), wrong[i]);
		expect(text, false, 9, "");
	}
}

/*
 * Observing.
 */

static void what_is_denied_is_let_through(void **state)
{
	struct policy *policy = load_good("[policy]\nowner = o\nmode = observe\n" GRANT(
		"web") "host = a.example\ntype = A\n"
		       "[deny x]\nhost = x.example\n");
	struct address private, resolver;
	struct policy_verdict v;
	struct name doh;

	(void)state;
	assert_true(policy_observes(policy));
	v = ask(policy, "127.0.0.1", "a.example");
	assert_int_equal(v.code, POLICY_ALLOW);
	assert_false(v.observed);
	/* Names and types. */
	v = ask_at(policy, "127.0.0.1", "a.example", AAAA, NOW);
	assert_true(v.code == POLICY_ALLOW && v.observed && v.reason == POLICY_REASON_TYPE);
	assert_null(policy_verdict_grant(&v));
	v = ask(policy, "127.0.0.1", "x.example");
	assert_true(v.code == POLICY_ALLOW && v.observed && v.reason == POLICY_REASON_DENIED);
	v = ask(policy, "127.0.0.1", "b.example");
	assert_true(v.code == POLICY_ALLOW && v.observed && v.reason == POLICY_REASON_NOT_LISTED);
	/* What is still denied. */
	v = ask_at(policy, "127.0.0.1", "b.example", MX, NOW);
	assert_true(v.code == POLICY_DENY && !v.observed && v.exists);
	assert_int_equal(ask(policy, "127.0.0.1", "localhost").code, POLICY_DENY);
	assert_int_equal(ask(policy, "127.0.0.1", "dns.google").code, POLICY_DENY);
	assert_int_equal(ask(policy, "127.0.0.1", "use-application-dns.net").code, POLICY_DENY);
	assert_int_equal(policy_judge_stranger(policy).code, POLICY_DENY);
	/* Addresses and targets. */
	assert_int_equal(address_parse("192.168.1.1", &private), 0);
	assert_int_equal(address_parse("8.8.8.8", &resolver), 0);
	assert_int_equal(name_parse("dns.google", &doh), 0);
	v = ask(policy, "127.0.0.1", "a.example");
	assert_true(policy_judge_address(policy, &v, &private).observed);
	assert_int_equal(policy_judge_address(policy, &v, &private).allowing, 0);
	assert_int_equal(policy_judge_address(policy, &v, &resolver).code, POLICY_DENY);
	assert_int_equal(policy_judge_target(policy, &v, &doh).code, POLICY_DENY);
	v = ask(policy, "127.0.0.1", "b.example");
	assert_true(policy_judge_address(policy, &v, &private).observed);
	assert_int_equal(policy_judge_address(policy, &v, &resolver).code, POLICY_DENY);
	assert_int_equal(policy_judge_target(policy, &v, &doh).code, POLICY_DENY);
	assert_true(policy_judge_connect(policy, find(policy, "127.0.0.1", NULL), NULL, &private,
					 IPPROTO_TCP, 22, NOW)
			    .observed);
	policy_unref(policy);
	expect("[policy]\nowner = o\nmode = observe\n", true, 3, "nothing is enforced");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_agents_every_client_is_the_one),
		cmocka_unit_test(the_longest_network_says_who_it_is),
		cmocka_unit_test(an_interface_says_who_it_is),
		cmocka_unit_test(clients_bound_agents_where_they_are_given),
		cmocka_unit_test(agents_that_are_no_good_are_refused),
		cmocka_unit_test(only_the_agents_own_grants_are_looked_at),
		cmocka_unit_test(literals_are_the_agents_own),
		cmocka_unit_test(many_agents_list_the_same_host),
		cmocka_unit_test(hours_have_borders),
		cmocka_unit_test(hours_go_over_midnight_and_the_weeks_end),
		cmocka_unit_test(hours_end_with_the_grant),
		cmocka_unit_test(hours_that_are_none_are_refused),
		cmocka_unit_test(what_is_denied_is_let_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
