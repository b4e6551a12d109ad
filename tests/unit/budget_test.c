/* SPDX-License-Identifier: MIT */
/* Budgets: hostile patterns of names, one by one, on a clock of the test's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "policy/policy.h"
#include "resolver/budget.h"
#include "resolver/rate.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 /* 2026-12-01 */, A = 1, MINUTE = 60000 };

#define GRANT(label, host) "[allow " label "]\nowner = o\nreason = r\nhost = " host "\n"

/* A policy, and what its agents have asked for at @now_ms. */
struct world {
	struct policy *policy;
	struct budgets *budgets;
	uint64_t now_ms;
	const char *agent;
};

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

static struct world begin(const char *text)
{
	struct world w = { .policy = load(text), .now_ms = 1000000, .agent = "" };

	assert_int_equal(budgets_new(&w.budgets), 0);
	return w;
}

static void end(struct world *w)
{
	budgets_free(w->budgets);
	policy_unref(w->policy);
}

/* The verdict on @name, which the policy allows, once it was charged. */
static struct policy_verdict charge(const struct world *w, const struct name *name)
{
	const struct address loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	const struct policy_agent *agent = policy_agent_find(w->policy, &loopback, NULL);
	struct policy_verdict verdict = policy_judge_name(w->policy, agent, name, A, NOW);

	assert_int_equal(verdict.code, POLICY_ALLOW);
	if (verdict.metered)
		verdict = budgets_charge(w->budgets, w->agent, &verdict, name, w->now_ms);
	return verdict;
}

static struct policy_verdict ask(const struct world *w, const char *text)
{
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return charge(w, &name);
}

#define expect(w, text, expected)                                    \
	assert_string_equal(policy_reason_word(ask(w, text).reason), \
			    policy_reason_word(POLICY_REASON_##expected))

/* Ask for @n names N.@tail, from @first on; how many were allowed. */
static unsigned ask_many(const struct world *w, unsigned first, unsigned n, const char *tail)
{
	unsigned allowed = 0;
	char text[300];

	for (unsigned i = first; i < first + n; i++) {
		snprintf(text, sizeof(text), "n%u.%s", i, tail);
		allowed += ask(w, text).code == POLICY_ALLOW;
	}
	return allowed;
}

static uint32_t random_state = 1;

static uint32_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state >> 8;
}

static void an_exact_host_has_no_budget(void **state)
{
	struct world w = begin(GRANT("a", "x.example.com *.y.example.com"));
	const struct address loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	struct name name;

	(void)state;
	assert_int_equal(name_parse("x.example.com", &name), 0);
	assert_false(policy_judge_name(w.policy, policy_agent_find(w.policy, &loopback, NULL),
				       &name, A, NOW)
			     .metered);
	end(&w);
}

static void twenty_names_a_minute(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));
	struct policy_verdict verdict;

	(void)state;
	assert_int_equal(ask_many(&w, 0, 25, "wild.example.com"), 20);
	verdict = ask(&w, "more.wild.example.com");
	assert_int_equal(verdict.code, POLICY_DENY);
	assert_int_equal(verdict.reason, POLICY_REASON_NAMES);
	assert_int_equal(verdict.allowing, 0);
	assert_false(verdict.exists);
	assert_int_equal(verdict.place.line, 1);
	/* Those that were asked for are free, in any case of their letters, and however often. */
	w.now_ms += MINUTE - 1;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ask_many(&w, 0, 20, "WILD.example.COM"), 20);
	/* ... and stay in use by that, so nothing else has room. */
	w.now_ms += MINUTE - 1;
	expect(&w, "more.wild.example.com", NAMES);
	w.now_ms += 1;
	assert_int_equal(ask_many(&w, 100, 25, "wild.example.com"), 20);
	end(&w);
}

