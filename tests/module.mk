# SPDX-License-Identifier: MIT
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
# What a program that links libpolicy.a needs besides.
POLICY_LIBS = $(INIH_LIBS) $(IDN_LIBS) $(PSL_LIBS) $(MMDB_LIBS)
AM_TESTS_ENVIRONMENT = CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	SRCDIR='$(abs_srcdir)'; export SRCDIR; \
	BAILIWICK='$(abs_builddir)/bailiwick'; export BAILIWICK;

include %D%/source/module.mk
include %D%/unit/module.mk
include %D%/fuzz/module.mk
include %D%/kernel/module.mk
include %D%/replay/module.mk
include %D%/system/module.mk
include %D%/bench/module.mk
