/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>

static int run_check(int argc, char **argv)
{
	(void)argc, (void)argv;
	fputs("bailiwick check: not built yet\n", stderr);
	return CLI_ERROR;
}

const struct cli_command cli_check = {
	.name = "check",
	.summary = "",
	.help = "usage: bailiwick check\n",
	.run = run_check,
};
