# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libtls.a
libtls_a_CPPFLAGS = $(AM_CPPFLAGS) $(SSL_CFLAGS)
libtls_a_SOURCES = \
	%D%/context.c \
	%D%/private.h \
	%D%/stream.c \
	%D%/tls.h
