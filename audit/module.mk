# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libaudit.a
libaudit_a_CPPFLAGS = $(AM_CPPFLAGS) $(CRYPTO_CFLAGS) $(JANSSON_CFLAGS)
libaudit_a_SOURCES = \
	%D%/audit.h
