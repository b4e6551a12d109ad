/* SPDX-License-Identifier: MIT */
/* Policy files on the disk: what they include, what cannot be read, and the examples. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/own.h"
#include "policy/policy.h"
#include "tests/unit/test.h"

enum { NOW = 1796083200 }; /* 2026-12-01 */

#define GRANT "[allow a]\nowner = o\nreason = r\nreviewed = 2026-11-30\n"
#define OWNER "[policy]\nowner = o\n"

struct loaded {
	struct policy *policy;
	struct policy_faults faults;
	struct err err;
	int r;
};

static void unload(struct loaded *l)
{
	policy_faults_done(&l->faults);
	policy_unref(l->policy);
}

static bool has_fault(const struct loaded *l, bool warning, unsigned line, const char *part)
{
	for (size_t i = 0; i < l->faults.n; i++)
		if (l->faults.faults[i].line == line && l->faults.faults[i].warning == warning &&
		    strstr(l->faults.faults[i].text, part) != NULL)
			return true;
	for (size_t i = 0; i < l->faults.n; i++)
		print_message("# %s:%u: %s\n", l->faults.faults[i].file, l->faults.faults[i].line,
			      l->faults.faults[i].text);
	print_message("# wanted in line %u: %s\n", line, part);
	return false;
}

static enum policy_code code_of(const struct policy *policy, const char *text)
{
	const struct address client = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	struct name name;

	assert_int_equal(name_parse(text, &name), 0);
	return policy_judge_name(policy, policy_agent_find(policy, &client, NULL), &name, 1, NOW)
		.code;
}

static const struct policy_grant *only_grant(const struct policy *policy)
{
	size_t n;
	const struct policy_grant *const *grants = policy_grants(policy, &n);

	assert_int_equal(n, 1);
	return grants[0];
}

struct folder {
	char path[64];
};

static int make_folder(void **state)
{
	static struct folder folder;

	strcpy(folder.path, "/tmp/bailiwick-policy-XXXXXX");
	*state = &folder;
	return mkdtemp(folder.path) == NULL;
}

static const char *const file_names[] = { "main.ini", "a.ini", "b.ini", "sub/c.ini" };

