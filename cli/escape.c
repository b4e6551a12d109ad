/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"

char *cli_escape(const char *text)
{
	char *escaped = calloc(strlen(text) + 1, 4);
	char *at = escaped;

	if (escaped == NULL)
		return NULL;
	for (; *text != '\0'; text++)
		if (*text >= ' ' && *text <= '~' && *text != '\\')
			*at++ = *text;
		else
			at += sprintf(at, "\\x%02x", (unsigned char)*text);
	return escaped;
}
