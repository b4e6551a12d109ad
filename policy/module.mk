# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libpolicy.a
libpolicy_a_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(IDN_CFLAGS) $(PSL_CFLAGS)
libpolicy_a_SOURCES = \
	%D%/policy.h
