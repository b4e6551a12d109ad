/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>

static int run_log(int argc, char **argv)
{
	(void)argc, (void)argv;
	fputs("bailiwick log: not built yet\n", stderr);
	return CLI_ERROR;
}

const struct cli_command cli_log = {
	.name = "log",
	.summary = "",
	.help = "usage: bailiwick log\n",
	.run = run_log,
};
