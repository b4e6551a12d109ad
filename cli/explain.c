/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>

static int run_explain(int argc, char **argv)
{
	(void)argc, (void)argv;
	fputs("bailiwick explain: not built yet\n", stderr);
	return CLI_ERROR;
}

const struct cli_command cli_explain = {
	.name = "explain",
	.summary = "",
	.help = "usage: bailiwick explain\n",
	.run = run_explain,
};
