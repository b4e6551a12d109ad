/* SPDX-License-Identifier: MIT */
#include "base/name.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int name_read(struct cursor *c, struct name *ret_name)
{
	unsigned used = 0, labels = 0;
	struct name name;

	for (;;) {
		uint8_t len = cursor_u8(c);
		const uint8_t *label = cursor_take(c, len);

		if (c->broken || len > NAME_LABEL_MAX || used + 1 + len > NAME_WIRE_MAX)
			return -EBADMSG;
		name.wire[used++] = len;
		if (len == 0)
			break;
		for (unsigned i = 0; i < len; i++)
			name.wire[used++] = name_lower(label[i]);
		labels++;
	}
	name.len = (uint8_t)used;
	name.labels = (uint8_t)labels;
	*ret_name = name;
	return 0;
}

int name_from_wire(const uint8_t *wire, size_t len, struct name *ret_name)
{
	struct cursor c = cursor_over(wire, len);
	struct name name;

	if (name_read(&c, &name) < 0 || cursor_left(&c) > 0)
		return -EBADMSG;
	*ret_name = name;
	return 0;
}

/* One byte of presentation text; *text moves behind it. Gives the byte, or -EINVAL. */
static int take_byte(const char **text)
{
	const char *at = *text;

	if (*at != '\\') {
		*text = at + 1;
		return *at > ' ' && *at <= '~' ? *at : -EINVAL;
	}
	if (isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) &&
	    isdigit((unsigned char)at[3])) {
		int value = (at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0');

		*text = at + 4;
		return value <= UINT8_MAX ? value : -EINVAL;
	}
	*text = at + 2;
	return at[1] > ' ' && at[1] <= '~' && !isdigit((unsigned char)at[1]) ? at[1] : -EINVAL;
}

/* One label of presentation text, up to its dot or the end, to the end of @name. */
static int take_label(const char **text, struct name *name)
{
	unsigned start = name->len;
	unsigned used = start + 1;

	while (**text != '\0' && **text != '.') {
		int byte = take_byte(text);

		if (byte < 0 || used - start > NAME_LABEL_MAX || used >= NAME_WIRE_MAX - 1)
			return -EINVAL;
		name->wire[used++] = name_lower((uint8_t)byte);
	}
	if (used == start + 1)
		return -EINVAL;
	name->wire[start] = (uint8_t)(used - start - 1);
	name->len = (uint8_t)used;
	name->labels++;
	return 0;
}

int name_parse(const char *text, struct name *ret_name)
{
	struct name name = { .len = 0 };

	if (*text == '\0')
		return -EINVAL;
	if (strcmp(text, ".") == 0)
		text++;
	while (*text != '\0') {
		int r = take_label(&text, &name);

		if (r < 0)
			return r;
		if (*text == '.')
			text++;
	}
	name.wire[name.len++] = 0;
	*ret_name = name;
	return 0;
}

static size_t print_byte(uint8_t byte, char *to)
{
	if (byte <= ' ' || byte > '~')
		return (size_t)snprintf(to, 5, "\\%03u", byte);
	if (strchr("\"();@$.\\", byte) != NULL) {
		to[0] = '\\';
		to[1] = (char)byte;
		return 2;
	}
	to[0] = (char)byte;
	return 1;
}

void name_print(const struct name *name, char text[NAME_TEXT_SIZE])
{
	size_t used = 0;

	if (name->labels == 0)
		text[used++] = '.';
	for (unsigned at = 0; name->wire[at] != 0; at += 1u + name->wire[at]) {
		if (at > 0)
			text[used++] = '.';
		for (unsigned i = 1; i <= name->wire[at]; i++)
			used += print_byte(name->wire[at + i], text + used);
	}
	text[used] = '\0';
}

bool name_equal(const struct name *a, const struct name *b)
{
	return a->len == b->len && memcmp(a->wire, b->wire, a->len) == 0;
}

const uint8_t *name_suffix(const struct name *name, unsigned skip, size_t *ret_len)
{
	const uint8_t *at = name->wire;

	assert(skip <= name->labels);
	while (skip-- > 0)
		at += 1 + *at;
	*ret_len = (size_t)(name->wire + name->len - at);
	return at;
}

bool name_is_below(const struct name *name, const struct name *ancestor)
{
	size_t len;

	if (name->labels <= ancestor->labels)
		return false;
	const uint8_t *suffix = name_suffix(name, name->labels - ancestor->labels, &len);

	return len == ancestor->len && memcmp(suffix, ancestor->wire, len) == 0;
}

void name_parent(const struct name *name, struct name *ret_parent)
{
	struct name parent;
	size_t len;

	assert(name->labels > 0);
	const uint8_t *suffix = name_suffix(name, 1, &len);

	parent.labels = (uint8_t)(name->labels - 1);
	parent.len = (uint8_t)len;
	memcpy(parent.wire, suffix, len);
	*ret_parent = parent;
}
