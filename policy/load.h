/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/arena.h"
#include "policy/policy.h"

/*
 * One policy_load() under way. Every part of it (read, value, compile,
 * review) adds its faults here and goes on, so that a person hears of all of
 * them at once. Running out of memory sticks: it is asked once, at the end.
 */
struct load {
	struct arena *keep;   /* the policy's: what stays if all is well */
	struct arena scratch; /* what is gone when the load is over */
	struct policy_faults *faults;
	int64_t now_s;
	unsigned n_list_names; /* of all lists so far */
	bool is_text;          /* no file: it names none either */
	bool no_memory;
};

/* Add a fault, the sentence @fmt, at @place: the files are no good. */
void load_fault(struct load *load, struct policy_place place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Add a warning, the sentence @fmt, at @place: the files are good all the same. */
void load_warn(struct load *load, struct policy_place place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Take @size zeroed bytes that the policy keeps; NULL, and @load remembers, if there are none. */
void *load_keep(struct load *load, size_t size) __attribute__((warn_unused_result));

/* Take @size zeroed bytes until the load is over; NULL, and @load remembers, if there are none. */
void *load_scratch(struct load *load, size_t size) __attribute__((warn_unused_result));

/* Copy @text for the policy to keep; NULL, and @load remembers, if there is no memory. */
const char *load_keep_text(struct load *load, const char *text) __attribute__((warn_unused_result));

/* Copy the @len bytes at @bytes and a NUL until the load is over; NULL as above. */
char *load_scratch_text(struct load *load, const char *bytes, size_t len)
	__attribute__((warn_unused_result));

/* Sort the faults of @load by file and line. */
void load_sort_faults(struct load *load);
