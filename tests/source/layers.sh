#!/bin/sh
# SPDX-License-Identifier: MIT
# Every #include "module/..." follows an arrow of tests/source/layers.txt to that module's one
# public header, MODULE/MODULE.h (base has several), and no arrow points up.
cd "${SRCDIR:-.}" || exit 99
awk '
	BEGIN { while ((getline line < "tests/source/layers.txt") > 0) {
		if (line ~ /^#/ || line == "") continue
		n = split(line, w, /[: ]+/)
		for (i = 2; i <= n; i++) if (w[i] != "") {
			if (!(w[i] in seen)) { print "# tests/source/layers.txt: " w[1] " -> " w[i] " points up"; bad = 1 }
			may[w[1], w[i]] = 1 }
		seen[w[1]] = 1 } }
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split(FILENAME, f, "/"); split($0, q, "\""); split(q[2], t, "/")
		if (!(t[1] in seen) || t[1] == f[1]) next
		if (!((f[1], t[1]) in may)) { print "# " FILENAME ":" FNR ": " f[1] " -> " t[1] " is not in tests/source/layers.txt"; bad = 1 }
		if (t[1] != "base" && t[2] != t[1] ".h") { print "# " FILENAME ":" FNR ": " q[2] " is private to " t[1]; bad = 1 } }
	END { print "1..1"; print (bad ? "not ok" : "ok") " 1 - modules include only what tests/source/layers.txt allows"; exit bad }
' $(for m in $(sed -n 's/^\([a-z]*\):.*/\1/p' tests/source/layers.txt); do find "$m" -name '*.[ch]'; done)
