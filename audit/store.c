/* SPDX-License-Identifier: MIT */
#include "audit/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "audit/record.h"
#include "audit/tail.h"
#include "base/own.h"

enum { LOG_MODE = 0640, SUFFIX_MAX = 16 };

/* Open the regular file @path for appending. */
static int open_log(const char *path, int flags, int *ret_fd)
{
	OWN(own_close)
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, LOG_MODE);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_fd = steal_fd(fd);
	return 0;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/*
 * Let the next group come after what is in the file now, in a line of its own; if @link is not
 * NULL, after a line that says that the file goes on from there.
 */
static void begin_file(struct store *store, const struct chain_link *link)
{
	const struct audit_record record = { .action = "continue" };
	char line[LIMIT_AUDIT_LINE_BYTES];
	uint64_t size = size_of(store->fd);
	struct record_stamp stamp;
	char last = '\n';
	size_t len;

	store->n_due = 0;
	if (size > 0 && pread(store->fd, &last, 1, (off_t)size - 1) == 1 && last != '\n')
		store->due[store->n_due++] = '\n';
	store->rotate_at = store->rotate_bytes;
	if (link == NULL || link->seq == 0)
		return;
	stamp = record_stamp_now(link->seq);
	len = record_format(&record, &stamp, link->hash, line);
	assert(store->n_due + len <= sizeof(store->due));
	memcpy(store->due + store->n_due, line, len);
	store->n_due += len;
}

static int write_head(const struct store *store, const struct chain_link *link)
{
	char head[CHAIN_HEAD_BYTES + 1];
	ssize_t n;

	chain_head_print(link, head);
	n = pwrite(store->head_fd, head, CHAIN_HEAD_BYTES, 0);
	if (n != CHAIN_HEAD_BYTES)
		return n < 0 ? -errno : -ENOSPC;
	if (store->sync && fdatasync(store->head_fd) < 0)
		return -errno;
	return 0;
}

/*
 * Opening
 */

static void path_with(const struct store *store, const char *suffix, char path[STORE_PATH_SIZE])
{
	int len = snprintf(path, STORE_PATH_SIZE, "%s%s", store->path, suffix);

	assert(len > 0 && len < STORE_PATH_SIZE); /* store_open() keeps room for a suffix */
}

static void path_rotated(const struct store *store, unsigned number, char path[STORE_PATH_SIZE])
{
	char suffix[SUFFIX_MAX];

	snprintf(suffix, sizeof(suffix), ".%u", number);
	path_with(store, number > 0 ? suffix : "", path);
}

