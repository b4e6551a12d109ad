#!/bin/sh
# SPDX-License-Identifier: MIT
# Every #include "folder/..." follows an arrow of tests/source/layers.txt to that folder's one
# public header, FOLDER/FOLDER.h (base has several), and no arrow points up.
. "${0%/*}/lib.sh"

arrows=tests/source/layers.txt
folders=$(sed -n 's/^\([a-z]*\):.*/\1/p' $arrows)

wrong=$(find_files '*.[ch]' | grep -E "^($(echo "$folders" | paste -sd '|' -))/" | xargs awk -v arrows="$arrows" '
	BEGIN {
		while ((getline line < arrows) > 0) {
			if (line ~ /^#/ || line == "")
				continue
			n = split(line, word, /[: ]+/)
			for (i = 2; i <= n; i++) {
				if (word[i] == "")
					continue
				if (!(word[i] in seen))
					print arrows ": " word[1] " -> " word[i] " points up"
				may[word[1], word[i]] = 1
			}
			seen[word[1]] = 1
		}
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split(FILENAME, from, "/")
		split($0, quoted, "\"")
		split(quoted[2], to, "/")
		if (!(to[1] in seen) || to[1] == from[1])
			next
		if (!((from[1], to[1]) in may))
			print FILENAME ":" FNR ": " from[1] " -> " to[1] " is not in " arrows
		if (to[1] != "base" && to[2] != to[1] ".h")
			print FILENAME ":" FNR ": " quoted[2] " is private to " to[1]
	}')
report "$wrong" "folders include only what $arrows allows"
