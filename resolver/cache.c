/* SPDX-License-Identifier: MIT */
#include "resolver/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/limits.h"
#include "base/own.h"
#include "resolver/wire.h"

struct entry {
	struct list used;   /* in cache->used */
	struct entry *next; /* in its bucket */
	struct reply *reply;
	struct reply *failure; /* to get a newer one than @reply; NULL: none */
	uint64_t hash;
	uint64_t until_ms;  /* of @reply */
	uint64_t failed_ms; /* when that was */
	uint32_t type;
	uint8_t name_len;
	uint8_t name[];
};

struct cache {
	struct list used; /* the least recently used first */
	uint64_t seed;
	uint32_t n, limit;
	size_t bytes, max_bytes; /* of the entries and all they hold */
	uint32_t mask;           /* buckets - 1 */
	struct entry **buckets;
};

int cache_new(uint32_t entries, struct cache **ret_cache)
{
	OWN(own_free) struct cache *cache = calloc(1, sizeof(*cache));
	uint32_t buckets = 64;

	if (cache == NULL)
		return -ENOMEM;
	while (buckets < entries)
		buckets *= 2;
	cache->buckets = calloc(buckets, sizeof(cache->buckets[0]));
	if (cache->buckets == NULL)
		return -ENOMEM;
	list_init(&cache->used);
	cache->seed = hash_seed();
	cache->limit = entries;
	cache->max_bytes = (size_t)entries * LIMIT_CACHE_ENTRY_BYTES;
	if (cache->max_bytes < LIMIT_MESSAGE_BYTES)
		cache->max_bytes = LIMIT_MESSAGE_BYTES;
	cache->mask = buckets - 1;
	*ret_cache = steal_ptr(cache);
	return 0;
}

static size_t entry_size(const struct entry *entry)
{
	return sizeof(*entry) + entry->name_len + reply_size(entry->reply) +
	       (entry->failure != NULL ? reply_size(entry->failure) : 0);
}

static void drop_entry(struct cache *cache, struct entry *entry)
{
	struct entry **link = &cache->buckets[entry->hash & cache->mask];

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	list_drop(&entry->used);
	cache->bytes -= entry_size(entry);
	free(entry->reply);
	free(entry->failure);
	free(entry);
	cache->n--;
}

void cache_free(struct cache *cache)
{
	if (cache == NULL)
		return;
	while (!list_empty(&cache->used))
		drop_entry(cache, list_owner(cache->used.next, struct entry, used));
	free(cache->buckets);
	free(cache);
}

static uint64_t hash_key(const struct cache *cache, const struct name *name, uint32_t type)
{
	return hash_bytes(cache->seed + type, name->wire, name->len);
}

static struct entry *find_entry(struct cache *cache, const struct name *name, uint32_t type,
				uint64_t hash)
{
	struct entry *entry = cache->buckets[hash & cache->mask];

	for (; entry != NULL; entry = entry->next)
		if (entry->hash == hash && entry->type == type && entry->name_len == name->len &&
		    memcmp(entry->name, name->wire, name->len) == 0)
			return entry;
	return NULL;
}

/* What is found of @entry once its reply has had its time: that there is no newer one. */
static const struct reply *find_failure(struct cache *cache, struct entry *entry, uint64_t now_ms,
					uint32_t *ret_left_s)
{
	const struct reply *failure = entry->failure;

	if (entry->reply->rcode == WIRE_SERVFAIL) {
		drop_entry(cache, entry);
		return NULL;
	}
	if (failure == NULL || entry->failed_ms + failure->ttl_s * UINT64_C(1000) < now_ms + 1000)
		return NULL;
	*ret_left_s = 1;
	return failure;
}

const struct reply *cache_find(struct cache *cache, const struct name *name, uint32_t type,
			       uint64_t now_ms, uint32_t *ret_left_s)
{
	struct entry *entry = find_entry(cache, name, type, hash_key(cache, name, type));

	if (entry == NULL)
		return NULL;
	if (entry->until_ms < now_ms + 1000)
		return find_failure(cache, entry, now_ms, ret_left_s);
	list_drop(&entry->used);
	list_add(&cache->used, &entry->used);
	*ret_left_s = (uint32_t)((entry->until_ms - now_ms) / 1000);
	return entry->reply;
}

const struct reply *cache_find_stale(struct cache *cache, const struct name *name, uint32_t type,
				     uint64_t now_ms, uint64_t stale_ms, uint64_t *ret_failed_ms)
{
	struct entry *entry = find_entry(cache, name, type, hash_key(cache, name, type));

	if (entry == NULL || entry->reply->rcode == WIRE_SERVFAIL ||
	    entry->until_ms + stale_ms <= now_ms)
		return NULL;
	list_drop(&entry->used);
	list_add(&cache->used, &entry->used);
	*ret_failed_ms = entry->failure != NULL ? now_ms - entry->failed_ms : UINT64_MAX;
	return entry->reply;
}

/* Make room for @size bytes of one more entry. False if there is none for as many. */
static bool make_room(struct cache *cache, size_t size)
{
	if (cache->limit == 0 || size > cache->max_bytes)
		return false;
	while (cache->n == cache->limit || cache->bytes + size > cache->max_bytes)
		drop_entry(cache, list_owner(cache->used.next, struct entry, used));
	return true;
}

/* Note with @entry that there was no newer reply, as @failure says. */
static void note_failure(struct cache *cache, struct entry *entry, struct reply *failure,
			 uint64_t now_ms)
{
	cache->bytes -= entry_size(entry);
	free(entry->failure);
	entry->failure = failure;
	entry->failed_ms = now_ms;
	cache->bytes += entry_size(entry);
}

void cache_put(struct cache *cache, const struct name *name, uint32_t type, struct reply *reply,
	       uint64_t now_ms)
{
	uint64_t hash = hash_key(cache, name, type);
	size_t size = sizeof(struct entry) + name->len + reply_size(reply);
	struct entry *entry = find_entry(cache, name, type, hash);

	if (entry != NULL && reply->rcode == WIRE_SERVFAIL &&
	    entry->reply->rcode != WIRE_SERVFAIL) {
		note_failure(cache, entry, reply, now_ms);
		return;
	}
	if (entry != NULL)
		drop_entry(cache, entry);
	entry = reply->ttl_s > 0 && make_room(cache, size) ? malloc(sizeof(*entry) + name->len)
							   : NULL;
	if (entry == NULL) {
		free(reply);
		return;
	}
	entry->reply = reply;
	entry->failure = NULL;
	entry->hash = hash;
	entry->until_ms = now_ms + reply->ttl_s * UINT64_C(1000);
	entry->failed_ms = 0;
	entry->type = type;
	entry->name_len = name->len;
	memcpy(entry->name, name->wire, name->len);
	entry->next = cache->buckets[hash & cache->mask];
	cache->buckets[hash & cache->mask] = entry;
	list_add(&cache->used, &entry->used);
	cache->bytes += size;
	cache->n++;
}

size_t cache_bytes(const struct cache *cache)
{
	return cache->bytes;
}
