# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libbase.a
libbase_a_CPPFLAGS = $(AM_CPPFLAGS) $(UV_CFLAGS)
libbase_a_SOURCES = \
	%D%/address.c %D%/address.h \
	%D%/cursor.h \
	%D%/err.c %D%/err.h \
	%D%/hash.c %D%/hash.h \
	%D%/heap.c %D%/heap.h \
	%D%/life.c %D%/life.h \
	%D%/limits.h \
	%D%/list.h \
	%D%/loop.c %D%/loop.h \
	%D%/name.c %D%/name.h \
	%D%/own.h \
	%D%/siphash.c %D%/siphash.h \
	%D%/socket.c
