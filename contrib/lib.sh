# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the scripts of contrib/ share; they read it with `.` after setting top, the tree's top folder.

# What a build needs on Debian 12, what its demonstration needs besides, and what the tests do.
# shellcheck disable=SC2034 # for those who read this file
BUILD_PACKAGES="autoconf automake gcc libc6-dev make pkg-config xz-utils
	libidn2-dev libinih-dev libjansson-dev libldns-dev libmaxminddb-dev libmnl-dev libnftnl-dev
	libpsl-dev libssl-dev libuv1-dev"
# shellcheck disable=SC2034
SHOW_PACKAGES="bind9-dnsutils iproute2 nftables util-linux"
# shellcheck disable=SC2034
TEST_PACKAGES="clang clang-format clang-tidy conntrack cppcheck dnsperf iodine knot-dnsutils
	ldnsutils libclang-rt-14-dev libcmocka-dev libmaxmind-db-writer-perl mandoc nsd openssl procps
	python3 python3-dnspython python3-pytest shellcheck unbound universal-ctags"

# Say $* to the person who waits.
say() {
	printf '%s\n' "$*"
}

# Say on standard error why it ends here, and end.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Run a command as root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		say "sudo $*"
		sudo "$@"
	else
		die "this must be done as root, and there is no sudo: $*"
	fi
}

# Install those of the packages $* that are missing, by apt.
install_packages() {
	missing=
	for package; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
			missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null 2>&1 || die "please install what Debian calls:$missing"
	say "Installing packages that are missing:$missing"
	as_root apt-get update -q
	# shellcheck disable=SC2086 # they are words
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends $missing
}

# Make the tree's configure script if there is none.
make_configure() {
	# shellcheck disable=SC2154
	[ -x "$top/configure" ] || (cd "$top" && autoreconf -fi)
}