static int remove_folder(void **state)
{
	struct folder *folder = *state;
	char path[128];

	for (size_t i = 0; i < sizeof(file_names) / sizeof(file_names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder->path, file_names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sub", folder->path);
	rmdir(path);
	return rmdir(folder->path);
}

static void write_file(const struct folder *folder, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static struct loaded load_main(const struct folder *folder)
{
	struct loaded l = { .policy = NULL };
	char path[128];

	snprintf(path, sizeof(path), "%s/main.ini", folder->path);
	l.r = policy_load(path, NOW, &l.policy, &l.faults, &l.err);
	return l;
}

static void includes_are_followed(void **state)
{
	struct folder *folder = *state;
	char sub[128];
	struct loaded l;

	snprintf(sub, sizeof(sub), "%s/sub", folder->path);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_file(folder, "main.ini", OWNER "include = a.ini sub/c.ini\n");
	write_file(folder, "a.ini", GRANT "host = a.example\n");
	write_file(folder, "sub/c.ini", "[policy]\ninclude = ../b.ini\n");
	write_file(folder, "b.ini", "[deny d]\nhost = *.a.example\n");
	l = load_main(folder);
	assert_int_equal(l.r, 0);
	assert_int_equal(l.faults.n, 0);
	assert_int_equal(code_of(l.policy, "a.example"), POLICY_ALLOW);
	assert_non_null(strstr(only_grant(l.policy)->place.file, "/a.ini"));
	unload(&l);

	/* A loop, a file that is not there, and keys that an included file may not set. */
	write_file(folder, "b.ini", "[policy]\ninclude = main.ini\n  none.ini\nname = x\n");
	l = load_main(folder);
	assert_int_equal(l.r, -EINVAL);
	assert_true(has_fault(&l, false, 2, "loop"));
	assert_true(has_fault(&l, false, 3, "No such file"));
	assert_true(has_fault(&l, false, 4, "stands in the first file"));
	assert_int_equal(l.faults.n_errors, 3);
	unload(&l);

	/* The same label in two files. */
	write_file(folder, "b.ini", GRANT "host = b.example\n");
	l = load_main(folder);
	assert_true(has_fault(&l, false, 1, "/a.ini, line 1"));
	unload(&l);

	write_file(folder, "main.ini", "[policy]\nowner = o\ninclude = main.ini\n");
	l = load_main(folder);
	assert_true(has_fault(&l, false, 3, "loop"));
	unload(&l);
}

/* A FIFO that nobody writes would keep the reader for ever, a device could never end. */
static void what_is_no_regular_file_is_not_included(void **state)
{
	struct folder *folder = *state;
	char fifo[128];
	struct loaded l;

	snprintf(fifo, sizeof(fifo), "%s/a.ini", folder->path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	write_file(folder, "main.ini", OWNER "include = a.ini\n  /dev/zero\n  .\n");
	l = load_main(folder);
	assert_int_equal(l.r, -EINVAL);
	assert_true(has_fault(&l, false, 3, "no regular file"));
	assert_true(has_fault(&l, false, 4, "no regular file"));
	assert_true(has_fault(&l, false, 5, "no regular file"));
	assert_int_equal(l.faults.n_errors, 3);
	unload(&l);
}

static void files_that_cannot_be_read_are_an_error(void **state)
{
	static const char include[] = "[policy]\ninclude = x.ini\n";
	struct loaded l = { .policy = NULL };

	(void)state;
	l.r = policy_load("/nonexistent/policy.ini", NOW, &l.policy, &l.faults, &l.err);
	assert_int_equal(l.r, -ENOENT);
	assert_int_equal(l.faults.n, 0);
	assert_non_null(strstr(l.err.text, "/nonexistent/policy.ini: No such file"));
	unload(&l);
	l.r = policy_load("/", NOW, &l.policy, &l.faults, &l.err);
	assert_int_equal(l.r, -EISDIR);
	unload(&l);
	l.r = policy_load_text("p.ini", include, strlen(include), NOW, &l.policy, &l.faults,
			       &l.err);
	assert_true(has_fault(&l, false, 2, "no file"));
	unload(&l);
}

static char *read_example(const char *name)
{
	char path[PATH_MAX];
	char *text = calloc(1, 65536);
	FILE *file;

	assert_non_null(getenv("SRCDIR"));
	snprintf(path, sizeof(path), "%s/conf/%s", getenv("SRCDIR"), name);
	file = fopen(path, "re");
	assert_non_null(text);
	assert_non_null(file);
	assert_in_range(fread(text, 1, 65535, file), 1, 65534);
	fclose(file);
	return text;
}

/* True if @text has the key @key in a section that begins with `[` and @section. */
static bool names_key(const char *text, const char *section, const char *key)
{
	bool inside = false;

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* One that needs a file of its own is commented out. */
		line += line[0] == ';' && line[1] != ' ';
		if (*line == '[')
			inside = strncmp(line + 1, section, strlen(section)) == 0;
		if (inside && strncmp(line, key, strlen(key)) == 0 &&
		    strchr(" =", line[strlen(key)]) != NULL)
			return true;
	}
	return false;
}

static void the_examples_are_good_and_name_every_key(void **state)
{
	static const char *const names[] = { "example.ini", "quickstart.ini" };
	OWN(own_free) char *example = read_example("example.ini");
	struct policy_key key;
	size_t n_keys = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct loaded l = { .policy = NULL };
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/conf/%s", getenv("SRCDIR"), names[i]);
		l.r = policy_load(path, NOW, &l.policy, &l.faults, &l.err);
		assert_int_equal(l.r, 0);
		assert_int_equal(l.faults.n, 0);
		unload(&l);
	}
	for (; policy_key(n_keys, &key); n_keys++) {
		/* The same row for all labels; [deny] stands in the file that is included. */
		if (strcmp(key.section, "deny") != 0 && !names_key(example, key.section, key.key))
			fail_msg("conf/example.ini does not name %s of [%s]", key.key, key.section);
		assert_true(strlen(key.type) > 0 && strlen(key.help) > 0);
	}
	assert_in_range(n_keys, 30, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(includes_are_followed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_not_included,
						make_folder, remove_folder),
		cmocka_unit_test(files_that_cannot_be_read_are_an_error),
		cmocka_unit_test(the_examples_are_good_and_name_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
