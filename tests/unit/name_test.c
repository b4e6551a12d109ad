/* SPDX-License-Identifier: MIT */
#include "base/name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/test.h"

static struct name parse(const char *text)
{
	struct name name;

	if (name_parse(text, &name) != 0)
		fail_msg("`%s` is no name", text);
	return name;
}

/* The name of the wire bytes that the string literal @wire holds, its final NUL among them. */
#define FROM_WIRE(wire) from_wire(wire, sizeof(wire))

static struct name from_wire(const char *wire, size_t len)
{
	struct name name;

	assert_int_equal(name_from_wire((const uint8_t *)wire, len, &name), 0);
	return name;
}

/* @n labels of @len bytes each, as wire without the root's; gives the bytes used. */
static size_t make_labels(uint8_t *wire, unsigned n, uint8_t len)
{
	size_t used = 0;

	for (unsigned i = 0; i < n; i++) {
		wire[used++] = len;
		memset(wire + used, 'a', len);
		used += len;
	}
	return used;
}

static void texts_and_wires(void **state)
{
	static const struct {
		const char *text, *printed;
		unsigned labels;
	} good[] = {
		{ ".", ".", 0 },
		{ "com", "com", 1 },
		{ "com.", "com", 1 },
		{ "EXAMPLE.com", "example.com", 2 },
		{ "*.example.com", "*.example.com", 3 },
		{ "_dns.resolver.arpa", "_dns.resolver.arpa", 3 },
		{ "a\\.b.c", "a\\.b.c", 2 },
		{ "a\\046b.c", "a\\.b.c", 2 },
		{ "\\000.c", "\\000.c", 2 },
		{ "a\\032b", "a\\032b", 1 },
		{ "\\255", "\\255", 1 },
		{ "\\\\", "\\\\", 1 },
		{ "\\\"\\(\\)\\;\\@\\$", "\\\"\\(\\)\\;\\@\\$", 1 },
		{ "\"();@$", "\\\"\\(\\)\\;\\@\\$", 1 },
		{ "\\065", "a", 1 }, /* an escaped letter has no case either */
		{ "\\A", "a", 1 },
		{ "a&b%c", "a&b%c", 1 },
	};
	static const char *const bad[] = {
		"",     "..",       ".com",  "a..b",  "a..",    "\\",   "a\\",  "\\25",
		"\\2",  "\\256",    "\\999", "a b",   " a",     "a\n",  "a\tb", "\x7f",
		"\x80", "\xc3\xa9", "a\\ b", "\\25a", "\\\x01", "a.\\",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		struct name name = parse(good[i].text);
		char text[NAME_TEXT_SIZE];

		assert_int_equal(name.labels, good[i].labels);
		name_print(&name, text);
		assert_string_equal(text, good[i].printed);
		struct name again = parse(text);

		assert_true(name_equal(&name, &again));
	}
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct name name = { .len = 99 };

		if (name_parse(bad[i], &name) != -EINVAL)
			fail_msg("`%s` was taken", bad[i]);
		assert_int_equal(name.len, 99);
	}
}

/* Whatever a label holds, its text is printable, and is read as the same label again. */
static void every_byte_survives(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		const uint8_t wire[] = { 3, 'x', (uint8_t)byte, 'y', 3, 'c', 'o', 'm', 0 };
		char text[NAME_TEXT_SIZE];
		struct name name;

		assert_int_equal(name_from_wire(wire, sizeof(wire), &name), 0);
		assert_int_equal(name.wire[2], name_lower((uint8_t)byte));
		name_print(&name, text);
		for (const char *at = text; *at != '\0'; at++)
			assert_true(*at > ' ' && *at <= '~');
		struct name again = parse(text);

		assert_true(name_equal(&name, &again));
		assert_int_equal(again.labels, 2);
	}
}

