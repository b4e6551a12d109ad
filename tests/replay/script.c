/* SPDX-License-Identifier: MIT */
#include "tests/replay/script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ldns/ldns.h> /* last: it has a bool of its own where stdbool.h did not come first */

void stop_script(const struct script *s, const char *why)
{
	printf("Bail out! %s:%u: %s\n", s->path, s->line, why);
	exit(99);
}

void check(struct script *s, bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%s %u - line %u: ", good ? "ok" : "not ok", ++s->n_tests, s->line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	s->n_failed += !good;
}

bool next_line(struct script *s)
{
	if (s->held) {
		s->held = false;
		return true;
	}
	while (fgets(s->text, sizeof(s->text), s->file) != NULL) {
		s->line++;
		s->text[strcspn(s->text, "\n")] = '\0';
		if (s->text[strspn(s->text, " \t")] != '\0' && s->text[0] != ';')
			return true;
	}
	return false;
}

/* The next line if it is indented: a record that belongs to the command before. */
bool next_record(struct script *s)
{
	if (!next_line(s))
		return false;
	s->held = s->text[0] != ' ';
	return !s->held;
}

void split_line(struct script *s)
{
	char *rest = NULL;

	s->n_words = 0;
	for (char *word = strtok_r(s->text, " \t", &rest); word != NULL && s->n_words < MAX_WORDS;
	     word = strtok_r(NULL, " \t", &rest))
		s->words[s->n_words++] = word;
}

const char *word_at(const struct script *s, unsigned i)
{
	if (i >= s->n_words)
		stop_script(s, "a word is missing");
	return s->words[i];
}

bool has_word(const struct script *s, const char *word)
{
	for (unsigned i = 1; i < s->n_words; i++)
		if (strcmp(s->words[i], word) == 0)
			return true;
	return false;
}

/* The number behind @word, or -1. */
long number_behind(const struct script *s, const char *word)
{
	for (unsigned i = 1; i + 1 < s->n_words; i++)
		if (strcmp(s->words[i], word) == 0)
			return strtol(s->words[i + 1], NULL, 10);
	return -1;
}

int errno_of(const struct script *s, const char *word)
{
	if (strcmp(word, "ECONNREFUSED") == 0)
		return -ECONNREFUSED;
	if (strcmp(word, "ECONNRESET") == 0)
		return -ECONNRESET;
	if (strcmp(word, "EPIPE") == 0)
		return -EPIPE;
	if (strcmp(word, "ENETUNREACH") == 0)
		return -ENETUNREACH;
	stop_script(s, "not an errno that is known here");
	return 0;
}

uint16_t rcode_of(const char *word)
{
	ldns_lookup_table *row = ldns_lookup_by_name(ldns_rcodes, word);

	return row != NULL ? (uint16_t)row->id : UINT16_MAX;
}
