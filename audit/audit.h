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
 * on_failure = continue, the record is counted, and the first line that can
 * be written again says how many are missing.
 */
struct audit;

enum audit_on_failure { AUDIT_DENY, AUDIT_CONTINUE };

struct audit_config {
	const char *path; /* NULL: records get their numbers and are dropped */
	enum audit_on_failure on_failure;
	bool sync;	       /* fdatasync() after each group of lines */
	uint64_t rotate_bytes; /* 0: never by size */
	unsigned keep;	       /* rotated files, LOG.1 the newest */
};

/* Text that is valid during the call; NULL leaves the member out of the line. */
struct audit_record {
	const char *action; /* "query", "mirror", "start", "stop", ... */
	uint64_t generation;
	const struct address *agent; /* NULL: none */
	const struct name *name;     /* NULL: none */
	const char *type;	     /* DNS type */
	const char *transport;	     /* "udp" or "tcp" */
	const char *verdict;	     /* "allow", "deny" or "error" */
	const char *reason;	     /* the reason code's word */
	const char *grant;	     /* label */
	const char *rcode;	     /* what DNS answered, such as "NXDOMAIN" */
	const struct address *addresses;
	unsigned n_addresses;
	const char *detail; /* a sentence */
	uint64_t duration_us;
	bool timed; /* whether the duration is meant */
};

/*
 * Open the log of @config, and continue its chain where the last line left it.
 *
 * Gives  0 and @ret_audit; its thread runs.
 * Fails  -errno and @err: the file cannot be opened or locked, or its last line is torn or no
 *        line of ours. Nothing is repaired in silence.
 * Owns   the caller calls audit_close(). Nothing of @config is kept.
 */
int audit_open(const struct audit_config *config, struct audit **ret_audit, struct err *err)
	__attribute__((warn_unused_result));

/* Write what is queued, end the thread and free @audit; NULL is allowed. */
void audit_close(struct audit *audit);

/*
 * Write @record.
 *
 * Gives  0 and in @ret_id its sequence number, by which people find it.
 * Fails  -EIO: the log cannot be written now, or -ENOBUFS: the queue is full. With AUDIT_DENY
 *        the caller must deny what the record was about. With AUDIT_CONTINUE it never fails.
 * Never  blocks on the disk.
 */
int audit_write(struct audit *audit, const struct audit_record *record, uint64_t *ret_id)
	__attribute__((warn_unused_result));

/* Open the file of @audit anew, by its name: for SIGHUP after a rename. Done by the thread. */
void audit_reopen(struct audit *audit);

/* Wait until everything that was queued on @audit before is written, or has failed. For tests. */
void audit_flush(struct audit *audit);

/* What was found wrong at a line of a log; @text is valid during the call. */
typedef void audit_fault_fn(void *arg, const char *path, uint64_t line, const char *text);

/*
 * Verify the chain of the log at @path: its rotated files first, oldest to newest, then itself,
 * then its head. Calls @fault with @arg for each break.
 *
 * Gives  the number of breaks, and in @ret_lines how many lines were read.
 * Fails  -errno and @err: nothing could be read.
 */
long audit_verify(const char *path, audit_fault_fn *fault, void *arg, uint64_t *ret_lines,
		  struct err *err) __attribute__((warn_unused_result));