static void only_ascii_letters_have_case(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		uint8_t lower = name_lower((uint8_t)byte);

		if (byte >= 'A' && byte <= 'Z')
			assert_int_equal(lower, byte + 32);
		else
			assert_int_equal(lower, byte);
	}
	struct name upper = FROM_WIRE("\3OK\xc3\7Example\3cOm");
	struct name lower = FROM_WIRE("\3ok\xc3\7example\3com");
	struct name other = FROM_WIRE("\3ok\xe3\7example\3com");

	assert_true(name_equal(&upper, &lower));
	assert_false(name_equal(&upper, &other));
}

static void label_limits(void **state)
{
	uint8_t wire[300] = { 0 };
	char text[300] = { 0 };
	struct name name;
	size_t used = make_labels(wire, 1, 63);

	(void)state;
	assert_int_equal(name_from_wire(wire, used + 1, &name), 0);
	wire[0] = 64; /* no longer a length, but a reserved label type */
	assert_int_equal(name_from_wire(wire, 66, &name), -EBADMSG);

	memset(text, 'a', 63);
	assert_int_equal(name_parse(text, &name), 0);
	assert_int_equal(name.len, 65);
	text[63] = 'a';
	assert_int_equal(name_parse(text, &name), -EINVAL);
}

static void name_limits(void **state)
{
	uint8_t wire[300] = { 0 };
	char text[NAME_TEXT_SIZE];
	struct name name;
	size_t used;

	(void)state;
	/* 127 labels of a byte are 255 bytes; 128 are too many. */
	used = make_labels(wire, 127, 1);
	assert_int_equal(name_from_wire(wire, used + 1, &name), 0);
	assert_int_equal(name.labels, NAME_LABELS_MAX);
	assert_int_equal(name.len, NAME_WIRE_MAX);
	name_print(&name, text);
	struct name again = parse(text);

	assert_true(name_equal(&name, &again));
	used = make_labels(wire, 128, 1);
	wire[used] = 0;
	assert_int_equal(name_from_wire(wire, used + 1, &name), -EBADMSG);
	text[strlen(text) + 1] = '\0';
	text[strlen(text)] = 'a'; /* a label of two bytes: one byte too many */
	assert_int_equal(name_parse(text, &name), -EINVAL);

	/* Three labels of 63 and one of 61 are 255 bytes; one of 62 is too many. */
	used = make_labels(wire, 3, 63);
	used += make_labels(wire + used, 1, 61);
	wire[used] = 0;
	assert_int_equal(name_from_wire(wire, used + 1, &name), 0);
	assert_int_equal(name.len, NAME_WIRE_MAX);
	used = make_labels(wire, 3, 63);
	used += make_labels(wire + used, 1, 62);
	wire[used] = 0;
	assert_int_equal(name_from_wire(wire, used + 1, &name), -EBADMSG);
}

static void longest_text_fits(void **state)
{
	struct {
		char text[NAME_TEXT_SIZE];
		char behind[8];
	} room = { .behind = "intact" };
	uint8_t wire[NAME_WIRE_MAX] = { 0 };
	struct name name;
	size_t used = make_labels(wire, 3, 63);

	(void)state;
	used += make_labels(wire + used, 1, 61);
	for (size_t i = 0; i < used; i++)
		if (wire[i] == 'a')
			wire[i] = 0xff;
	assert_int_equal(name_from_wire(wire, used + 1, &name), 0);
	name_print(&name, room.text);
	assert_int_equal(strlen(room.text), 250 * 4 + 3);
	assert_string_equal(room.behind, "intact");
	struct name again = parse(room.text);

	assert_true(name_equal(&name, &again));
}

