/* SPDX-License-Identifier: MIT */
/* The form of a record, the queue and its writer, and what becomes of the files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "audit/audit.h"
#include "audit/chain.h"
#include "audit/record.h"
#include "tests/unit/audit_log.h"
#include "tests/unit/test.h"

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

/*
 * The form of a line
 */

static void every_member_has_its_form(void **state)
{
	static char line[LIMIT_AUDIT_LINE_BYTES];
	const struct record_stamp stamp = { 42, 1796042096789, 5000000 };
	struct address agent, addresses[2];
	struct name name;
	const struct audit_record record = {
		.action = "query",
		.generation = 3,
		.agent = &agent,
		.name = &name,
		.type = "AAAA",
		.transport = "tcp",
		.verdict = "allow",
		.reason = "granted",
		.grant = "git",
		.rcode = "NOERROR",
		.addresses = addresses,
		.n_addresses = 2,
		.detail = "so",
		.duration_us = 1234,
		.timed = true,
	};
	size_t len;

	(void)state;
	assert_int_equal(address_parse("10.0.0.7", &agent), 0);
	assert_int_equal(address_parse("192.0.2.1", &addresses[0]), 0);
	assert_int_equal(address_parse("2001:db8::1", &addresses[1]), 0);
	assert_int_equal(name_parse("Git.Example.COM", &name), 0);
	len = record_format(&record, &stamp, zeros, line);
	line[len] = '\0';
	assert_string_equal(
		line,
		"{\"seq\":42,\"time\":\"2026-11-30T12:34:56.789Z\",\"mono_us\":5000000,"
		"\"generation\":3,\"action\":\"query\",\"agent\":\"10.0.0.7\","
		"\"name\":\"git.example.com\",\"type\":\"AAAA\",\"transport\":\"tcp\","
		"\"verdict\":\"allow\",\"reason\":\"granted\",\"grant\":\"git\","
		"\"rcode\":\"NOERROR\",\"addresses\":[\"192.0.2.1\",\"2001:db8::1\"],"
		"\"duration_us\":1234,\"detail\":\"so\",\"prev\":\"00000000000000000000000000000000"
		"00000000000000000000000000000000\"}\n");
}

static void absent_members_are_left_out(void **state)
{
	static char line[LIMIT_AUDIT_LINE_BYTES];
	const struct record_stamp stamp = { 1, 0, 0 };
	const struct audit_record record = { .action = "start" };
	size_t len;

	(void)state;
	len = record_format(&record, &stamp, zeros, line);
	line[len] = '\0';
	assert_string_equal(
		line, "{\"seq\":1,\"time\":\"1970-01-01T00:00:00.000Z\",\"mono_us\":0,"
		      "\"generation\":0,\"action\":\"start\",\"prev\":\"000000000000000000000000"
		      "0000000000000000000000000000000000000000\"}\n");
}

static void packed_records_come_back(void **state)
{
	static _Alignas(max_align_t) uint8_t room[4096];
	static char direct[LIMIT_AUDIT_LINE_BYTES], unpacked[LIMIT_AUDIT_LINE_BYTES];
	const struct record_stamp stamp = { 7, 1796042096789, 11 };
	struct address address;
	struct name name, again;
	const struct origin origin = { "DE", 64500 };
	const struct audit_record record = {
		.action = "query",
		.origins = &origin,
		.agent = &address,
		.name = &name,
		.reason = "",
		.detail = "d\xff",
		.addresses = &address,
		.n_addresses = 1,
		.timed = true,
	};
	struct audit_record back;
	struct record_stamp stamp_back;
	size_t n, len;

	(void)state;
	assert_int_equal(address_parse("2001:db8::7", &address), 0);
	assert_int_equal(name_parse("a.b", &name), 0);
	n = record_pack(&record, &stamp, room, sizeof(room));
	assert_true(n > 0);
	assert_int_equal(record_pack(&record, &stamp, room, n - 1), 0);
	assert_int_equal(record_unpack(room, &stamp_back, &back, &again), n);
	len = record_format(&record, &stamp, zeros, direct);
	assert_int_equal(record_format(&back, &stamp_back, zeros, unpacked), len);
	assert_memory_equal(direct, unpacked, len);
	direct[len] = '\0';
	assert_non_null(strstr(direct, ",\"countries\":[\"DE\"],\"asns\":[64500],"));
}

