#!/bin/sh
# SPDX-License-Identifier: MIT
# `bailiwick log` and `bailiwick log verify`, on a log that is written here: the hashes come from
# sha256sum, so that the form of the log is held to what its manual says.
: "${BAILIWICK:?the program to test}"
dir=$(mktemp -d) || exit 99
follower=
trap 'test -z "$follower" || kill "$follower" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 99
n=0
zeros=$(printf '%064d' 0)
prev=$zeros
seq=0

# ok DESCRIPTION COMMAND...: one test, which passes if the command does
ok() {
	n=$((n + 1))
	description=$1
	shift
	if "$@"; then echo "ok $n - $description"; else echo "not ok $n - $description"; fi
}

# record TIME MEMBERS: write the next record, and the head
record() {
	seq=$((seq + 1))
	line="{\"seq\":$seq,\"time\":\"$1\",\"mono_us\":$seq,\"generation\":1,\"action\":\"query\",$2,\"prev\":\"$prev\"}"
	printf '%s\n' "$line" >>log
	prev=$(printf '%s' "$line" | sha256sum | cut -d' ' -f1)
	printf '%020d %s\n' "$seq" "$prev" >log.head
}

# continued: write the first line of a file that goes on from another
continued() {
	printf '{"seq":%d,"time":"2020-11-30T00:00:00.000Z","mono_us":1,"generation":0,"action":"continue","prev":"%s"}\n' \
		"$seq" "$prev" >log
}

log() { "$BAILIWICK" log "$@" >out 2>err; }
lines() { test "$(wc -l <out)" -eq "$1"; }
status() {
	expected=$1
	shift
	log "$@"
	test $? -eq "$expected"
}
has() { grep -qF -- "$1" out; }

record 2020-11-29T10:00:00.000Z '"agent":"10.0.0.1","name":"git.example.com","type":"A","verdict":"allow","reason":"granted","grant":"git","addresses":["192.0.2.1"],"duration_us":1500'
record 2020-11-30T10:00:00.000Z '"agent":"10.0.0.2","name":"a.bad.example.com","type":"AAAA","verdict":"deny","reason":"not-listed","rcode":"NXDOMAIN"'
record 2020-11-30T11:00:00.000Z '"agent":"2001:db8::1","name":"bad.example.com","verdict":"deny","detail":"\u001b[2J\u009b1m\u007f\u00ff\r\n"'
record 2020-11-30T12:00:00.500Z '"name":"notbad.example.com","verdict":"error"'

ok 'prints each record' status 0 log
ok '... as one line' lines 4
ok '... with its grant and addresses' has 'granted by git -> 192.0.2.1 1.500 ms'
ok '... in printable ASCII alone' sh -c '! LC_ALL=C grep -q "[^ -~]" out'
ok '... its bytes told from each other' has '\x1b[2J\x9b1m\x7f\xff\x0d\x0a'
ok '--verdict' status 0 --verdict deny log
ok '... takes that verdict alone' lines 2
ok '--agent with a network' status 0 --agent 10.0.0.0/24 log
ok '... takes its addresses' lines 2
ok '--name' status 0 --name BAD.example.com. log
ok '... takes it and the names below, no others' lines 2
ok '--since a time' status 0 --since '2020-11-30 11:00' log
ok '... takes what is not older' lines 2
ok '--since as the log writes it' status 0 --since 2020-11-30T12:00:00.500Z log
ok '... to the millisecond' lines 1
ok '--since a duration' status 0 --since 1s log
ok '... takes nothing older' lines 0
ok '--json' status 0 --json log
ok '... prints the lines as they are' cmp -s out log
ok 'a wrong verdict is refused' status 2 --verdict maybe log
ok 'a wrong agent is refused' status 2 --agent 10.0.0.1/24 log
ok 'a wrong time is refused' status 2 --since yesterday log
ok 'a wrong option is refused' status 2 --nothing log
ok 'two files are refused' status 2 log log
ok 'a missing file is said' status 2 missing
ok '... by its name' grep -q 'missing cannot be read' err

ok 'verify: intact' status 0 verify log
ok '... says so' has '4 lines, records 1 to 4: the chain is whole'
ok 'verify: a missing file' status 2 verify missing

mv log log.1
continued
record 2020-11-30T13:00:00.000Z '"name":"c.example.com","verdict":"deny"'
ok 'verify goes on over a rotation' status 0 verify log
ok 'a rotated file is printed first' status 0 log
ok '... and no line that is no record' lines 5

cp log kept
sed -i 's/c.example.com/d.example.com/' log
ok 'verify: an edit of the last line' status 1 verify log
ok '... is told with its place' has 'log:2: record 5 is not the line that the head names'
cp kept log
sed -i 2d log
ok 'verify: a cut tail' status 1 verify log
cp kept log
printf 'x\033[2J\n' >>log
ok 'verify: a line that is no record' status 1 verify log
ok 'log says so' status 1 log
ok '... in printable ASCII' sh -c '! LC_ALL=C grep -q "[^ -~]" err'
cp kept log
sed -i 1d log.1
ok 'verify: a first line that is gone' status 1 verify log
ok '... is told with its place' has 'log.1:1: the log begins with record 2'
rm log.1
ok 'old files may go' status 0 verify log

# await TEXT FILE: wait until the text stands in it
await() {
	tries=100
	until grep -qF -- "$1" "$2"; do
		tries=$((tries - 1))
		test "$tries" -gt 0 || return 1
		sleep 0.1
	done
}
"$BAILIWICK" log --follow --verdict deny log >followed 2>&1 &
follower=$!
ok '--follow prints what is there' await c.example.com followed
record 2020-11-30T14:00:00.000Z '"name":"e.example.com","verdict":"deny"'
ok '... and what comes' await e.example.com followed
mv log log.1
record 2020-11-30T14:00:01.000Z '"name":"f.example.com","verdict":"deny"'
ok '... over a rename' await f.example.com followed
printf '{"seq":8,' >>log
sleep 0.5
printf '"time":"2020-11-30T14:00:02.000Z","mono_us":1,"generation":1,"action":"query","name":"g.example.com","verdict":"deny","prev":"%s"}\n' "$zeros" >>log
ok '... a line that comes in pieces' await g.example.com followed
: >log
sleep 0.5
record 2020-11-30T14:00:03.000Z '"name":"h.example.com","verdict":"deny"'
ok '... and over a truncation' await h.example.com followed
ok '... each once' test "$(sort followed | uniq -d | wc -l)" -eq 0 -a "$(wc -l <followed)" -eq 5
kill "$follower" 2>/dev/null
wait "$follower" 2>/dev/null
follower=

cat >policy.ini <<END
[policy]
name = test
[audit]
log = $dir/log
[allow x]
owner = x
reason = x
host = x.example.com
END
ok 'the policy names the log' status 0 -p policy.ini
ok '... which is read' has h.example.com
echo "1..$n"
