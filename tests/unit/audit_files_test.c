/* SPDX-License-Identifier: MIT */
/* The files of a log: rotation, what is found at the start, and the chain. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "audit/audit.h"
#include "tests/unit/audit_log.h"
#include "tests/unit/test.h"

enum { N_NAMES = 2000 };

/* The path of @log with @suffix, valid until the next call. */
static const char *path_with(const struct log *log, const char *suffix)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s%s", log->path, suffix);
	return path;
}

/* Make a log of @n records, and close it. */
static void make_log(struct log *log, unsigned n)
{
	log_open(log, &(struct audit_config){ .path = log->path });
	for (unsigned i = 0; i < n; i++)
		log_numbered(log, i);
	log_close(log);
}

/* Add to @counts how often each nNNNN stands in the file @path; give its lines. */
static size_t count_names(const char *path, unsigned counts[N_NAMES])
{
	struct lines lines;
	size_t n;

	lines_read(&lines, path);
	assert_true(lines.whole);
	for (size_t i = 0; i < lines.n; i++) {
		const char *name = strstr(lines.text[i], "\"name\":\"n");
		unsigned long number = name != NULL ? strtoul(name + 9, NULL, 10) : N_NAMES;

		if (number < N_NAMES)
			counts[number]++;
	}
	n = lines.n;
	lines_free(&lines);
	return n;
}

static void assert_each_once(const unsigned counts[N_NAMES])
{
	for (unsigned i = 0; i < N_NAMES; i++)
		assert_int_equal(counts[i], 1);
}

/*
 * The chain, by a hash that is computed here
 */

static void hash_line(const char *line, char hex[65])
{
	unsigned char hash[32];

	assert_int_equal(EVP_Q_digest(NULL, "SHA256", NULL, line, strlen(line), hash, NULL), 1);
	for (unsigned i = 0; i < sizeof(hash); i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", hash[i]);
}

static void each_line_holds_the_hash_of_the_one_before(void **state)
{
	struct log *log = *state;
	char hex[65], expected[160];
	struct lines lines;

	make_log(log, 50);
	lines_read(&lines, log->path);
	assert_int_equal(lines.n, 50);
	for (size_t i = 1; i < lines.n; i++) {
		hash_line(lines.text[i - 1], hex);
		snprintf(expected, sizeof(expected), "\"prev\":\"%s\"}", hex);
		assert_non_null(strstr(lines.text[i], expected));
	}
	hash_line(lines.text[49], hex);
	snprintf(expected, sizeof(expected), "00000000000000000050 %s", hex);
	assert_true(log_has(path_with(log, ".head"), expected));
	lines_free(&lines);
}

static void a_restart_continues_the_chain(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 3);
	log_open(log, &(struct audit_config){ .path = log->path, .sync = true });
	assert_int_equal(log_numbered(log, 3), 4);
	log_close(log);
	assert_int_equal(log->n_reports, 0);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.lines, 4);
	assert_int_equal(summary.first_seq, 1);
	assert_int_equal(summary.last_seq, 4);
}

static void two_writers_are_one_too_many(void **state)
{
	struct log *log = *state;
	struct audit *second = NULL;

	log_open(log, &(struct audit_config){ .path = log->path });
	assert_int_equal(
		audit_open(&(struct audit_config){ .path = log->path }, &second, &log->err),
		-EBUSY);
	assert_non_null(strstr(log->err.text, log->path));
	assert_null(second);
}

static void what_is_no_regular_file_is_refused(void **state)
{
	struct log *log = *state;
	struct audit *audit = NULL;

	assert_int_equal(symlink("/dev/null", log->path), 0);
	assert_int_equal(audit_open(&(struct audit_config){ .path = log->path }, &audit, &log->err),
			 -EINVAL);
	assert_int_equal(unlink(log->path), 0);
	assert_int_equal(mkdir(log->path, 0700), 0);
	assert_int_equal(audit_open(&(struct audit_config){ .path = log->path }, &audit, &log->err),
			 -EISDIR);
	assert_int_equal(rmdir(log->path), 0);

	/* A FIFO beside it, in place of a rotated file or of the head, keeps nobody waiting. */
	make_log(log, 5);
	assert_int_equal(unlink(log->path), 0);
	assert_int_equal(mkfifo(path_with(log, ".1"), 0600), 0);
	make_log(log, 5);
	assert_int_equal(unlink(path_with(log, ".1")), 0);
}

/*
 * Rotation
 */

struct writer {
	struct log *log;
	unsigned pause_us;
	atomic_uint written;
};

static void *write_names(void *arg)
{
	struct writer *writer = arg;

	for (unsigned i = 0; i < N_NAMES; i++) {
		log_numbered(writer->log, i);
		atomic_store(&writer->written, i + 1);
		if (i % 10 == 0)
			usleep(writer->pause_us);
	}
	return NULL;
}

