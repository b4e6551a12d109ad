#!/bin/sh
# SPDX-License-Identifier: MIT
# What `bailiwick check` and `bailiwick explain` print, and their exit statuses.
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 99
n=0

# ok NAME: report the status of the command before.
ok() {
	status=$?
	n=$((n + 1))
	[ $status -eq 0 ] || printf 'not '
	echo "ok $n - $1"
}

cat > p.ini <<'P'
[policy]
owner = o
[allow github]
owner = tools@corp.example
reason = Clone and read
reviewed = 2026-11-15
host = github.com *.githubassets.com bücher.example 8.8.8.8
port = 443 8443
[allow pinned]
owner = o
reason = r
host = pinned.example
address = 192.0.2.10
type = A
expires = 2099-01-01
[allow inside]
owner = o
reason = r
host = git.corp.internal
max_rate = 600/m
[allow twice]
owner = o
reason = r
host = twice.example
address = 192.0.2.20
[allow twice-more]
owner = o
reason = r
host = twice.example
address = 192.0.2.21
port = 80
[deny d]
host = bad.githubassets.com
P

# ends_with STATUS COMMAND ...: whether the command ends with that status.
ends_with() {
	wanted=$1
	shift
	"$@" > out 2>&1
	[ $? -eq "$wanted" ]
}

# says STATUS REASON DNS-OF-A ARGUMENT ...: the same in text and in JSON.
says() {
	wanted=$1 reason=$2 dns=$3
	shift 3
	text=$("${BAILIWICK:?}" explain -p p.ini "$@")
	[ $? -eq "$wanted" ] && printf '%s\n' "$text" | grep -q "^reason    $reason:" &&
		printf '%s\n' "$text" | grep -q "^dns  *$dns" &&
		"$BAILIWICK" explain --json -p p.ini "$@" | grep -q "\"reason\": \"$reason\""
	ok "explain $*"
}

says 0 granted 'A: asked' github.com
says 0 granted 'A: asked' GitHub.com.
says 0 granted 'A: asked' https://github.com/x?y
says 0 granted 'A: asked' https://user:password@github.com:8443/x
says 1 port 'A: asked' http://github.com/
says 1 not-listed 'A: NXDOMAIN' 'https://evil.example\@github.com/'
says 1 not-listed 'A: NXDOMAIN' https://github.com@evil.example/
says 0 granted 'A: asked' x.githubassets.com:443
says 1 port 'A: asked' github.com:443/udp
says 1 name-above 'A: NODATA' githubassets.com
says 1 name-above 'A: NODATA' com
says 1 denied 'A: NXDOMAIN' bad.githubassets.com
says 1 not-listed 'A: NXDOMAIN' example.com
says 1 not-listed 'A: NXDOMAIN' 127.1
says 1 not-listed 'A: NXDOMAIN' 2130706433
says 1 doh 'A: NXDOMAIN' dns.google
says 1 special-name 'A: the loopback' localhost
says 1 special-name 'A: NXDOMAIN' x.test
says 1 special-name 'SVCB: NODATA' --type SVCB _dns.resolver.arpa
says 0 granted 'A: asked' git.corp.internal
says 0 granted 'A: asked' bücher.example
says 0 granted 'A: asked' xn--bcher-kva.example
says 0 granted 'A: pinned addresses: 192.0.2.10' pinned.example
says 1 type 'AAAA: NODATA' --type AAAA pinned.example
says 1 expired 'A: NXDOMAIN' --at 2099-01-01 pinned.example
says 0 granted 'A: pinned' --at 2098-12-31 pinned.example
says 1 type 'HTTPS: NODATA' --type HTTPS github.com
says 0 literal 'is not asked' 8.8.8.8
says 1 port 'is not asked' 8.8.8.8:53
says 1 no-lease 'is not asked' 8.8.4.4
says 1 no-lease 'is not asked' '[::1]:443'
says 1 client 'A: REFUSED' --client 10.0.0.1 github.com

