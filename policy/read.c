/* SPDX-License-Identifier: MIT */
/*
 * Reading, on inih
 *
 * inih says what is a section, a key, a continuation line. But it cuts: a
 * line behind INI_MAX_LINE bytes (200 where nobody chose), and reads the rest
 * as a line of its own; a section or key behind 49; a value at ` ;`, quoted
 * or not. It tells no line numbers, and nothing of a section without keys.
 *
 * So it is never given a line of the file. next_line() checks each line,
 * notes what stands on it, and hands inih a short one in its place, in which
 * STAND_IN, a byte that no line may hold, stands for the value. inih reads a
 * line and calls on_pair() before it asks for the next: the value meant is
 * always the one of the last line.
 */
#include "policy/read.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/limits.h"
#include "base/own.h"
#include "policy/utf8.h"

#define STAND_IN "\x01"

enum { INIH_NAME_MAX = 49 };

struct span {
	const char *at, *end;
};

/* The reading of one file. */
struct reader {
	struct load *load;
	struct read_section ***tail; /* of the document */
	const char *file;
	bool included;
	struct span rest; /* of the text */
	unsigned line;

	struct read_section *section; /* the last good one; NULL in a bad one */
	struct read_entry **entry_tail;
	struct read_entry *entry; /* that a continuation line continues; NULL: none does */
	struct read_piece **piece_tail;
	bool section_lost; /* the last section was a fault, which is told already */
	bool lost;         /* the last key was one */
	bool continues;    /* the last line is a continuation line */
	char *value;       /* of the last line; NULL: empty */
};

