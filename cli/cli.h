/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The command line: one table of subcommands (main.c), one file each. This
 * is the one place where modules meet, and the only one that prints to a
 * person.
 */

/* Exit statuses of every command; the manual lists them. */
enum {
	CLI_OK = 0,    /* done; or the answer is yes */
	CLI_NO = 1,    /* the answer is no: faults, a denial, a broken chain */
	CLI_ERROR = 2, /* it could not be done: usage, a file, the kernel */
};

struct policy;

struct cli_command {
	const char *name;
	const char *summary; /* one line, for `bailiwick --help` */
	const char *help;    /* all of `bailiwick NAME --help` */
	/* argv[0] is the command's name. Gives an exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct cli_command cli_check, cli_explain, cli_log, cli_serve;

/*
 * The policy file to use: @given (the argument of -p), or, if that is NULL, the first that exists
 * of $XDG_CONFIG_HOME/bailiwick/policy.ini (~/.config without the variable) and
 * SYSCONFDIR/bailiwick/policy.ini.
 *
 * Gives  a path that the caller frees; if none exists, the last, so that opening it fails with a
 *        name in the message. NULL if there is no memory.
 */
char *cli_policy_path(const char *given);

/*
 * Load the policy file that -p named, @given (see cli_policy_path()), for @command, and say on
 * standard error what is wrong with it.
 *
 * Gives  CLI_OK and @ret_policy with a reference; CLI_NO: it has faults; CLI_ERROR: no file.
 */
int cli_load_policy(const struct cli_command *command, const char *given,
		    struct policy **ret_policy);

/* Say on standard error, as @command, why its options were wrong, where to read; give CLI_ERROR. */
int cli_usage(const struct cli_command *command);

/*
 * Copy @text, which came from outside (an argument, a path), for a terminal or a log: each byte
 * that is no printable ASCII, and each backslash, becomes \xNN.
 *
 * Gives  what the caller frees; NULL if there is no memory.
 */
char *cli_escape(const char *text);

/* Flush standard output. Gives @status, or CLI_ERROR, said so, if it could not all be written. */
int cli_finish(int status);
