#!/bin/sh
# SPDX-License-Identifier: MIT
# cppcheck finds nothing. What it gets wrong is said where it does, on a line of its own.
. "${0%/*}/lib.sh"
[ "${BAILIWICK_MUST_RUN:-0}" = 1 ] || skip "cppcheck takes long; BAILIWICK_MUST_RUN=1 runs it"
need cppcheck

wrong=$(find_files '*.c' | grep -v '^tests/' | xargs cppcheck --quiet -j "$(nproc)" --std=c11 \
	--enable=warning,performance,portability --inline-suppr -D_GNU_SOURCE -DSYSCONFDIR='"/etc"' \
	-I . -I "$build_dir" --template='{file}:{line}: {id}: {message}' 2>&1)
report "$wrong" "cppcheck finds nothing"
