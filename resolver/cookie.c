/* SPDX-License-Identifier: MIT */
#include "resolver/cookie.h"

#include <assert.h>
#include <string.h>
#include "base/hash.h"

enum {
	VERSION = 1, /* RFC 9018, 4 */
	SERVER = 16, /* bytes of a server's cookie: version, three of nothing, time, hash */
	TIME = COOKIE_CLIENT + 4,
	HASH = COOKIE_CLIENT + 8,
	WHOLE = COOKIE_CLIENT + SERVER,
	DAY_S = 86400,
	OLD_S = 3600,   /* a cookie is no longer ours */
	STALE_S = 1800, /* it is replaced */
	FUTURE_S = 300, /* how much may the clock of who made it be ahead */
};

/* Write @word to @at, the lowest byte first. */
static void store(uint8_t *at, uint64_t word)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(word >> (8 * i));
}

void cookie_key_init(struct cookie_key *key)
{
	store(key->bytes, hash_seed());
	store(key->bytes + 8, hash_seed());
}

uint64_t cookie_hash(const uint8_t secret[SIPHASH_KEY], const uint8_t cookie[HASH],
		     const struct address *client)
{
	uint8_t bytes[HASH + sizeof(client->bytes)];
	size_t len = address_len(client);

	memcpy(bytes, cookie, HASH);
	memcpy(bytes + HASH, client->bytes, len);
	return siphash(secret, bytes, HASH + len);
}

/* When the server's cookie in @cookie says that it was made. */
static uint32_t time_of(const uint8_t *cookie)
{
	const uint8_t *at = cookie + TIME;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Write the hash of @cookie, under the secret of the day that it was made, to @hash. */
static void write_hash(const struct cookie_key *key, const uint8_t *cookie,
		       const struct address *client, uint8_t hash[8])
{
	uint32_t day = time_of(cookie) / DAY_S;
	uint8_t secret[SIPHASH_KEY];

	for (uint8_t half = 0; half < 2; half++) {
		const uint8_t label[] = { half, (uint8_t)(day >> 8), (uint8_t)day };

		store(secret + (size_t)8 * half, siphash(key->bytes, label, sizeof(label)));
	}
	store(hash, cookie_hash(secret, cookie, client));
}

/* How old the server's cookie in @question says it is, at @now_s (RFC 1982's arithmetic). */
static int32_t age_of(const struct question *question, int64_t now_s)
{
	return (int32_t)((uint32_t)now_s - time_of(question->cookie));
}

static bool is_ours(const struct cookie_key *key, const struct address *client, int64_t now_s,
		    const struct question *question)
{
	uint8_t hash[8];

	if (question->cookie_len != WHOLE || question->cookie[COOKIE_CLIENT] != VERSION)
		return false;
	if (age_of(question, now_s) > OLD_S || age_of(question, now_s) < -FUTURE_S)
		return false;
	write_hash(key, question->cookie, client, hash);
	return memcmp(hash, question->cookie + HASH, sizeof(hash)) == 0;
}

void cookie_renew(const struct cookie_key *key, const struct address *client, int64_t now_s,
		  struct question *question)
{
	uint8_t *cookie = question->cookie;

	assert(question->cookie_len >= COOKIE_CLIENT);
	bool came = question->cookie_len > COOKIE_CLIENT;
	bool ours = came && is_ours(key, client, now_s, question);

	question->cookie_is_bad = came && !ours;
	if (ours && age_of(question, now_s) < STALE_S)
		return;
	memcpy(cookie + COOKIE_CLIENT, (const uint8_t[4]){ VERSION }, 4);
	for (unsigned i = 0; i < 4; i++)
		cookie[TIME + i] = (uint8_t)((uint32_t)now_s >> (24 - 8 * i));
	write_hash(key, cookie, client, cookie + HASH);
	question->cookie_len = WHOLE;
}
