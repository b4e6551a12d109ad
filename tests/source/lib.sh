# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the source tests share; they read it with `.`. Each of them is one TAP point about the tree
# $SRCDIR. A test's exit status is 0 once it has printed its point: the point says how it went.

# The folders that hold the project's files; a build in the tree puts others beside them.
FOLDERS="base policy audit lease tls resolver cli conf contrib man tests"

# shellcheck disable=SC2034 # for those who read this file
build_dir=$PWD
cd "${SRCDIR:-.}" || exit 99

# The files of the tree that match the patterns NAME ..., one a line.
find_files() {
	for pattern; do
		for folder in $FOLDERS; do
			[ -d "$folder" ] && find "$folder" -type f -name "$pattern"
		done
	done | sort
}

# Print the point: "ok" if the text $1, which is what was found wrong, is empty. $2 is its title.
report() {
	echo "1..1"
	if [ -z "$1" ]; then
		echo "ok 1 - $2"
	else
		printf '%s\n' "$1" | sed 's/^/# /'
		echo "not ok 1 - $2"
	fi
	exit 0
}

# Print a skipped point, because of $1; a failed one where everything must run.
skip() {
	echo "1..1"
	if [ "${BAILIWICK_MUST_RUN:-0}" = 1 ]; then
		echo "not ok 1 - skipped, but BAILIWICK_MUST_RUN is set: $1"
	else
		echo "ok 1 # SKIP $1"
	fi
	exit 0
}

# Skip unless there is a program $1.
need() {
	command -v "$1" >/dev/null 2>&1 || skip "there is no $1"
}