/* A record as long as can be: every text, name and address at its limit, every byte escaped. */
static void the_longest_record_fits(void **state)
{
	static char line[LIMIT_AUDIT_LINE_BYTES], text[2 * LIMIT_AUDIT_TEXT_BYTES];
	static struct address addresses[2 * LIMIT_ANSWER_ADDRESSES];
	static struct origin origins[2 * LIMIT_ANSWER_ADDRESSES];
	static _Alignas(max_align_t) uint8_t room[1 << 17];
	const struct record_stamp stamp = { UINT64_MAX, 1796042096789, UINT64_MAX };
	struct record_stamp stamp_back;
	struct name name = { .len = 255, .labels = 4 }, again;
	struct audit_record record = {
		.action = text,
		.generation = UINT64_MAX,
		.name = &name,
		.type = text,
		.transport = text,
		.verdict = text,
		.reason = text,
		.grant = text,
		.rcode = text,
		.detail = text,
		.timed = true,
		.duration_us = UINT64_MAX,
		.agent = addresses,
		.addresses = addresses,
		.n_addresses = 2 * LIMIT_ANSWER_ADDRESSES,
		.origins = origins,
	};
	struct audit_record back;
	size_t len;

	(void)state;
	memset(text, 0xff, sizeof(text) - 1);
	memset(addresses, 0xff, sizeof(addresses));
	for (size_t i = 0; i < LENGTH(addresses); i++) {
		addresses[i].family = 6;
		origins[i] = (struct origin){ "ZZ", UINT32_MAX };
	}
	memset(name.wire, 0xff, sizeof(name.wire));
	name.wire[0] = name.wire[64] = name.wire[128] = 63;
	name.wire[192] = 61;
	name.wire[254] = 0;
	assert_true(record_pack(&record, &stamp, room, sizeof(room)) > 0);
	record_unpack(room, &stamp_back, &back, &again);
	assert_int_equal(strlen(back.detail), LIMIT_AUDIT_TEXT_BYTES - 1);
	assert_int_equal(back.n_addresses, LIMIT_ANSWER_ADDRESSES);
	len = record_format(&record, &stamp, zeros, line);
	assert_true(len > (size_t)6 * 8 * (LIMIT_AUDIT_TEXT_BYTES - 1) &&
		    len <= LIMIT_AUDIT_LINE_BYTES);
	assert_int_equal(line[len - 1], '\n');
}

/* Names and texts that try to forge a line, a verdict or a terminal's escape. */
static void hostile_bytes_forge_nothing(void **state)
{
	static const char *const evil[] = { "a\n{\"verdict\":\"allow\",\"name\":\"ok",
					    "a\"b",
					    "a\x1b[2Kb",
					    "a\\b",
					    "a\r",
					    "a\xff",
					    "a\205b",
					    "a|b,c;d",
					    "%n%s",
					    "a\x7f" };
	const size_t n = LENGTH(evil);
	struct log *log = *state;
	struct audit_entry entry;
	struct lines lines;
	struct name name;

	log_open(log, &(struct audit_config){ .path = log->path });
	for (size_t i = 0; i < n; i++) {
		log_name(&name, evil[i]);
		log_write(log, &(struct audit_record){ .action = "query",
						       .verdict = "deny",
						       .name = &name,
						       .detail = evil[i] });
	}
	log_close(log);
	lines_read(&lines, log->path);
	assert_int_equal(lines.n, n);
	for (size_t i = 0; i < n; i++) {
		for (const char *at = lines.text[i]; *at != '\0'; at++)
			assert_true(*at >= ' ' && *at <= '~');
		assert_int_equal(audit_entry_parse(lines.text[i], strlen(lines.text[i]), &entry),
				 0);
		log_name(&name, evil[i]);
		assert_true(name_equal(entry.record.name, &name));
		assert_string_equal(entry.record.verdict, "deny");
		audit_entry_done(&entry);
	}
	assert_non_null(strstr(lines.text[2], "\"detail\":\"a\\u001b[2Kb\""));
	assert_non_null(strstr(lines.text[5], "\"detail\":\"a\\u00ff\""));
	lines_free(&lines);
}

