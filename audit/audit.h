/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "base/name.h"

/*
 * The audit log: one JSON line for each decision, append only.
 *
 * Each line carries a sequence number and the SHA-256 of the line before it,
 * so that an edit, a deletion or a reordering shows (audit_verify()); a head
 * beside the log, LOG.head, holds the last number and hash, so that a cut
 * tail shows. audit_write() copies a record into a bounded queue and returns;
 * a thread of the log's own formats, chains and writes.
 *
 * It refuses to lose anything in silence. When the disk is full or dead, or
 * the queue is, audit_write() fails, and its caller denies; or, with
 * on_failure = continue, it does not fail. Either way the record's number is
 * used up, and as soon as lines can be written again, a record of action
 * "gap" and reason "not-written" stands where the missing ones would be.
 *
 * A file that goes on from another begins with a line of action "continue".
 * It is no record and has no place in the chain: it repeats the number and
 * the hash of the last record before it. So a file whose first lines were
 * removed shows, and the old files may be deleted all the same.
 *
 * What was done to the files while nobody wrote them (a torn or foreign last
 * line, a cut tail, a missing head) does not keep the log from being opened.
 * It is left in place, and a "gap" record that says what was found follows.
 *
 * The chain has no key. Who may write the log and its head can make both anew;
 * send the head elsewhere, or make the file append-only, if that matters.
 */
struct audit;

enum audit_on_failure { AUDIT_DENY, AUDIT_CONTINUE };

struct audit_config {
	const char *path; /* NULL: records get their numbers and are dropped */
	enum audit_on_failure on_failure;
	bool sync;             /* fdatasync() after each group of lines */
	uint64_t rotate_bytes; /* 0: never by size */
	unsigned keep;         /* rotated files, LOG.1 the newest */
	/*
	 * If not NULL, told in a sentence of each change of state: the log cannot be written, or
	 * can again; records are missing; a file could not be rotated or opened anew; what was
	 * found at the start. Called by audit_open() and from the log's thread: it must be
	 * thread safe, and must not call back into the log.
	 */
	void (*report)(void *arg, const char *text);
	void *report_arg;
};

/*
 * Text that is valid during the call; NULL leaves the member out of the line. Text of more than
 * LIMIT_AUDIT_TEXT_BYTES, and more than LIMIT_ANSWER_ADDRESSES addresses, are cut.
 */
struct audit_record {
	const char *action; /* "query", "mirror", "start", "stop", ...; never NULL */
	uint64_t generation;
	const struct address *agent; /* NULL: none */
	const char *who;             /* the agent's name in the policy; NULL: none */
	const struct name *name;     /* NULL: none */
	const char *type;            /* DNS type */
	const char *transport;       /* "udp" or "tcp" */
	const char *verdict;         /* "allow", "deny", "observe" or "error" */
	const char *reason;          /* the reason code's word */
	const char *grant;           /* label */
	const char *rcode;           /* what DNS answered, such as "NXDOMAIN" */
	const struct address *addresses;
	unsigned n_addresses;
	const struct origin *origins; /* where each address is; NULL: nobody knows */
	const char *detail;           /* a sentence */
	uint64_t duration_us;
	bool timed; /* whether the duration is meant */
};

/*
 * Open the log of @config, and continue its chain where the last line left it.
 *
 * Gives  0 and @ret_audit; its thread runs.
 * Fails  -errno and @err: a file cannot be opened, or is no regular file; -EBUSY: another process
 *        writes this log; -ENOMEM.
 * Owns   the caller calls audit_close(). Nothing of @config is kept but the report function.
 */
int audit_open(const struct audit_config *config, struct audit **ret_audit, struct err *err)
	__attribute__((warn_unused_result));

/* Write what is queued, end the thread and free @audit; NULL is allowed. */
void audit_close(struct audit *audit);

/*
 * Write @record. Any thread may call this.
 *
 * Gives  0 and in @ret_id its sequence number, by which people find it.
 * Fails  -EIO: the log cannot be written now, or -ENOBUFS: the queue is full. With AUDIT_DENY
 *        the caller must deny what the record was about. With AUDIT_CONTINUE it never fails.
 * Never  blocks on the disk, or allocates.
 */
int audit_write(struct audit *audit, const struct audit_record *record, uint64_t *ret_id)
	__attribute__((warn_unused_result));

/*
 * Whether a record could be written to @audit now: 0, or a negative errno as audit_write() would
 * give. Asked before something is opened that must not be without its record.
 */
