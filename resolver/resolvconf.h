/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>
#include "base/address.h"

enum { RESOLVCONF_MAX = 8 }; /* servers that are taken of one file */

/* What tells one content of a file from the next. All zero: there is no file. */
struct resolvconf_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

/*
 * Read the `nameserver` lines of the resolv.conf(5) file @path into @ret_servers, each with port
 * 53. Lines that are no address are passed over.
 *
 * Gives  how many there are; 0 also if the file cannot be read.
 */
unsigned resolvconf_read(const char *path, struct endpoint ret_servers[RESOLVCONF_MAX]);

/*
 * Look at the file @path, and put how it stands into @stamp.
 *
 * Gives  true if that is not as @stamp was.
 */
bool resolvconf_changed(const char *path, struct resolvconf_stamp *stamp);