static void hostile_wires(void **state)
{
	static const struct {
		const char *wire;
		size_t len;
	} bad[] = {
		{ "", 0 },            /* nothing */
		{ "\3com", 4 },       /* no root */
		{ "\3co", 3 },        /* cut within a label */
		{ "\xc0\x0c", 2 },    /* a pointer */
		{ "\3com\xc0\0", 6 }, /* a pointer behind a label */
		{ "\x40"
		  "a\0",
		  3 }, /* a reserved type */
		{ "\x80"
		  "a\0",
		  3 },             /* the other one */
		{ "\3com\0x", 6 }, /* something left over */
		{ "\0\0", 2 },     /* two roots */
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct name name = { .len = 99 };

		assert_int_equal(name_from_wire((const uint8_t *)bad[i].wire, bad[i].len, &name),
				 -EBADMSG);
		assert_int_equal(name.len, 99);
	}
}

static void reading_stops_behind_the_name(void **state)
{
	static const uint8_t packet[] = { 1, 'a', 0, 0, 1, 0, 1 };
	struct cursor c = cursor_over(packet, sizeof(packet));
	struct name name;

	(void)state;
	assert_int_equal(name_read(&c, &name), 0);
	assert_int_equal(cursor_left(&c), 4);
	assert_int_equal(cursor_u32(&c), 0x00010001);
}

/* A dot, a NUL or a blank within a label is no border between labels. */
static void borders_are_of_labels_not_of_text(void **state)
{
	struct name evil = FROM_WIRE("\xa"
				     "ok.example\3com");
	struct name ok = parse("ok.example.com");
	struct name example = parse("example.com");
	struct name com = parse("com");
	struct name nul = FROM_WIRE("\3ok\0\7example\3com");
	struct name short_nul = FROM_WIRE("\2ok\7example\3com");

	(void)state;
	assert_false(name_equal(&evil, &ok));
	assert_false(name_is_below(&evil, &example));
	assert_true(name_is_below(&evil, &com));
	assert_false(name_equal(&nul, &short_nul));
	assert_true(name_is_below(&nul, &example));
}

static void below_and_parents(void **state)
{
	static const struct {
		const char *name, *ancestor;
		bool below;
	} rows[] = {
		{ "a.example.com", "example.com", true },
		{ "a.b.c.example.com", "example.com", true },
		{ "example.com", "example.com", false },
		{ "example.com", "a.example.com", false },
		{ "notexample.com", "example.com", false },
		{ "xexample.com", "example.com", false },
		{ "-.example.com", "example.com", true },
		{ "example.com.evil", "example.com", false },
		{ "example.co", "example.com", false },
		{ "example.com", ".", true },
		{ ".", ".", false },
		{ ".", "com", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct name name = parse(rows[i].name), ancestor = parse(rows[i].ancestor);

		if (name_is_below(&name, &ancestor) != rows[i].below)
			fail_msg("%s below %s", rows[i].name, rows[i].ancestor);
	}

	struct name name = parse("a.b.c"), parent, expected = parse("b.c"), root = parse(".");

	name_parent(&name, &parent);
	assert_true(name_equal(&parent, &expected));
	assert_int_equal(parent.labels, 2);
	name_parent(&parent, &parent); /* in place */
	name_parent(&parent, &parent);
	assert_true(name_equal(&parent, &root));
	assert_int_equal(parent.labels, 0);
}

static void suffixes(void **state)
{
	struct name name = parse("a.bc.def");
	static const size_t lens[] = { 10, 8, 5, 1 };
	size_t len;

	(void)state;
	for (unsigned skip = 0; skip <= name.labels; skip++) {
		const uint8_t *suffix = name_suffix(&name, skip, &len);

		assert_int_equal(len, lens[skip]);
		assert_ptr_equal(suffix + len, name.wire + name.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_and_wires),
		cmocka_unit_test(every_byte_survives),
		cmocka_unit_test(only_ascii_letters_have_case),
		cmocka_unit_test(label_limits),
		cmocka_unit_test(name_limits),
		cmocka_unit_test(longest_text_fits),
		cmocka_unit_test(hostile_wires),
		cmocka_unit_test(reading_stops_behind_the_name),
		cmocka_unit_test(borders_are_of_labels_not_of_text),
		cmocka_unit_test(below_and_parents),
		cmocka_unit_test(suffixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
