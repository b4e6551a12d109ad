/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A binary heap of nodes that lie inside their owners, smallest key first:
 * deadlines, mostly. It owns its array of pointers, never the nodes.
 */
struct heap_node {
	uint64_t key;
	size_t place; /* 1-based; 0: in no heap */
};

struct heap {
	struct heap_node **nodes;
	size_t n, size;
};

/*
 * Put @node into @heap under @key. Given it is in no heap.
 *
 * Fails  -ENOMEM: the node is in no heap.
 */
int heap_add(struct heap *heap, struct heap_node *node, uint64_t key)
	__attribute__((warn_unused_result));

/* Give @node, which is in @heap, another @key. */
void heap_move(struct heap *heap, struct heap_node *node, uint64_t key);

/* Take @node out of @heap; nothing happens if it is in no heap. */
void heap_drop(struct heap *heap, struct heap_node *node);

/* The node of @heap with the smallest key, or NULL. */
struct heap_node *heap_first(const struct heap *heap);

/* Free the array of @heap; its nodes are forgotten. */
void heap_done(struct heap *heap);

/* True if @node is in a heap. */
static inline bool heap_holds(const struct heap_node *node)
{
	return node->place != 0;
}
