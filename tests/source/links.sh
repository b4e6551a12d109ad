#!/bin/sh
# SPDX-License-Identifier: MIT
# Every file of the tree that a document names exists, and every source file says its licence.
. "${0%/*}/lib.sh"

documents=$(for d in *.md; do [ -f "$d" ] && echo "$d"; done; find_files '*.md' '*.[1-9]')
either=$(echo "$FOLDERS" | tr ' ' '|')

# Names are words that begin with one of our folders and a slash, or targets of Markdown links.
missing=$(
	for document in $documents; do
		{
			tr -c 'A-Za-z0-9_./*-' '\n' <"$document" | grep -E "^($either)/"
			grep -oE '\]\([^):# ]+\)' "$document" | sed 's/^](//; s/)$//'
		} | sed 's/[.]*$//' | sort -u | while read -r name; do
			case $name in
			*'*'*) continue ;;
			esac
			[ -e "$name" ] || echo "$document: names $name, which does not exist"
		done
	done
)

# The first two lines, since the first may be a #! line.
unlicensed=$(
	{
		find_files '*.[ch]' '*.sh' '*.py' '*.mk' '*.ini' '*.m4' '*.[1-9]' '*.bash' '*.rpl'
		find contrib tests/system -type f ! -name '*.*' 2>/dev/null
		ls configure.ac Makefile.am m4/project.m4 2>/dev/null
	} | sort -u | while read -r file; do
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
			echo "$file: its first two lines hold no SPDX-License-Identifier"
	done
)

report "$missing${missing:+${unlicensed:+
}}$unlicensed" "documents name only files that exist, and sources their licence"
