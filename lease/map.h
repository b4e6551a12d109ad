/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A hash table of nodes that lie inside their owners, chained. It knows
 * hashes only: who looks something up walks the nodes that share its hash and
 * compares the keys itself.
 */
struct map_node {
	struct map_node *next;
	uint64_t hash;
};

struct map {
	struct map_node **buckets;
	size_t n_buckets, n;
};

/*
 * Put @node into @map under @hash.
 *
 * Fails  -ENOMEM: @node is in no map.
 */
int map_add(struct map *map, struct map_node *node, uint64_t hash)
	__attribute__((warn_unused_result));

/* Take @node out of @map, which holds it. */
void map_drop(struct map *map, struct map_node *node);

/* The first node of @map under @hash, or NULL. */
struct map_node *map_find(const struct map *map, uint64_t hash);

/* The node behind @node under the same hash, or NULL. */
struct map_node *map_find_next(const struct map_node *node);

/* The node of @map that comes after @node (NULL: the first), in no order; NULL at the end. */
struct map_node *map_walk(const struct map *map, const struct map_node *node);

/* Free the buckets of @map; its nodes are forgotten. */
void map_done(struct map *map);
