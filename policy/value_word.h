/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include "policy/load.h"
#include "policy/read.h"
#include "policy/schema.h"

/* What the parsers of values share: value.c has those of words and numbers, value_net.c of the rest. */

/* A value under way: the words of it, one by one, each with its line. */
struct value {
	struct load *load;
	const struct schema_key *row;
	const char *file;
	struct read_piece *piece;
	char *rest;    /* of the piece */
	unsigned line; /* of the last word */
	void *field;
};

/* Where the last word of @v stands. */
struct policy_place value_here(const struct value *v);

/* The next word of @v; NULL behind the last. One that no message could quote is a fault. */
const char *value_next_word(struct value *v);

/* The only word of @v; NULL, and a fault, if there are more. */
const char *value_only_word(struct value *v);

/* How many words @v has, at least. */
size_t value_count_words(const struct value *v);

/* Make room in @list for as many items of @size bytes as @v has words; false if there is none. */
bool value_make_room(struct value *v, struct value_list *list, size_t size);

/* Drop what stands twice in @list, whose items have @size bytes, and tell of it, at @v. */
void value_drop_doubles(struct value *v, struct value_list *list, size_t size);

/* Parse @v, a list of addresses, into its field. */
void value_parse_addresses(struct value *v);

/* Parse @v, a list of networks, into its field. */
void value_parse_networks(struct value *v);

/* Parse @v, a list of addresses with ports, into its field. */
void value_parse_endpoints(struct value *v);

/* Parse @v, `auto`, or a list of servers, into its field. */
void value_parse_upstreams(struct value *v);

/* Parse @v, a table of nftables, into its field. */
void value_parse_table(struct value *v);

/* Parse @v, a list of interfaces, into its field. */
void value_parse_interfaces(struct value *v);

/* Parse @v, a list of sets of others, into its field. */
void value_parse_pushes(struct value *v);
