#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual pages are clean mdoc, and bailiwick.1 tells of the commands and options that the
# program's own help tells of: no more and no fewer.
. "${0%/*}/lib.sh"
need mandoc
[ -x "${BAILIWICK:-}" ] || skip "the program is not built"

page=man/bailiwick.1
pages=$(find_files '*.[1-9]')
[ -f "$page" ] || report "$page: does not exist" "the manual is clean and complete"

# shellcheck disable=SC2086 # our names hold no blanks
lint=$(mandoc -T lint -W warning $pages 2>&1)

# Commands: each has a subsection `.Ss NAME` in the page and a line in `bailiwick --help`.
helped=$("$BAILIWICK" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | sort | paste -sd ' ' -)
paged=$(sed -n 's/^\.Ss \([a-z][a-z]*\)$/\1/p' $page | sort | paste -sd ' ' -)
commands=
[ "$helped" = "$paged" ] || commands="$page: its commands are $paged; --help has $helped"

# Options: each word of `bailiwick NAME --help` that begins with a dash has an item
# a `.It Fl ...` in the subsection, and each such flag a word.
options=$(
	for command in $helped; do
		in_help=$("$BAILIWICK" "$command" --help | tr -c 'A-Za-z0-9-' '\n' |
			grep -E '^(-[a-zA-Z]|--[a-z][a-z-]*)$' | grep -vx -e --help | sort -u | paste -sd ' ' -)
		in_page=$(sed -n "/^\.Ss $command\$/,/^\.S[sh] /p" $page |
			sed -n 's/^\.It Fl/Fl/p' | grep -oE 'Fl [^ ]+' | sed 's/^Fl /-/' | sort -u | paste -sd ' ' -)
		[ "$in_help" = "$in_page" ] ||
			echo "$page: the options of $command are $in_page; its --help has $in_help"
	done
)
report "$(printf '%s\n%s\n%s\n' "$lint" "$commands" "$options" | grep .)" \
	"the manual is clean mdoc and agrees with --help"
