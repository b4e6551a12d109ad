/* SPDX-License-Identifier: MIT */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Who owns what. A local that owns something says so where it is declared,
 * and it is released on every way out; to hand it on, steal it. A cleanup
 * never changes errno.
 */
#define OWN(release) __attribute__((cleanup(release)))

static inline void own_free(void *p)
{
	free(*(void **)p);
}

static inline void own_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

#define steal_ptr(p)                         \
	({                                   \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL;                  \
		stolen_;                     \
	})
#define steal_fd(fd)                \
	({                          \
		int stolen_ = (fd); \
		(fd) = -1;          \
		stolen_;            \
	})