static void wait_until_written(const struct writer *writer, unsigned n)
{
	while (atomic_load(&writer->written) < n)
		usleep(500);
}

/* Five times `mv log log.N` and a reopen while 2000 names are written: each is there once. */
static void rotation_by_rename_loses_nothing(void **state)
{
	struct log *log = *state;
	struct writer writer = { .log = log, .pause_us = 1000 };
	unsigned counts[N_NAMES] = { 0 };
	struct audit_summary summary;
	char moved[256], suffix[8];
	pthread_t thread;

	log_open(log, &(struct audit_config){ .path = log->path });
	assert_int_equal(pthread_create(&thread, NULL, write_names, &writer), 0);
	for (unsigned i = 1; i <= 5; i++) {
		wait_until_written(&writer, i * N_NAMES / 6);
		snprintf(moved, sizeof(moved), "%s.%u", log->path, i);
		assert_int_equal(rename(log->path, moved), 0);
		audit_reopen(log->audit);
		audit_flush(log->audit);
	}
	pthread_join(thread, NULL);
	log_close(log);
	for (unsigned i = 0; i <= 5; i++) {
		snprintf(suffix, sizeof(suffix), ".%u", i);
		assert_true(count_names(path_with(log, i > 0 ? suffix : ""), counts) > 1);
	}
	assert_each_once(counts);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.lines, N_NAMES + 5);
}

static void rotation_by_size_loses_nothing(void **state)
{
	struct log *log = *state;
	unsigned counts[N_NAMES] = { 0 };
	struct audit_summary summary;
	unsigned files = 0;
	char suffix[8];
	struct stat st;

	log_open(log,
		 &(struct audit_config){ .path = log->path, .rotate_bytes = 20000, .keep = 99 });
	for (unsigned i = 0; i < N_NAMES; i++) {
		log_numbered(log, i);
		if (i % 100 == 0)
			audit_flush(log->audit);
	}
	log_close(log);
	for (;; files++) {
		snprintf(suffix, sizeof(suffix), ".%u", files);
		if (stat(path_with(log, files > 0 ? suffix : ""), &st) < 0)
			break;
		assert_true(st.st_size < 20000 + 300);
		count_names(path_with(log, files > 0 ? suffix : ""), counts);
	}
	assert_true(files > 20 && files < 40);
	assert_each_once(counts);
	assert_int_equal(log->n_reports, 0);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.first_seq, 1);
	assert_int_equal(summary.last_seq, N_NAMES);
}

static void rotation_keeps_so_many_files(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	log_open(log,
		 &(struct audit_config){ .path = log->path, .rotate_bytes = 20000, .keep = 2 });
	for (unsigned i = 0; i < N_NAMES; i++)
		log_numbered(log, i);
	log_close(log);
	assert_int_equal(access(path_with(log, ".2"), F_OK), 0);
	assert_int_equal(access(path_with(log, ".3"), F_OK), -1);
	assert_int_equal(access(path_with(log, ".new"), F_OK), -1);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_true(summary.first_seq > 1);
	assert_int_equal(summary.last_seq, N_NAMES);
}

/* `cp log log.1; : > log`: lines may be lost between the two, and verify says so. */
static void copy_and_truncate_shows(void **state)
{
	struct log *log = *state;
	unsigned counts[N_NAMES] = { 0 };
	struct audit_summary summary;

	log_open(log, &(struct audit_config){ .path = log->path });
	for (unsigned i = 0; i < 100; i++)
		log_numbered(log, i);
	audit_flush(log->audit);
	assert_int_equal(truncate(log->path, 0), 0);
	for (unsigned i = 100; i < 200; i++)
		log_numbered(log, i);
	log_close(log);
	assert_int_equal(count_names(log->path, counts), 100);
	assert_int_equal(log_verify(log, &summary), 1);
	assert_non_null(strstr(log->faults, "log:1: the log begins with record 101"));
}

static void a_name_that_cannot_be_opened_keeps_the_old_file(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	log_open(log, &(struct audit_config){ .path = log->path });
	log_numbered(log, 0);
	audit_flush(log->audit);
	assert_int_equal(rename(log->path, path_with(log, ".1")), 0);
	assert_int_equal(mkdir(log->path, 0700), 0);
	audit_reopen(log->audit);
	log_numbered(log, 1);
	audit_flush(log->audit);
	log_reports(log);
	assert_non_null(strstr(log->said, "could not be opened anew"));
	assert_true(log_has(path_with(log, ".1"), "n0001"));
	assert_int_equal(rmdir(log->path), 0);
	audit_reopen(log->audit);
	log_numbered(log, 2);
	log_close(log);
	assert_true(log_has(log->path, "n0002"));
	assert_int_equal(log_verify(log, &summary), 0);
}

