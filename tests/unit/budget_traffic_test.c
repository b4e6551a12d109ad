/* SPDX-License-Identifier: MIT */
/*
 * The default budgets on traffic: a million questions as programs ask them, of which none may be
 * denied, and kinds of tunnels, each of which must be, at a bounded loss. The traffic is made here,
 * by a model: sessions that load from some of a domain's names, with retries and both families, a
 * few names that were never asked for before among them.
 */
#include <stdio.h>
#include <string.h>
#include "policy/policy.h"
#include "resolver/budget.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 /* 2026-12-01 */, A = 1, QUESTIONS = 1000000, DOMAINS = 12, POOL = 14 };

static const char *const domains[DOMAINS] = {
	"githubusercontent.com",
	"amazonaws.com",
	"npmjs.org",
	"debian.org",
	"pythonhosted.org",
	"docker.io",
	"cloudfront.net",
	"azureedge.net",
	"gitlab.com",
	"crates.io",
	"fastly.net",
	"example.co.uk",
};

/* What such names look like; %u is a number that tells one from another. */
static const char *const shapes[] = {
	"raw",
	"objects",
	"www",
	"cdn%u",
	"registry-%u",
	"d%07uab.r%u",
	"bucket-%u.s3.eu-central-1",
	"internal-lb-%u-1234567890.eu-west-1.elb",
	"api",
	"static%u.assets",
	"avatars%u",
	"pkg-containers",
	"production-%u",
};

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state >> 33) % n;
}

/* A small number the more likely the smaller, below @n. */
static unsigned random_skewed(unsigned n)
{
	return random_below(1 + random_below(n));
}

struct world {
	struct policy *policy;
	const struct policy_agent *agent;
	struct budgets *budgets;
	uint64_t now_ms;
	unsigned n_allowed, n_denied;
};

static struct world begin(void)
{
	const struct address loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	struct world w = { .now_ms = 5000000 };
	struct policy_faults faults;
	struct err err;
	char text[2048], *at = text;

	at += sprintf(at, "[allow a]\nowner = o\nreason = r\nwide = yes\nhost = *.t.example\n");
	for (unsigned i = 0; i < DOMAINS; i++)
		at += sprintf(at, " *.%s\n", domains[i]);
	assert_int_equal(policy_load_text("p", text, strlen(text), NOW, &w.policy, &faults, &err),
			 0);
	policy_faults_done(&faults);
	w.agent = policy_agent_find(w.policy, &loopback, NULL);
	assert_int_equal(budgets_new(&w.budgets), 0);
	return w;
}

static void end(struct world *w)
{
	budgets_free(w->budgets);
	policy_unref(w->policy);
}

static bool ask(struct world *w, const struct name *name)
{
	struct policy_verdict verdict = policy_judge_name(w->policy, w->agent, name, A, NOW);

	assert_true(verdict.code == POLICY_ALLOW && verdict.metered);
	verdict = budgets_charge(w->budgets, "", &verdict, name, w->now_ms);
	w->n_allowed += verdict.code == POLICY_ALLOW;
	w->n_denied += verdict.code != POLICY_ALLOW;
	return verdict.code == POLICY_ALLOW;
}

static bool ask_text(struct world *w, const char *text)
{
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return ask(w, &name);
}

/* One of the names of domain number @d: one of its pool, or, rarely, a fresh one. */
static void pick_name(unsigned d, char *text, size_t size)
{
	bool fresh = random_below(40) == 0;
	unsigned n = fresh ? random_below(9000000) : random_skewed(POOL);
	char head[100];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(head, sizeof(head), shapes[(d + n) % LENGTH(shapes)], n, n % 7);
#pragma GCC diagnostic pop
	snprintf(text, size, "%s.%s", head, domains[d]);
}

