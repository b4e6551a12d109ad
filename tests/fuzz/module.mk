# SPDX-License-Identifier: MIT
# A target for each parser of foreign bytes, with its corpus in NAME.in/. Without --enable-fuzz
# each is a plain test that replays the corpus; an empty corpus fails.
EXTRA_DIST += %D%/name.in %D%/replay_main.c
FUZZERS = %D%/name_fuzz
check_PROGRAMS += $(FUZZERS)
%C%_name_fuzz_SOURCES = %D%/name_fuzz.c
%C%_name_fuzz_LDADD = libbase.a $(UV_LIBS)
if FUZZ
%C%_name_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
%C%_name_fuzz_SOURCES += %D%/replay_main.c
TESTS += $(FUZZERS)
endif