static void no_burst_at_a_border_doubles_it(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));
	uint64_t allowed_ms[1000];
	unsigned n = 0, next = 0;

	(void)state;
	/* Bursts of new names at every time of the minute, and a trickle in between. */
	for (unsigned step = 0; step < 900; step++, w.now_ms += step % 7 == 0 ? 3001 : 97)
		for (unsigned i = 0; i < (step % 31 == 0 ? 30 : 1); i++)
			if (ask_many(&w, next++, 1, "wild.example.com") == 1)
				allowed_ms[n++] = w.now_ms;
	assert_true(n > 60);
	for (unsigned i = 20; i < n; i++)
		assert_true(allowed_ms[i] - allowed_ms[i - 20] >= MINUTE);
	end(&w);
}

static void one_name_a_second_is_too_many(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));
	unsigned allowed = 0;

	(void)state;
	for (unsigned i = 0; i < 600; i++, w.now_ms += 1000)
		allowed += ask_many(&w, i, 1, "wild.example.com");
	assert_int_equal(allowed, 200);
	end(&w);
}

static void a_thousand_bytes_of_new_labels(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));
	char text[300];

	(void)state;
	/* 4 bytes of `wild`, and 3 times 63 of 189 bytes in each. */
	for (unsigned i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), "%062u1.%062u2.%062u3.wild.example.com", i, i, i);
		expect(&w, text, GRANTED);
	}
	snprintf(text, sizeof(text), "%062u1.%062u2.%062u3.wild.example.com", 5, 5, 5);
	expect(&w, text, LABELS);
	/* 51 bytes are left: what does not fit is denied whole, what does is not. */
	snprintf(text, sizeof(text), "%052u.wild.example.com", 1);
	expect(&w, text, LABELS);
	snprintf(text, sizeof(text), "%051u.wild.example.com", 1);
	expect(&w, text, GRANTED);
	expect(&w, "x.wild.example.com", LABELS);
	assert_int_equal(ask(&w, "x.wild.example.com").place.line, 1);
	w.now_ms += MINUTE - 1;
	expect(&w, "x.wild.example.com", LABELS);
	w.now_ms += 1;
	expect(&w, "x.wild.example.com", GRANTED);
	end(&w);
}

static void labels_that_were_seen_cost_nothing(void **state)
{
	struct world w =
		begin(GRANT("a", "*.wild.example.com") "max_labels = 30\nmax_names = 1000\n");

	(void)state;
	expect(&w, "aaaaa.bbbbb.ccccc.wild.example.com", GRANTED); /* 19 */
	expect(&w, "bbbbb.ccccc.wild.example.com", GRANTED);
	/* At another place they are something else: known labels spell nothing. */
	expect(&w, "ccccc.bbbbb.wild.example.com", GRANTED); /* 29 */
	expect(&w, "bbbbb.aaaaa.wild.example.com", LABELS);
	/* What was denied is not known for having been asked for. */
	expect(&w, "bbbbb.aaaaa.wild.example.com", LABELS);
	w.now_ms += MINUTE;
	expect(&w, "aaaaa.bbbbb.ccccc.wild.example.com", GRANTED);
	expect(&w, "bbbbb.aaaaa.wild.example.com", GRANTED);
	end(&w);
}

static void a_name_of_many_short_labels_pays_for_each(void **state)
{
	struct world w = begin(GRANT("a", "*.x.example.com"));
	unsigned allowed = 0;
	char text[300];

	(void)state;
	/* 110 labels of one letter, out of two: 13 bytes of anyone's in each. */
	for (unsigned i = 0; i < 40; i++) {
		char *at = text;

		for (unsigned j = 0; j < 110; j++)
			at += sprintf(at, "%c.", random_bits() & 1 ? 'a' : 'b');
		sprintf(at, "x.example.com");
		allowed += ask(&w, text).code == POLICY_ALLOW;
	}
	assert_in_range(allowed, 5, 15);
	end(&w);
}

