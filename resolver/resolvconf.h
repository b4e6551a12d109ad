/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/address.h"

enum { RESOLVCONF_MAX = 8 }; /* servers that are taken of one file */

/*
 * Read the `nameserver` lines of the resolv.conf(5) file @path into @ret_servers, each with port
 * 53. Lines that are no address are passed over.
 *
 * Gives  how many there are; 0 also if the file cannot be read.
 */
unsigned resolvconf_read(const char *path, struct endpoint ret_servers[RESOLVCONF_MAX]);
