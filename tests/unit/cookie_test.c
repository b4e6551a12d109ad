/* SPDX-License-Identifier: MIT */
/* DNS cookies: SipHash, and the examples of RFC 9018. */
#include "resolver/cookie.h"

#include <string.h>
#include "tests/unit/test.h"

enum { WHOLE = 24 };

#define SECRET     "e5e973e5a6b2a43f48e7dc849e37bfcf"
#define OLD_SECRET "dd3bdf9344b678b185a6f5cb60fca715"
#define NEW_SECRET "445536bcd2513298075a5d379663c962"

/* Put the bytes that @hex stands for at @bytes. */
static void from_hex(const char *hex, uint8_t *bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
				     (strchr(digits, hex[2 * i + 1]) - digits));
}

static const struct address v4 = { 4, { 198, 51, 100, 100 } };
static const struct address v4_other = { 4, { 203, 0, 113, 203 } };
static const struct address v6 = {
	6, { 0x20, 1, 0x0d, 0xb8, 2, 0x20, 0, 1, 0x59, 0xde, 0xd0, 0xf4, 0x87, 0x69, 0x82, 0xb8 }
};

static const struct cookie_key the_key = { "a key for tests" };

/* The time of the cookies below. */
enum { NOW = 1559731985, MIDNIGHT = 1559692800 };

/* What comes back for the cookie @came from @client at @now_s. */
static struct question renew(const struct address *client, int64_t now_s, const uint8_t *came,
			     uint8_t len)
{
	struct question question = { .cookie_len = len };

	memcpy(question.cookie, came, len);
	cookie_renew(&the_key, client, now_s, &question);
	assert_int_equal(question.cookie_len, WHOLE);
	assert_memory_equal(question.cookie, came, COOKIE_CLIENT);
	return question;
}

/* The vectors that come with the paper: the key 0 1 .. 15, the bytes 0 1 2 .. of each length. */
static void siphash_is_siphash(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} rows[] = {
		{ 0, 0x726fdb47dd0e0e31u },
		{ 1, 0x74f839c593dc67fdu },
		{ 8, 0x93f5f5799a932462u },
		{ 15, 0xa129ca6149be45e5u },
	};
	uint8_t key[SIPHASH_KEY], bytes[16];

	(void)state;
	for (uint8_t i = 0; i < 16; i++)
		key[i] = bytes[i] = i;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(siphash(key, bytes, rows[i].len), rows[i].hash);
}

/* The examples of RFC 9018, appendix A. */
static void hashes_of_the_rfc(void **state)
{
	static const struct {
		const char *secret, *cookie;
		const struct address *client;
	} rows[] = {
		{ SECRET, "2464c4abcf10c957010000005cf79f111f8130c3eee29480", &v4 },
		{ SECRET, "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5", &v4_other },
		{ OLD_SECRET, "22681ab97d52c298010000005cf7c57926556bd0934c72f8", &v6 },
		{ NEW_SECRET, "22681ab97d52c298010000005cf7c609a6bb79d16625507a", &v6 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		uint8_t secret[SIPHASH_KEY], cookie[WHOLE];

		from_hex(rows[i].secret, secret);
		from_hex(rows[i].cookie, cookie);
		uint64_t hash = cookie_hash(secret, cookie, rows[i].client);

		for (unsigned j = 0; j < 8; j++)
			assert_int_equal(cookie[16 + j], (uint8_t)(hash >> (8 * j)));
	}
}

static void new_cookies(void **state)
{
	struct question q = renew(&v4, NOW, (const uint8_t *)"01234567", 8);

	(void)state;
	assert_memory_equal(q.cookie + 8, "\1\0\0\0\x5c\xf7\x9f\x11", 8);
	assert_false(q.cookie_is_bad);
}

/* No cookie that is not ours is an error, and each gets a new one. */
static void cookies_that_are_not_ours(void **state)
{
	struct question good = renew(&v4, NOW, (const uint8_t *)"01234567", 8), q;

	(void)state;
	for (unsigned i = 0; i < WHOLE; i++) {
		uint8_t came[WHOLE];

		memcpy(came, good.cookie, WHOLE);
		came[i] ^= 1;
		q = renew(&v4, NOW, came, WHOLE);
		assert_true(q.cookie_is_bad);
		q = renew(&v4, NOW, q.cookie, WHOLE);
		assert_false(q.cookie_is_bad);
	}
	/* Lengths that others have; another client. */
	for (unsigned len = 16; len <= COOKIE_BYTES_MAX; len++)
		assert_int_equal(renew(&v4, NOW, good.cookie, (uint8_t)len).cookie_is_bad,
				 len != WHOLE);
	assert_true(renew(&v4_other, NOW, good.cookie, WHOLE).cookie_is_bad);
	assert_true(renew(&v6, NOW, good.cookie, WHOLE).cookie_is_bad);
	/* Another key. */
	const struct cookie_key other = { "another" };

	q = good;
	cookie_renew(&other, &v4, NOW, &q);
	assert_true(q.cookie_is_bad);
}

/* Ours stay ours for an hour, also where the day, and with it the secret, changes in between. */
static void cookies_of_another_time(void **state)
{
	static const struct {
		int64_t later_s;
		bool bad, same;
	} rows[] = { { -301, true, false },  { -300, false, true },
		     { 0, false, true },     { 1799, false, true },
		     { 1800, false, false }, { 3600, false, false },
		     { 3601, true, false },  { INT64_C(1) << 31, true, false } };
	static const int64_t made_s[] = { NOW, MIDNIGHT - 1, MIDNIGHT, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < LENGTH(made_s) * LENGTH(rows); i++) {
		int64_t made = made_s[i / LENGTH(rows)];
		size_t row = i % LENGTH(rows);
		struct question good = renew(&v4, made, (const uint8_t *)"01234567", 8);
		struct question q = renew(&v4, made + rows[row].later_s, good.cookie, WHOLE);

		assert_int_equal(q.cookie_is_bad, rows[row].bad);
		assert_int_equal(memcmp(q.cookie, good.cookie, WHOLE) == 0, rows[row].same);
	}
}

static void keys_are_random(void **state)
{
	struct cookie_key keys[2];

	(void)state;
	cookie_key_init(&keys[0]);
	cookie_key_init(&keys[1]);
	assert_memory_not_equal(keys[0].bytes, keys[1].bytes, SIPHASH_KEY);
	assert_memory_not_equal(keys[0].bytes, keys[0].bytes + 8, SIPHASH_KEY / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_is_siphash),
		cmocka_unit_test(hashes_of_the_rfc),
		cmocka_unit_test(new_cookies),
		cmocka_unit_test(cookies_that_are_not_ours),
		cmocka_unit_test(cookies_of_another_time),
		cmocka_unit_test(keys_are_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
