/* SPDX-License-Identifier: MIT */
#include "resolver/resolvconf.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

bool resolvconf_changed(const char *path, struct resolvconf_stamp *stamp)
{
	struct resolvconf_stamp now = { .size = 0 };
	struct stat file;
	bool same;

	if (stat(path, &file) == 0)
		now = (struct resolvconf_stamp){ file.st_dev, file.st_ino, file.st_size,
						 file.st_ctim };
	same = now.device == stamp->device && now.inode == stamp->inode &&
	       now.size == stamp->size && now.changed.tv_sec == stamp->changed.tv_sec &&
	       now.changed.tv_nsec == stamp->changed.tv_nsec;
	*stamp = now;
	return !same;
}
