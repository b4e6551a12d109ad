/* SPDX-License-Identifier: MIT */
#include "policy/utf8.h"

#include <stdint.h>

/* The number of bytes of the character that @first begins; 0 if none begins so. */
static size_t sequence_len(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Decode the character at @text (RFC 3629); give its bytes, or 0 if it is none. */
static size_t take_character(const uint8_t *text, size_t left, uint32_t *ret_character)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = sequence_len(text[0]);
	uint32_t character = len < 2 ? text[0] : text[0] & (0xffu >> (len + 1));

	if (len == 0 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3f);
	}
	if (character < smallest[len] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 0;
	*ret_character = character;
	return len;
}

const char *utf8_fault(const char *text, size_t len)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint32_t c = 0;

	for (size_t at = 0, step; at < len; at += step) {
		/* Nearly all there is. */
		if (bytes[at] >= ' ' && bytes[at] < 0x7f) {
			step = 1;
			continue;
		}
		step = take_character(bytes + at, len - at, &c);
		if (step == 0)
			return "a byte that is no UTF-8";
		if (c == 0)
			return "a NUL byte";
		if (c == '\r')
			return "a carriage return that ends no line; lines end with LF or CRLF";
		if ((c < ' ' && c != '\t') || (c >= 0x7f && c <= 0x9f))
			return "a control character";
		if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
			return "a character that turns the direction of the text";
		if (c == 0xfeff || c == 0x2028 || c == 0x2029)
			return "an invisible character";
	}
	return NULL;
}
