/* SPDX-License-Identifier: MIT */
/*
 * Reading a log back
 *
 * All files are opened at once, so that a rotation meanwhile takes none of
 * them away: LOG first, then the rotated ones, since a file only ever moves
 * from the former to the latter. They are put in the order of their first
 * records, whatever their names say of it. The last one, LOG, is followed; once
 * it was renamed, all files are looked for again, since several rotations may
 * lie between two looks.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "audit/audit.h"
#include "base/limits.h"
#include "base/own.h"

enum { MAX_TRIES = 10 };

struct source {
	char *path;
	FILE *file; /* NULL: LOG is not there now */
	dev_t device;
	ino_t inode;
	uint64_t first_seq;   /* 0: unknown */
	unsigned long number; /* of a rotated file */
};

struct audit_reader {
	char *path;
	struct source *sources; /* the last is LOG */
	size_t n_sources, size, at;
	char *text; /* LIMIT_AUDIT_LINE_BYTES + 1 bytes: the line that is being read */
	size_t len;
	uint64_t number; /* of the last line that was given */
	bool given;      /* what is at text was given */
	bool cut;        /* the line is longer than that */
	bool renamed;    /* LOG is another file by now; this one is read to its end */
};

static struct source *log_of(const struct audit_reader *reader)
{
	return &reader->sources[reader->n_sources - 1];
}

static void own_dir(DIR **dir)
{
	if (*dir != NULL)
		closedir(*dir);
}

static void own_file(FILE **file)
{
	if (*file != NULL)
		fclose(*file);
}

/*
 * Opening
 */

