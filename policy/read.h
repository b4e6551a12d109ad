/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include "policy/load.h"

/*
 * The policy files as they stand, before anything in them has a meaning:
 * sections with their keys, and for each key the lines of its value. All of
 * it lies in the scratch arena of the load, but file names, which are kept.
 */

/* What one line adds to a value: without comment, quotes and outer blanks; never empty. */
struct read_piece {
	struct read_piece *next;
	char *text;
	unsigned line;
};

struct read_entry {
	struct read_entry *next;
	const char *key;
	struct policy_place place;
	struct read_piece *pieces; /* NULL: the value is empty */
};

struct read_section {
	struct read_section *next;
	const char *name;
	const char *label; /* "" if it has none */
	struct policy_place place;
	struct read_entry *entries;
	bool included; /* it stands in a file that another one includes */
};

struct read_document {
	struct read_section *sections; /* in the order of the files */
};

/*
 * Read the file @path and what it includes into @ret_document.
 *
 * Fails  -errno and @err: the file itself could not be read. All else is a fault of @load.
 */
int read_file(struct load *load, const char *path, struct read_document *ret_document,
	      struct err *err) __attribute__((warn_unused_result));

/* Read the @len bytes at @text, called @path in faults, into @ret_document; an include is a fault. */
void read_text(struct load *load, const char *path, const char *text, size_t len,
	       struct read_document *ret_document);
