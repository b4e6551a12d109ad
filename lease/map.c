/* SPDX-License-Identifier: MIT */
#include "lease/map.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

static struct map_node **bucket_of(const struct map *map, uint64_t hash)
{
	return &map->buckets[hash & (map->n_buckets - 1)];
}

static int grow(struct map *map)
{
	size_t n_buckets = map->n_buckets > 0 ? map->n_buckets * 2 : FIRST_BUCKETS;
	struct map grown = { .n_buckets = n_buckets, .n = map->n };

	grown.buckets = calloc(n_buckets, sizeof(struct map_node *));
	if (grown.buckets == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_buckets; i++) {
		struct map_node *node = map->buckets[i];

		while (node != NULL) {
			struct map_node *next = node->next;
			struct map_node **to = bucket_of(&grown, node->hash);

			node->next = *to;
			*to = node;
			node = next;
		}
	}
	free(map->buckets);
	*map = grown;
	return 0;
}

int map_add(struct map *map, struct map_node *node, uint64_t hash)
{
	struct map_node **to;

	/* Without memory for more buckets, the ones that there are must do. */
	if (map->n >= map->n_buckets && grow(map) < 0 && map->n_buckets == 0)
		return -ENOMEM;
	to = bucket_of(map, hash);
	node->hash = hash;
	node->next = *to;
	*to = node;
	map->n++;
	return 0;
}

void map_drop(struct map *map, struct map_node *node)
{
	struct map_node **at = bucket_of(map, node->hash);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	map->n--;
}

static struct map_node *first_with(struct map_node *node, uint64_t hash)
{
	while (node != NULL && node->hash != hash)
		node = node->next;
	return node;
}

struct map_node *map_find(const struct map *map, uint64_t hash)
{
	return map->n_buckets > 0 ? first_with(*bucket_of(map, hash), hash) : NULL;
}

struct map_node *map_find_next(const struct map_node *node)
{
	return first_with(node->next, node->hash);
}

struct map_node *map_walk(const struct map *map, const struct map_node *node)
{
	size_t i = 0;

	if (node != NULL) {
		if (node->next != NULL)
			return node->next;
		i = (node->hash & (map->n_buckets - 1)) + 1;
	}
	for (; i < map->n_buckets; i++)
		if (map->buckets[i] != NULL)
			return map->buckets[i];
	return NULL;
}

void map_done(struct map *map)
{
	free(map->buckets);
	*map = (struct map){ .buckets = NULL };
}
