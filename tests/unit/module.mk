# SPDX-License-Identifier: MIT
# One program for each subject, with cmocka. A test of a folder links that folder and those below.
UNIT =
if HAVE_CMOCKA
UNIT += %D%/base_test
endif
check_PROGRAMS += $(UNIT)
TESTS += $(UNIT)

%C%_base_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_base_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
