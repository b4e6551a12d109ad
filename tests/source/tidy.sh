#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-tidy finds nothing. Which of its checks are on, and why some are not, is in .clang-tidy.
# A process for each file: with several, version 14 carries what it knows of one to the next.
. "${0%/*}/lib.sh"
[ "${BAILIWICK_MUST_RUN:-0}" = 1 ] || skip "clang-tidy takes minutes; BAILIWICK_MUST_RUN=1 runs it"
need clang-tidy

flags="-std=gnu11 -D_GNU_SOURCE -DSYSCONFDIR=\"/etc\" -I. -I$build_dir"
# shellcheck disable=SC2086 # the flags are words
wrong=$(find_files '*.c' | xargs -P "$(nproc)" -n 1 sh -c '
	flags=$1; shift
	clang-tidy --quiet "$@" -- $flags 2>&1' sh "$flags" | grep -A 3 -E '(error|warning):')
report "$wrong" "clang-tidy finds nothing"
