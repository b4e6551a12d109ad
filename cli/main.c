/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/own.h"
#include "policy/policy.h"
#include "config.h"

static const struct cli_command *const commands[] = {
	&cli_serve,
	&cli_check,
	&cli_explain,
	&cli_log,
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
	fputs("usage: bailiwick COMMAND [OPTION ...]\n"
	      "\n"
	      "A network that an agent cannot leave: DNS that answers only for names that a "
	      "policy\n"
	      "file lists, and an nftables ruleset that lets through only what it answered.\n"
	      "\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "  --help     print this help; `bailiwick COMMAND --help` prints a command's\n"
	      "  --version  print the version\n"
	      "\n"
	      "The policy file is described in bailiwick-policy(5), the commands in "
	      "bailiwick(1).\n",
	      out);
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

char *cli_policy_path(const char *given)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	OWN(own_free) char *user = NULL;
	int r = 0;

	if (given != NULL)
		return strdup(given);
	if (xdg != NULL && xdg[0] == '/')
		r = asprintf(&user, "%s/bailiwick/policy.ini", xdg);
	else if (home != NULL && home[0] == '/')
		r = asprintf(&user, "%s/.config/bailiwick/policy.ini", home);
	if (r < 0) {
		user = NULL;
		return NULL;
	}
	if (user != NULL && access(user, F_OK) == 0)
		return steal_ptr(user);
	return strdup(SYSCONFDIR "/bailiwick/policy.ini");
}

int cli_load_policy(const struct cli_command *command, const char *given,
		    struct policy **ret_policy)
{
	OWN(own_free) char *path = cli_policy_path(given);
	struct policy_faults faults = { .n = 0 };
	struct err err = { .text = "no memory" };
	int r = path != NULL ? policy_load(path, time(NULL), ret_policy, &faults, &err) : -ENOMEM;

	for (size_t i = 0; i < faults.n; i++)
		fprintf(stderr, "%s:%u: %s%s\n", faults.faults[i].file, faults.faults[i].line,
			faults.faults[i].warning ? "warning: " : "", faults.faults[i].text);
	if (r < 0 && faults.n_errors == 0)
		fprintf(stderr, "bailiwick %s: %s\n", command->name, err.text);
	policy_faults_done(&faults);
	if (r == 0)
		return CLI_OK;
	return r == -EINVAL ? CLI_NO : CLI_ERROR;
}

int cli_usage(const struct cli_command *command)
{
	fprintf(stderr, "bailiwick %s: see `bailiwick %s --help`\n", command->name, command->name);
	return CLI_ERROR;
}

int cli_finish(int status)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return status;
	fprintf(stderr, "bailiwick: standard output could not be written: %s\n", strerror(errno));
	return CLI_ERROR;
}

int main(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		print_help(stderr);
		return CLI_ERROR;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return cli_finish(CLI_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts(PACKAGE_STRING);
		return cli_finish(CLI_OK);
	}
	command = find_command(argv[1]);
	if (command == NULL) {
		fprintf(stderr, "bailiwick: there is no command `%s`; see `bailiwick --help`\n",
			argv[1]);
		return CLI_ERROR;
	}
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0) {
			fputs(command->help, stdout);
			return cli_finish(CLI_OK);
		}
	return command->run(argc - 1, argv + 1);
}
