/* SPDX-License-Identifier: MIT */
#pragma once

#include "policy/load.h"
#include "policy/read.h"
#include "policy/schema.h"

/* Values: from the words of a file to the fields of a draft, by their type in the schema. */

/*
 * Give the value that @entry has for the key @row to its field in @draft. What is wrong with it
 * is a fault of @load, at the line of the word in question.
 */
void value_parse(struct load *load, const struct schema_key *row, struct read_entry *entry,
		 struct draft *draft);

/* Give @row's default, if it has one, to its field in @draft. */
void value_default(struct load *load, const struct schema_key *row, struct draft *draft);

/* @type in words, such as "list of hosts". */
const char *value_type_words(enum value_type type);