static struct policy_place here(const struct reader *r)
{
	return (struct policy_place){ r->file, r->line };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span trim(struct span s)
{
	while (s.at < s.end && is_blank(*s.at))
		s.at++;
	while (s.at < s.end && is_blank(s.end[-1]))
		s.end--;
	return s;
}

/* @s up to the first ` ;`, which begins a comment. */
static struct span cut_comment(struct span s)
{
	for (const char *at = s.at; at + 1 < s.end; at++)
		if (is_blank(*at) && at[1] == ';')
			return (struct span){ s.at, at };
	return s;
}

static const char *find_one_of(struct span s, const char *set)
{
	for (const char *at = s.at; at < s.end; at++)
		if (strchr(set, *at) != NULL)
			return at;
	return NULL;
}

static size_t span_len(struct span s)
{
	return (size_t)(s.end - s.at);
}

/* Take the next line off the text, without its end; false behind the last. */
static bool take_line(struct reader *r, struct span *ret_line)
{
	const char *newline;

	if (r->rest.at == r->rest.end)
		return false;
	newline = memchr(r->rest.at, '\n', span_len(r->rest));
	ret_line->at = r->rest.at;
	ret_line->end = newline != NULL ? newline : r->rest.end;
	r->rest.at = newline != NULL ? newline + 1 : r->rest.end;
	if (newline != NULL && newline > ret_line->at && newline[-1] == '\r')
		ret_line->end--;
	r->line++;
	return true;
}

/* The text in the double quotes that @s begins with; NULL, and a fault, if they are not right. */
static char *unquote(struct reader *r, struct span s)
{
	char *text = load_scratch_text(r->load, s.at, span_len(s));
	size_t used = 0;
	const char *at;

	if (text == NULL)
		return NULL;
	for (at = s.at + 1; at < s.end; at++) {
		if (*at == '"' && (at + 1 == s.end || at[1] != '"'))
			break;
		text[used++] = *at;
		at += *at == '"';
	}
	text[used] = '\0';
	if (at >= s.end) {
		load_fault(r->load, here(r), "the value's double quotes are not closed");
		return NULL;
	}
	s = trim(cut_comment((struct span){ at + 1, s.end }));
	if (s.at < s.end && *s.at != ';') {
		load_fault(r->load, here(r),
			   "something stands behind the value's closing quote; "
			   "a quote inside of quotes is written twice");
		return NULL;
	}
	return text;
}

/* Note what the value part @s of this line holds. */
static void note_value(struct reader *r, struct span s)
{
	struct span value = trim(s);

	r->value = NULL;
	if (value.at < value.end && *value.at == '"') {
		r->value = unquote(r, value);
		r->lost |= r->value == NULL;
		return;
	}
	value = trim(cut_comment(s));
	if (value.at < value.end)
		r->value = load_scratch_text(r->load, value.at, span_len(value));
}

static void lose(struct reader *r)
{
	r->entry = NULL;
	r->lost = true;
}

static void begin_section(struct reader *r, struct span inside)
{
	struct read_section *section = load_scratch(r->load, sizeof(*section));
	const char *blank = find_one_of(inside, " \t");
	struct span name = { inside.at, blank != NULL ? blank : inside.end };
	struct span label = trim((struct span){ name.end, inside.end });

	if (section == NULL)
		return;
	section->name = load_scratch_text(r->load, name.at, span_len(name));
	section->label = load_scratch_text(r->load, label.at, span_len(label));
	section->place = here(r);
	section->included = r->included;
	if (section->name == NULL || section->label == NULL)
		return;
	**r->tail = section;
	*r->tail = &section->next;
	r->section = section;
	r->entry_tail = &section->entries;
}

/* A line that begins with `[`: give the line for inih. */
static void section_line(struct reader *r, struct span line, char *to, size_t size)
{
	struct span s = trim(cut_comment(line));
	const char *close = find_one_of(s, "]");
	struct span inside = { s.at + 1, close };

	lose(r);
	r->section = NULL;
	r->section_lost = true;
	snprintf(to, size, "[%s]\n", STAND_IN);
	if (close == NULL) {
		load_fault(r->load, here(r), "the section is not closed by `]`");
		return;
	}
	if (close + 1 != s.end) {
		load_fault(r->load, here(r),
			   "something stands behind the section's `]`; a comment needs a blank "
			   "and `;` before it");
		return;
	}
	inside = trim(inside);
	if (inside.at == inside.end || span_len(inside) > INIH_NAME_MAX) {
		load_fault(r->load, here(r),
			   "a section's name has 1 to %d bytes, its label included", INIH_NAME_MAX);
		return;
	}
	begin_section(r, inside);
	r->section_lost = false;
	r->lost = false;
	snprintf(to, size, "[%.*s]\n", (int)span_len(inside), inside.at);
}

/* A line `KEY = VALUE`: give the line for inih. */
static void key_line(struct reader *r, struct span line, char *to, size_t size)
{
	const char *mark = find_one_of(cut_comment(line), "=:");
	struct span key;

	lose(r);
	if (mark == NULL || *mark != '=') {
		load_fault(r->load, here(r), "this is no section and no `key = value`");
		return;
	}
	key = trim((struct span){ line.at, mark });
	if (key.at == key.end || span_len(key) > INIH_NAME_MAX) {
		load_fault(r->load, here(r), "a key has 1 to %d bytes", INIH_NAME_MAX);
		return;
	}
	r->lost = false;
	note_value(r, (struct span){ mark + 1, line.end });
	if (!r->lost)
		snprintf(to, size, "%.*s = %s\n", (int)span_len(key), key.at, STAND_IN);
}

/* True if @line looks like a key that was indented by mistake: one word and `=`. */
static bool looks_like_key(struct span line)
{
	const char *mark = find_one_of(line, "=");
	struct span key = trim((struct span){ line.at, mark != NULL ? mark : line.at });

	return key.at < key.end && strspn(key.at, "abcdefghijklmnopqrstuvwxyz_") >= span_len(key);
}

/* An indented line, which continues the value above it: give the line for inih. */
static void continuation_line(struct reader *r, struct span line, char *to, size_t size)
{
	if (r->lost)
		return;
	if (r->entry == NULL) {
		load_fault(r->load, here(r),
			   "an indented line continues the value above it, and there is none");
		return;
	}
	if (looks_like_key(line)) {
		load_fault(r->load, here(r),
			   "an indented line continues the value of `%s`; a key stands at the "
			   "start of its line",
			   r->entry->key);
		return;
	}
	note_value(r, line);
	if (r->lost)
		return;
	r->continues = true;
	snprintf(to, size, " %s\n", STAND_IN);
}

/* Check the bytes of @line; give false, and a fault, if it is not to be read. */
static bool check_line(struct reader *r, struct span line)
{
	const char *what;

	if (span_len(line) > LIMIT_POLICY_LINE) {
		load_fault(r->load, here(r), "the line is longer than %d bytes", LIMIT_POLICY_LINE);
		return false;
	}
	what = utf8_fault(line.at, span_len(line));
	if (what != NULL)
		load_fault(r->load, here(r), "the line holds %s", what);
	return what == NULL;
}

/* What inih reads in place of fgets(). */
static char *next_line(char *to, int size, void *stream)
{
	struct reader *r = stream;
	struct span line, inner;

	assert((size_t)size > INIH_NAME_MAX + sizeof(" = " STAND_IN "\n"));
	if (!take_line(r, &line))
		return NULL;
	r->continues = false;
	r->value = NULL;
	snprintf(to, (size_t)size, "\n");
	inner = trim(line);
	if (!check_line(r, line))
		lose(r);
	else if (inner.at == inner.end || *inner.at == ';' || *inner.at == '#')
		return to;
	else if (*line.at == '[')
		section_line(r, line, to, (size_t)size);
	else if (is_blank(*line.at))
		continuation_line(r, line, to, (size_t)size);
	else
		key_line(r, line, to, (size_t)size);
	return to;
}

static struct read_entry *add_entry(struct reader *r, const char *key)
{
	struct read_entry *entry = load_scratch(r->load, sizeof(*entry));

