/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/audit.h"

/* A log in a folder of its own, for tests; what goes wrong here fails the test. */
struct log {
	char dir[64], path[128];
	struct audit *audit;
	struct err err;
	pthread_mutex_t lock; /* for what the reports say */
	char heard[4096];
	unsigned n_heard;
	char said[4096]; /* the reports, as of log_reports() */
	unsigned n_reports;
	unsigned n_told, n_broken; /* by log_verify() */
	char faults[4096];
};

/* cmocka's setup and teardown for a test that has a struct log as its @state. */
int log_setup(void **state);
int log_teardown(void **state);

/* Open @log as @config says, with its reports noted. */
void log_open(struct log *log, const struct audit_config *config);

/* Close @log, and note its reports. */
void log_close(struct log *log);

/* Note what @log reported so far; give how many reports there were. */
unsigned log_reports(struct log *log);

/* Write @record to @log, which must work; give its number. */
uint64_t log_write(struct log *log, const struct audit_record *record);

/* Write a record of the name nNNNN.bad.example.com to @log; give its number. */
uint64_t log_numbered(struct log *log, unsigned number);

/* Make @label and bad.example.com into @ret_name. */
void log_name(struct name *ret_name, const char *label);

/* Verify @log, and note its faults; give how many breaks there are. */
uint64_t log_verify(struct log *log, struct audit_summary *ret_summary);

/* True if the file @path has @text somewhere. */
bool log_has(const char *path, const char *text);

/* The lines of a file, without their newlines. */
struct lines {
	char *memory;
	char **text;
	size_t n, bytes;
	bool whole; /* the last has its newline, and there is no NUL */
};

/* Read the file @path into @ret_lines; lines_free() it. */
void lines_read(struct lines *ret_lines, const char *path);

/* Write @lines to the file @path, and change nothing else of it. */
void lines_write(const struct lines *lines, const char *path);

/* Free what @lines holds. */
void lines_free(struct lines *lines);
