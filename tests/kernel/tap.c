/* SPDX-License-Identifier: MIT */
#include "tests/kernel/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/own.h"

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
	bool must_work = getenv("BAILIWICK_MUST_RUN") != NULL;

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

/* Start `sh -c COMMAND`, its output to the descriptor @out. */
static pid_t start_shell(const char *command, int out)
{
	char *const argv[] = { strdup("sh"), strdup("-c"), strdup(command), NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	for (unsigned i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	return pid;
}

static int end_shell(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int tap_sh(const char *fmt, ...)
{
	char command[4096];
	va_list args;

	va_start(args, fmt);
	int n = vsnprintf(command, sizeof(command), fmt, args);

	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(command))
		return -1;
	fflush(stdout);
	return end_shell(start_shell(command, STDERR_FILENO));
}

char *tap_read(const char *command)
{
	OWN(own_free) char *text = NULL;
	size_t used = 0;
	int pipes[2];
	ssize_t n;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return NULL;

	pid_t pid = start_shell(command, pipes[1]);

	close(pipes[1]);
	do {
		char *longer = realloc(text, used + 65537);

		if (longer == NULL)
			abort();
		text = longer;
		n = read(pipes[0], text + used, 65536);
		used += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	close(pipes[0]);
	end_shell(pid);
	text[used] = '\0';
	return steal_ptr(text);
}

bool tap_says(const char *command, const char *text)
{
	OWN(own_free) char *output = tap_read(command);

	return output != NULL && strstr(output, text) != NULL;
}
