/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A doubly linked list through nodes that lie inside their owners. A list is
 * a ring with a node of its own; a node that is in no list points to itself,
 * so that dropping it twice is harmless.
 */
struct list {
	struct list *next, *prev;
};

/* The owner of @node, which is its member @member. */
#define list_owner(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Make @list an empty list, or a node in no list. */
static inline void list_init(struct list *list)
{
	list->next = list;
	list->prev = list;
}

/* True if the list @list has no node, or if the node @list is in no list. */
static inline bool list_empty(const struct list *list)
{
	return list->next == list;
}

/* Put @node, which is in no list, at the end of @list. */
static inline void list_add(struct list *list, struct list *node)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

/* Take @node out of the list that it is in, if any. */
static inline void list_drop(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Take the first node off @list; NULL if it is empty. */
static inline struct list *list_take(struct list *list)
{
	struct list *first = list->next;

	if (first == list)
		return NULL;
	list_drop(first);
	return first;
}

/* Move all nodes of @from, in their order, to the end of @to. */
static inline void list_move_all(struct list *to, struct list *from)
{
	struct list *node;

	while ((node = list_take(from)) != NULL)
		list_add(to, node);
}
