# SPDX-License-Identifier: MIT
# About the source itself. `make check SOURCE_TESTS=` leaves these out.
SOURCE_TESTS = \
	%D%/contracts.sh \
	%D%/cppcheck.sh \
	%D%/format.sh \
	%D%/keys.sh \
	%D%/layers.sh \
	%D%/links.sh \
	%D%/manual.sh \
	%D%/self_test.sh \
	%D%/shellcheck.sh \
	%D%/size.sh \
	%D%/tidy.sh
dist_check_SCRIPTS += $(SOURCE_TESTS)
EXTRA_DIST += %D%/layers.txt %D%/lib.sh
TESTS += $(SOURCE_TESTS)
