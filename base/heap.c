/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void put(struct heap *heap, size_t place, struct heap_node *node)
{
	heap->nodes[place - 1] = node;
	node->place = place;
}

static void sift_up(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place;

	while (place > 1 && heap->nodes[place / 2 - 1]->key > node->key) {
		put(heap, place, heap->nodes[place / 2 - 1]);
		place /= 2;
	}
	put(heap, place, node);
}

static void sift_down(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place;

	for (;;) {
		size_t child = place * 2;

		if (child > heap->n)
			break;
		if (child < heap->n && heap->nodes[child]->key < heap->nodes[child - 1]->key)
			child++;
		if (heap->nodes[child - 1]->key >= node->key)
			break;
		put(heap, place, heap->nodes[child - 1]);
		place = child;
	}
	put(heap, place, node);
}

int heap_add(struct heap *heap, struct heap_node *node, uint64_t key)
{
	assert(node->place == 0);
	if (heap->n == heap->size) {
		size_t size = heap->size > 0 ? heap->size * 2 : 64;
		struct heap_node **nodes = reallocarray(heap->nodes, size, sizeof(*nodes));

		if (nodes == NULL)
			return -ENOMEM;
		heap->nodes = nodes;
		heap->size = size;
	}
	node->key = key;
	put(heap, ++heap->n, node);
	sift_up(heap, node);
	return 0;
}

void heap_move(struct heap *heap, struct heap_node *node, uint64_t key)
{
	assert(node->place != 0);
	node->key = key;
	sift_up(heap, node);
	sift_down(heap, node);
}

void heap_drop(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place;

	if (place == 0)
		return;
	struct heap_node *last = heap->nodes[--heap->n];

	node->place = 0;
	if (last == node)
		return;
	put(heap, place, last);
	sift_up(heap, last);
	sift_down(heap, last);
}

struct heap_node *heap_first(const struct heap *heap)
{
	return heap->n > 0 ? heap->nodes[0] : NULL;
}

void heap_done(struct heap *heap)
{
	free(heap->nodes);
	*heap = (struct heap){ .nodes = NULL };
}