"$BAILIWICK" explain -p p.ini a.b.githubassets.com |
	grep -q 'a minute: 20 names and 1000 bytes of new labels in githubassets.com$'
ok "explain says the budget of a wildcard"
! "$BAILIWICK" explain -p p.ini github.com | grep -q 'a minute'
ok "an exact host has none"
"$BAILIWICK" explain -p p.ini git.corp.internal | grep -q 'questions: 600/m$'
ok "explain says the rate of a grant"
"$BAILIWICK" explain -p p.ini github.com | grep -q '^place     p.ini:3$'
ok "explain names the file and the line"
"$BAILIWICK" explain -p p.ini pinned.example | grep -q 'opens 127.0.0.1 . 192.0.2.10 . tcp . 443$'
ok 'a pin opens its address'
says 0 granted 'A: pinned addresses: 192.0.2.20, 192.0.2.21' twice.example
[ "$("$BAILIWICK" explain -p p.ini twice.example | grep -o 'opens.*' | tr '\n' ,)" = \
	'opens 127.0.0.1 . 192.0.2.20 . tcp . 443,opens 127.0.0.1 . 192.0.2.21 . tcp . 80,' ]
ok "explain names the element of the set"
"$BAILIWICK" explain -p p.ini 8.8.8.8 | grep -q 'nftables  opens nothing'
ok "an address that is a host opens nothing where the rules are not ours"
{ grep -v '^manage' p.ini; printf '[nftables]\nmanage = chains\ninterface = a0\n'; } > chains.ini
"$BAILIWICK" explain -p chains.ini 8.8.8.8 | grep -q 'opens 127.0.0.1 . 8.8.8.8 . tcp . 443$'
ok "and has a rule where they are"
ends_with 2 "$BAILIWICK" explain -p p.ini "$(printf 'a\033[2Jb.example')" && ! LC_ALL=C grep -q "$(printf '\033')" out && grep -q '\\x1b' out
ok "a terminal gets no escape sequence from a name"
ends_with 2 "$BAILIWICK" explain -p "$(printf 'no\033.ini')" x && ! LC_ALL=C grep -q "$(printf '\033')" out
ok "a terminal gets no escape sequence from a path"
for bad in 'a b' a:b:c x:0 x:65536 '' '[::1'; do
	ends_with 2 "$BAILIWICK" explain -p p.ini "$bad"
	ok "explain '$bad' is an error"
done
ends_with 2 "$BAILIWICK" explain -p p.ini
ok "explain of nothing is an error"
for bad in '--at tomorrow' '--at 2027-02-31' '--type nonsense' '--client nobody'; do
	# shellcheck disable=SC2086 # they are words
	ends_with 2 "$BAILIWICK" explain -p p.ini $bad github.com && grep -q "\`${bad#* }\` is no" out
	ok "explain $bad says what is wrong"
done

printf '[allow a]\nhots = x\n' > bad.ini
ends_with 0 "$BAILIWICK" check p.ini && grep -q '^p.ini:9: warning: ' out
ok "check of a good file warns and gives 0"
ends_with 1 "$BAILIWICK" check bad.ini p.ini && grep -q '^bad.ini:2: .*hots.*nearest.*host' out
ok "check of a bad file gives 1, and names the nearest key"
ends_with 2 "$BAILIWICK" check none.ini bad.ini && grep -q 'none.ini: No such file' out &&
	grep -q '^bad.ini:2' out
ok "check of a file that is not there gives 2"
"$BAILIWICK" check --json bad.ini | grep -q '"status": "faults"'
ok "check --json says that there are faults"
mkdir bailiwick && cp bad.ini bailiwick/policy.ini
ends_with 1 env XDG_CONFIG_HOME="$folder" "$BAILIWICK" check && grep -q 'bailiwick/policy.ini:2' out
ok "check without a file reads the default policy"
echo "1..$n"