static void a_million_honest_questions_are_answered(void **state)
{
	struct world w = begin();
	char text[300];

	(void)state;
	while (w.n_allowed + w.n_denied < QUESTIONS) {
		unsigned d = random_skewed(DOMAINS);

		/* A session: some names, each by both families, some again. */
		for (unsigned i = 1 + random_below(5); i > 0; i--) {
			pick_name(d, text, sizeof(text));
			for (unsigned j = 2 + (random_below(10) == 0) * 2; j > 0; j--)
				ask_text(&w, text);
			w.now_ms += random_below(300);
		}
		w.now_ms += random_below(5000);
	}
	print_message("# %u allowed, %u denied, in %u hours\n", w.n_allowed, w.n_denied,
		      (unsigned)(w.now_ms / 3600000));
	assert_int_equal(w.n_denied, 0);
	end(&w);
}

/* @len characters of @alphabet, chosen at random. */
static char *put_random(char *at, unsigned len, const char *alphabet)
{
	while (len-- > 0)
		*at++ = alphabet[random_below((unsigned)strlen(alphabet))];
	return at;
}

/* Put @text, with its NUL, at @at. */
static void put_text(char *at, const char *text)
{
	memcpy(at, text, strlen(text) + 1);
}

#define BASE32 "abcdefghijklmnopqrstuvwxyz234567"

/* As iodine: three full labels of base32. */
static void long_labels(char *text)
{
	char *at = text;

	for (unsigned i = 0; i < 3; i++, *at++ = '.')
		at = put_random(at, 60, BASE32);
	put_text(at, "t.example");
}

/* As dnscat2: hexadecimal. */
static void hexadecimal(char *text)
{
	put_text(put_random(text, 52, "0123456789abcdef"), ".t.example");
}

/* Short ones, many. */
static void short_labels(char *text)
{
	put_text(put_random(text, 4, BASE32), ".t.example");
}

static void words(char *text)
{
	static const char *const known[] = { "img", "cdn",  "www", "api", "static", "dev",
					     "eu",  "mail", "v2",  "app", "assets", "edge" };

	sprintf(text, "%s-%s-%s.t.example", known[random_below(12)], known[random_below(12)],
		known[random_below(12)]);
}

/* Data in the order of labels that are known soon. */
static void known_labels(char *text)
{
	char *at = text;

	for (unsigned i = 0; i < 60; i++, *at++ = '.')
		at = put_random(at, 1, "abcdefgh");
	put_text(at, "t.example");
}

/* Any byte that a label may hold. */
static void any_byte(char *text)
{
	char *at = text;

	for (unsigned i = 0; i < 100; i++) {
		if (i == 50)
			*at++ = '.';
		at += sprintf(at, "\\%03u", 128 + random_below(127));
	}
	put_text(at, ".t.example");
}

static void tunnels_are_starved(void **state)
{
	static const struct {
		const char *what;
		void (*make)(char *text);
		unsigned pause_ms;
	} kinds[] = {
		{ "long labels", long_labels, 50 },     { "hexadecimal", hexadecimal, 200 },
		{ "short labels", short_labels, 1000 }, { "words", words, 2500 },
		{ "known labels", known_labels, 3500 }, { "any byte", any_byte, 5500 },
	};
	const uint64_t hour_ms = 3600000;

	(void)state;
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct world w = begin();
		uint64_t began_ms = w.now_ms, first_ms = 0;
		unsigned bytes = 0;
		char text[1100];

		for (; w.now_ms - began_ms < hour_ms; w.now_ms += kinds[i].pause_ms) {
			struct name name;

			kinds[i].make(text);
			assert_int_equal(name_parse(text, &name), 0);
			if (ask(&w, &name))
				bytes += name.len - 11u - (name.labels - 2u); /* above t.example */
			else if (first_ms == 0)
				first_ms = w.now_ms;
		}
		print_message("# %s: denied after %u s, %u bytes a minute\n", kinds[i].what,
			      (unsigned)((first_ms - began_ms) / 1000), bytes / 60);
		assert_true(first_ms != 0 && first_ms - began_ms < 65000);
		/* The first minute's budget is spent at once, and then one each minute. */
		assert_true(bytes <= 61 * 1000 && w.n_allowed <= 61 * 20);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_honest_questions_are_answered),
		cmocka_unit_test(tunnels_are_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
