/* SPDX-License-Identifier: MIT */
#include "policy/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "policy/utf8.h"

/* Make room for one more fault; NULL if there is none. */
static struct policy_fault *grow(struct policy_faults *faults)
{
	struct policy_fault *grown;

	if (faults->n == faults->size) {
		size_t size = faults->size ? faults->size * 2 : 16;

		grown = reallocarray(faults->faults, size, sizeof(*grown));
		if (grown == NULL)
			return NULL;
		faults->faults = grown;
		faults->size = size;
	}
	return &faults->faults[faults->n];
}

/* Cut off what is left of a character at the end of @text, which was cut where its buffer ended. */
static void trim_character(char *text)
{
	size_t len = strlen(text);
	size_t tail = len;

	while (tail > 0 && len - tail < 3 && ((uint8_t)text[tail - 1] & 0xc0) == 0x80)
		tail--;
	if (tail > 0 && (uint8_t)text[tail - 1] >= 0xc0 &&
	    utf8_fault(text + tail - 1, len - tail + 1))
		text[tail - 1] = '\0';
}

static void add(struct load *load, struct policy_place place, bool warning, char *text)
{
	static const char more[] = "there are more faults, which are not listed";
	struct policy_faults *faults = load->faults;
	struct policy_fault fault = { .line = place.line, .warning = warning };
	struct policy_fault *room;

	faults->n_errors += !warning;
	if (faults->n > LIMIT_POLICY_FAULTS)
		return;
	trim_character(text);
	room = grow(faults);
	fault.file = strdup(place.file);
	fault.text = strdup(faults->n == LIMIT_POLICY_FAULTS ? more : text);
	if (room == NULL || fault.file == NULL || fault.text == NULL) {
		free(fault.file);
		free(fault.text);
		load->no_memory = true;
		return;
	}
	*room = fault;
	faults->n++;
}

void load_fault(struct load *load, struct policy_place place, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(load, place, false, text);
}

void load_warn(struct load *load, struct policy_place place, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(load, place, true, text);
}

void *load_keep(struct load *load, size_t size)
{
	void *taken = arena_alloc(load->keep, size);

	load->no_memory |= taken == NULL;
	return taken;
}

void *load_scratch(struct load *load, size_t size)
{
	void *taken = arena_alloc(&load->scratch, size);

	load->no_memory |= taken == NULL;
	return taken;
}

const char *load_keep_text(struct load *load, const char *text)
{
	const char *copy = arena_text(load->keep, text, strlen(text));

	load->no_memory |= copy == NULL;
	return copy;
}

char *load_scratch_text(struct load *load, const char *bytes, size_t len)
{
	char *copy = arena_text(&load->scratch, bytes, len);

	load->no_memory |= copy == NULL;
	return copy;
}

static int compare_faults(const void *a, const void *b)
{
	const struct policy_fault *x = a, *y = b;
	int files = strcmp(x->file, y->file);

	if (files != 0)
		return files;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->warning != y->warning)
		return x->warning ? 1 : -1;
	return strcmp(x->text, y->text);
}

void load_sort_faults(struct load *load)
{
	if (load->faults->n > 1)
		qsort(load->faults->faults, load->faults->n, sizeof(*load->faults->faults),
		      compare_faults);
}

void policy_faults_done(struct policy_faults *faults)
{
	for (size_t i = 0; i < faults->n; i++) {
		free(faults->faults[i].file);
		free(faults->faults[i].text);
	}
	free(faults->faults);
	*faults = (struct policy_faults){ .n = 0 };
}
