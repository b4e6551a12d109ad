/* SPDX-License-Identifier: MIT */
/*
 * Lists of denied names: whatever is read, each name is a name and stands on a line, faults have
 * their places, and how the bytes arrive in pieces changes nothing.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include "base/hash.h"
#include "policy/list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What came of one reading. */
struct outcome {
	uint64_t names; /* a hash of them, in order */
	unsigned n_names, last_line;
	size_t n_faults, n_errors;
};

static void take(void *user, const struct name *name, bool wildcard, unsigned line)
{
	struct outcome *outcome = user;
	struct name again;
	int r = name_from_wire(name->wire, name->len, &again);

	assert(r == 0 && name_equal(name, &again) && name->labels == again.labels);
	assert(name->labels > 0 || wildcard);
	assert(line > 0 && line >= outcome->last_line);
	outcome->last_line = line;
	outcome->n_names++;
	outcome->names = hash_bytes(outcome->names + wildcard + line, name->wire, name->len);
}

static struct outcome read_in_steps(const uint8_t *data, size_t size, size_t step)
{
	struct policy_faults faults = { .n = 0 };
	struct load load = { .faults = &faults };
	struct outcome outcome = { .names = 0 };

	list_read_text(&load, "fuzz.list", (const char *)data, size, step, take, &outcome);
	assert(!load.no_memory && load.n_list_names == outcome.n_names);
	/* Nothing is lost in silence. */
	assert(outcome.n_names > 0 || faults.n > 0);
	for (size_t i = 0; i < faults.n; i++) {
		assert(strcmp(faults.faults[i].file, "fuzz.list") == 0);
		for (const char *at = faults.faults[i].text; *at != '\0'; at++)
			assert((unsigned char)*at >= ' ' || *at == '\t');
	}
	outcome.n_faults = faults.n;
	outcome.n_errors = faults.n_errors;
	policy_faults_done(&faults);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = read_in_steps(data, size, size > 0 ? size : 1);
	struct outcome pieces = read_in_steps(data, size, 7);

	assert(whole.names == pieces.names && whole.n_names == pieces.n_names);
	assert(whole.n_faults == pieces.n_faults && whole.n_errors == pieces.n_errors);
	return 0;
}
