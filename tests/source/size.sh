#!/bin/sh
# SPDX-License-Identifier: MIT
# No file is longer than 700 lines, no function of C longer than 60.
. "${0%/*}/lib.sh"
need ctags
ctags --version 2>/dev/null | grep -q Universal || skip "ctags is not Universal Ctags"

long_files=$(find_files '*.[ch]' '*.sh' '*.py' | xargs awk '
	FNR == 701 { print FILENAME ": more than 700 lines" }')
long_functions=$(find_files '*.[ch]' | ctags -L - --kinds-C=f --fields=+ne -f - 2>/dev/null | awk -F '\t' '
	{
		start = end = 0
		for (i = 4; i <= NF; i++) {
			if ($i ~ /^line:/)
				start = substr($i, 6)
			if ($i ~ /^end:/)
				end = substr($i, 5)
		}
		if (end - start + 1 > 60)
			print $2 ":" start ": " $1 "() has " end - start + 1 " lines"
	}')
report "$long_files${long_files:+${long_functions:+
}}$long_functions" "no file has more than 700 lines, no function more than 60"
