#!/bin/sh
# SPDX-License-Identifier: MIT
# Every function in a module's header has a contract right above it, and every
# @word in that contract is a word of the prototype.
cd "${SRCDIR:-.}" || exit 99
awk '
	FNR == 1 { said = decl = ""; deep = 0 }
	/^[ \t]*\/\*/ { said = ""; in_comment = 1 }
	in_comment { said = said $0 "\n"; if (/\*\//) in_comment = 0; next }
	/^[ \t]*(#|$)/ { said = ""; next }
	{ opens = gsub(/\{/, "{"); closes = gsub(/\}/, "}"); was = deep; deep += opens - closes }
	was || opens { if (!deep) said = decl = ""; next }
	{ decl = decl " " $0 }
	/;[ \t]*(\/\*.*)?$/ {
		if (decl ~ /[a-z0-9_]\(/ && decl !~ /^ *(typedef|static_assert|extern [^(]*\(\*)/) {
			n++
			if (said == "") { print "# " FILENAME ":" FNR ": no contract:" decl; bad = 1 }
			rest = said
			while (match(rest, /@[a-z_0-9]+/)) {
				word = substr(rest, RSTART + 1, RLENGTH - 1); rest = substr(rest, RSTART + RLENGTH)
				if (decl !~ "[^a-z_0-9]" word "[^a-z_0-9]") { print "# " FILENAME ":" FNR ": @" word " is not in the prototype"; bad = 1 } } }
		said = decl = "" }
	END { print "1..1"; print (bad ? "not ok" : "ok") " 1 - each of " n+0 " functions in headers has a contract that fits it"; exit bad }
' $(for m in $(sed -n 's/^\([a-z]*\):.*/\1/p' tests/source/layers.txt); do find "$m" -name '*.h'; done)
