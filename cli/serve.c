/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>

static int run_serve(int argc, char **argv)
{
	(void)argc, (void)argv;
	fputs("bailiwick serve: not built yet\n", stderr);
	return CLI_ERROR;
}

const struct cli_command cli_serve = {
	.name = "serve",
	.summary = "",
	.help = "usage: bailiwick serve\n",
	.run = run_serve,
};
