/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "tests/replay/scripted.h"
#include "tests/replay/world.h"

/* A script: its lines and their words, and what they are about. */

enum { MAX_WORDS = 24, MAX_RECORDS = 512 };

struct script {
	FILE *file;
	const char *path;
	unsigned line;
	char text[4096]; /* the line */
	char *words[MAX_WORDS];
	unsigned n_words;
	bool held; /* the line was read and not used */
	struct world *world;
	struct scripted_sent *current, *previous;
	struct scripted_stream *stream; /* what is meant by a connection */
	unsigned n_tests, n_failed;
};

/* Stop with a message: the script is wrong. */
void stop_script(const struct script *s, const char *why) __attribute__((noreturn));

/* Say whether a test was good, and what it was. */
void check(struct script *s, bool good, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Read the next line; false behind the last. */
bool next_line(struct script *s);

/* The next line if it is indented: a record that belongs to the command before. */
bool next_record(struct script *s);

/* Split the line into its words. */
void split_line(struct script *s);

/* Word number @i, which must be there. */
const char *word_at(const struct script *s, unsigned i);

/* True if @word is one of the line's, but for the first. */
bool has_word(const struct script *s, const char *word);

/* The number behind @word, or -1. */
long number_behind(const struct script *s, const char *word);

/* The negative errno that @word names. */
int errno_of(const struct script *s, const char *word);

/* The rcode that @word names. */
uint16_t rcode_of(const char *word);

/* A command about the servers: as replay.c has it. */
void do_upstream(struct script *s);
void do_probe(struct script *s);
void do_connects(struct script *s);
void do_opened(struct script *s);
void do_untrusted(struct script *s);
void do_deaf(struct script *s);
void do_said(struct script *s);
void do_edns(struct script *s);
void do_length(struct script *s);
void do_wrong(struct script *s);
void do_reply(struct script *s);
void do_pattern(struct script *s);
void do_previous(struct script *s);
void do_broken(struct script *s);
void do_closed(struct script *s);
void do_unreachable(struct script *s);
void do_reachable(struct script *s);
