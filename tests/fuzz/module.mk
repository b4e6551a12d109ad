# SPDX-License-Identifier: MIT
# A target for each parser of foreign bytes, with its corpus in NAME.in/. Without --enable-fuzz
# each is a plain test that replays the corpus; an empty corpus fails.
EXTRA_DIST += \
	%D%/frames.in \
	%D%/list.in \
	%D%/log.in \
	%D%/message.in \
	%D%/name.in \
	%D%/policy.in \
	%D%/question.in \
	%D%/replay_main.c \
	%D%/vet.in
FUZZERS = \
	%D%/frames_fuzz \
	%D%/list_fuzz \
	%D%/log_fuzz \
	%D%/message_fuzz \
	%D%/name_fuzz \
	%D%/policy_fuzz \
	%D%/question_fuzz \
	%D%/vet_fuzz
check_PROGRAMS += $(FUZZERS)
%C%_frames_fuzz_SOURCES = %D%/frames_fuzz.c
%C%_frames_fuzz_LDADD = libresolver.a libbase.a
%C%_list_fuzz_SOURCES = %D%/list_fuzz.c
%C%_list_fuzz_LDADD = libpolicy.a libbase.a $(POLICY_LIBS)
%C%_log_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_log_fuzz_SOURCES = %D%/log_fuzz.c cli/print.c cli/print.h
%C%_log_fuzz_LDADD = libaudit.a libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS)
%C%_message_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(LDNS_CFLAGS)
%C%_message_fuzz_SOURCES = %D%/message_fuzz.c
%C%_message_fuzz_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) $(LDNS_LIBS)
%C%_name_fuzz_SOURCES = %D%/name_fuzz.c
%C%_name_fuzz_LDADD = libbase.a $(UV_LIBS)
%C%_policy_fuzz_SOURCES = %D%/policy_fuzz.c
%C%_policy_fuzz_LDADD = libpolicy.a libbase.a $(POLICY_LIBS)
%C%_question_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(LDNS_CFLAGS)
%C%_question_fuzz_SOURCES = %D%/question_fuzz.c
%C%_question_fuzz_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) $(LDNS_LIBS)
%C%_vet_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(LDNS_CFLAGS)
%C%_vet_fuzz_SOURCES = %D%/vet_fuzz.c
%C%_vet_fuzz_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) $(LDNS_LIBS)
if FUZZ
%C%_frames_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_list_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_log_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_message_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_name_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_policy_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_question_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_vet_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
%C%_frames_fuzz_SOURCES += %D%/replay_main.c
%C%_list_fuzz_SOURCES += %D%/replay_main.c
%C%_log_fuzz_SOURCES += %D%/replay_main.c
%C%_message_fuzz_SOURCES += %D%/replay_main.c
%C%_name_fuzz_SOURCES += %D%/replay_main.c
%C%_policy_fuzz_SOURCES += %D%/replay_main.c
%C%_question_fuzz_SOURCES += %D%/replay_main.c
%C%_vet_fuzz_SOURCES += %D%/replay_main.c
TESTS += $(FUZZERS)
endif

.PHONY: fuzzers
fuzzers: $(FUZZERS)
