# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libresolver.a
libresolver_a_CPPFLAGS = $(AM_CPPFLAGS) $(LDNS_CFLAGS)
libresolver_a_SOURCES = \
	%D%/resolver.h