static void the_domain_is_registered_and_shared(void **state)
{
	struct world w = begin(GRANT("a", "*.a.example.co.uk *.b.example.co.uk *.other.co.uk")
				       GRANT("b", "*.c.example.co.uk"));

	(void)state;
	/* Two wildcards of one grant in one registered domain have one budget ... */
	assert_int_equal(ask_many(&w, 0, 15, "a.example.co.uk"), 15);
	assert_int_equal(ask_many(&w, 0, 15, "b.example.co.uk"), 5);
	/* ... another domain, and another grant, one each. */
	assert_int_equal(ask_many(&w, 0, 25, "other.co.uk"), 20);
	assert_int_equal(ask_many(&w, 0, 25, "c.example.co.uk"), 20);
	end(&w);
}

static void an_agent_has_one_budget_and_no_other(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));

	(void)state;
	w.agent = "one";
	assert_int_equal(ask_many(&w, 0, 25, "wild.example.com"), 20);
	w.agent = "two";
	assert_int_equal(ask_many(&w, 0, 25, "wild.example.com"), 20);
	w.agent = "one";
	assert_int_equal(ask_many(&w, 50, 25, "wild.example.com"), 0);
	end(&w);
}

static void a_reload_gives_no_new_budget(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));

	(void)state;
	assert_int_equal(ask_many(&w, 0, 25, "wild.example.com"), 20);
	policy_unref(w.policy);
	w.policy = load("[allow other]\nowner = o\nreason = r\nhost = other.example\n" GRANT(
		"a", "*.wild.example.com") "max_names = 22\n");
	assert_int_equal(ask_many(&w, 100, 25, "wild.example.com"), 2);
	policy_unref(w.policy);
	w.policy = load(GRANT("a", "*.wild.example.com") "max_names = 5\n");
	assert_int_equal(ask_many(&w, 200, 25, "wild.example.com"), 0);
	assert_int_equal(ask_many(&w, 0, 5, "wild.example.com"), 5);
	end(&w);
}

static void grants_that_share_a_wildcard_are_cut_one_by_one(void **state)
{
	struct world w = begin(GRANT("small", "*.wild.example.com") "max_names = 3\n" GRANT(
		"large", "*.wild.example.com") "port = 22\nmax_names = 5\n");
	struct policy_verdict verdict;

	(void)state;
	assert_int_equal(ask_many(&w, 0, 3, "wild.example.com"), 3);
	verdict = ask(&w, "x.wild.example.com");
	assert_int_equal(verdict.allowing, 2);
	assert_string_equal(policy_verdict_grant(&verdict)->label, "large");
	assert_int_equal(ask_many(&w, 10, 3, "wild.example.com"), 1);
	verdict = ask(&w, "y.wild.example.com");
	assert_int_equal(verdict.reason, POLICY_REASON_NAMES);
	assert_int_equal(verdict.place.line, 11);
	end(&w);
}

static void pins_are_answered_here_and_cost_nothing(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com") "address = 192.0.2.1\n");

	(void)state;
	assert_int_equal(ask_many(&w, 0, 50, "wild.example.com"), 50);
	end(&w);
}

static void what_is_listed_below_keeps_a_name_alive(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com") GRANT("b", "a.b.wild.example.com"));

	(void)state;
	assert_int_equal(ask_many(&w, 0, 20, "wild.example.com"), 20);
	assert_true(ask(&w, "b.wild.example.com").exists);
	assert_false(ask(&w, "c.wild.example.com").exists);
	end(&w);
}

static void a_wide_wildcard_is_metered_by_what_it_meets(void **state)
{
	struct world w = begin(GRANT("a", "* *.github.io") "wide = yes\n");
	struct name odd = { .len = 20, .labels = 3, .wire = "\1q\014evil.example\3com" };

	(void)state;
	assert_int_equal(ask_many(&w, 0, 25, "example.com"), 20);
	assert_int_equal(ask_many(&w, 0, 25, "example.co.uk"), 20);
	assert_int_equal(ask_many(&w, 0, 25, "me.github.io"), 20);
	/* Below a suffix that the list does not have: the last label stands for it. */
	assert_int_equal(ask_many(&w, 0, 25, "b.unlisted"), 20);
	/* A suffix, and a name of one label, are a domain each. */
	expect(&w, "co.uk", GRANTED);
	expect(&w, "com", GRANTED);
	expect(&w, "me.github.io", NAMES);
	/* A dot inside a label is part of it. */
	odd.len = 20;
	assert_int_equal(charge(&w, &odd).code, POLICY_ALLOW);
	assert_int_equal(charge(&w, &odd).domain_labels, 2);
	end(&w);
}