static void a_rotation_that_fails_is_told_and_survived(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	assert_int_equal(mkdir(path_with(log, ".1"), 0700), 0);
	log_open(log, &(struct audit_config){ .path = log->path, .rotate_bytes = 5000, .keep = 1 });
	for (unsigned i = 0; i < 30; i++)
		log_numbered(log, i);
	log_close(log);
	assert_non_null(strstr(log->said, "could not be rotated"));
	assert_int_equal(rmdir(path_with(log, ".1")), 0);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.last_seq, 30);
}

/* Renamed while nobody wrote it: the new file goes on, and nothing is amiss. */
static void rotation_at_rest_continues_the_chain(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 5);
	assert_int_equal(rename(log->path, path_with(log, ".1")), 0);
	make_log(log, 5);
	assert_int_equal(log->n_reports, 0);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.last_seq, 10);
}

/*
 * What is found at the start
 */

static void append(const char *path, const char *text)
{
	FILE *file = fopen(path, "ae");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Open and close @log, which must say that it found @reason. */
static void find_at_start(struct log *log, const char *reason)
{
	char text[64];

	make_log(log, 1);
	assert_int_equal(log->n_reports, 1);
	snprintf(text, sizeof(text), "\"action\":\"gap\",\"reason\":\"%s\"", reason);
	assert_true(log_has(log->path, text));
}

static void a_torn_tail_is_kept_and_told(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct lines lines;

	make_log(log, 3);
	append(log->path, "{\"seq\":4,\"time\":\"20");
	find_at_start(log, "torn");
	lines_read(&lines, log->path);
	assert_int_equal(lines.n, 6);
	assert_string_equal(lines.text[3], "{\"seq\":4,\"time\":\"20");
	lines_free(&lines);
	assert_int_equal(log_verify(log, &summary), 2);
	assert_non_null(strstr(log->faults, "log:4: the line is no record"));
	assert_non_null(
		strstr(log->faults, "log:5: record 4 says: the line before this one was torn"));
}

static void a_foreign_tail_is_kept_and_told(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 3);
	append(log->path, "hello\n");
	find_at_start(log, "foreign");
	assert_true(log_has(log->path, "hello"));
	assert_int_equal(log_verify(log, &summary), 2);
}

static void a_cut_tail_is_told(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct lines lines;

	make_log(log, 5);
	lines_read(&lines, log->path);
	lines.n = 3;
	lines_write(&lines, log->path);
	lines_free(&lines);
	find_at_start(log, "cut");
	assert_int_equal(log_verify(log, &summary), 1);
	assert_non_null(strstr(log->faults, "ended with record 3, though its head named record 5"));
	assert_int_equal(summary.last_seq, 7);
}

static void an_emptied_log_is_told(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 5);
	assert_int_equal(truncate(log->path, 0), 0);
	find_at_start(log, "cut");
	assert_int_equal(log_verify(log, &summary), 1);
	assert_int_equal(summary.last_seq, 7);
}

static void a_changed_tail_is_told(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct lines lines;

	make_log(log, 5);
	lines_read(&lines, log->path);
	*strstr(lines.text[4], "deny") = 'D';
	lines_write(&lines, log->path);
	lines_free(&lines);
	find_at_start(log, "changed");
	assert_int_equal(log_verify(log, &summary), 1);
}

static void a_lost_head_is_told(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 5);
	assert_int_equal(unlink(path_with(log, ".head")), 0);
	find_at_start(log, "no-head");
	assert_int_equal(log_verify(log, &summary), 1);
}

/*
 * What verify must see
 */

static void an_intact_log_has_no_fault(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 100);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(log->n_told, 0);
	assert_int_equal(summary.lines, 100);
}

static void an_edit_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct lines lines;

	make_log(log, 20);
	for (size_t i = 0; i < 20; i++) {
		char *word;

		lines_read(&lines, log->path);
		word = strstr(lines.text[i], "deny");
		word[0] = 'D';
		lines_write(&lines, log->path);
		assert_int_equal(log_verify(log, &summary), 1);
		word[0] = 'd';
		lines_write(&lines, log->path);
		lines_free(&lines);
		assert_int_equal(log_verify(log, &summary), 0);
	}
}

static void a_deletion_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 10);
	for (size_t gone = 0; gone < 10; gone++) {
		struct lines whole, cut;

		lines_read(&whole, log->path);
		lines_read(&cut, log->path);
		cut.n--;
		memmove(cut.text + gone, cut.text + gone + 1, (cut.n - gone) * sizeof(*cut.text));
		lines_write(&cut, log->path);
		assert_int_equal(log_verify(log, &summary), 1);
		lines_write(&whole, log->path);
		lines_free(&whole);
		lines_free(&cut);
	}
	assert_int_equal(log_verify(log, &summary), 0);
}

