/* SPDX-License-Identifier: MIT */
/* Verdicts: what follows from a policy, case by case. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/policy.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 /* 2026-12-01 */, A = 1, AAAA = 28, HTTPS = 65, ANY = 255 };

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

static struct policy_verdict judge_at(const struct policy *policy, const char *text, uint16_t type,
				      int64_t now_s)
{
	struct name name = name_of(text);
	const struct policy_agent *agent = policy_agent_find(policy, &loopback, NULL);

	assert_non_null(agent);
	return policy_judge_name(policy, agent, &name, type, now_s);
}

static struct policy_verdict judge(const struct policy *policy, const char *text, uint16_t type)
{
	return judge_at(policy, text, type, NOW);
}

static struct address address_of(const char *text)
{
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	return address;
}

#define expect(policy, name, type, expected_reason, expected_exists)                               \
	do {                                                                                       \
		struct policy_verdict v_ = judge(policy, name, type);                              \
		assert_string_equal(policy_reason_word(v_.reason),                                 \
				    policy_reason_word(POLICY_REASON_##expected_reason));          \
		assert_int_equal(v_.exists, expected_exists);                                      \
		assert_int_equal(v_.code, POLICY_REASON_##expected_reason == POLICY_REASON_GRANTED \
						  ? POLICY_ALLOW                                   \
						  : POLICY_DENY);                                  \
	} while (0)

static void names_are_matched_by_whole_labels(void **state)
{
	struct policy *policy = load("[allow a]\nowner = o\nreason = r\n"
				     "host = github.com *.example.com\n");
	struct name odd = name_of("a.example.com");

	(void)state;
	expect(policy, "github.com", A, GRANTED, true);
	expect(policy, "GitHub.COM", AAAA, GRANTED, true);
	expect(policy, "www.github.com", A, NOT_LISTED, false);
	expect(policy, "xgithub.com", A, NOT_LISTED, false);
	expect(policy, "github.com.evil.example", A, NOT_LISTED, false);
	expect(policy, "a.example.com", A, GRANTED, true);
	expect(policy, "a.b.c.example.com", A, GRANTED, true);
	expect(policy, "example.com", A, NAME_ABOVE, true);
	expect(policy, "com", A, NAME_ABOVE, true);
	expect(policy, "com", ANY, NAME_ABOVE, true);
	expect(policy, ".", A, NAME_ABOVE, true);
	expect(policy, "evil\\.example.com", A, NOT_LISTED, false);
	expect(policy, "a\\000b.example.com", A, GRANTED, true);
	/* A dot inside a label is no border. */
	odd.wire[0] = 9;
	memcpy(odd.wire + 1, "x.example\003com", 14);
	odd.len = 15;
	odd.labels = 2;
	assert_int_equal(
		policy_judge_name(policy, policy_agent_find(policy, &loopback, NULL), &odd, A, NOW)
			.code,
		POLICY_DENY);
	policy_unref(policy);
}

static void a_type_that_is_not_listed_is_no_data(void **state)
{
	struct policy *policy =
		load("[allow a]\nowner = o\nreason = r\nhost = x.example\ntype = A\n");

	(void)state;
	expect(policy, "x.example", A, GRANTED, true);
	expect(policy, "x.example", AAAA, TYPE, true);
	expect(policy, "x.example", HTTPS, TYPE, true);
	expect(policy, "x.example", ANY, TYPE, true);
	expect(policy, "y.example", HTTPS, NOT_LISTED, false);
	expect(policy, "_dns.x.example", 64, NOT_LISTED, false);
	policy_unref(policy);
}

static void a_grant_ends_at_its_midnight(void **state)
{
	struct policy *policy = load("[allow a]\nowner = o\nreason = r\nhost = x.example\n"
				     "expires = 2027-02-28\n"
				     "[allow wide]\nowner = o\nreason = r\nhost = *.example\n"
				     "wide = yes\n");
	const int64_t midnight_s = 1803772800;

	(void)state;
	assert_int_equal(judge_at(policy, "x.example", A, midnight_s - 1).code, POLICY_ALLOW);
	/* The wildcard does not help out: the exact host is the more specific one. */
	assert_int_equal(judge_at(policy, "x.example", A, midnight_s).reason,
			 POLICY_REASON_EXPIRED);
	assert_int_equal(judge_at(policy, "y.example", A, midnight_s).code, POLICY_ALLOW);
	policy_unref(policy);
}

static void one_of_several_grants_is_enough(void **state)
{
	struct policy *policy = load(
		"[allow old]\nowner = o\nreason = r\nhost = x.example\nexpires = 2026-01-01\n"
		"[allow six]\nowner = o\nreason = r\nhost = x.example\ntype = AAAA\n"
		"[allow four]\nowner = o\nreason = r\nhost = x.example\ntype = A\nport = 80\n");
	struct policy_verdict verdict = judge(policy, "x.example", A);
	struct name name = name_of("x.example");
	const struct policy_agent *agent = policy_agent_find(policy, &loopback, NULL);

	(void)state;
	assert_int_equal(verdict.n_grants, 3);
	assert_int_equal(verdict.allowing, 4);
	assert_string_equal(policy_verdict_grant(&verdict)->label, "four");
	assert_int_equal(verdict.place.line, 11);
	verdict = judge(policy, "x.example", AAAA);
	assert_int_equal(verdict.allowing, 2);
	verdict = judge(policy, "x.example", 15);
	assert_int_equal(verdict.reason, POLICY_REASON_TYPE);
	assert_null(policy_verdict_grant(&verdict));
	verdict = policy_judge_connect(policy, agent, &name, NULL, IPPROTO_TCP, 80, NOW);
	assert_int_equal(verdict.allowing, 4);
	verdict = policy_judge_connect(policy, agent, &name, NULL, IPPROTO_UDP, 80, NOW);
	assert_int_equal(verdict.reason, POLICY_REASON_PORT);
	policy_unref(policy);
}

static void denials_beat_wildcards_and_yield_to_exact_hosts(void **state)
{
	struct policy *policy =
		load("[allow a]\nowner = o\nreason = r\nhost = *.example.com deep.bad.example.com\n"
		     "  evil.example.com *.far.dead.example.com\n"
		     "[deny d]\nhost = bad.example.com evil.example.com *.dead.example.com\n");

	(void)state;
	expect(policy, "bad.example.com", A, DENIED, true); /* deep. lies below */
	expect(policy, "deep.bad.example.com", A, GRANTED, true);
	expect(policy, "x.bad.example.com", A, GRANTED, true);
	expect(policy, "evil.example.com", A, GRANTED, true);
	expect(policy, "x.dead.example.com", A, DENIED, false);
	expect(policy, "dead.example.com", A, GRANTED, true);
	/* A [deny] wildcard beats a longer wildcard of a grant. */
	expect(policy, "x.far.dead.example.com", A, DENIED, false);
	assert_int_equal(judge(policy, "bad.example.com", A).place.line, 6);
	policy_unref(policy);
	policy = load("[deny all]\nhost = *\n[allow a]\nowner = o\nreason = r\nhost = x.example\n"
		      "  *.y.example\n");
	expect(policy, "x.example", A, GRANTED, true);
	expect(policy, "a.y.example", A, DENIED, false);
	expect(policy, "z.example", A, DENIED, false);
	policy_unref(policy);
}

static void the_longest_wildcard_counts(void **state)
{
	struct policy *policy = load("[allow all]\nowner = o\nreason = r\nhost = *\nwide = yes\n"
				     "[allow in]\nowner = o\nreason = r\nhost = *.b.example\n"
				     "type = AAAA\n");
	struct policy_verdict verdict = judge(policy, "x.example", A);

	(void)state;
	assert_string_equal(policy_verdict_grant(&verdict)->label, "all");
	expect(policy, "x.b.example", A, TYPE, true);
	expect(policy, "x.b.example", AAAA, GRANTED, true);
	expect(policy, ".", A, NAME_ABOVE, true);
	policy_unref(policy);
}

static void special_names_are_answered_here(void **state)
{
	static const struct {
		const char *name;
		enum policy_special special;
		bool exists;
	} cases[] = {
		{ "localhost", POLICY_SPECIAL_LOCALHOST, true },
		{ "a.b.LOCALHOST", POLICY_SPECIAL_LOCALHOST, true },
		{ "resolver.arpa", POLICY_SPECIAL_EMPTY, true },
		{ "_dns.Resolver.ARPA", POLICY_SPECIAL_EMPTY, true },
		{ "service.arpa", POLICY_SPECIAL_EMPTY, true },
		{ "home.arpa", POLICY_SPECIAL_EMPTY, true },
		{ "nas.home.arpa", POLICY_SPECIAL_EMPTY, true },
		{ "ipv4only.arpa", POLICY_SPECIAL_EMPTY, true },
		{ "invalid", POLICY_SPECIAL_NXDOMAIN, false },
		{ "a.onion", POLICY_SPECIAL_NXDOMAIN, false },
		{ "x.alt", POLICY_SPECIAL_NXDOMAIN, false },
		{ "x.test", POLICY_SPECIAL_NXDOMAIN, false },
		{ "printer.local", POLICY_SPECIAL_NXDOMAIN, false },
		{ "metadata.google.internal", POLICY_SPECIAL_NXDOMAIN, false },
		{ "1.1.168.192.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, false },
		{ "1.0.16.172.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, false },
		{ "1.0.31.172.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, false },
		{ "1.0.64.100.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, false },
		{ "1.0.127.100.in-addr.arpa", POLICY_SPECIAL_NXDOMAIN, false },
		{ "x.b.e.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, false },
		{ "x.d.f.ip6.arpa", POLICY_SPECIAL_NXDOMAIN, false },
	};
	struct policy *policy = load("[allow all]\nowner = o\nreason = r\nhost = *\nwide = yes\n");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy_verdict verdict = judge(policy, cases[i].name, A);

		assert_int_equal(verdict.code, POLICY_DENY);
		assert_int_equal(verdict.reason, POLICY_REASON_SPECIAL);
		assert_int_equal(verdict.special, cases[i].special);
		assert_int_equal(verdict.exists, cases[i].exists);
	}
	expect(policy, "1.0.32.172.in-addr.arpa", A, GRANTED, true);
	expect(policy, "1.0.15.172.in-addr.arpa", A, GRANTED, true);
	expect(policy, "1.0.63.100.in-addr.arpa", A, GRANTED, true);
	expect(policy, "example", A, GRANTED, true);
	policy_unref(policy);
	policy = load("");
	expect(policy, ".", A, NOT_LISTED, true);
	expect(policy, "arpa", A, NOT_LISTED, true);
	expect(policy, "com", A, NOT_LISTED, false);
	policy_unref(policy);
}

static void private_zones_yield_to_hosts_inside(void **state)
{
	struct policy *policy = load(
		"[allow a]\nowner = o\nreason = r\nwide = yes\n"
		"host = git.corp.internal *.lab.test *.local *.localhost a.onion nas.home.arpa\n");

	(void)state;
	expect(policy, "git.corp.internal", A, GRANTED, true);
	expect(policy, "corp.internal", A, SPECIAL, true);
	expect(policy, "internal", A, SPECIAL, true);
	expect(policy, "www.corp.internal", A, SPECIAL, false);
	expect(policy, "x.lab.test", A, GRANTED, true);
	expect(policy, "lab.test", A, SPECIAL, true);
	expect(policy, "x.test", A, SPECIAL, false);
	expect(policy, "printer.local", A, GRANTED, true);
	expect(policy, "nas.home.arpa", A, GRANTED, true);
	expect(policy, "x.home.arpa", A, SPECIAL, true);
	expect(policy, "x.localhost", A, SPECIAL, true);
	expect(policy, "a.onion", A, SPECIAL, false);
	expect(policy, "onion", A, SPECIAL, false);
	policy_unref(policy);
}

static void doh_names_need_their_own_word(void **state)
{
	static const char *const names[] = {
		"dns.google",
		"cloudflare-dns.com",
		"mozilla.cloudflare-dns.com",
		"one.one.one.one",
		"dns.quad9.net",
		"doh.opendns.com",
		"use-application-dns.net",
		"mask.icloud.com",
		"mask-h2.icloud.com",
		"abc123.dns.nextdns.io",
		"x.dns.controld.com",
		"dns.adguard-dns.com",
		"DNS.Google",
		"doh.dns.apple.com",
		"doh.cleanbrowsing.org",
	};
	struct policy *policy =
		load("[allow all]\nowner = o\nreason = r\nhost = * dns.google\nwide = yes\n");

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect(policy, names[i], A, DOH, false);
	expect(policy, "google", A, GRANTED, true);
	expect(policy, "x.dns.google", A, GRANTED, true); /* that one name is on the list */
	expect(policy, "dns.google.example", A, GRANTED, true);
	policy_unref(policy);

	policy = load("[allow doh]\nowner = o\nreason = r\nhost = dns.google\ndoh = yes\n"
		      "[allow not]\nowner = o\nreason = r\nhost = dns.google dns.quad9.net\n");
	assert_int_equal(judge(policy, "dns.google", A).allowing, 1);
	expect(policy, "dns.quad9.net", A, DOH, false);
	policy_unref(policy);

	policy = load("[resolver]\ndoh = permit\n[allow a]\nowner = o\nreason = r\n"
		      "host = dns.google\n");
	expect(policy, "dns.google", A, GRANTED, true);
	expect(policy, "dns.quad9.net", A, NOT_LISTED, false);
	policy_unref(policy);

	policy = load("");
	expect(policy, "dns.google", A, DOH, false);
	policy_unref(policy);
}

/* An NXDOMAIN would take with it what a wildcard allows below a name that is not allowed itself. */
static void name_that_a_wildcard_reaches_past_exists(void **state)
{
	struct policy *policy =
		load("[allow w]\nowner = o\nreason = r\nhost = *.w.example\n"
		     "[allow e]\nowner = o\nreason = r\nhost = ended.w.example ended.all.example\n"
		     "expires = 2020-01-01\n"
		     "[allow all]\nowner = o\nreason = r\nhost = *.all.example\n"
		     "[allow old]\nowner = o\nreason = r\nhost = *.old.example\n"
		     "expires = 2020-01-01\n"
		     "[deny d]\nhost = bad.w.example *.ended.all.example\n");

	(void)state;
	expect(policy, "x.ended.w.example", A, GRANTED, true);
	expect(policy, "ended.w.example", A, EXPIRED, true);
	/* Nothing is allowed below these. */
	expect(policy, "x.ended.all.example", A, DENIED, false);
	expect(policy, "ended.all.example", A, EXPIRED, false);
	expect(policy, "x.old.example", A, EXPIRED, false);
	/* A [deny] of the name itself is an NXDOMAIN all the same. */
	expect(policy, "bad.w.example", A, DENIED, false);
	policy_unref(policy);
}

static void targets_of_a_chain_are_held_against_the_list(void **state)
{
	struct policy *policy =
		load("[allow a]\nowner = o\nreason = r\nhost = x.example\n"
		     "[allow b]\nowner = o\nreason = r\nhost = x.example\ndoh = yes\ntype = AAAA\n"
		     "[deny d]\nhost = cdn.example\n");
	struct policy_verdict four = judge(policy, "x.example", A);
	struct policy_verdict six = judge(policy, "x.example", AAAA);
	struct name doh = name_of("dns.google"), cdn = name_of("cdn.example");
	struct policy_verdict verdict = policy_judge_target(policy, &four, &doh);

	(void)state;
	assert_int_equal(verdict.code, POLICY_DENY);
	assert_int_equal(verdict.reason, POLICY_REASON_DOH);
	assert_int_equal(verdict.allowing, 0);
	verdict = policy_judge_target(policy, &six, &doh);
	assert_int_equal(verdict.code, POLICY_ALLOW);
	assert_int_equal(verdict.allowing, 2);
	/* A [deny] judges what was asked, not where a chain leads. */
	assert_int_equal(policy_judge_target(policy, &four, &cdn).code, POLICY_ALLOW);
	policy_unref(policy);
}

static void special_addresses_need_leave(void **state)
{
	static const char *const special[] = { "10.0.0.1",  "127.0.0.1",       "169.254.169.254",
					       "::1",       "::ffff:10.0.0.1", "64:ff9b::a00:1",
					       "fd00::1",   "2002:a00:1::",    "0.0.0.0",
					       "100.64.0.1" };
	struct policy *policy =
		load("[allow a]\nowner = o\nreason = r\nhost = x.example\naddress = 10.0.0.1\n"
		     "[allow b]\nowner = o\nreason = r\nhost = y.example\n"
		     "[allow c]\nowner = o\nreason = r\nhost = y.example z.example\n"
		     "private = yes\n");
	struct policy_verdict x = judge(policy, "x.example", A), y = judge(policy, "y.example", A);
	struct address address = address_of("10.0.0.1"), other = address_of("10.0.0.2");

	(void)state;
	assert_int_equal(policy_judge_address(policy, &x, &address).code, POLICY_ALLOW);
	assert_int_equal(policy_judge_address(policy, &x, &other).reason, POLICY_REASON_PRIVATE);
	assert_int_equal(y.allowing, 3);
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		address = address_of(special[i]);
		assert_int_equal(policy_judge_address(policy, &y, &address).allowing, 2);
	}
	address = address_of("8.8.8.9");
	assert_int_equal(policy_judge_address(policy, &y, &address).allowing, 3);
	policy_unref(policy);
}

/* A name that leads to a public resolver's own address would bring DNS over HTTPS back. */
static void addresses_of_public_resolvers_need_their_own_word(void **state)
{
	static const char *const listed[] = { "1.1.1.1",
					      "1.0.0.1",
					      "8.8.8.8",
					      "9.9.9.9",
					      "149.112.112.112",
					      "208.67.222.222",
					      "2606:4700:4700::1111",
					      "2001:4860:4860::8888",
					      "2620:fe::fe" };
	static const char rules[] =
		"[allow a]\nowner = o\nreason = r\nhost = x.example\n"
		"[allow b]\nowner = o\nreason = r\nhost = y.example\ndoh = yes\n"
		"[allow c]\nowner = o\nreason = r\nhost = z.example\n"
		"address = 8.8.8.8\n";
	struct policy *policy = load(rules);
	struct policy_verdict x = judge(policy, "x.example", A), y = judge(policy, "y.example", A);
	struct policy_verdict z = judge(policy, "z.example", A);
	struct address address;

	(void)state;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		address = address_of(listed[i]);
		assert_int_equal(policy_judge_address(policy, &x, &address).code, POLICY_DENY);
		assert_int_equal(policy_judge_address(policy, &x, &address).reason,
				 POLICY_REASON_DOH);
		assert_int_equal(policy_judge_address(policy, &y, &address).code, POLICY_ALLOW);
	}
	address = address_of("8.8.8.8");
	assert_int_equal(policy_judge_address(policy, &z, &address).code, POLICY_ALLOW);
	/* Their neighbours, and what a CDN shares, are as good as others. */
	address = address_of("104.16.132.229");
	assert_int_equal(policy_judge_address(policy, &x, &address).code, POLICY_ALLOW);
	policy_unref(policy);

	policy = load("[resolver]\ndoh = permit\n"
		      "[allow a]\nowner = o\nreason = r\nhost = x.example\n");
	x = judge(policy, "x.example", A);
	address = address_of("8.8.8.8");
	assert_int_equal(policy_judge_address(policy, &x, &address).code, POLICY_ALLOW);
	policy_unref(policy);
}

static void literals_are_reached_without_a_name(void **state)
{
	struct policy *policy =
		load("[allow net]\nowner = o\nreason = r\nhost = 8.8.0.0/16\n"
		     "[allow host]\nowner = o\nreason = r\nhost = 8.8.8.8\nport = 22\n"
		     "[allow same]\nowner = o\nreason = r\nhost = 8.8.8.8\nport = 23\n");
	const struct policy_agent *agent = policy_agent_find(policy, &loopback, NULL);
	struct address host = address_of("8.8.8.8"), net = address_of("8.8.1.1");
	struct address out = address_of("8.9.0.0"), six = address_of("808:808::");
	struct policy_verdict verdict;

	(void)state;
	verdict = policy_judge_connect(policy, agent, NULL, &net, IPPROTO_TCP, 443, NOW);
	assert_int_equal(verdict.code, POLICY_ALLOW);
	assert_int_equal(verdict.reason, POLICY_REASON_LITERAL);
	verdict = policy_judge_connect(policy, agent, NULL, &host, IPPROTO_TCP, 23, NOW);
	assert_string_equal(policy_verdict_grant(&verdict)->label, "same");
	assert_int_equal(verdict.n_grants, 2);
	verdict = policy_judge_connect(policy, agent, NULL, &host, IPPROTO_TCP, 443, NOW);
	assert_int_equal(verdict.reason, POLICY_REASON_PORT);
	verdict = policy_judge_connect(policy, agent, NULL, &out, IPPROTO_TCP, 443, NOW);
	assert_int_equal(verdict.reason, POLICY_REASON_NO_LEASE);
	verdict = policy_judge_connect(policy, agent, NULL, &six, IPPROTO_TCP, 443, NOW);
	assert_int_equal(verdict.reason, POLICY_REASON_NO_LEASE);
	policy_unref(policy);
}

static void strangers_are_denied(void **state)
{
	struct policy *policy = load("[resolver]\nclients = 10.0.0.0/8 fd00::/8\n");
	struct address in = address_of("10.1.2.3"), out = address_of("11.0.0.1");
	struct policy_verdict verdict = policy_judge_stranger(policy);

	(void)state;
	assert_non_null(policy_agent_find(policy, &in, NULL));
	assert_null(policy_agent_find(policy, &out, NULL));
	assert_null(policy_agent_find(policy, &loopback, NULL));
	assert_int_equal(verdict.code, POLICY_DENY);
	assert_int_equal(verdict.reason, POLICY_REASON_CLIENT);
	assert_int_equal(verdict.place.line, 2);
	policy_unref(policy);
}

static void a_policy_lives_as_long_as_its_references(void **state)
{
	struct policy *policy = load("[policy]\nname = n\n");
	struct policy *again = policy_ref(policy);

	(void)state;
	policy_unref(policy);
	assert_string_equal(policy_name(again), "n");
	policy_unref(again);
	policy_unref(NULL);
}

static void a_large_policy_is_found_again(void **state)
{
	enum { N = 50000 };
	char *text = malloc(N * 24 + 64);
	char *at = stpcpy(text, "[deny d]\nhost =\n");
	char name[32];
	struct policy *policy;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		at += sprintf(at, " h%u.example\n", i);
	policy = load(text);
	free(text);
	for (unsigned i = 0; i < N; i += 7) {
		snprintf(name, sizeof(name), "h%u.example", i);
		expect(policy, name, A, DENIED, false);
	}
	expect(policy, "h50000.example", A, NOT_LISTED, false);
	policy_unref(policy);
}

static void types_print_and_parse(void **state)
{
	char text[16];

	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		policy_type_print((uint16_t)type, text);
		assert_int_equal(policy_type_parse(text), (int)type);
	}
	assert_int_equal(policy_type_parse("aaaa"), 28);
	assert_int_equal(policy_type_parse("type65"), 65);
	assert_int_equal(policy_type_parse("TYPE65536"), -EINVAL);
	assert_int_equal(policy_type_parse("TYPE"), -EINVAL);
	assert_int_equal(policy_type_parse("TYPE1x"), -EINVAL);
	assert_int_equal(policy_type_parse(""), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_matched_by_whole_labels),
		cmocka_unit_test(a_type_that_is_not_listed_is_no_data),
		cmocka_unit_test(a_grant_ends_at_its_midnight),
		cmocka_unit_test(one_of_several_grants_is_enough),
		cmocka_unit_test(denials_beat_wildcards_and_yield_to_exact_hosts),
		cmocka_unit_test(the_longest_wildcard_counts),
		cmocka_unit_test(special_names_are_answered_here),
		cmocka_unit_test(private_zones_yield_to_hosts_inside),
		cmocka_unit_test(doh_names_need_their_own_word),
		cmocka_unit_test(name_that_a_wildcard_reaches_past_exists),
		cmocka_unit_test(targets_of_a_chain_are_held_against_the_list),
		cmocka_unit_test(special_addresses_need_leave),
		cmocka_unit_test(addresses_of_public_resolvers_need_their_own_word),
		cmocka_unit_test(literals_are_reached_without_a_name),
		cmocka_unit_test(strangers_are_denied),
		cmocka_unit_test(a_policy_lives_as_long_as_its_references),
		cmocka_unit_test(a_large_policy_is_found_again),
		cmocka_unit_test(types_print_and_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
