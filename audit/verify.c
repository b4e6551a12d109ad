/* SPDX-License-Identifier: MIT */
/* Verifying the chain: each line against the one before it, and the last against the head. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "audit/audit.h"
#include "audit/chain.h"
#include "base/limits.h"
#include "base/own.h"

/* How long a line without a newline is waited for: the log may be being written. */
static const struct timespec settle = { .tv_nsec = 100L * 1000 * 1000 };

enum { MAX_TRIES = 10 };

struct walk {
	audit_fault_fn *fault;
	void *arg;
	struct chain_hasher *hasher;
	struct chain_link last; /* what the next line must hang on */
	bool begun;             /* a first record, or what it goes on from, was read */
	struct chain_link head;
	bool has_head, met_head;
	struct audit_summary summary;
};

static void own_hasher(struct chain_hasher **hasher)
{
	chain_hasher_free(*hasher);
}

static void own_reader(struct audit_reader **reader)
{
	audit_reader_close(*reader);
}

static void fault_at(struct walk *walk, const struct audit_line *line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A break at @line. */
static void fault_at(struct walk *walk, const struct audit_line *line, const char *fmt, ...)
{
	char text[LIMIT_AUDIT_TEXT_BYTES + 256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	walk->summary.breaks++;
	walk->fault(walk->arg, line->path, line->number, false, text);
}

/* The records that @entry says could not be written, and no others, are missing. */
static void tell_gap(struct walk *walk, const struct audit_line *line,
		     const struct audit_entry *entry)
{
	uint64_t missing = entry->seq - walk->last.seq - 1;
	char text[128];

	walk->summary.missing += missing;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " records before record %" PRIu64
		 " could not be written when they were made",
		 missing, entry->seq);
	walk->fault(walk->arg, line->path, line->number, true, text);
}

/* A line that says what its file goes on from. It is no part of the chain. */
static void check_continue(struct walk *walk, const struct audit_line *line,
			   const struct audit_entry *entry)
{
	if (walk->begun &&
	    (entry->seq != walk->last.seq || strcmp(entry->prev, walk->last.hash) != 0))
		fault_at(walk, line,
			 "the file goes on from record %" PRIu64 ", but the lines before end with "
			 "record %" PRIu64 ": a file or lines are missing between, or were changed",
			 entry->seq, walk->last.seq);
	walk->begun = true;
	walk->last.seq = entry->seq;
	memcpy(walk->last.hash, entry->prev, sizeof(entry->prev));
}

static void check_record(struct walk *walk, const struct audit_line *line,
			 const struct audit_entry *entry)
{
	const struct chain_link start = chain_start();
	bool is_next = entry->seq == walk->last.seq + 1;
	bool is_gap = strcmp(entry->record.action, "gap") == 0;
	const char *reason = is_gap && entry->record.reason != NULL ? entry->record.reason : "";

	if (!walk->begun && (entry->seq != 1 || strcmp(entry->prev, start.hash) != 0))
		fault_at(walk, line,
			 "the log begins with record %" PRIu64 ", and no line says what it goes on "
			 "from: lines before it were removed",
			 entry->seq);
	else if (strcmp(entry->prev, walk->last.hash) != 0)
		fault_at(walk, line,
			 "record %" PRIu64 " does not follow the line before it, record %" PRIu64
			 ": "
			 "a line was changed, removed, added or moved here",
			 entry->seq, walk->last.seq);
	else if (is_gap && strcmp(reason, "not-written") == 0 && entry->seq > walk->last.seq)
		tell_gap(walk, line, entry);
	else if (is_gap)
		fault_at(walk, line, "record %" PRIu64 " says: %s", entry->seq,
			 entry->record.detail != NULL ? entry->record.detail : "");
	else if (!is_next)
		fault_at(walk, line,
			 "record %" PRIu64 " follows record %" PRIu64 ": the numbers between are "
			 "missing",
			 entry->seq, walk->last.seq);
}

static void check_against_head(struct walk *walk, const struct audit_line *line)
{
	if (!walk->has_head || walk->last.seq != walk->head.seq)
		return;
	walk->met_head = true;
	if (strcmp(walk->last.hash, walk->head.hash) != 0)
		fault_at(walk, line,
			 "record %" PRIu64 " is not the line that the head names: it was changed",
			 walk->last.seq);
}

static void check_line(struct walk *walk, const struct audit_line *line)
{
	OWN(audit_entry_done) struct audit_entry entry = { .seq = 0 };
	int r;

	walk->summary.lines++;
	r = audit_entry_parse(line->text, line->len, &entry);
	if (r < 0 || !line->whole) {
		fault_at(walk, line, "%s",
			 line->whole ? "the line is no record"
				     : "the line is torn, or longer than any record");
		chain_hash(walk->hasher, line->text, line->len, walk->last.hash);
		return;
	}
	if (line->number == 1 && strcmp(entry.record.action, "continue") == 0) {
		check_continue(walk, line, &entry);
		check_against_head(walk, line);
		return;
	}
	check_record(walk, line, &entry);
	walk->begun = true;
	walk->last.seq = entry.seq;
	chain_hash(walk->hasher, line->text, line->len, walk->last.hash);
	if (walk->summary.first_seq == 0)
		walk->summary.first_seq = entry.seq;
	walk->summary.last_seq = entry.seq;
	check_against_head(walk, line);
}

static int read_head(struct walk *walk, const char *path, struct err *err)
{
	OWN(own_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[CHAIN_HEAD_BYTES + 1], again[CHAIN_HEAD_BYTES + 1];
	ssize_t n;

	if (fd < 0 && errno != ENOENT)
		return err_set(err, -errno, "%s cannot be read: %s", path, strerror(errno));
	if (fd < 0)
		return 0;
	/* It may be written over at this moment: believe what is read twice. */
	for (unsigned tries = 0; tries < MAX_TRIES && !walk->has_head; tries++) {
		n = pread(fd, text, sizeof(text), 0);
		walk->has_head = n > 0 && pread(fd, again, sizeof(again), 0) == n &&
				 memcmp(text, again, (size_t)n) == 0 &&
				 chain_head_parse(text, (size_t)n, &walk->head) == 0;
	}
	return 0;
}

/* The log was read to its end. */
static void check_end(struct walk *walk, const char *log, const char *head)
{
	const struct audit_line end = { .path = log }, head_line = { .path = head };

	if (!walk->has_head)
		fault_at(
			walk, &head_line,
			"the head is missing or unreadable: whether the tail was cut off cannot be "
			"told");
	else if (walk->head.seq > walk->last.seq)
		fault_at(walk, &end,
			 "the log ends with record %" PRIu64 ", but its head names record %" PRIu64
			 ": the tail was cut off",
			 walk->last.seq, walk->head.seq);
	else if (!walk->met_head && walk->head.seq > 0)
		fault_at(walk, &head_line, "the head names record %" PRIu64 ", which is not there",
			 walk->head.seq);
}

/*
 * Check all lines of @reader. A last one without a newline is torn only if nothing comes of it for
 * a while: a writer's bytes are not seen all at once.
 */
static int walk_lines(struct walk *walk, struct audit_reader *reader)
{
	struct audit_line line;
	size_t amid = 0;
	int r;

	for (unsigned tries = 0; tries < MAX_TRIES; tries++) {
		while ((r = audit_reader_next(reader, &line)) > 0) {
			check_line(walk, &line);
			amid = 0;
		}
		if (r < 0 || audit_reader_amid(reader) == 0)
			return r;
		if (audit_reader_amid(reader) == amid) {
			if (audit_reader_rest(reader, &line))
				check_line(walk, &line);
			return 0;
		}
		amid = audit_reader_amid(reader);
		nanosleep(&settle, NULL);
	}
	return 0; /* it is being written without a pause */
}

int audit_verify(const char *path, audit_fault_fn *fault, void *arg,
		 struct audit_summary *ret_summary, struct err *err)
{
	OWN(own_hasher) struct chain_hasher *hasher = chain_hasher_new();
	OWN(own_reader) struct audit_reader *reader = NULL;
	OWN(own_free) char *head = NULL;
	struct walk walk = { .fault = fault, .arg = arg, .last = chain_start() };
	int r;

	if (hasher == NULL || asprintf(&head, "%s.head", path) < 0) {
		head = NULL;
		return err_set(err, -ENOMEM, "no memory to verify %s", path);
	}
	walk.hasher = hasher;
	/* The head comes first: what is written meanwhile may only put the log ahead of it. */
	r = read_head(&walk, head, err);
	if (r == 0)
		r = audit_reader_open(path, &reader, err);
	if (r < 0)
		return r;
	r = walk_lines(&walk, reader);
	if (r < 0)
		return err_set(err, r, "%s could not be read: %s", path, strerror(-r));
	check_end(&walk, path, head);
	*ret_summary = walk.summary;
	return 0;
}