static void a_reordering_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct lines lines;
	char *moved;

	make_log(log, 10);
	lines_read(&lines, log->path);
	moved = lines.text[4];
	lines.text[4] = lines.text[5];
	lines.text[5] = moved;
	lines_write(&lines, log->path);
	lines_free(&lines);
	assert_int_equal(log_verify(log, &summary), 3);
	assert_non_null(strstr(log->faults, "log:5: record 6 does not follow"));
}

static void a_cut_tail_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct lines lines;

	make_log(log, 10);
	lines_read(&lines, log->path);
	lines.n = 7;
	lines_write(&lines, log->path);
	lines_free(&lines);
	assert_int_equal(log_verify(log, &summary), 1);
	assert_non_null(strstr(log->faults, "log:0: the log ends with record 7, but its head names "
					    "record 10"));
}

static void a_torn_line_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	struct stat st;

	make_log(log, 10);
	assert_int_equal(stat(log->path, &st), 0);
	assert_int_equal(truncate(log->path, st.st_size - 1), 0);
	assert_true(log_verify(log, &summary) > 0);
	assert_non_null(strstr(log->faults, "log:10: the line is torn"));
}

static void a_lost_file_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	log_open(log, &(struct audit_config){ .path = log->path, .rotate_bytes = 5000, .keep = 9 });
	for (unsigned i = 0; i < 100; i++)
		log_numbered(log, i);
	log_close(log);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(unlink(path_with(log, ".2")), 0);
	assert_int_equal(log_verify(log, &summary), 1);
	assert_non_null(strstr(log->faults, "log.1:1: the file goes on from record"));
	assert_int_equal(unlink(log->path), 0);
	assert_int_equal(log_verify(log, &summary), 2);
}

static void a_missing_head_shows(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	make_log(log, 10);
	assert_int_equal(unlink(path_with(log, ".head")), 0);
	assert_int_equal(log_verify(log, &summary), 1);
	assert_non_null(strstr(log->faults, "log.head:0: the head is missing"));
}

static void a_log_that_is_not_there_cannot_be_verified(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;

	assert_int_equal(audit_verify(log->path, NULL, NULL, &summary, &log->err), -ENOENT);
}

/* The log is verified while it is written and rotated: no fault may be seen that is none. */
static void a_log_in_use_has_no_fault(void **state)
{
	struct log *log = *state;
	struct writer writer = { .log = log, .pause_us = 2000 };
	struct audit_summary summary;
	pthread_t thread;

	log_open(log,
		 &(struct audit_config){ .path = log->path, .rotate_bytes = 50000, .keep = 99 });
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_names, &writer), 0);
	while (atomic_load(&writer.written) < N_NAMES && log_verify(log, &summary) == 0)
		;
	pthread_join(thread, NULL);
	assert_string_equal(log->faults, "");
	assert_int_equal(log_verify(log, &summary), 0);
}

int main(void)
{
#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, log_setup, log_teardown)
	const struct CMUnitTest tests[] = {
		LOG_TEST(each_line_holds_the_hash_of_the_one_before),
		LOG_TEST(a_restart_continues_the_chain),
		LOG_TEST(two_writers_are_one_too_many),
		LOG_TEST(what_is_no_regular_file_is_refused),
		LOG_TEST(rotation_by_rename_loses_nothing),
		LOG_TEST(rotation_by_size_loses_nothing),
		LOG_TEST(rotation_keeps_so_many_files),
		LOG_TEST(copy_and_truncate_shows),
		LOG_TEST(a_name_that_cannot_be_opened_keeps_the_old_file),
		LOG_TEST(a_rotation_that_fails_is_told_and_survived),
		LOG_TEST(rotation_at_rest_continues_the_chain),
		LOG_TEST(a_torn_tail_is_kept_and_told),
		LOG_TEST(a_foreign_tail_is_kept_and_told),
		LOG_TEST(a_cut_tail_is_told),
		LOG_TEST(an_emptied_log_is_told),
		LOG_TEST(a_changed_tail_is_told),
		LOG_TEST(a_lost_head_is_told),
		LOG_TEST(an_intact_log_has_no_fault),
		LOG_TEST(an_edit_shows),
		LOG_TEST(a_deletion_shows),
		LOG_TEST(a_reordering_shows),
		LOG_TEST(a_cut_tail_shows),
		LOG_TEST(a_torn_line_shows),
		LOG_TEST(a_lost_file_shows),
		LOG_TEST(a_missing_head_shows),
		LOG_TEST(a_log_that_is_not_there_cannot_be_verified),
		LOG_TEST(a_log_in_use_has_no_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
