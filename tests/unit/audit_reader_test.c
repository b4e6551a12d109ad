/* SPDX-License-Identifier: MIT */
/* Reading a log back while it grows and is rotated. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/audit.h"
#include "tests/unit/audit_log.h"
#include "tests/unit/test.h"

/* Read @n lines, each of the record that follows the one before, and then none. */
static void read_on(struct audit_reader *reader, uint64_t *seq, unsigned n)
{
	struct audit_entry entry;
	struct audit_line line;

	while (n > 0) {
		assert_int_equal(audit_reader_next(reader, &line), 1);
		assert_true(line.whole);
		assert_int_equal(audit_entry_parse(line.text, line.len, &entry), 0);
		if (strcmp(entry.record.action, "continue") != 0) {
			assert_int_equal(entry.seq, ++*seq);
			n--;
		}
		audit_entry_done(&entry);
	}
	assert_int_equal(audit_reader_next(reader, &line), 0);
}

/* A reader that looks only now and then misses none of the files that came and went meanwhile. */
static void a_reader_follows_over_several_rotations(void **state)
{
	struct log *log = *state;
	struct audit_reader *reader = NULL;
	uint64_t seq = 0;
	char rotated[256];

	log_open(log,
		 &(struct audit_config){ .path = log->path, .rotate_bytes = 5000, .keep = 99 });
	for (unsigned i = 0; i < 10; i++)
		log_numbered(log, i);
	audit_flush(log->audit);
	assert_int_equal(audit_reader_open(log->path, &reader, &log->err), 0);
	read_on(reader, &seq, 10);
	for (unsigned i = 10; i < 100; i++)
		log_numbered(log, i);
	log_close(log);
	snprintf(rotated, sizeof(rotated), "%s.3", log->path);
	assert_int_equal(access(rotated, F_OK), 0);
	read_on(reader, &seq, 90);
	audit_reader_close(reader);
}

/* The bytes of a line need not be there all at once: the rest is waited for, and nothing is lost. */
static void a_line_may_come_in_parts(void **state)
{
	struct log *log = *state;
	struct audit_reader *reader = NULL;
	struct audit_line line;
	FILE *file;

	file = fopen(log->path, "w");
	assert_non_null(file);
	setbuf(file, NULL);
	fputs("{\"half\":", file);
	assert_int_equal(audit_reader_open(log->path, &reader, &log->err), 0);
	assert_int_equal(audit_reader_next(reader, &line), 0);
	assert_int_equal(audit_reader_amid(reader), 8);
	fputs("1}\n{", file);
	assert_int_equal(audit_reader_next(reader, &line), 1);
	assert_true(line.whole);
	assert_memory_equal(line.text, "{\"half\":1}", 10);
	assert_int_equal(audit_reader_amid(reader), 0);
	assert_int_equal(audit_reader_next(reader, &line), 0);
	fputs("}", file);
	/* What is taken is what was read. */
	assert_true(audit_reader_rest(reader, &line));
	assert_false(line.whole);
	assert_int_equal(line.len, 1);
	audit_reader_close(reader);
	fclose(file);
}

int main(void)
{
#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, log_setup, log_teardown)
	const struct CMUnitTest tests[] = {
		LOG_TEST(a_reader_follows_over_several_rotations),
		LOG_TEST(a_line_may_come_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
