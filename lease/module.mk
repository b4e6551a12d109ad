# SPDX-License-Identifier: MIT
noinst_LIBRARIES += liblease.a
liblease_a_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS) $(NFTABLES_CFLAGS)
liblease_a_SOURCES = \
	%D%/lease.h
