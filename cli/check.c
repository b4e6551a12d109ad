/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/own.h"
#include "policy/policy.h"

/* What the check of one file gave. */
struct result {
	const char *path; /* escaped */
	int r;            /* as policy_load() has it */
	struct err err;
	struct policy_faults faults;
};

static const char help_text[] =
	"usage: bailiwick check [--json] [FILE ...]\n"
	"       bailiwick check --keys\n"
	"\n"
	"Read policy files as the daemon does and say every fault, as `FILE:LINE: sentence`,\n"
	"and what is good but may not be meant, as `FILE:LINE: warning: sentence`. Without FILE\n"
	"the default policy is read. Of a file without either nothing is printed.\n"
	"\n"
	"  --json  print an array with an object for each file: `file`, `status` (`good`, "
	"`faults`\n"
	"          or `unreadable`), `faults`, and `error` if it could not be read\n"
	"  --keys  print the list of all keys in the form in which bailiwick-policy(5) holds it\n"
	"\n"
	"The exit status is 0 if all files are good, 1 if one has faults (warnings are none), and\n"
	"2 if one could not be read.\n";

static int status_of(const struct result *result)
{
	if (result->r == 0)
		return CLI_OK;
	return result->faults.n_errors > 0 ? CLI_NO : CLI_ERROR;
}

static void print_result(const struct result *result)
{
	for (size_t i = 0; i < result->faults.n; i++) {
		const struct policy_fault *fault = &result->faults.faults[i];
		OWN(own_free) char *file = cli_escape(fault->file);

		printf("%s:%u: %s%s\n", file != NULL ? file : "?", fault->line,
		       fault->warning ? "warning: " : "", fault->text);
	}
	if (status_of(result) == CLI_ERROR) {
		OWN(own_free) char *text = cli_escape(result->err.text);

		fprintf(stderr, "bailiwick check: %s\n", text != NULL ? text : "out of memory");
	}
}

static json_t *result_to_json(const struct result *result)
{
	static const char *const words[] = {
		[CLI_OK] = "good", [CLI_NO] = "faults", [CLI_ERROR] = "unreadable"
	};
	int status = status_of(result);
	json_t *faults = json_array();
	json_t *object = json_pack("{s:s, s:s, s:o}", "file", result->path, "status", words[status],
				   "faults", faults);

	for (size_t i = 0; i < result->faults.n; i++) {
		const struct policy_fault *fault = &result->faults.faults[i];
		OWN(own_free) char *file = cli_escape(fault->file);

		json_array_append_new(faults,
				      json_pack("{s:s, s:i, s:b, s:s}", "file",
						file != NULL ? file : "?", "line", (int)fault->line,
						"warning", fault->warning, "text", fault->text));
	}
	if (status == CLI_ERROR) {
		OWN(own_free) char *text = cli_escape(result->err.text);

		json_object_set_new(object, "error",
				    json_string(text != NULL ? text : "out of memory"));
	}
	return object;
}

/* Check the file @path and print what came of it, or append it to @array if that is not NULL. */
static int check_file(const char *path, json_t *array)
{
	OWN(own_free) char *escaped = cli_escape(path);
	struct result result = { .path = escaped };
	struct policy *policy = NULL;
	int status;

	if (escaped == NULL)
		return CLI_ERROR;
	result.r = policy_load(path, time(NULL), &policy, &result.faults, &result.err);
	if (array != NULL)
		json_array_append_new(array, result_to_json(&result));
	else
		print_result(&result);
	status = status_of(&result);
	policy_faults_done(&result.faults);
	policy_unref(policy);
	return status;
}

static int check_files(int n, char **paths, bool json)
{
	json_t *array = json ? json_array() : NULL;
	int worst = CLI_OK;

	for (int i = 0; i < n; i++) {
		int status = check_file(paths[i], array);

		worst = status > worst ? status : worst;
	}
	if (array != NULL) {
		json_dumpf(array, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(array);
	}
	return cli_finish(worst);
}

/* Print one key as an item of an mdoc(7) list. */
static void print_key(const struct policy_key *key)
{
	printf(".It Ic %s Pq %s\n%s\n", key->key, key->type, key->help);
	if (key->required)
		puts("Required.");
	else if (*key->value != '\0')
		printf("Default:\n.Ql %s .\n", key->value);
}

static int print_keys(void)
{
	const char *section = "";
	struct policy_key key;

	for (size_t i = 0; policy_key(i, &key); i++) {
		if (strcmp(section, key.section) != 0)
			printf("%s.Ss Keys of [%s]\n.Bl -tag -width Ds\n", *section ? ".El\n" : "",
			       key.section);
		section = key.section;
		print_key(&key);
	}
	puts(".El");
	return cli_finish(CLI_OK);
}

static int run_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "keys", no_argument, NULL, 'k' },
		{ NULL, 0, NULL, 0 },
	};
	OWN(own_free) char *path = NULL;
	bool json = false, keys = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 'j':
			json = true;
			break;
		case 'k':
			keys = true;
			break;
		default:
			return cli_usage(&cli_check);
		}
	if (keys)
		return argc == optind ? print_keys() : cli_usage(&cli_check);
	if (argc > optind)
		return check_files(argc - optind, argv + optind, json);
	path = cli_policy_path(NULL);
	return path != NULL ? check_files(1, &path, json) : CLI_ERROR;
}

const struct cli_command cli_check = {
	.name = "check",
	.summary = "say every fault of a policy file",
	.help = help_text,
	.run = run_check,
};
