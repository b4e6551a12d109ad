/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/name.h"
#include "resolver/reply.h"

/*
 * What upstreams said, positive and negative, by (name, type, DO, CD), least recently
 * used out first. It keeps what is known, not what may be told: each answer
 * out of it is judged, vetted and leased like a new one, so that a verdict is
 * the same cold and warm. What has had its time stays until it is replaced or
 * in the way, for when nothing newer can be had (RFC 8767).
 */
struct cache;

/*
 * Make a cache of at most @entries replies, and of LIMIT_CACHE_ENTRY_BYTES for each of them, or
 * LIMIT_MESSAGE_BYTES if that is more, in all. Fails -ENOMEM.
 */
int cache_new(uint32_t entries, struct cache **ret_cache) __attribute__((warn_unused_result));

/* Free @cache; NULL is allowed. */
void cache_free(struct cache *cache);

/*
 * Look up records of @type at @name at @now_ms (monotonic).
 *
 * Gives  the reply, valid until the next cache_put(), and in @ret_left_s how many seconds it may
 *        still live, at least 1; NULL if none is known.
 */
const struct reply *cache_find(struct cache *cache, const struct name *name, uint32_t type,
			       uint64_t now_ms, uint32_t *ret_left_s);

/*
 * Look up what was known of it until less than @stale_ms ago.
 *
 * Gives  the reply, valid until the next cache_put(), and in @ret_failed_ms how long it is since a
 *        newer one could not be had, UINT64_MAX if that was not tried; NULL if nothing was known.
 */
const struct reply *cache_find_stale(struct cache *cache, const struct name *name, uint32_t type,
				     uint64_t now_ms, uint64_t stale_ms, uint64_t *ret_failed_ms);

/*
 * Keep @reply for records of @type at @name, in place of an older one, for its ttl_s from @now_ms.
 *
 * A failure (SERVFAIL) is kept besides what was known before, and found in its place once that
 * has had its time.
 *
 * Owns   @reply from here on. Without memory, or with a TTL of 0, it is not kept.
 */
void cache_put(struct cache *cache, const struct name *name, uint32_t type, struct reply *reply,
	       uint64_t now_ms);

/* How many bytes @cache keeps. */
size_t cache_bytes(const struct cache *cache);