static int open_head(struct store *store, struct err *err)
{
	char path[STORE_PATH_SIZE];

	path_with(store, ".head", path);
	store->head_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, LOG_MODE);
	if (store->head_fd < 0)
		return err_set(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
	if (flock(store->head_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? err_set(err, -EBUSY, "%s is being written by another process",
					 store->path)
			       : err_set(err, -errno, "%s cannot be locked: %s", path,
					 strerror(errno));
	return 0;
}

/* True if the newest rotated file ends with @head: LOG was renamed while nobody wrote it. */
static bool was_rotated(const struct store *store, struct chain_hasher *hasher,
			const struct chain_link *head)
{
	char path[STORE_PATH_SIZE];
	struct chain_link link;
	enum tail_state state;

	path_rotated(store, 1, path);
	OWN(own_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && tail_read(fd, hasher, &state, &link) == 0 && state == TAIL_RECORD &&
	       link.seq == head->seq && strcmp(link.hash, head->hash) == 0;
}

static void find(struct store_found *found, const char *reason, const char *text)
{
	if (found->reason != NULL)
		return;
	found->reason = reason;
	snprintf(found->text, sizeof(found->text), "%s", text);
}

/* Hold the end of the file, @tail in @state, against the head; @head is NULL if there is none. */
static void compare(enum tail_state state, const struct chain_link *tail,
		    const struct chain_link *head, struct store_found *ret_found)
{
	char text[256];

	if (state == TAIL_TORN)
		find(ret_found, "torn", "the line before this one was torn: it had no newline");
	if (state == TAIL_FOREIGN)
		find(ret_found, "foreign", "the line before this one is no record");
	if (head == NULL) {
		if (state != TAIL_EMPTY)
			find(ret_found, "no-head",
			     "the head of the log was missing or unreadable, so that records may "
			     "have been cut off here");
		return;
	}
	if (head->seq > tail->seq) {
		snprintf(text, sizeof(text),
			 "the log ended with record %" PRIu64 ", though its head named record "
			 "%" PRIu64 ": the records between were cut off",
			 tail->seq, head->seq);
		find(ret_found, "cut", text);
	} else if (head->seq == tail->seq && strcmp(head->hash, tail->hash) != 0) {
		find(ret_found, "changed",
		     "the line before this one is not the one that the head of the log named");
	}
}

static int read_files(struct store *store, struct chain_hasher *hasher, struct chain_link *ret_link,
		      struct store_found *ret_found)
{
	char text[CHAIN_HEAD_BYTES + 1];
	struct chain_link link, head;
	enum tail_state state;
	bool has_head;
	ssize_t n;
	int r;

	n = pread(store->head_fd, text, sizeof(text), 0);
	if (n < 0)
		return -errno;
	has_head = chain_head_parse(text, (size_t)n, &head) == 0;
	r = tail_read(store->fd, hasher, &state, &link);
	if (r < 0)
		return r;
	if (state == TAIL_EMPTY && has_head && was_rotated(store, hasher, &head))
		link = head;
	else
		compare(state, &link, has_head ? &head : NULL, ret_found);
	if (state == TAIL_EMPTY && has_head)
		link = head;
	if (state == TAIL_EMPTY && !has_head)
		(void)write_head(store, &link); /* for verifiers; it is written again soon */
	begin_file(store, state == TAIL_EMPTY ? &link : NULL);
	if (has_head && head.seq > link.seq)
		link.seq = head.seq;
	*ret_link = link;
	return 0;
}

int store_open(const struct audit_config *config, struct chain_hasher *hasher,
	       struct store *ret_store, struct chain_link *ret_link, struct store_found *ret_found,
	       struct err *err)
{
	struct store *store = ret_store;
	size_t len = strlen(config->path);
	int r;

	*store = (struct store){
		.sync = config->sync,
		.rotate_bytes = config->rotate_bytes,
		.keep = config->keep,
		.fd = -1,
		.head_fd = -1,
	};
	ret_found->reason = NULL;
	if (len + SUFFIX_MAX > sizeof(store->path))
		return err_set(err, -ENAMETOOLONG, "the name of the log is too long");
	memcpy(store->path, config->path, len);
	r = open_head(store, err);
	if (r == 0) {
		r = open_log(store->path, 0, &store->fd);
		if (r == 0)
			r = read_files(store, hasher, ret_link, ret_found);
		if (r < 0)
			err_set(err, r, "%s cannot be opened for writing: %s", store->path,
				r == -EINVAL ? "it is no regular file" : strerror(-r));
	}
	if (r < 0)
		store_close(store);
	return r;
}

void store_close(struct store *store)
{
	own_close(&store->fd);
	own_close(&store->head_fd);
	store->fd = -1;
	store->head_fd = -1;
}

/*
 * Writing
 */

/* Give back the last @n bytes that were appended to the file. Others may have truncated it since. */
static bool cut_off(int fd, size_t n)
{
	off_t end = lseek(fd, 0, SEEK_CUR);

	return n == 0 || (end >= (off_t)n && (uint64_t)end == size_of(fd) &&
			  ftruncate(fd, end - (off_t)n) == 0);
}

static int write_due(struct store *store)
{
	ssize_t n;

	if (store->n_due == 0)
		return 0;
	n = write(store->fd, store->due, store->n_due);
	if (n < 0)
		return -errno;
	if ((size_t)n < store->n_due) {
		if (!cut_off(store->fd, (size_t)n)) {
			store->n_due -= (size_t)n;
			memmove(store->due, store->due + n, store->n_due);
		}
		return -ENOSPC;
	}
	store->n_due = 0;
	return 0;
}

/* How many bytes of @group up to @end are whole lines. */
static size_t whole_lines(const struct store_group *group, size_t end)
{
	const char *newline = end > 0 ? memrchr(group->bytes, '\n', end) : NULL;

	return newline != NULL ? (size_t)(newline - group->bytes) + 1 : 0;
}

static int write_group(struct store *store, struct store_group *group)
{
	size_t whole;
	ssize_t n;

	while (group->written < group->len) {
		n = write(store->fd, group->bytes + group->written, group->len - group->written);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -EIO;

			whole = whole_lines(group, group->written);
			if (cut_off(store->fd, group->written - whole))
				group->written = whole;
			return r;
		}
		group->written += (size_t)n;
	}
	return 0;
}

int store_write(struct store *store, struct store_group *group)
{
	int r;

	r = write_due(store);
	if (r == 0)
		r = write_group(store, group);
	if (r < 0)
		return r;
	if (store->sync && fdatasync(store->fd) < 0)
		return -errno;
	return write_head(store, &group->link);
}

/*
 * Rotation
 */

uint64_t store_room(const struct store *store)
{
	uint64_t size;

	if (store->rotate_bytes == 0)
		return UINT64_MAX;
	size = size_of(store->fd);
	return size < store->rotate_at ? store->rotate_at - size : 0;
}

static void take_file(struct store *store, int fd, const struct chain_link *link)
{
	close(store->fd);
	store->fd = fd;
	begin_file(store, link);
}

/* True if @path names the file that @fd is. */
static bool is_file(const char *path, int fd)
{
	struct stat named, open;

	return stat(path, &named) == 0 && fstat(fd, &open) == 0 && named.st_dev == open.st_dev &&
	       named.st_ino == open.st_ino;
}

/* Move LOG.1 to LOG.2 and so on, as far as there are files and @keep allows, then LOG to LOG.1. */
static int shift_files(const struct store *store)
{
	char from[STORE_PATH_SIZE], to[STORE_PATH_SIZE];
	unsigned last = 1;

	for (; last < store->keep; last++) {
		path_rotated(store, last, to);
		if (access(to, F_OK) < 0)
			break;
	}
	for (; last > 0; last--) {
		path_rotated(store, last, to);
		path_rotated(store, last - 1, from);
		if (rename(from, to) < 0)
			return -errno;
	}
	return 0;
}

static int replace_log(struct store *store, const struct chain_link *link)
{
	char path[STORE_PATH_SIZE];
	OWN(own_close) int fd = -1;
	int r;

	path_with(store, ".new", path);
	r = open_log(path, O_TRUNC, &fd);
	if (r < 0)
		return r;
	r = store->keep > 0 ? shift_files(store) : 0;
	if (r == 0 && rename(path, store->path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(path);
		return r;
	}
	take_file(store, steal_fd(fd), link);
	return 0;
}

int store_rotate(struct store *store, struct chain_hasher *hasher, struct store_group *group)
{
	int r;

	assert(group->len == 0);
	if (is_file(store->path, store->fd))
		r = replace_log(store, &group->link);
	else
		r = store_reopen(store, hasher, group);
	if (r < 0)
		store->rotate_at = size_of(store->fd) + store->rotate_bytes;
	return r;
}

/* The last line of @group that is wholly in the file, or the last before the group. */
static struct chain_link written_link(struct chain_hasher *hasher, const struct store_group *group)
{
	struct chain_link link = group->len > 0 ? group->before : group->link;
	size_t end = whole_lines(group, group->written);
	size_t start;

	if (end > 0) {
		start = whole_lines(group, end - 1);
		tail_link(hasher, group->bytes + start, end - 1 - start, &link);
	}
	return link;
}

int store_reopen(struct store *store, struct chain_hasher *hasher, struct store_group *group)
{
	OWN(own_close) int fd = -1;
	struct chain_link link;
	int r;

	r = open_log(store->path, 0, &fd);
	if (r < 0)
		return r;
	if (is_file(store->path, store->fd))
		return 0;
	link = written_link(hasher, group);
	group->written = whole_lines(group, group->written);
	take_file(store, steal_fd(fd), &link);
	return 0;
}