int audit_ready(struct audit *audit) __attribute__((warn_unused_result));

/*
 * Open the file of @audit anew, by its name: for SIGHUP after a rename. Done by the thread; if it
 * cannot be done, the old file is written on, and the report says so.
 */
void audit_reopen(struct audit *audit);

/*
 * Wait until everything that was asked of @audit before is done, or has failed. For tests, and for
 * the end.
 */
void audit_flush(struct audit *audit);

/*
 * A line that was read back. What @record points to belongs to the entry, which is not copied.
 */
struct audit_entry {
	uint64_t seq;
	int64_t time_ms; /* since 1970 UTC */
	uint64_t mono_us;
	char prev[65]; /* the SHA-256 of the line before, in hexadecimal */
	struct audit_record record;

	struct address agent;
	struct name name;
	struct address *addresses;
	struct origin *origins;
	void *json;
};

/*
 * Read the line of @len bytes at @text, without its newline, into @ret_entry.
 *
 * Gives  0. The texts of the record may hold any bytes but NUL: escape them before they are shown.
 * Fails  -EBADMSG: it is no line of a log: not printable ASCII alone, no JSON object, a member
 *        that must be there is missing, or one is not of its type. @ret_entry is empty then.
 * Owns   the caller calls audit_entry_done().
 */
int audit_entry_parse(const char *text, size_t len, struct audit_entry *ret_entry)
	__attribute__((warn_unused_result));

/* Free what @entry holds. */
void audit_entry_done(struct audit_entry *entry);

/* The size of a time's text, with its NUL. */
enum { AUDIT_TIME_SIZE = 25 };

/* Write @time_ms, since 1970 UTC, into @text as `2026-11-30T12:34:56.789Z`. */
void audit_time_print(int64_t time_ms, char text[AUDIT_TIME_SIZE]);

/* Reads the lines of a log, those of its rotated files first, the oldest first. */
struct audit_reader;

struct audit_line {
	const char *path; /* of the file it stands in */
	uint64_t number;  /* from 1 */
	const char *text; /* without its newline; any bytes */
	size_t len;
	bool whole; /* no: it has no newline, or is longer than LIMIT_AUDIT_LINE_BYTES and cut */
};

/*
 * Open the log at @path and its rotated files: LOG.NUMBER and LOG-NUMBER.
 *
 * Fails  -errno and @err: none of them could be read; -ENOMEM.
 * Owns   the caller calls audit_reader_close().
 */
int audit_reader_open(const char *path, struct audit_reader **ret_reader, struct err *err)
	__attribute__((warn_unused_result));

/* Free @reader; NULL is allowed. */
void audit_reader_close(struct audit_reader *reader);

/*
 * Read on. At the end of the log, one that was renamed meanwhile is followed to its new file, and
 * one that was truncated is read from its start.
 *
 * Gives  1 and @ret_line, valid until the next call; 0 at the end, from where one may read on
 *        later. A last line without a newline is waited for.
 * Fails  -errno: reading failed.
 */
int audit_reader_next(struct audit_reader *reader, struct audit_line *ret_line)
	__attribute__((warn_unused_result));

/* How many bytes @reader has read of a line that has no newline yet; 0 if it stands in none. */
size_t audit_reader_amid(const struct audit_reader *reader);

/*
 * Take what @reader has read of a line that has no newline, without reading on.
 *
 * Gives  true and @ret_line, valid until the next call; false if it stands in none.
 */
bool audit_reader_rest(struct audit_reader *reader, struct audit_line *ret_line);

/*
 * What was found at a line of a log; @text is valid during the call. @told is true of records that
 * could not be written, as the log itself says: a gap, but no break. @line 0 is the whole file.
 */
typedef void audit_fault_fn(void *arg, const char *path, uint64_t line, bool told,
			    const char *text);

struct audit_summary {
	uint64_t lines;
	uint64_t first_seq, last_seq; /* 0: no record */
	uint64_t breaks;
	uint64_t missing; /* records that could not be written, as told */
};

/*
 * Verify the chain of the log at @path: its rotated files first, oldest to newest, then itself,
 * then its head. Calls @fault with @arg for each break and each gap that is told.
 *
 * Gives  0 and @ret_summary.
 * Fails  -errno and @err: it could not be read.
 */
int audit_verify(const char *path, audit_fault_fn *fault, void *arg,
		 struct audit_summary *ret_summary, struct err *err)
	__attribute__((warn_unused_result));