	if (entry == NULL)
		return NULL;
	entry->key = load_scratch_text(r->load, key, strlen(key));
	entry->place = here(r);
	if (entry->key == NULL)
		return NULL;
	*r->entry_tail = entry;
	r->entry_tail = &entry->next;
	r->piece_tail = &entry->pieces;
	return entry;
}

static void add_piece(struct reader *r)
{
	struct read_piece *piece = load_scratch(r->load, sizeof(*piece));

	if (piece == NULL)
		return;
	piece->text = r->value;
	piece->line = r->line;
	*r->piece_tail = piece;
	r->piece_tail = &piece->next;
}

/* inih has read a key, or a continuation line. */
static int on_pair(void *user, const char *section, const char *key, const char *value)
{
	struct reader *r = user;

	(void)section;
	assert(strcmp(value, STAND_IN) == 0);
	if (r->section == NULL) {
		if (!r->section_lost)
			load_fault(r->load, here(r), "`%s` stands before the first section", key);
		r->lost = true;
		return 1;
	}
	if (!r->continues)
		r->entry = add_entry(r, key);
	if (r->entry != NULL && r->value != NULL)
		add_piece(r);
	return 1;
}

/* True if the text begins as UTF-16 does; a mark of UTF-8 is stepped over. */
static bool begins_as_utf16(struct reader *r)
{
	size_t len = span_len(r->rest);

	if (len >= 3 && memcmp(r->rest.at, "\xef\xbb\xbf", 3) == 0)
		r->rest.at += 3;
	return len >= 2 &&
	       (memcmp(r->rest.at, "\xff\xfe", 2) == 0 || memcmp(r->rest.at, "\xfe\xff", 2) == 0);
}

static void read_all(struct reader *r)
{
	int line;

	if (begins_as_utf16(r)) {
		r->line = 1;
		load_fault(r->load, here(r), "the file is UTF-16; a policy file is UTF-8");
		return;
	}
	line = ini_parse_stream(next_line, r, on_pair, r);
	if (line != 0)
		load_fault(r->load, (struct policy_place){ r->file, line > 0 ? (unsigned)line : 0 },
			   "the file could not be read as INI");
}

static bool is_include(const struct read_section *section, const struct read_entry *entry)
{
	return strcmp(section->name, "policy") == 0 && strcmp(entry->key, "include") == 0;
}

/* A file to read, and why. */
struct visit {
	struct visit *next;        /* what is read after it */
	const struct visit *outer; /* the file that includes it; NULL: none does */
	const char *path;
	const char *word; /* by which it is included, at @place */
	struct policy_place place;
	dev_t device;
	ino_t inode;
};

/* All files of one load. */
struct visits {
	struct load *load;
	struct read_section **tail;
	struct visit **last;
	unsigned n_files;
};

/* All of @fd, malloc()ed; its length in @ret_len. Fails -errno, -EFBIG. */
static int read_fd(int fd, char **ret_text, size_t *ret_len)
{
	OWN(own_free) char *text = NULL;
	size_t len = 0, size = 0;
	ssize_t n = 1;

	while (n > 0) {
		if (len == size) {
			size = size ? size * 2 : 65536;
			char *grown = realloc(text, size);

			if (grown == NULL)
				return -ENOMEM;
			text = grown;
		}
		n = read(fd, text + len, size - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
		n = n < 0 ? 1 : n;
		if (len > LIMIT_POLICY_BYTES)
			return -EFBIG;
	}
	*ret_text = steal_ptr(text);
	*ret_len = len;
	return 0;
}

/* Put the file @word, which @outer includes at @place, behind those that are to be read. */
static void include(struct visits *v, const struct visit *outer, const char *word,
		    struct policy_place place)
{
	const char *slash = strrchr(outer->path, '/');
	size_t folder_len = slash != NULL && word[0] != '/' ? (size_t)(slash + 1 - outer->path) : 0;
	struct visit *visit = load_scratch(v->load, sizeof(*visit));
	size_t size = folder_len + strlen(word) + 1;
	char *path = load_scratch(v->load, size);

	if (visit == NULL || path == NULL)
		return;
	if (++v->n_files > LIMIT_POLICY_INCLUDES) {
		load_fault(v->load, place, "more than %d files are included",
			   LIMIT_POLICY_INCLUDES);
		return;
	}
	snprintf(path, size, "%.*s%s", (int)folder_len, outer->path, word);
	*visit = (struct visit){ .outer = outer, .path = path, .word = word, .place = place };
	*v->last = visit;
	v->last = &visit->next;
}

/* Include the files that the value @entry of the file @outer names. */
static void include_each(struct visits *v, const struct visit *outer,
			 const struct read_entry *entry)
{
	for (const struct read_piece *p = entry->pieces; p != NULL; p = p->next) {
		char *rest = load_scratch_text(v->load, p->text, strlen(p->text));
		const char *word;

		while (rest != NULL && (word = strtok_r(rest, " \t", &rest)) != NULL)
			include(v, outer, word,
				(struct policy_place){ entry->place.file, p->line });
	}
}

static bool visits_already(const struct visit *visit, const struct stat *st)
{
	for (; visit != NULL; visit = visit->outer)
		if (visit->device == st->st_dev && visit->inode == st->st_ino)
			return true;
	return false;
}

/*
 * Read one file. Fails -errno, -ELOOP, -EFBIG; -EINVAL if it is included and no regular file, which
 * could be one that never ends, or a FIFO that nobody writes.
 */
static int visit_file(struct visits *v, struct visit *visit)
{
	int flags = visit->outer != NULL ? O_NONBLOCK : 0;
	OWN(own_close) int fd = open(visit->path, O_RDONLY | O_CLOEXEC | flags);
	OWN(own_free) char *text = NULL;
	struct reader reader = { .load = v->load,
				 .tail = &v->tail,
				 .included = visit->outer != NULL };
	struct read_section **first = v->tail;
	struct stat st;
	size_t len = 0;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (visit->outer != NULL && !S_ISREG(st.st_mode))
		return -EINVAL;
	if (visits_already(visit->outer, &st))
		return -ELOOP;
	visit->device = st.st_dev;
	visit->inode = st.st_ino;
	r = read_fd(fd, &text, &len);
	if (r < 0)
		return r;
	reader.file = load_keep_text(v->load, visit->path);
	if (reader.file == NULL)
		return -ENOMEM;
	reader.rest = (struct span){ text, text + len };
	read_all(&reader);
	for (struct read_section *s = *first; s != NULL; s = s->next)
		for (struct read_entry *e = s->entries; e != NULL; e = e->next)
			if (is_include(s, e))
				include_each(v, visit, e);
	return 0;
}

/* Tell that the file of @visit, which is included, could not be read because of @r. */
static void include_fault(struct load *load, const struct visit *visit, int r)
{
	if (r == -ELOOP)
		load_fault(load, visit->place, "the includes form a loop: `%s`", visit->word);
	else if (r == -EFBIG)
		load_fault(load, visit->place, "a file of more than %d MiB is included: `%s`",
			   LIMIT_POLICY_BYTES >> 20, visit->word);
	else if (r == -EINVAL)
		load_fault(load, visit->place, "what is included is no regular file: `%s`",
			   visit->word);
	else
		load_fault(load, visit->place, "an included file could not be read: %s: `%s`",
			   strerror(-r), visit->word);
}

int read_file(struct load *load, const char *path, struct read_document *ret_document,
	      struct err *err)
{
	struct visit main = { .path = path };
	struct visits visits = { .load = load,
				 .tail = &ret_document->sections,
				 .last = &main.next };
	int r;

	ret_document->sections = NULL;
	r = visit_file(&visits, &main);
	if (r == -EFBIG)
		return err_set(err, r, "%s: larger than %d MiB", path, LIMIT_POLICY_BYTES >> 20);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, strerror(-r));
	for (struct visit *visit = main.next; visit != NULL; visit = visit->next) {
		r = visit_file(&visits, visit);
		if (r < 0)
			include_fault(load, visit, r);
	}
	return 0;
}

void read_text(struct load *load, const char *path, const char *text, size_t len,
	       struct read_document *ret_document)
{
	struct read_section **tail = &ret_document->sections;
	struct reader reader = { .load = load, .tail = &tail };

	ret_document->sections = NULL;
	reader.file = load_keep_text(load, path);
	if (reader.file == NULL)
		return;
	reader.rest = (struct span){ text, text + len };
	if (len > LIMIT_POLICY_BYTES)
		load_fault(load, here(&reader), "the text is larger than %d MiB",
			   LIMIT_POLICY_BYTES >> 20);
	else
		read_all(&reader);
	for (struct read_section *s = ret_document->sections; s != NULL; s = s->next)
		for (struct read_entry *e = s->entries; e != NULL; e = e->next)
			if (is_include(s, e))
				load_fault(load, e->place, "a text that is no file includes none");
}
