#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual of the policy file lists the keys as the program has them.
. "${0%/*}/lib.sh"
[ -x "${BAILIWICK:-}" ] || skip "the program is not built"

page=man/bailiwick-policy.5
ours=$("$BAILIWICK" check --keys)
paged=$(sed -n '/^\.\\" keys: begin$/,/^\.\\" keys: end$/p' "$page" | sed '1d;$d')
differ=
if [ -z "$ours" ] || [ "$ours" != "$paged" ]; then
	differ="$page: what stands between \`keys: begin\` and \`keys: end\` is not what bailiwick check --keys prints"
fi
report "$differ" "the manual lists the keys of the policy file"
