#!/bin/sh
# SPDX-License-Identifier: MIT
# contrib/doh-list: which names it takes from public sources, and which it leaves out.
[ -x /usr/bin/python3 ] || { echo "1..0 # SKIP no /usr/bin/python3"; exit 0; }
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
script=$SRCDIR/contrib/doh-list
n=0

# ok NAME: report the status of the command before.
ok() {
	status=$?
	n=$((n + 1))
	[ $status -eq 0 ] || printf 'not '
	echo "ok $n - $1"
}

# stamp BYTES: a DNS stamp, of the escapes of printf.
stamp() {
	# shellcheck disable=SC2059
	printf 'sdns://%s\n' "$(printf "$1" | base64 -w 0 | tr '+/' '-_' | tr -d =)"
}

props='\001\000\000\000\000\000\000\000'
{
	echo '# servers, as DNSCrypt lists them'
	stamp "\\002$props\\0119.9.9.9:1\\000\\015dns.one.quux.\\012/dns-query"       # an address
	stamp "\\002$props\\000\\201a\\001b\\020doh.two.quux:844\\012/dns-query"      # two hashes
	stamp "\\002$props\\000\\000\\0071.2.3.4\\012/dns-query"                      # no name
	stamp "\\002$props\\000\\000\\011site.quux\\012/dns-query"                    # a whole domain
	stamp "\\005$props\\013odoh.x.quux\\012/dns-query"                            # ODoH
	stamp "\\001$props\\0079.9.9.9\\000\\022dnscrypt.not.https"                   # DNSCrypt
	stamp "\\002$props\\000"                                                      # cut short
} > "$folder/stamps"
cat > "$folder/names" <<'N'
[Adblock Plus]
! a list of filter rules
||dns.three.quux^
||DoH-2.Four.quux^
||cloud.five.quux^
||dns.quux^
||nextcloud.six.quux^
||cname.vercel-dns.com^
||dns.eu-west-1.amazonaws.com^
plain.dns.seven.quux
||bad_..name^
N
"$script" --date 2026-01-02 --note 'some source' "$folder/stamps" "$folder/names" > "$folder/out"
ok "given files are read"
grep -v '^#' "$folder/out" > "$folder/list"
cat > "$folder/want" <<'W'
dns.one.quux
dns.three.quux
doh-2.four.quux
doh.two.quux
odoh.x.quux
plain.dns.seven.quux
W
cmp "$folder/want" "$folder/list" >&2
ok "servers' own names are taken, whole domains and shared hosts are not"
grep -q '2026-01-02' "$folder/out" && grep -q '^#   some source' "$folder/out"
ok "the head says when and from what it was made"
echo 'nothing of use' > "$folder/empty"
! "$script" "$folder/empty" > /dev/null 2> "$folder/err" && grep -q 'no name' "$folder/err"
ok "a source without a name is an error"
! "$script" "$folder/none" > /dev/null 2>&1 && ! "$script" http://127.0.0.1:9/ > /dev/null 2>&1
ok "so is one that cannot be read, or is not fetched safely"
awk '/^#/ { next } $0 !~ /^[a-z0-9_.-]+$/ || seen[$0]++ { bad = 1 } END { exit bad || NR < 500 }' \
	"$SRCDIR/conf/doh.list" &&
	! grep -qE '^(cname\.vercel-dns\.com|.*\.(akamaized|cloudfront)\.net)$' "$SRCDIR/conf/doh.list"
ok "the list that is shipped has names alone, each once"
echo "1..$n"
