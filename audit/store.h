/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/audit.h"
#include "audit/chain.h"
#include "base/limits.h"

/*
 * The files of a log that is being written: LOG, its head, and its rotated
 * files. The head is locked for as long as the log is open; LOG itself may be
 * renamed or truncated by others at any time.
 */

enum {
	STORE_PATH_SIZE = 4096,
	STORE_GROUP_BYTES = 4 * LIMIT_AUDIT_LINE_BYTES,
};

struct store {
	char path[STORE_PATH_SIZE];
	bool sync;
	uint64_t rotate_bytes; /* 0: never */
	uint64_t rotate_at;    /* the size from which the file is rotated */
	unsigned keep;
	int fd, head_fd; /* -1: closed */
	size_t n_due;    /* bytes at @due that must come before the next group */
	char due[512];
};

/* Whole lines that are written together. All zero is an empty one. */
struct store_group {
	char bytes[STORE_GROUP_BYTES];
	size_t len;
	size_t written;           /* bytes of them that are in the file */
	struct chain_link before; /* the last line before it */
	struct chain_link link;   /* its own last line; if it is empty, the last before it */
};

/* What was found wrong with the files when they were opened. */
struct store_found {
	const char *reason; /* a word for the gap record; NULL: nothing */
	char text[LIMIT_AUDIT_TEXT_BYTES];
};

/*
 * Open the files of @config.
 *
 * Gives  0, @ret_store, in @ret_link what the next line hangs on, and in @ret_found what must be
 *        said first.
 * Fails  as audit_open(). @ret_store is closed then.
 */
int store_open(const struct audit_config *config, struct chain_hasher *hasher,
	       struct store *ret_store, struct chain_link *ret_link, struct store_found *ret_found,
	       struct err *err) __attribute__((warn_unused_result));

/* Close @store. */
void store_close(struct store *store);

/*
 * Write @group, and the head after it.
 *
 * Fails  -errno: the file holds whole lines all the same, as far as the disk allows; call again
 *        with the same group, which remembers how far it got.
 */
int store_write(struct store *store, struct store_group *group) __attribute__((warn_unused_result));

/* How many bytes may be added to the file of @store before it is rotated; 0: rotate first. */
uint64_t store_room(const struct store *store);

/*
 * Rotate the files of @store: LOG becomes LOG.1 and so on; the new LOG goes on from @group. If LOG
 * is another file by now, since it was renamed, that one is opened.
 *
 * Given  @group is empty.
 * Fails  -errno: the old file is written on, and rotated once it has grown as much again.
 */
int store_rotate(struct store *store, struct chain_hasher *hasher, struct store_group *group)
	__attribute__((warn_unused_result));

/*
 * Open LOG by its name, and let it go on from what is in the old file of @group, which may be under
 * way: a line of it that was begun in the old file is written again in the new one.
 *
 * Fails  -errno: the old file is written on.
 */
int store_reopen(struct store *store, struct chain_hasher *hasher, struct store_group *group)
	__attribute__((warn_unused_result));
