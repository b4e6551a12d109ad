# SPDX-License-Identifier: MIT
# The real life of a query on a scripted network and clock: a test is a script, NAME.rpl.
RPL_LOG_DRIVER = $(LOG_DRIVER)
RPL_LOG_COMPILER = $(top_builddir)/tests/replay/replay
TEST_EXTENSIONS += .rpl
check_PROGRAMS += %D%/replay
%C%_replay_CPPFLAGS = $(AM_CPPFLAGS) $(LDNS_CFLAGS)
%C%_replay_SOURCES = \
	%D%/replay.c \
	%D%/script.c %D%/script.h \
	%D%/scripted.c %D%/scripted.h \
	%D%/servers.c \
	%D%/world.c %D%/world.h
%C%_replay_LDADD = libresolver.a libpolicy.a libbase.a \
	$(POLICY_LIBS) $(LDNS_LIBS)

REPLAYS = \
	%D%/scripts/answer.rpl \
	%D%/scripts/audit.rpl \
	%D%/scripts/budget.rpl \
	%D%/scripts/chain.rpl \
	%D%/scripts/deny.rpl \
	%D%/scripts/dot.rpl \
	%D%/scripts/failover.rpl \
	%D%/scripts/hours.rpl \
	%D%/scripts/leases.rpl \
	%D%/scripts/limits.rpl \
	%D%/scripts/loop.rpl \
	%D%/scripts/observe.rpl \
	%D%/scripts/races.rpl \
	%D%/scripts/spoof.rpl \
	%D%/scripts/stale.rpl \
	%D%/scripts/upstream.rpl
EXTRA_DIST += $(REPLAYS)
TESTS += $(REPLAYS)
