/* SPDX-License-Identifier: MIT */
/* Parts of the upstream side that need no loop, and the servers that a policy names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/policy.h"
#include "resolver/failures.h"
#include "resolver/frames.h"
#include "tests/unit/test.h"

/* Load @text as [resolver]; give the first fault or warning, "" if there is none. */
static struct policy *load(const char *text, char fault[256])
{
	struct policy_faults faults;
	struct policy *policy = NULL;
	char whole[1024];
	struct err err;

	snprintf(whole, sizeof(whole), "[policy]\nowner = x\n[resolver]\n%s\n", text);
	int r = policy_load_text("p.ini", whole, strlen(whole), 0, &policy, &faults, &err);

	assert_int_equal(r<0, faults.n_errors> 0);
	snprintf(fault, 256, "%u: %s", faults.n > 0 ? faults.faults[0].line : 0,
		 faults.n > 0 ? faults.faults[0].text : "");
	policy_faults_done(&faults);
	return policy;
}

static void servers_are_read(void **state)
{
	char fault[256];
	struct policy *policy = load(
		"upstream = tls://9.9.9.9#dns.quad9.net tls://[2620:fe::fe]:8853#dns.quad9.net\n"
		" tls://149.112.112.112\nupstream_ca = /x/ca.pem",
		fault);
	const struct policy_resolver *settings = policy_resolver(policy);

	(void)state;
	assert_string_equal(fault, "0: ");
	assert_int_equal(settings->n_upstreams, 3);
	assert_true(settings->upstreams[0].tls);
	assert_int_equal(settings->upstreams[0].endpoint.port, 853);
	assert_string_equal(settings->upstreams[0].name, "dns.quad9.net");
	assert_int_equal(settings->upstreams[1].endpoint.port, 8853);
	assert_int_equal(settings->upstreams[1].endpoint.address.family, 6);
	assert_null(settings->upstreams[2].name);
	assert_string_equal(settings->upstream_ca, "/x/ca.pem");
	policy_unref(policy);
}

static void bad_servers_are_faults_at_their_lines(void **state)
{
	static const struct {
		const char *text, *said;
		bool good;
	} cases[] = {
		{ "upstream = tls://9.9.9.9#", "4: `tls://9.9.9.9#` is no upstream", false },
		{ "upstream = 9.9.9.9\n tls://9.9.9.9#quad9", "5: `tls://9.9.9.9#quad9` is no",
		  false },
		{ "upstream = tls://9.9.9.9#a.example#x", "4: `tls://9.9.9.9#a.example#x` is",
		  false },
		{ "upstream = tls://9.9.9.9#a/b.example", "4: `tls://9.9.9.9#a/b.example` is",
		  false },
		{ "upstream = tls://9.9.9.9:0#a.example", "4: `tls://9.9.9.9:0#a.example` is",
		  false },
		{ "upstream = https://9.9.9.9/dns-query", "4: `https://9.9.9.9/dns-query`", false },
		{ "upstream = 1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5 1.1.1.6 1.1.1.7 1.1.1.8\n "
		  "1.1.1.9",
		  "5: there are at most 8", false },
		{ "upstream_ca = ca.pem", "4: ", false },
		{ "upstream_ca = /x/ca.pem", "4: `upstream_ca` has no effect", true },
		{ "upstream = tls://9.9.9.9\n 9.9.9.9",
		  "5: an upstream that is not tls:// is asked", true },
		{ "upstream = 9.9.9.9 9.9.9.9:53", "4: `upstream` lists the same value twice",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char fault[256];
		struct policy *policy = load(cases[i].text, fault);

		if (strncmp(fault, cases[i].said, strlen(cases[i].said)) != 0)
			fail_msg("%s: %s", cases[i].text, fault);
		assert_int_equal(policy != NULL, cases[i].good);
		policy_unref(policy);
	}
}

enum { FIRST_LEN = 12, SECOND_LEN = 300 };

/* Take what is whole, message number @n and those behind it. Gives the number of the next. */
static unsigned take_whole(struct frames *frames, const uint8_t *wire, unsigned n)
{
	const uint8_t *bytes;
	size_t len;

	for (; frames_take(frames, &bytes, &len); n++) {
		assert_int_equal(len, n == 0 ? FIRST_LEN : SECOND_LEN);
		assert_memory_equal(bytes, wire + (n == 0 ? 2 : 2 + FIRST_LEN + 2), len);
	}
	return n;
}

/* Two messages, given in pieces of every size. */
static void messages_come_in_pieces_of_any_size(void **state)
{
	uint8_t wire[2 + FIRST_LEN + 2 + SECOND_LEN] = { 0, FIRST_LEN, [14] = 1, [15] = 44 };

	(void)state;
	for (size_t i = 2; i < sizeof(wire); i++)
		wire[i] = i == 14 || i == 15 ? wire[i] : (uint8_t)i;
	for (size_t size = 1; size <= sizeof(wire); size++) {
		struct frames frames = { .n = 0 };
		unsigned n = 0;

		for (size_t at = 0; at < sizeof(wire); at += size) {
			size_t left = sizeof(wire) - at;

			assert_int_equal(frames_add(&frames, wire + at, left < size ? left : size),
					 0);
			n = take_whole(&frames, wire, n);
		}
		assert_int_equal(n, 2);
		frames_done(&frames);
	}
}

static void what_is_shorter_than_a_header_is_no_message(void **state)
{
	static const uint8_t empty[] = { 0, 0 };
	static const uint8_t second[] = { 0, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 11 };
	struct frames frames = { .n = 0 };

	(void)state;
	assert_int_equal(frames_add(&frames, empty, sizeof(empty)), -EBADMSG);
	frames_done(&frames);
	assert_int_equal(frames_add(&frames, second, sizeof(second)), -EBADMSG);
	frames_done(&frames);
}

static void failures_in_a_row_are_kept_for_longer(void **state)
{
	static const uint32_t want[] = { 2, 4, 8, 16, 30, 30 };
	struct failures *failures = calloc(1, sizeof(*failures));
	uint64_t now_ms = 1000;

	(void)state;
	assert_non_null(failures);
	for (size_t i = 0; i < LENGTH(want); i++) {
		assert_int_equal(failures_add(failures, 7, now_ms), want[i]);
		now_ms += UINT64_C(1000) * want[i];
	}
	/* Another question has its own row; an answer, and a while, are an end. */
	assert_int_equal(failures_add(failures, 8, now_ms), 2);
	failures_clear(failures, 7);
	assert_int_equal(failures_add(failures, 7, now_ms), 2);
	assert_int_equal(failures_add(failures, 7, now_ms + 60000), 2);
	free(failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_read),
		cmocka_unit_test(bad_servers_are_faults_at_their_lines),
		cmocka_unit_test(messages_come_in_pieces_of_any_size),
		cmocka_unit_test(what_is_shorter_than_a_header_is_no_message),
		cmocka_unit_test(failures_in_a_row_are_kept_for_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
