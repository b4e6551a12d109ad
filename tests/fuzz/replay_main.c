/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *src = getenv("SRCDIR");
	static uint8_t data[1 << 20];
	char dir[4096], path[8192];
	const char *name = slash ? slash + 1 : argv[0];
	size_t stem = strlen(name) - strlen("_fuzz");
	struct dirent *e;
	unsigned n = 0;

	(void)argc;
	if (src == NULL || snprintf(dir, sizeof(dir), "%s/tests/fuzz/%.*s.in", src, (int)stem,
				    name) >= (int)sizeof(dir))
		return 99;
	DIR *d = opendir(dir);

	if (d == NULL)
		return 99;
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		FILE *f = fopen(path, "re");

		if (f == NULL)
			return 99;
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), f));
		fclose(f);
		printf("ok %u - %s\n", ++n, e->d_name);
	}
	closedir(d);
	printf("1..%u\n", n);
	return n == 0;
}
