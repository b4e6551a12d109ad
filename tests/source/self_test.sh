#!/bin/sh
# SPDX-License-Identifier: MIT
# The source tests can fail: each is run on a small tree with one fault that it must find, and
# once on the same tree without it.
here=$(cd "${0%/*}" && pwd) || exit 99
tree=$(mktemp -d) || exit 99
trap 'rm -rf "$tree"' EXIT
n=0

# Make the good tree.
make_tree() {
	rm -rf "${tree:?}"/* && mkdir -p "$tree/base" "$tree/policy" "$tree/tests/source" "$tree/man"
	cp "$here/../../.clang-format" "$here/../../.clang-tidy" "$tree"
	printf 'base:\npolicy: base\n' >"$tree/tests/source/layers.txt"
	printf '/* SPDX-License-Identifier: MIT */\n#pragma once\n\n/* The sum of @a and @b. */\nint base_sum(int a, int b);\n' >"$tree/base/sum.h"
	printf '/* SPDX-License-Identifier: MIT */\n#include "base/sum.h"\n\nint base_sum(int a, int b)\n{\n\treturn a + b;\n}\n' >"$tree/base/sum.c"
	printf '/* SPDX-License-Identifier: MIT */\n#pragma once\n\n/* One. */\nint policy_one(void);\n' >"$tree/policy/policy.h"
	printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\necho hello\n' >"$tree/tests/hello.sh"
	printf '# Sum\nSee base/sum.h.\n' >"$tree/README.md"
	cat >"$tree/man/bailiwick.1" <<'PAGE'
.\" SPDX-License-Identifier: MIT
.Dd November 30, 2026
.Dt BAILIWICK 1
.Os
.Sh NAME
.Nm bailiwick
.Nd sum
.Sh DESCRIPTION
.Ss sum
.Bl -tag -width Ds
.It Fl p Ar file
File.
.El
PAGE
	cat >"$tree/bailiwick" <<'PROGRAM'
#!/bin/sh
[ "$1" = sum ] && echo "usage: bailiwick sum [-p FILE]" || printf 'usage\n  sum  adds\n'
PROGRAM
	chmod +x "$tree/bailiwick"
}

# Test $1 finds nothing in the tree if $2 is "ok", or something if it is "not ok"; $3 says in what.
expect() {
	n=$((n + 1))
	said=$(SRCDIR=$tree BAILIWICK=$tree/bailiwick BAILIWICK_MUST_RUN=1 "$here/$1.sh" 2>&1) || said="status $?"
	if printf '%s\n' "$said" | grep -q "^$2 1 - " && ! printf '%s\n' "$said" | grep -q skipped; then
		echo "ok $n - $1: $3"
	elif printf '%s\n' "$said" | grep -q 'skipped.*there is no\|skipped.*is not' && [ "${BAILIWICK_MUST_RUN:-0}" != 1 ]; then
		echo "ok $n # SKIP $1: its tool is absent"
	else
		printf '%s\n' "$said" | sed 's/^/# /'
		echo "not ok $n - $1: $3"
	fi
}

# Add the text $2 (a printf format) to the file $1 of a fresh tree.
spoil() {
	make_tree
	# shellcheck disable=SC2059 # it is a format
	printf "$2" >>"$tree/$1"
}

make_tree
for test in layers contracts links size format tidy cppcheck shellcheck manual; do
	expect $test ok "a good tree"
done

spoil base/sum.c '#include "policy/policy.h"\n'
expect layers "not ok" "an include that points up"
spoil tests/source/layers.txt 'audit: base cli\n'
expect layers "not ok" "an arrow that points up"
spoil policy/judge.c '/* SPDX-License-Identifier: MIT */\n#include "base/sum.h"\n' && : >"$tree/policy/x.h"
printf 'audit: base policy\n' >>"$tree/tests/source/layers.txt"
mkdir "$tree/audit" && printf '#include "policy/x.h"\n' >"$tree/audit/chain.c"
expect layers "not ok" "a private header of another folder"
spoil base/sum.h '\nint base_product(int a, int b);\n'
expect contracts "not ok" "a prototype without a contract"
spoil policy/judge.h '/* SPDX-License-Identifier: MIT */\nint judge(void);\n'
expect contracts "not ok" "the same in a private header"
spoil base/sum.h '\n/* Twice @b. */\nint base_twice(int a)\n\t__attribute__((const));\n'
expect contracts "not ok" "a contract of something else"
spoil base/sum.h '\n/* Half of @b. */\nstatic inline int base_half(int a)\n{\n\treturn a / 2;\n}\n'
expect contracts "not ok" "the same above a function that the header defines"
spoil README.md 'And base/product.h.\n'
expect links "not ok" "a document that names a missing file"
spoil README.md '[link](LICENCE)\n'
expect links "not ok" "a link to a missing file"
spoil policy/judge.c 'int judge;\n'
expect links "not ok" "a source without a licence"
spoil base/sum.c "$(yes '\n' | head -n 700 | tr -d '\n')"
expect size "not ok" "a file of more than 700 lines"
spoil base/sum.c "int long_one(int a)\n{\n$(yes '\ta++;\n' | head -n 60 | tr -d '\n')\treturn a;\n}\n"
expect size "not ok" "a function of more than 60 lines"
spoil base/sum.c 'int   a;\n'
expect format "not ok" "a line that clang-format would change"
spoil base/sum.c 'int divide(int a);\nint divide(int a)\n{\n\tint b = 0;\n\n\treturn a / b;\n}\n'
expect tidy "not ok" "a division by zero"
expect cppcheck "not ok" "a division by zero"
spoil tests/hello.sh 'rm $1\n'
expect shellcheck "not ok" "an unquoted variable"
spoil man/bailiwick.1 '.Bogus\n'
expect manual "not ok" "a macro that mdoc does not know"
spoil man/bailiwick.1 '.Ss product\n'
expect manual "not ok" "a command that --help does not have"
make_tree && sed -i 's/Fl p/Fl q/' "$tree/man/bailiwick.1"
expect manual "not ok" "an option that --help does not have"
echo "1..$n"
