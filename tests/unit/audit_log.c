/* SPDX-License-Identifier: MIT */
#include "tests/unit/audit_log.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int log_setup(void **state)
{
	struct log *log = calloc(1, sizeof(*log));

	if (log == NULL)
		return -1;
	pthread_mutex_init(&log->lock, NULL);
	snprintf(log->dir, sizeof(log->dir), "/tmp/bailiwick-audit-XXXXXX");
	if (mkdtemp(log->dir) == NULL)
		return -1;
	snprintf(log->path, sizeof(log->path), "%s/log", log->dir);
	*state = log;
	return 0;
}

int log_teardown(void **state)
{
	struct log *log = *state;
	DIR *dir = opendir(log->dir);
	struct dirent *e;
	char path[512];

	audit_close(log->audit);
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", log->dir, e->d_name);
		if (e->d_name[0] != '.')
			remove(path);
	}
	if (dir != NULL)
		closedir(dir);
	rmdir(log->dir);
	pthread_mutex_destroy(&log->lock);
	free(log);
	return 0;
}

static void note_text(char text[4096], const char *more)
{
	size_t len = strlen(text);

	snprintf(text + len, 4096 - len, "%s\n", more);
}

static void on_report(void *arg, const char *text)
{
	struct log *log = arg;

	pthread_mutex_lock(&log->lock);
	note_text(log->heard, text);
	log->n_heard++;
	pthread_mutex_unlock(&log->lock);
}

void log_open(struct log *log, const struct audit_config *config)
{
	struct audit_config whole = *config;

	whole.report = on_report;
	whole.report_arg = log;
	assert_int_equal(audit_open(&whole, &log->audit, &log->err), 0);
	log_reports(log);
}

void log_close(struct log *log)
{
	audit_close(log->audit);
	log->audit = NULL;
	log_reports(log);
}

unsigned log_reports(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	memcpy(log->said, log->heard, sizeof(log->said));
	log->n_reports = log->n_heard;
	pthread_mutex_unlock(&log->lock);
	return log->n_reports;
}

uint64_t log_write(struct log *log, const struct audit_record *record)
{
	uint64_t id = 0;

	assert_int_equal(audit_write(log->audit, record, &id), 0);
	return id;
}

void log_name(struct name *ret_name, const char *label)
{
	static const char parent[] = "\3bad\7example\3com";
	size_t len = strlen(label);
	uint8_t wire[255];

	wire[0] = (uint8_t)len;
	for (size_t i = 0; i < len; i++)
		wire[1 + i] = (uint8_t)label[i];
	memcpy(wire + 1 + len, parent, sizeof(parent));
	assert_int_equal(name_from_wire(wire, 1 + len + sizeof(parent), ret_name), 0);
}

uint64_t log_numbered(struct log *log, unsigned number)
{
	struct name name;
	char label[16];

	snprintf(label, sizeof(label), "n%04u", number % 10000);
	log_name(&name, label);
	return log_write(
		log, &(struct audit_record){ .action = "query", .name = &name, .verdict = "deny" });
}

static void on_fault(void *arg, const char *path, uint64_t line, bool told, const char *text)
{
	struct log *log = arg;
	char where[1600];

	snprintf(where, sizeof(where), "%s:%u: %s", strrchr(path, '/') + 1, (unsigned)line, text);
	note_text(log->faults, where);
	if (told)
		log->n_told++;
	else
		log->n_broken++;
}

uint64_t log_verify(struct log *log, struct audit_summary *ret_summary)
{
	log->n_told = 0;
	log->n_broken = 0;
	log->faults[0] = '\0';
	assert_int_equal(audit_verify(log->path, on_fault, log, ret_summary, &log->err), 0);
	assert_int_equal(ret_summary->breaks, log->n_broken);
	return ret_summary->breaks;
}

bool log_has(const char *path, const char *text)
{
	struct lines lines;
	bool has = false;

	lines_read(&lines, path);
	for (size_t i = 0; i < lines.n; i++)
		has = has || strstr(lines.text[i], text) != NULL;
	lines_free(&lines);
	return has;
}

void lines_read(struct lines *ret_lines, const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	struct lines lines = { .n = 0 };
	char *rest;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	lines.memory = calloc(1, (size_t)st.st_size + 1);
	lines.text = calloc((size_t)st.st_size + 1, sizeof(*lines.text));
	assert_non_null(lines.memory);
	assert_non_null(lines.text);
	lines.bytes = fread(lines.memory, 1, (size_t)st.st_size, file);
	fclose(file);
	lines.whole = lines.bytes == 0 || (lines.memory[lines.bytes - 1] == '\n' &&
					   memchr(lines.memory, '\0', lines.bytes) == NULL);
	for (char *line = strtok_r(lines.memory, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		lines.text[lines.n++] = line;
	*ret_lines = lines;
}

void lines_write(const struct lines *lines, const char *path)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	for (size_t i = 0; i < lines->n; i++)
		fprintf(file, "%s\n", lines->text[i]);
	assert_int_equal(fclose(file), 0);
}

void lines_free(struct lines *lines)
{
	free(lines->memory);
	free(lines->text);
}
