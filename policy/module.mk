# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libpolicy.a
libpolicy_a_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(IDN_CFLAGS) $(PSL_CFLAGS) \
	$(MMDB_CFLAGS)
libpolicy_a_SOURCES = \
	%D%/agents.c %D%/agents.h \
	%D%/arena.c %D%/arena.h \
	%D%/compile.c %D%/compile.h \
	%D%/doh.c %D%/doh.h \
	%D%/draft.c \
	%D%/geo.c %D%/geo.h \
	%D%/host.c %D%/host.h \
	%D%/hosts.c %D%/hosts.h \
	%D%/hours.c %D%/hours.h \
	%D%/judge.c \
	%D%/list.c %D%/list.h %D%/list_line.h \
	%D%/list_zone.c \
	%D%/load.c %D%/load.h \
	%D%/origin.c %D%/origin.h \
	%D%/policy.c %D%/policy.h \
	%D%/private.h \
	%D%/rate.c \
	%D%/read.c %D%/read.h \
	%D%/review.c \
	%D%/schema.c %D%/schema.h \
	%D%/special.c %D%/special.h \
	%D%/type.c \
	%D%/utf8.c %D%/utf8.h \
	%D%/value.c %D%/value.h \
	%D%/value_net.c \
	%D%/value_word.c %D%/value_word.h
