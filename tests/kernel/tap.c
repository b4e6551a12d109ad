/* SPDX-License-Identifier: MIT */
#include "tests/kernel/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned n_tests, n_failed;

bool tap_ok(bool passed, const char *fmt, ...)
{
	va_list args;

	n_tests++;
	n_failed += !passed;
	printf("%s %u - ", passed ? "ok" : "not ok", n_tests);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return passed;
}

int tap_end(void)
{
	printf("1..%u\n", n_tests);
	return n_failed > 0 || n_tests == 0;
}

static void give_up(const char *what)
{
	const char *why = strerror(errno);
	bool must_work = getenv("BAILIWICK_MUST_WORK") != NULL;

	if (must_work)
		printf("Bail out! %s: %s\n", what, why);
	else
		printf("1..0 # SKIP %s: %s\n", what, why);
	exit(must_work);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		give_up(path);
	close(fd);
}

static void map_id(const char *path, unsigned id)
{
	char text[32];

	snprintf(text, sizeof(text), "0 %u 1\n", id);
	write_file(path, text);
}

void tap_unshare(void)
{
	unsigned uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) < 0)
		give_up("no namespaces of our own");
	write_file("/proc/self/setgroups", "deny");
	map_id("/proc/self/uid_map", uid);
	map_id("/proc/self/gid_map", gid);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0)
		give_up("cannot mount /run");
	if (tap_sh("ip link set lo up") != 0)
		give_up("cannot set lo up");
}

__attribute__((format(printf, 1, 0))) static int run(const char *fmt, va_list args)
{
	char command[4096];
	int n = vsnprintf(command, sizeof(command), fmt, args);

	if (n < 0 || (size_t)n >= sizeof(command))
		return -1;
	fflush(stdout);

	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int tap_sh(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int status = run(fmt, args);

	va_end(args);
	return status;
}

bool tap_says(const char *command, const char *text)
{
	static char output[1 << 20];
	FILE *from = popen(command, "re");
	size_t n;

	if (from == NULL)
		return false;
	n = fread(output, 1, sizeof(output) - 1, from);
	output[n] = '\0';
	pclose(from);
	return strstr(output, text) != NULL;
}
