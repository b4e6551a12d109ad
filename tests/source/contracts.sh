#!/bin/sh
# SPDX-License-Identifier: MIT
# Every prototype in a header, public or private, has a contract right above it, and every @word
# in a contract is a word of the prototype. Functions that a header defines may go without one.
. "${0%/*}/lib.sh"

wrong=$(find_files '*.h' | grep -v '^tests/' | xargs awk '
	# What the declaration that ends here lacks; @what is its text.
	function check(what, is_prototype,   rest, word) {
		if (what !~ /[a-z0-9_]\(/ || what ~ /^ *(typedef|static_assert|_Static_assert|extern [^(]*\(\*)/)
			return
		if (is_prototype && said == "")
			print FILENAME ":" FNR ": no contract:" what
		rest = said
		while (match(rest, /@[a-z_0-9]+/)) {
			word = substr(rest, RSTART + 1, RLENGTH - 1)
			rest = substr(rest, RSTART + RLENGTH)
			if (what !~ "[^a-z_0-9]" word "[^a-z_0-9]")
				print FILENAME ":" FNR ": @" word " is not in the prototype:" what
		}
	}
	FNR == 1 { said = decl = ""; depth = 0; in_comment = in_macro = 0 }
	in_macro { in_macro = /\\$/; next }
	/^[ \t]*#/ { in_macro = /\\$/; said = decl = ""; next }
	!in_comment && !depth && /^[ \t]*\/\*/ { said = ""; in_comment = 1 }
	in_comment { said = said $0 "\n"; if (/\*\//) in_comment = 0; if (/SPDX/) said = ""; next }
	/^[ \t]*$/ { if (!depth) said = decl = ""; next }
	{
		line = $0
		gsub(/\/\*[^*]*\*\//, "", line)
		was = depth
		depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
		if (!was && line !~ /\{/) {
			decl = decl " " line
			if (line ~ /;[ \t]*$/) {
				check(decl, 1)
				said = decl = ""
			}
		} else if (!was) {
			if (decl line ~ /\)[ \t]*\{/)
				check(decl " " line, 0)
			said = decl = ""
		}
	}')
report "$wrong" "each prototype in a header has a contract that fits it"
