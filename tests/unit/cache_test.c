/* SPDX-License-Identifier: MIT */
/* The cache: what it keeps, for how long, and that it has an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "resolver/cache.h"
#include "resolver/wire.h"

enum { NOW = 1000000 };

static struct name name_of(unsigned i)
{
	struct name name;
	char text[64];

	snprintf(text, sizeof(text), "n%u.example.com", i);
	assert_int_equal(name_parse(text, &name), 0);
	return name;
}

/* A reply with a proof of @len bytes, which says nothing. */
static struct reply *a_reply(uint8_t rcode, uint32_t ttl_s, size_t len)
{
	uint8_t *bytes = calloc(1, len + 1);
	struct reply *reply = reply_new(rcode, ttl_s, NULL, 0, NULL, 0);

	assert_non_null(bytes);
	assert_non_null(reply);
	if (len > 0)
		reply = reply_prove(reply, bytes, len);
	assert_non_null(reply);
	free(bytes);
	return reply;
}

static const struct reply *find(struct cache *cache, unsigned i, uint32_t type, uint64_t now_ms)
{
	struct name name = name_of(i);
	uint32_t left_s;

	return cache_find(cache, &name, type, now_ms, &left_s);
}

static void put(struct cache *cache, unsigned i, uint32_t type, struct reply *reply,
		uint64_t now_ms)
{
	struct name name = name_of(i);

	cache_put(cache, &name, type, reply, now_ms);
}

static void entries_have_an_end(void **state)
{
	struct cache *cache;

	(void)state;
	assert_int_equal(cache_new(3, &cache), 0);
	for (unsigned i = 0; i < 3; i++)
		put(cache, i, WIRE_A, a_reply(WIRE_NOERROR, 60, 0), NOW);
	assert_non_null(find(cache, 0, WIRE_A, NOW));
	put(cache, 3, WIRE_A, a_reply(WIRE_NOERROR, 60, 0), NOW);
	assert_non_null(find(cache, 0, WIRE_A, NOW));
	assert_null(find(cache, 1, WIRE_A, NOW)); /* the least recently used */
	assert_non_null(find(cache, 3, WIRE_A, NOW));
	cache_free(cache);
}

/* Large replies take the room of many; however they come and go, none is forgotten. */
static void bytes_have_an_end(void **state)
{
	struct cache *cache;
	size_t kept = 0, most = 1000 * (size_t)LIMIT_CACHE_ENTRY_BYTES;

	(void)state;
	assert_int_equal(cache_new(1000, &cache), 0);
	for (unsigned i = 0; i < 3000; i++) {
		put(cache, i % 1500, WIRE_A,
		    a_reply(WIRE_NOERROR, 60, i % 7 ? LIMIT_PROOF_BYTES : 0), NOW);
		assert_true(cache_bytes(cache) <= most);
		assert_non_null(find(cache, i % 1500, WIRE_A, NOW));
	}
	assert_true(cache_bytes(cache) > most / 2);
	for (unsigned i = 0; i < 1500; i++)
		kept += find(cache, i, WIRE_A, NOW) != NULL;
	assert_in_range(kept, 100, 200);
	for (unsigned i = 0; i < 1500; i++) /* what has no time left is not kept */
		put(cache, i, WIRE_A, a_reply(WIRE_NOERROR, 0, 0), NOW);
	assert_int_equal(cache_bytes(cache), 0);
	cache_free(cache);
}

static void forms_are_apart(void **state)
{
	struct cache *cache;

	(void)state;
	assert_int_equal(cache_new(10, &cache), 0);
	put(cache, 1, WIRE_A | ASK_DO, a_reply(WIRE_NOERROR, 60, 5), NOW);
	assert_null(find(cache, 1, WIRE_A, NOW));
	assert_null(find(cache, 1, WIRE_A | ASK_CD, NOW));
	assert_null(find(cache, 1, WIRE_A | ASK_DO | ASK_CD, NOW));
	assert_null(find(cache, 1, WIRE_AAAA | ASK_DO, NOW));
	assert_non_null(find(cache, 1, WIRE_A | ASK_DO, NOW));
	cache_free(cache);
}

static void old_replies_stay_besides_failures(void **state)
{
	struct name name = name_of(1);
	const struct reply *found;
	struct cache *cache;
	uint64_t failed_ms;

	(void)state;
	assert_int_equal(cache_new(10, &cache), 0);
	put(cache, 1, WIRE_A, a_reply(WIRE_NOERROR, 60, 0), NOW);
	/* Less than a second left counts as none. */
	assert_non_null(find(cache, 1, WIRE_A, NOW + 59000));
	assert_null(find(cache, 1, WIRE_A, NOW + 59001));
	found = cache_find_stale(cache, &name, WIRE_A, NOW + 69999, 10000, &failed_ms);
	assert_non_null(found);
	assert_int_equal(failed_ms, UINT64_MAX);
	assert_null(cache_find_stale(cache, &name, WIRE_A, NOW + 70000, 10000, &failed_ms));

	/* A failure is found for its time, and what was known behind it. */
	put(cache, 1, WIRE_A, a_reply(WIRE_SERVFAIL, 2, 0), NOW + 60000);
	put(cache, 1, WIRE_A, a_reply(WIRE_SERVFAIL, 2, 0), NOW + 61000);
	found = find(cache, 1, WIRE_A, NOW + 62000);
	assert_non_null(found);
	assert_int_equal(found->rcode, WIRE_SERVFAIL);
	assert_null(find(cache, 1, WIRE_A, NOW + 62001));
	found = cache_find_stale(cache, &name, WIRE_A, NOW + 62000, 10000, &failed_ms);
	assert_non_null(found);
	assert_int_equal(found->rcode, WIRE_NOERROR);
	assert_int_equal(failed_ms, 1000);

	/* A new reply ends both; a failure of which nothing was known is no old reply. */
	put(cache, 1, WIRE_A, a_reply(WIRE_NXDOMAIN, 60, 0), NOW + 63000);
	assert_int_equal(find(cache, 1, WIRE_A, NOW + 63000)->rcode, WIRE_NXDOMAIN);
	cache_find_stale(cache, &name, WIRE_A, NOW + 63000, 10000, &failed_ms);
	assert_int_equal(failed_ms, UINT64_MAX);
	put(cache, 2, WIRE_A, a_reply(WIRE_SERVFAIL, 2, 0), NOW);
	name = name_of(2);
	assert_int_equal(find(cache, 2, WIRE_A, NOW)->rcode, WIRE_SERVFAIL);
	assert_null(cache_find_stale(cache, &name, WIRE_A, NOW, 10000, &failed_ms));
	cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_have_an_end),
		cmocka_unit_test(bytes_have_an_end),
		cmocka_unit_test(forms_are_apart),
		cmocka_unit_test(old_replies_stay_besides_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