static void lines_of_others_are_refused(void **state)
{
	static const char good[] =
		"{\"seq\":1,\"time\":\"2026-11-30T12:34:56.789Z\",\"mono_us\":1,\"generation\":0,"
		"\"action\":\"x\",\"prev\":\"00000000000000000000000000000000000000000000000000"
		"00000000000000\"}";
	static const struct {
		const char *find, *replace;
	} faults[] = {
		{ "\"seq\":1,", "" },
		{ "\"seq\":1", "\"seq\":0" },
		{ "\"seq\":1", "\"seq\":-1" },
		{ "\"seq\":1", "\"seq\":\"1\"" },
		{ "\"seq\":1", "\"seq\":1,\"seq\":1" },
		{ "11-30", "11-31" },
		{ ".789Z", ".78Z" },
		{ "12:34", "24:34" },
		{ "\"x\"", "7" },
		{ "\"x\"", "\"x\",\"agent\":\"1.2.3\"" },
		{ "\"x\"", "\"x\",\"name\":\"a..b\"" },
		{ "\"x\"", "\"x\",\"addresses\":\"1.2.3.4\"" },
		{ "\"x\"", "\"x\",\"addresses\":[7]" },
		{ "\"x\"", "\"\x7f\"" },
		{ "\"x\"", "\"\xc2\x9b\"" },
		{ ":\"00", ":\"0" },
		{ ":\"00", ":\"A0" },
		{ "}", "" },
		{ "{", "[{" },
	};
	struct audit_entry entry;
	char text[512];

	(void)state;
	assert_int_equal(audit_entry_parse(good, strlen(good), &entry), 0);
	audit_entry_done(&entry);
	for (size_t i = 0; i < LENGTH(faults); i++) {
		const char *at = strstr(good, faults[i].find);

		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, faults[i].replace,
			 at + strlen(faults[i].find));
		assert_int_equal(audit_entry_parse(text, strlen(text), &entry), -EBADMSG);
	}
}

/*
 * The queue
 */

static void without_a_path_records_get_numbers(void **state)
{
	struct log *log = *state;

	log_open(log, &(struct audit_config){ .path = NULL });
	assert_int_equal(log_numbered(log, 0), 1);
	assert_int_equal(log_numbered(log, 1), 2);
	assert_int_equal(audit_ready(log->audit), 0);
	audit_reopen(log->audit);
	audit_flush(log->audit);
}

/* A record that is slow to write: small in the queue, large in the line. */
static int write_slow(struct audit *audit, uint64_t *ret_id)
{
	static char text[LIMIT_AUDIT_TEXT_BYTES];

	memset(text, 0x01, sizeof(text) - 1);
	return audit_write(audit, &(struct audit_record){ .action = "slow", .detail = text },
			   ret_id);
}

static void a_full_queue_refuses_and_says_so(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	uint64_t id, refused = 0;

	log_open(log, &(struct audit_config){ .path = log->path });
	for (unsigned i = 0; i < 1000000 && refused < 10; i++) {
		int r = write_slow(log->audit, &id);

		assert_true(r == 0 || r == -ENOBUFS);
		refused += r < 0;
	}
	assert_int_equal(refused, 10);
	log_close(log);
	assert_non_null(strstr(log->said, "records are missing"));
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.missing, 10);
}

