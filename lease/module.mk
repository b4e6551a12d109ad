# SPDX-License-Identifier: MIT
noinst_LIBRARIES += liblease.a
liblease_a_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
liblease_a_SOURCES = \
	%D%/ask.c %D%/ask.h \
	%D%/attr.h \
	%D%/changes.c %D%/changes.h \
	%D%/commit.c %D%/commit.h \
	%D%/encode.c %D%/encode.h \
	%D%/expression.c %D%/expression.h \
	%D%/guard.c %D%/guard.h \
	%D%/key.c %D%/key.h \
	%D%/lease.h \
	%D%/map.c %D%/map.h \
	%D%/message.c %D%/message.h \
	%D%/mirror.c %D%/mirror.h \
	%D%/neighbour.c %D%/neighbour.h \
	%D%/netlink.c %D%/netlink.h \
	%D%/rule.c %D%/rule.h \
	%D%/ruleset.c %D%/ruleset.h \
	%D%/table.c %D%/table.h \
	%D%/transaction.c %D%/transaction.h
