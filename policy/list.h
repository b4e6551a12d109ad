/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "base/name.h"
#include "policy/load.h"

/*
 * Lists of names, as `list =` and `doh_list =` name them. What a list is
 * shows in its first line that says something: a directive or a record of a
 * zone file makes it an RPZ zone (list_zone.c), an address with names behind
 * it a hosts file, anything else plain names, one a line. All of a list has
 * one form. bailiwick-policy(5), LISTS, says what each may hold.
 *
 * A list is read in pieces, never held as a whole: what a million names cost
 * is what is kept of them.
 */

/* A list that a policy file names. */
struct list_file {
	const char *path; /* relative to where that file is; the policy keeps it */
	const char *word; /* as it was written */
	struct policy_place place;
};

/* What takes each name of a list, or, if it is a @wildcard, all below it, from line @line. */
typedef void list_name_fn(void *user, const struct name *name, bool wildcard, unsigned line);

/*
 * Read the list @file, and give each of its names to @take with @user.
 *
 * Fails  never: what is wrong is a fault of @load, in the list, or, if it could not be read, where
 *        it is named. Names that were good have been given all the same.
 */
void list_read(struct load *load, const struct list_file *file, list_name_fn *take, void *user);

/* The same from the @len bytes at @text, called @path in faults, taken @step bytes at a time. */
void list_read_text(struct load *load, const char *path, const char *text, size_t len, size_t step,
		    list_name_fn *take, void *user);
