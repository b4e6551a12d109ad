/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/limits.h"
#include "policy/list.h"

/* The reading of one list, which list.c and list_zone.c share. */

enum list_form { LIST_UNKNOWN, LIST_NAMES, LIST_HOSTS, LIST_ZONE };

/* Where a record of a zone file is. */
enum zone_state {
	ZONE_BETWEEN, /* none is under way */
	ZONE_TYPE,    /* its owner is read: a TTL, a class or its type follow */
	ZONE_DATA,    /* its type is read */
	ZONE_LOST,    /* something is wrong with it, which is told */
};

struct zone {
	struct name origin, apex;   /* the root while nothing says otherwise */
	bool has_origin, has_apex;  /* something does */
	bool has_owner, owner_lost; /* of the record before, which one without an owner has too */
	struct name owner;          /* absolute, without the `*` of a wildcard */
	bool owner_wildcard;
	bool owner_absolute; /* it was written so */
	bool has_triggers;   /* a record has been taken for what the zone is there for */
	enum zone_state state;
	unsigned begun; /* the line of the record under way */
	unsigned depth; /* of its parentheses */
	int type;
	unsigned n_data;
	bool data_long;            /* the first word of data does not fit */
	char data[NAME_TEXT_SIZE]; /* that word */
	bool told_data, told_exception;
};

struct list {
	struct load *load;
	const char *file;
	list_name_fn *take;
	void *user;
	enum list_form form;
	unsigned form_line; /* where it showed */
	unsigned line;
	unsigned n_names;
	size_t n_errors; /* of the load before this list */
	bool hopeless;   /* the rest is not read: it is no list at all, which is told */
	struct zone zone;
	bool overlong;
	size_t len;
	char text[LIMIT_POLICY_LINE + 3]; /* the line under way, with room for its end */
};

/* The place of the line that is being read. */
static inline struct policy_place list_here(const struct list *list)
{
	return (struct policy_place){ list->file, list->line };
}

/* Give @name, of this line, to who reads @list. */
void list_take(struct list *list, const struct name *name, bool wildcard);

/* Parse the @len bytes at @text as a name of letters, digits, `-` and `_`; false: it is another. */
bool list_parse_quickly(const char *text, size_t len, struct name *ret_name);

/* True if @text is an address that leads nowhere, as hosts files and zones give denied names. */
bool list_is_nowhere(const char *text);

/* True if @word is what follows the owner in a record of a zone file: a TTL, a class or a type. */
bool zone_is_field(const char *word);

/* Read the next line of a zone file, @list->text, without its end. */
void zone_line(struct list *list);

/* Tell of what is not finished at the end of a zone file. */
void zone_end(struct list *list);
