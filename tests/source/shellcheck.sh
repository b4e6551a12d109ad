#!/bin/sh
# SPDX-License-Identifier: MIT
# The linter of shell scripts finds nothing in files that end in .sh or begin with #!/bin/sh.
# Left out: SC2016, which takes awk programs in single quotes for a mistake.
. "${0%/*}/lib.sh"
need shellcheck

scripts=$({
	find_files '*.sh'
	find contrib tests .ci -type f ! -name '*.*' -exec grep -lE '^#!/bin/sh' {} + 2>/dev/null
} | sort -u)
# shellcheck disable=SC2086 # our names hold no blanks
wrong=$(shellcheck --external-sources --source-path=SCRIPTDIR --exclude=SC2016 --format=gcc $scripts 2>&1)
bash_files=$(find_files '*.bash')
# shellcheck disable=SC2086
[ -z "$bash_files" ] || wrong="$wrong$(shellcheck --shell=bash --exclude=SC2016 --format=gcc $bash_files 2>&1)"
report "$wrong" "shellcheck finds nothing"
