/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "audit/audit.h"
#include "base/limits.h"

/*
 * A record in its three forms: the caller's (struct audit_record), packed in
 * the queue, and the line of JSON. A line is printable ASCII whatever bytes
 * were given: it can forge neither another line nor a terminal's escape.
 */

/* What the log itself gives to a record. */
struct record_stamp {
	uint64_t seq;
	int64_t time_ms;
	uint64_t mono_us;
};

/* The stamp of a record number @seq that is made now. */
struct record_stamp record_stamp_now(uint64_t seq);

/*
 * Pack @record and @stamp into the @size bytes at @room.
 *
 * Given  @room is aligned as malloc() aligns.
 * Gives  the bytes used, which keep the alignment; 0 if they are more than @size.
 */
size_t record_pack(const struct audit_record *record, const struct record_stamp *stamp, void *room,
		   size_t size);

/*
 * Unpack what record_pack() put at @packed. @ret_record points into it, and to @ret_name.
 *
 * Gives  the bytes that were used.
 */
size_t record_unpack(const void *packed, struct record_stamp *ret_stamp,
		     struct audit_record *ret_record, struct name *ret_name);

/*
 * Write @record and @stamp as a line into @line, after a line whose hash is @prev.
 *
 * Gives  its length with the newline, at most LIMIT_AUDIT_LINE_BYTES; there is no NUL.
 */
size_t record_format(const struct audit_record *record, const struct record_stamp *stamp,
		     const char *prev, char line[LIMIT_AUDIT_LINE_BYTES]);
