#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-format would change nothing.
. "${0%/*}/lib.sh"
need clang-format

wrong=$(find_files '*.[ch]' | xargs clang-format --dry-run -Werror 2>&1 | grep 'error:')
report "$wrong" "the sources are formatted as .clang-format says"
