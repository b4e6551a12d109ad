# SPDX-License-Identifier: MIT
# What we assume of the kernel, and what we do to it, each program in namespaces of its own.
KERNEL = %D%/desk_test %D%/gateway_test %D%/lease_test %D%/nftables_test %D%/ruleset_test
check_PROGRAMS += $(KERNEL)
TESTS += $(KERNEL)
LEASE_LIBS = liblease.a libbase.a $(MNL_LIBS) $(UV_LIBS)

KERNEL_SHARED = %D%/tap.c %D%/tap.h tests/unit/fake_policy.c tests/unit/fake_policy.h

%C%_desk_test_SOURCES = %D%/desk_test.c $(KERNEL_SHARED)
%C%_desk_test_LDADD = $(LEASE_LIBS)
%C%_gateway_test_SOURCES = %D%/gateway_test.c $(KERNEL_SHARED)
%C%_gateway_test_LDADD = $(LEASE_LIBS)
%C%_lease_test_SOURCES = %D%/lease_test.c $(KERNEL_SHARED)
%C%_lease_test_LDADD = $(LEASE_LIBS)
%C%_nftables_test_SOURCES = %D%/nftables_test.c $(KERNEL_SHARED)
%C%_nftables_test_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
%C%_nftables_test_LDADD = $(LEASE_LIBS)
%C%_ruleset_test_SOURCES = %D%/ruleset_test.c $(KERNEL_SHARED)
%C%_ruleset_test_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
%C%_ruleset_test_LDADD = $(LEASE_LIBS)
