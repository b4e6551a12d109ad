# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libaudit.a
libaudit_a_CPPFLAGS = $(AM_CPPFLAGS) $(CRYPTO_CFLAGS) $(JANSSON_CFLAGS)
libaudit_a_SOURCES = \
	%D%/audit.h \
	%D%/chain.c \
	%D%/chain.h \
	%D%/entry.c \
	%D%/reader.c \
	%D%/record.c \
	%D%/record.h \
	%D%/store.c \
	%D%/store.h \
	%D%/tail.c \
	%D%/tail.h \
	%D%/verify.c \
	%D%/writer.c
