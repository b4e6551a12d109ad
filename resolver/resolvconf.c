/* SPDX-License-Identifier: MIT */
#include "resolver/resolvconf.h"

#include <stdio.h>
#include <string.h>

unsigned resolvconf_read(const char *path, struct endpoint ret_servers[RESOLVCONF_MAX])
{
	FILE *file = fopen(path, "re");
	char line[512];
	unsigned n = 0;

	if (file == NULL)
		return 0;
	while (n < RESOLVCONF_MAX && fgets(line, sizeof(line), file) != NULL) {
		char *rest = NULL;
		const char *word = strtok_r(line, " \t\r\n", &rest);
		const char *value = strtok_r(NULL, " \t\r\n", &rest);

		if (word == NULL || value == NULL || strcmp(word, "nameserver") != 0)
			continue;
		if (address_parse(value, &ret_servers[n].address) < 0)
			continue;
		ret_servers[n++].port = 53;
	}
	fclose(file);
	return n;
}