/* Open @path into @source, which has none open. */
static int open_source(struct source *source, const char *path)
{
	OWN(own_file) FILE *file = fopen(path, "re");
	struct stat st;

	if (file == NULL || fstat(fileno(file), &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	source->file = steal_ptr(file);
	source->device = st.st_dev;
	source->inode = st.st_ino;
	return 0;
}

/* Put a new source behind the others. NULL: there is no memory. */
static struct source *add_source(struct audit_reader *reader, const char *path)
{
	size_t size = reader->size > 0 ? 2 * reader->size : 8;
	struct source *grown;

	if (reader->n_sources == reader->size) {
		grown = reallocarray(reader->sources, size, sizeof(*grown));
		if (grown == NULL)
			return NULL;
		reader->sources = grown;
		reader->size = size;
	}
	grown = &reader->sources[reader->n_sources];
	*grown = (struct source){ .path = strdup(path) };
	if (grown->path == NULL)
		return NULL;
	reader->n_sources++;
	return grown;
}

static bool has_source(const struct audit_reader *reader, const struct source *source)
{
	for (size_t i = 0; i < reader->n_sources; i++) {
		const struct source *other = &reader->sources[i];

		if (other != source && other->file != NULL && other->device == source->device &&
		    other->inode == source->inode)
			return true;
	}
	return false;
}

/* Find the number of the first record of @source, and wind it back. */
static void note_first_seq(struct audit_reader *reader, struct source *source)
{
	OWN(audit_entry_done) struct audit_entry entry = { .seq = 0 };

	if (fgets(reader->text, LIMIT_AUDIT_LINE_BYTES + 1, source->file) != NULL &&
	    audit_entry_parse(reader->text, strcspn(reader->text, "\n"), &entry) == 0)
		source->first_seq = entry.seq;
	rewind(source->file);
}

/* The number in @name if that is @base, a dot or hyphen and a number; else 0. */
static unsigned long rotated_number(const char *name, const char *base)
{
	size_t len = strlen(base);
	const char *digits = name + len + 1;

	if (strncmp(name, base, len) != 0 || (name[len] != '.' && name[len] != '-'))
		return 0;
	if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
		return 0;
	return strtoul(digits, NULL, 10);
}

static int add_rotated(struct audit_reader *reader, const char *path, unsigned long number)
{
	struct source *source;
	int r;

	if (reader->n_sources >= LIMIT_AUDIT_FILES)
		return -E2BIG;
	source = add_source(reader, path);
	if (source == NULL)
		return -ENOMEM;
	source->number = number;
	r = open_source(source, path);
	if (r == 0 && !has_source(reader, source)) {
		note_first_seq(reader, source);
		return 0;
	}
	/* It was read already, under its name of before, or deleted just now. */
	if (source->file != NULL)
		fclose(source->file);
	free(source->path);
	reader->n_sources--;
	return r == -ENOENT ? 0 : r;
}

static int add_all_rotated(struct audit_reader *reader, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	OWN(own_free) char *folder = strndup(path, (size_t)(base - path));
	OWN(own_dir) DIR *dir = NULL;
	char rotated[4096];
	struct dirent *e;
	unsigned long number;
	int r = 0;

	if (folder == NULL)
		return err_set(err, -ENOMEM, "no memory to read %s", path);
	dir = opendir(slash != NULL ? folder : ".");
	if (dir == NULL)
		return 0; /* LOG alone can be read */
	while (r == 0 && (e = readdir(dir)) != NULL) {
		number = rotated_number(e->d_name, base);
		if (number == 0)
			continue;
		if (snprintf(rotated, sizeof(rotated), "%s%s", folder, e->d_name) >=
		    (int)sizeof(rotated))
			return err_set(err, -ENAMETOOLONG, "the name %s is too long", path);
		r = add_rotated(reader, rotated, number);
		if (r < 0)
			return err_set(err, r, "%s cannot be read: %s", rotated, strerror(-r));
	}
	return 0;
}

static int compare_sources(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	if (x->first_seq != y->first_seq)
		return x->first_seq < y->first_seq ? -1 : 1;
	return x->number > y->number ? -1 : x->number < y->number;
}

static void drop_sources(struct audit_reader *reader)
{
	for (size_t i = 0; i < reader->n_sources; i++) {
		if (reader->sources[i].file != NULL)
			fclose(reader->sources[i].file);
		free(reader->sources[i].path);
	}
	reader->n_sources = 0;
	reader->at = 0;
}

static int open_all(struct audit_reader *reader, struct err *err)
{
	struct source *source = add_source(reader, reader->path);
	struct source newest;
	int r;

	if (source == NULL)
		return err_set(err, -ENOMEM, "no memory to read %s", reader->path);
	r = open_source(source, reader->path);
	if (r < 0 && r != -ENOENT)
		return err_set(err, r, "%s cannot be read: %s", reader->path, strerror(-r));
	r = add_all_rotated(reader, reader->path, err);
	if (r < 0)
		return r;
	newest = reader->sources[0];
	qsort(reader->sources + 1, reader->n_sources - 1, sizeof(newest), compare_sources);
	memmove(reader->sources, reader->sources + 1, (reader->n_sources - 1) * sizeof(newest));
	*log_of(reader) = newest;
	return 0;
}

/* True if LOG is not the file that was opened as LOG. */
static bool is_renamed(const struct audit_reader *reader)
{
	const struct source *log = log_of(reader);
	struct stat st;

	return stat(log->path, &st) == 0 &&
	       (log->file == NULL || st.st_dev != log->device || st.st_ino != log->inode);
}

/* Open all files anew; again if they were rotated meanwhile, since one may have been missed. */
static int find_sources(struct audit_reader *reader, struct err *err)
{
	int r = 0;

	for (unsigned tries = 0; tries < MAX_TRIES; tries++) {
		drop_sources(reader);
		r = open_all(reader, err);
		if (r < 0 || !is_renamed(reader))
			break;
	}
	return r;
}

static void own_reader(struct audit_reader **reader)
{
	audit_reader_close(*reader);
}

int audit_reader_open(const char *path, struct audit_reader **ret_reader, struct err *err)
{
	OWN(own_reader) struct audit_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (reader == NULL)
		return err_set(err, -ENOMEM, "no memory to read %s", path);
	reader->path = strdup(path);
	reader->text = malloc(LIMIT_AUDIT_LINE_BYTES + 1);
	if (reader->path == NULL || reader->text == NULL)
		/* cppcheck-suppress memleak ; OWN() frees it, which cppcheck does not know */
		return err_set(err, -ENOMEM, "no memory to read %s", path);
	r = find_sources(reader, err);
	if (r < 0)
		return r;
	if (reader->n_sources == 1 && log_of(reader)->file == NULL)
		return err_set(err, -ENOENT, "%s cannot be read: %s", path, strerror(ENOENT));
	*ret_reader = steal_ptr(reader);
	return 0;
}

void audit_reader_close(struct audit_reader *reader)
{
	if (reader == NULL)
		return;
	drop_sources(reader);
	free(reader->sources);
	free(reader->path);
	free(reader->text);
	free(reader);
}

/*
 * Reading
 */

/* Read on in the line that is being read. Gives 1 if it is at its end, 0 if the file is. */
static int read_line(struct audit_reader *reader, FILE *file)
{
	int c;

	while ((c = getc_unlocked(file)) != EOF && c != '\n') {
		if (reader->len < LIMIT_AUDIT_LINE_BYTES)
			reader->text[reader->len++] = (char)c;
		else
			reader->cut = true;
	}
	if (c == EOF && ferror(file))
		return errno != 0 ? -errno : -EIO;
	return c == '\n';
}

static int give_line(struct audit_reader *reader, bool whole, struct audit_line *ret_line)
{
	reader->given = true;
	*ret_line = (struct audit_line){
		.path = reader->sources[reader->at].path,
		.number = ++reader->number,
		.text = reader->text,
		.len = reader->len,
		.whole = whole && !reader->cut,
	};
	return 1;
}

static void drop_line(struct audit_reader *reader)
{
	reader->len = 0;
	reader->given = false;
	reader->cut = false;
}

/* LOG is at its end. See whether it is so still; false if there is nothing to read on. */
static bool follow_log(struct audit_reader *reader)
{
	struct source *log = log_of(reader);
	struct stat st;

	if (log->file == NULL)
		return open_source(log, log->path) == 0;
	clearerr(log->file);
	if (is_renamed(reader)) {
		reader->renamed = true; /* more may have been written to it before it was */
		return true;
	}
	if (fstat(fileno(log->file), &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size >= ftello(log->file))
		return false;
	rewind(log->file);
	drop_line(reader);
	reader->number = 0;
	return true;
}

/* LOG was renamed, and what it was is read to its end. Go to the file that came after it. */
static int leave_log(struct audit_reader *reader)
{
	const struct source left = *log_of(reader);
	struct err err;
	size_t i = 0;
	int r;

	reader->renamed = false;
	reader->number = 0;
	r = find_sources(reader, &err);
	if (r < 0)
		return r;
	while (i < reader->n_sources &&
	       (reader->sources[i].device != left.device || reader->sources[i].inode != left.inode))
		i++;
	reader->at = i + 1 < reader->n_sources ? i + 1 : reader->n_sources - 1;
	return 1;
}

/* The file at hand is at its end. Gives 1 if reading goes on, 0 if there is no more yet. */
static int go_on(struct audit_reader *reader)
{
	if (&reader->sources[reader->at] == log_of(reader))
		return reader->renamed ? leave_log(reader) : follow_log(reader);
	reader->at++;
	reader->number = 0;
	return 1;
}

int audit_reader_next(struct audit_reader *reader, struct audit_line *ret_line)
{
	struct source *source;
	bool is_over;
	int r;

	if (reader->given)
		drop_line(reader);
	for (;;) {
		source = &reader->sources[reader->at];
		r = source->file != NULL ? read_line(reader, source->file) : 0;
		if (r < 0)
			return r;
		if (r > 0)
			return give_line(reader, true, ret_line);
		is_over = source != log_of(reader) || reader->renamed;
		if (is_over && reader->len > 0)
			return give_line(reader, false, ret_line);
		r = go_on(reader);
		if (r <= 0)
			return r;
	}
}

size_t audit_reader_amid(const struct audit_reader *reader)
{
	return reader->given ? 0 : reader->len;
}

bool audit_reader_rest(struct audit_reader *reader, struct audit_line *ret_line)
{
	return audit_reader_amid(reader) > 0 && give_line(reader, false, ret_line) == 1;
}
