/* SPDX-License-Identifier: MIT */
#include "resolver/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/own.h"

struct entry {
	struct list used;   /* in cache->used */
	struct entry *next; /* in its bucket */
	struct reply *reply;
	uint64_t hash;
	uint64_t until_ms;
	uint32_t type;
	uint8_t name_len;
	uint8_t name[];
};

struct cache {
	struct list used; /* the least recently used first */
	uint64_t seed;
	uint32_t n, limit;
	uint32_t mask; /* buckets - 1 */
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
	cache->mask = buckets - 1;
	*ret_cache = steal_ptr(cache);
	return 0;
}

static void drop_entry(struct cache *cache, struct entry *entry)
{
	struct entry **link = &cache->buckets[entry->hash & cache->mask];

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	list_drop(&entry->used);
	free(entry->reply);
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

const struct reply *cache_find(struct cache *cache, const struct name *name, uint32_t type,
			       uint64_t now_ms, uint32_t *ret_left_s)
{
	struct entry *entry = find_entry(cache, name, type, hash_key(cache, name, type));

	if (entry == NULL)
		return NULL;
	if (entry->until_ms < now_ms + 1000) {
		drop_entry(cache, entry);
		return NULL;
	}
	list_drop(&entry->used);
	list_add(&cache->used, &entry->used);
	*ret_left_s = (uint32_t)((entry->until_ms - now_ms) / 1000);
	return entry->reply;
}

void cache_put(struct cache *cache, const struct name *name, uint32_t type, struct reply *reply,
	       uint64_t now_ms)
{
	uint64_t hash = hash_key(cache, name, type);
	struct entry *entry = find_entry(cache, name, type, hash);

	if (entry != NULL)
		drop_entry(cache, entry);
	entry = cache->limit > 0 && reply->ttl_s > 0 ? malloc(sizeof(*entry) + name->len) : NULL;
	if (entry == NULL) {
		free(reply);
		return;
	}
	if (cache->n == cache->limit)
		drop_entry(cache, list_owner(cache->used.next, struct entry, used));
	entry->reply = reply;
	entry->hash = hash;
	entry->until_ms = now_ms + reply->ttl_s * UINT64_C(1000);
	entry->type = type;
	entry->name_len = name->len;
	memcpy(entry->name, name->wire, name->len);
	entry->next = cache->buckets[hash & cache->mask];
	cache->buckets[hash & cache->mask] = entry;
	list_add(&cache->used, &entry->used);
	cache->n++;
}