static void rotating_domains_fill_a_share_and_evict_nothing(void **state)
{
	struct world w = begin(GRANT("a", "*.com") "wide = yes\n");
	unsigned allowed = 0;
	char text[64];

	(void)state;
	assert_int_equal(ask_many(&w, 0, 20, "first.com"), 20);
	for (unsigned i = 0; i < 3 * LIMIT_BUDGETS_EACH; i++) {
		snprintf(text, sizeof(text), "data.d%u.com", i);
		allowed += ask(&w, text).code == POLICY_ALLOW;
	}
	assert_int_equal(allowed, LIMIT_BUDGETS_EACH - 1);
	/* What was there is there: spent, and good for the names that it has. */
	assert_int_equal(ask_many(&w, 50, 20, "first.com"), 0);
	assert_int_equal(ask_many(&w, 0, 20, "first.com"), 20);
	/* Another agent has its own share. */
	w.agent = "other";
	assert_int_equal(ask_many(&w, 0, 25, "second.com"), 20);
	/* A minute later all is well again, for as many. */
	w.agent = "";
	w.now_ms += MINUTE;
	assert_int_equal(ask_many(&w, 0, 25, "third.com"), 20);
	allowed = 0;
	for (unsigned i = 0; i < 2 * LIMIT_BUDGETS_EACH; i++) {
		snprintf(text, sizeof(text), "data.e%u.com", i);
		allowed += ask(&w, text).code == POLICY_ALLOW;
	}
	assert_int_equal(allowed, LIMIT_BUDGETS_EACH - 1);
	end(&w);
}

static void all_agents_together_have_a_limit(void **state)
{
	struct world w = begin(GRANT("a", "*.com") "wide = yes\n");
	unsigned allowed = 0;
	char text[64], agent[16];

	(void)state;
	w.agent = agent;
	for (unsigned i = 0; i < LIMIT_BUDGETS + 500; i++) {
		snprintf(agent, sizeof(agent), "a%u", i / 500);
		snprintf(text, sizeof(text), "data.d%u.com", i);
		allowed += ask(&w, text).code == POLICY_ALLOW;
	}
	assert_int_equal(allowed, LIMIT_BUDGETS);
	w.now_ms += MINUTE;
	assert_int_equal(ask_many(&w, 0, 25, "example.com"), 20);
	end(&w);
}

static void names_of_all_budgets_have_a_limit(void **state)
{
	struct world w = begin(GRANT("a", "*.com") "wide = yes\nmax_names = 1000\nmax_labels = "
						   "1000000\n");
	unsigned allowed = 0;
	char tail[64];

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		snprintf(tail, sizeof(tail), "d%u.com", i);
		allowed += ask_many(&w, 0, 1000, tail);
	}
	assert_in_range(allowed, LIMIT_BUDGET_NAMES / 2, LIMIT_BUDGET_NAMES);
	end(&w);
}

static void a_clock_that_is_behind_gives_nothing_back(void **state)
{
	struct world w = begin(GRANT("a", "*.wild.example.com"));

	(void)state;
	assert_int_equal(ask_many(&w, 0, 20, "wild.example.com"), 20);
	w.now_ms -= 500; /* as another thread may see it */
	expect(&w, "more.wild.example.com", NAMES);
	assert_int_equal(ask_many(&w, 0, 20, "wild.example.com"), 20);
	end(&w);
}

