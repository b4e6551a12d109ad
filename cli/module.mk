# SPDX-License-Identifier: MIT
bin_PROGRAMS += bailiwick
bailiwick_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
bailiwick_SOURCES = \
	%D%/check.c \
	%D%/cli.h \
	%D%/escape.c \
	%D%/explain.c \
	%D%/explain_grant.c \
	%D%/explain_grant.h \
	%D%/log.c \
	%D%/main.c \
	%D%/print.c \
	%D%/print.h \
	%D%/serve.c \
	%D%/url.c \
	%D%/url.h
bailiwick_LDADD = libresolver.a libtls.a liblease.a libaudit.a libpolicy.a libbase.a \
	$(UV_LIBS) $(INIH_LIBS) $(IDN_LIBS) $(PSL_LIBS) $(MMDB_LIBS) $(MNL_LIBS) \
	$(SSL_LIBS) $(JANSSON_LIBS)
