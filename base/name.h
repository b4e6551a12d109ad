/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cursor.h"

/*
 * Domain names, in the one form in which they are compared: uncompressed wire
 * labels with the ASCII letters in lower case (RFC 1035, 3.1; RFC 4343). A
 * label may hold any byte, a dot or a NUL among them, so no decision is ever
 * made on a name's text.
 */

enum {
	NAME_WIRE_MAX = 255,   /* bytes, with the root's */
	NAME_LABEL_MAX = 63,   /* bytes of one label */
	NAME_LABELS_MAX = 127, /* labels, without the root's */
	NAME_TEXT_SIZE = 1016, /* the longest text, every byte written \DDD, and its NUL */
};

struct name {
	uint8_t len;    /* bytes of wire in use, with the root's; never 0 in a valid name */
	uint8_t labels; /* without the root's; 0 is the root */
	uint8_t wire[NAME_WIRE_MAX];
};

/*
 * Read an uncompressed name, such as a query's question, off @c.
 *
 * Gives  0 and @ret_name, in lower case; @c stands behind the name.
 * Fails  -EBADMSG: a pointer or reserved label type, more than 255 bytes, or cut short.
 */
int name_read(struct cursor *c, struct name *ret_name) __attribute__((warn_unused_result));

/*
 * Take @ret_name from @wire, which holds uncompressed labels up to the root's in @len bytes.
 *
 * Fails  -EBADMSG as name_read(), or if bytes are left over.
 */
int name_from_wire(const uint8_t *wire, size_t len, struct name *ret_name)
	__attribute__((warn_unused_result));

/*
 * Parse @text in presentation form (RFC 1035, 5.1: `\.` and `\DDD` escapes); "." is the root,
 * one final dot is nothing.
 *
 * Fails  -EINVAL: an empty or overlong label, an overlong name, a bad escape, a blank or a
 *        control byte, or a byte over 0x7e (U-labels are turned into A-labels before).
 */
int name_parse(const char *text, struct name *ret_name) __attribute__((warn_unused_result));

/*
 * Write @name into @text in presentation form, without the final dot ("." for the root).
 * Bytes outside of the printable ASCII range, blanks, and `"();@$.\` are escaped: the text
 * can forge neither a line of a log nor a terminal's escape sequence.
 */
void name_print(const struct name *name, char text[NAME_TEXT_SIZE]);

/* True if @a and @b are the same name. */
bool name_equal(const struct name *a, const struct name *b);

/* True if @name lies below @ancestor, at any depth; a name is not below itself. */
bool name_is_below(const struct name *name, const struct name *ancestor);

/*
 * The name that is left of @name without its first @skip labels.
 *
 * Given  @skip no larger than name->labels.
 * Gives  a pointer into name->wire, and in @ret_len its bytes with the root's.
 */
const uint8_t *name_suffix(const struct name *name, unsigned skip, size_t *ret_len);

/* Put the parent of @name into @ret_parent. Given @name is not the root. */
void name_parent(const struct name *name, struct name *ret_parent);

/* The lower-case form of the ASCII letter @byte; any other byte as it is (RFC 4343). */
static inline uint8_t name_lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
}
