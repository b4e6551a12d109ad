# SPDX-License-Identifier: MIT
# What we assume of the kernel, and what we do to it, each program in namespaces of its own.
KERNEL = %D%/lease_test
check_PROGRAMS += $(KERNEL)
TESTS += $(KERNEL)
LEASE_LIBS = liblease.a libbase.a $(MNL_LIBS) $(NFTABLES_LIBS) $(UV_LIBS)

%C%_lease_test_SOURCES = %D%/lease_test.c %D%/tap.c %D%/tap.h \
	tests/unit/fake_policy.c tests/unit/fake_policy.h
%C%_lease_test_LDADD = $(LEASE_LIBS)