static void a_full_queue_may_be_gone_past(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	uint64_t id = 0, i;

	log_open(log, &(struct audit_config){ .path = log->path, .on_failure = AUDIT_CONTINUE });
	for (i = 0; i < 20000; i++) {
		assert_int_equal(write_slow(log->audit, &id), 0);
		assert_true(id > i);
	}
	log_close(log);
	assert_true(id > 20000); /* gap records have numbers, too */
	assert_int_equal(log_verify(log, &summary), 0);
	assert_true(summary.missing > 0);
	assert_true(summary.last_seq >= id);
	assert_int_equal(summary.lines + summary.missing, summary.last_seq);
}

/*
 * A disk that is full
 */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Write until the disk is full; give how many records were refused or dropped since. */
static unsigned fill_disk(struct log *log, int expected)
{
	struct lines lines;
	unsigned before = log->n_reports;
	uint64_t id;

	limit_files(20000);
	for (unsigned i = 0; log_reports(log) == before; i++) {
		log_numbered(log, i);
		audit_flush(log->audit);
	}
	assert_non_null(strstr(log->said, "cannot be written"));
	assert_int_equal(audit_ready(log->audit), expected);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(
			audit_write(log->audit, &(struct audit_record){ .action = "lost" }, &id),
			expected);
	lines_read(&lines, log->path);
	assert_true(lines.whole);
	assert_true(lines.bytes > 19000 && lines.bytes <= 20000);
	lines_free(&lines);
	return 5;
}

static void write_again(struct log *log)
{
	limit_files(RLIM_INFINITY);
	for (unsigned i = 0; i < 100 && strstr(log->said, "written again") == NULL; i++) {
		usleep(20000);
		log_reports(log);
	}
	assert_non_null(strstr(log->said, "written again"));
	assert_int_equal(audit_ready(log->audit), 0);
	log_numbered(log, 9999);
	log_close(log);
}

static void a_full_disk_denies(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	unsigned missing;

	log_open(log, &(struct audit_config){ .path = log->path });
	missing = fill_disk(log, -EIO);
	write_again(log);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.missing, missing);
	assert_int_equal(log->n_told, 1);
	assert_int_equal(log->n_reports, 3); /* it cannot, it can, so many are missing */
	assert_true(log_has(log->path, "\"action\":\"gap\",\"reason\":\"not-written\""));
	assert_false(log_has(log->path, "\"action\":\"lost\""));
}

static void a_full_disk_may_be_gone_past(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	unsigned missing;

	log_open(log, &(struct audit_config){ .path = log->path, .on_failure = AUDIT_CONTINUE });
	missing = fill_disk(log, 0);
	write_again(log);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.missing, missing);
}

/* A new file on a disk with room ends the failure at once; what was held back is in it, once. */
static void a_full_disk_is_left_by_reopening(void **state)
{
	struct log *log = *state;
	struct audit_summary summary;
	char moved[256];

	log_open(log, &(struct audit_config){ .path = log->path });
	fill_disk(log, -EIO);
	snprintf(moved, sizeof(moved), "%s.1", log->path);
	assert_int_equal(rename(log->path, moved), 0);
	audit_reopen(log->audit);
	audit_flush(log->audit);
	assert_int_equal(audit_ready(log->audit), 0);
	limit_files(RLIM_INFINITY);
	log_close(log);
	assert_int_equal(log_verify(log, &summary), 0);
	assert_int_equal(summary.missing, 5);
}

int main(void)
{
#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, log_setup, log_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_has_its_form),
		cmocka_unit_test(absent_members_are_left_out),
		cmocka_unit_test(packed_records_come_back),
		cmocka_unit_test(the_longest_record_fits),
		cmocka_unit_test(lines_of_others_are_refused),
		LOG_TEST(hostile_bytes_forge_nothing),
		LOG_TEST(without_a_path_records_get_numbers),
		LOG_TEST(a_full_queue_refuses_and_says_so),
		LOG_TEST(a_full_queue_may_be_gone_past),
		LOG_TEST(a_full_disk_denies),
		LOG_TEST(a_full_disk_may_be_gone_past),
		LOG_TEST(a_full_disk_is_left_by_reopening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
