/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include "base/address.h"
#include "base/siphash.h"
#include "resolver/question.h"

/*
 * DNS cookies (RFC 7873), in the form that all servers share (RFC 9018): by
 * ours a client knows that an answer is from who answered before. No cookie
 * is asked of a client, and none opens anything.
 */

/* What the secrets are made of, one for each day. All workers of a resolver have the same. */
struct cookie_key {
	uint8_t bytes[SIPHASH_KEY];
};

/* Fill @key with random bytes. */
void cookie_key_init(struct cookie_key *key);

/*
 * The hash of a cookie of @client under @secret (RFC 9018, 4.4).
 *
 * Given  @cookie, the client's cookie and the server's up to its hash.
 */
uint64_t cookie_hash(const uint8_t secret[SIPHASH_KEY], const uint8_t cookie[16],
		     const struct address *client);

/*
 * Put into @question, in place of the cookie of @client that came with it, the one that goes
 * back at @now_s: ours as it came, if it was made under @key in the last half hour, or else a new
 * one (RFC 9018, 4.3). What came as ours and is not, or is an hour old, is bad: the @question
 * says so afterwards.
 *
 * Given  a @question with a cookie.
 */
void cookie_renew(const struct cookie_key *key, const struct address *client, int64_t now_s,
		  struct question *question);