static void a_rate_counts_every_question(void **state)
{
	struct world w = begin(GRANT("a", "x.example.com *.wild.example.com") "max_rate = 30/m\n");
	struct policy_verdict verdict;

	(void)state;
	for (unsigned i = 0; i < 15; i++) {
		expect(&w, "x.example.com", GRANTED);
		expect(&w, "y.wild.example.com", GRANTED);
	}
	verdict = ask(&w, "x.example.com");
	assert_int_equal(verdict.reason, POLICY_REASON_RATE);
	assert_int_equal(verdict.place.line, 5);
	assert_true(verdict.exists);
	w.agent = "other";
	expect(&w, "x.example.com", GRANTED);
	w.agent = "";
	w.now_ms += MINUTE;
	expect(&w, "x.example.com", RATE);
	w.now_ms += MINUTE / RATE_SLOTS;
	expect(&w, "x.example.com", GRANTED);
	end(&w);
}

static void a_rate_holds_in_every_window(void **state)
{
	enum { MOST = 10, N = 20000 };
	static uint64_t counted_ms[N];
	struct rate rate;
	unsigned n = 0;
	uint64_t now_ms = 123456789;

	(void)state;
	rate_init(&rate, 1000);
	for (unsigned i = 0; i < N; i++, now_ms += i % 97 == 0 ? 700 + i % 613 : i % 5)
		if (rate_count(&rate, MOST, now_ms))
			counted_ms[n++] = now_ms;
	assert_true(n > 1000);
	for (unsigned i = MOST; i < n; i++)
		assert_true(counted_ms[i] - counted_ms[i - MOST] >= 1000);
	/* Not much less than allowed, either. */
	assert_true(UINT64_C(1017) * n >= (now_ms - counted_ms[0]) * MOST / 4);
}

static void expect_rate(const char *text, int r, uint32_t actions, uint32_t window_ms)
{
	struct policy_rate rate = { 0, 0 };

	assert_int_equal(policy_rate_parse(text, &rate), r);
	assert_int_equal(rate.actions, actions);
	assert_int_equal(rate.window_ms, window_ms);
}

static void a_rate_is_so_many_a_second_or_minute(void **state)
{
	static const char *const bad[] = { "",     "/m",   "0/m",    "600",       "600/h",
					   "-1/m", "1 /m", "600/mm", "1000001/s", "99999999999/s" };

	(void)state;
	expect_rate("600/m", 0, 600, 60000);
	expect_rate("10/s", 0, 10, 1000);
	expect_rate("1000000/s", 0, 1000000, 1000);
	for (size_t i = 0; i < LENGTH(bad); i++)
		expect_rate(bad[i], -22, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_host_has_no_budget),
		cmocka_unit_test(twenty_names_a_minute),
		cmocka_unit_test(no_burst_at_a_border_doubles_it),
		cmocka_unit_test(one_name_a_second_is_too_many),
		cmocka_unit_test(a_thousand_bytes_of_new_labels),
		cmocka_unit_test(labels_that_were_seen_cost_nothing),
		cmocka_unit_test(a_name_of_many_short_labels_pays_for_each),
		cmocka_unit_test(the_domain_is_registered_and_shared),
		cmocka_unit_test(an_agent_has_one_budget_and_no_other),
		cmocka_unit_test(a_reload_gives_no_new_budget),
		cmocka_unit_test(grants_that_share_a_wildcard_are_cut_one_by_one),
		cmocka_unit_test(pins_are_answered_here_and_cost_nothing),
		cmocka_unit_test(what_is_listed_below_keeps_a_name_alive),
		cmocka_unit_test(a_wide_wildcard_is_metered_by_what_it_meets),
		cmocka_unit_test(rotating_domains_fill_a_share_and_evict_nothing),
		cmocka_unit_test(all_agents_together_have_a_limit),
		cmocka_unit_test(names_of_all_budgets_have_a_limit),
		cmocka_unit_test(a_clock_that_is_behind_gives_nothing_back),
		cmocka_unit_test(a_rate_counts_every_question),
		cmocka_unit_test(a_rate_holds_in_every_window),
		cmocka_unit_test(a_rate_is_so_many_a_second_or_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
