# SPDX-License-Identifier: MIT
"""What is answered, and what the answers look like on the wire."""

import pathlib
import re
import signal
import socket
import struct
import threading
import time

import dns.flags
import dns.message
import dns.rdatatype
import dns.rrset
import pytest

from conftest import ORIGIN, ORIGIN6
from servers import PROGRAM, Upstream
from wire import (Client, Header, addresses, ede, name, opt_record, query, rcode, read_message,
                  soa_ttl, wait_until)

TYPES = ('A AAAA HTTPS SVCB TXT MX NS SOA SRV CNAME CAA NAPTR DS DNSKEY PTR ANY NULL TYPE65280 '
         'TYPE65399').split()


def assert_denied(answer, word='not-listed'):
    """NXDOMAIN with an SOA, so that it is cached, and an Extended DNS Error that says why."""
    assert rcode(answer) == 'NXDOMAIN'
    assert_empty(answer)
    code, text = ede(answer)
    assert code == 15
    assert re.match(rf'{word}: [a-z].*record \d+\)?$', text), text


def assert_empty(answer):
    assert answer.answer == []
    assert answer.flags & dns.flags.RA and not answer.flags & dns.flags.AA
    assert not answer.flags & dns.flags.AD
    ttl, minimum = soa_ttl(answer)
    assert ttl == minimum and 1 <= ttl <= 60


# Decisions.

def test_allowed_names_are_answered(serve):
    for qname in ('ok.example.com', 'OK.eXample.COM', 'ok.example.com.', 'api.deep.example.com',
                  'a.wild.example.com', 'b.c.wild.example.com', 'A.WILD.example.com'):
        for tcp in (False, True):
            assert addresses(serve.ask(qname, 'A', tcp=tcp)) == [ORIGIN]
            assert addresses(serve.ask(qname, 'AAAA', tcp=tcp)) == [ORIGIN6]
    answer = serve.ask('ok.example.com')
    assert rcode(answer) == 'NOERROR' and ede(answer) is None
    assert answer.flags & dns.flags.RA and not answer.flags & dns.flags.AA


def test_both_families_of_listeners(serve, host):
    assert addresses(Client(host, '::1').ask('ok.example.com', tcp=False)) == [ORIGIN]
    assert addresses(Client(host, '::1').ask('ok.example.com', tcp=True)) == [ORIGIN]
    del serve


@pytest.mark.parametrize('qtype', TYPES)
def test_denial_covers_every_type(serve, upstream, qtype):
    for tcp in (False, True):
        assert_denied(serve.ask('k7f3a9.bad.example.com', qtype, tcp=tcp))
    assert upstream.seen == []


@pytest.mark.parametrize('qname', [
    'bad.example.com', 'notwild.example.com', 'xwild.example.com', 'wild.example.com.evil.example',
    'wild.example.co', 'x.ok.example.com', 'nok.example.com', 'ok.example.com.lan',
    'example.org', 'ok.example.org', '93.184.216.34'])
def test_names_that_no_grant_covers(serve, upstream, qname):
    assert_denied(serve.ask(qname))
    assert upstream.seen == []


def test_deny_sections_beat_wildcards(serve, upstream):
    for qname in ('bad.wild.example.com', 'BAD.Wild.example.com'):
        assert_denied(serve.ask(qname), 'denied')
    assert upstream.seen == []


@pytest.mark.parametrize('qname', ['wild.example.com', 'deep.example.com', 'example.com', 'com', '.'])
def test_names_above_allowed_ones_exist(serve, upstream, qname):
    """NXDOMAIN would be taken as speaking for all below (RFC 8020)."""
    for qtype in ('A', 'NS', 'DS', 'ANY'):
        answer = serve.ask(qname, qtype)
        assert rcode(answer) == 'NOERROR'
        assert_empty(answer)
        assert ede(answer)[0] == 15
    assert upstream.seen == []
    assert addresses(serve.ask('api.deep.example.com')) == [ORIGIN]


@pytest.mark.parametrize('qtype', [t for t in TYPES if t not in ('A', 'AAAA', 'ANY')])
def test_types_that_no_grant_lists(serve, upstream, qtype):
    """NODATA, never NXDOMAIN, which some stubs take as speaking for the addresses."""
    for qname in ('ok.example.com', 'pinned.example.com', 'a.wild.example.com'):
        answer = serve.ask(qname, qtype)
        assert rcode(answer) == 'NOERROR' and answer.answer == []
        assert soa_ttl(answer) is not None
    assert upstream.seen == []


def test_pins_need_no_upstream(serve, upstream):
    assert addresses(serve.ask('pinned.example.com')) == ['93.184.216.40']
    answer = serve.ask('pinned.example.com', 'AAAA')
    assert rcode(answer) == 'NOERROR' and answer.answer == []
    assert upstream.seen == []


def test_strangers_are_refused(start, upstream, host):
    del upstream
    host.address('lo', '10.99.0.1/32')
    serve = start(POLICY_FOR_STRANGERS, address='10.99.0.1', wait=False)
    wait_until(lambda: 'serving' in serve.said(), 'serve to be ready')
    answer = serve.ask('ok.example.com')
    assert rcode(answer) == 'REFUSED' and answer.answer == [] and answer.authority == []
    code, text = ede(answer)
    assert code == 18 and text.startswith('client: ')


POLICY_FOR_STRANGERS = '''
[allow ok]
owner = tests@example.com
reason = Tests
host = ok.example.com
[resolver]
listen = 10.99.0.1:53
upstream = 127.0.0.1:5399
[nftables]
manage = no
'''


# Special, canary and discovery names.

DOH_POLICY = '''
[allow wide]
owner = tests@example.com
reason = Tests that even a wide grant does not bring these back
wide = yes
host = *.example.net
       *.use-application-dns.net
       use-application-dns.net
       icloud.com
       *.icloud.com
       *.google
       *.cloudflare-dns.com
       cloudflare-dns.com
       resolver.arpa
       *.resolver.arpa
       localhost
       *.invalid
[resolver]
upstream = 127.0.0.1:5399
[nftables]
manage = no
'''


@pytest.mark.parametrize('qname', [
    'use-application-dns.net', 'mask.icloud.com', 'mask-h2.icloud.com', 'MASK.iCloud.com',
    'dns.google', 'DNS.Google', 'cloudflare-dns.com', 'mozilla.cloudflare-dns.com'])
def test_doh_and_canary_names(start, upstream, qname):
    serve = start(DOH_POLICY)
    for qtype in ('A', 'AAAA', 'HTTPS'):
        began = time.monotonic()
        assert_denied(serve.ask(qname, qtype), 'doh')
        assert time.monotonic() - began < 1
    assert upstream.seen == []


def test_discovery_of_designated_resolvers(start, upstream):
    """resolver.arpa is an empty zone (RFC 9462, 6.4)."""
    serve = start(DOH_POLICY)
    for qname in ('_dns.resolver.arpa', '_DNS.Resolver.ARPA', 'resolver.arpa'):
        for qtype in ('SVCB', 'A', 'TXT'):
            answer = serve.ask(qname, qtype)
            assert rcode(answer) == 'NOERROR'
            assert_empty(answer)
    assert upstream.seen == []


def test_special_names(start, upstream):
    serve = start(DOH_POLICY)
    for qname in ('localhost', 'a.localhost', 'LOCALHOST'):
        assert addresses(serve.ask(qname, 'A')) == ['127.0.0.1']
        assert addresses(serve.ask(qname, 'AAAA')) == ['::1']
        answer = serve.ask(qname, 'TXT')
        assert rcode(answer) == 'NOERROR' and answer.answer == []
    for qname in ('a.invalid', 'invalid', 'x.test', 'x.onion', 'x.local', 'x.alt', 'x.internal',
                  '1.0.0.10.in-addr.arpa', '1.1.168.192.in-addr.arpa',
                  '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa'):
        answer = serve.ask(qname)
        assert rcode(answer) == 'NXDOMAIN'
        assert_empty(answer)
    assert rcode(serve.ask('home.arpa')) == 'NOERROR'
    assert upstream.seen == []


# The wire.

def test_the_question_comes_back_byte_for_byte(serve):
    for qname in ('oK.exAmple.cOm', 'bAd.eXample.com', 'eXample.coM'):
        wire = query(qname, qid=0x0666)
        answer = serve.client.udp(wire)
        assert answer[:2] == wire[:2]
        assert answer[12:len(wire)] == wire[12:]


def test_opt_comes_back_if_it_was_sent(serve):
    """Client.ask() asserts it for each answer; here for each kind of answer."""
    for qname in ('ok.example.com', 'bad.example.com', 'example.com'):
        for edns in (True, False):
            for tcp in (True, False):
                answer = serve.ask(qname, edns=edns, tcp=tcp)
                assert edns or ede(answer) is None


def test_do_and_cd_are_echoed_and_ad_is_not(serve):
    for qname in ('ok.example.com', 'bad.example.com'):
        message = dns.message.make_query(qname, 'A', want_dnssec=True)
        message.flags |= dns.flags.CD | dns.flags.AD
        answer = dns.message.from_wire(serve.client.udp(message.to_wire()))
        assert answer.flags & dns.flags.CD and not answer.flags & dns.flags.AD
        assert answer.ednsflags & dns.flags.DO
        answer = serve.ask(qname)
        assert not answer.flags & dns.flags.CD and not answer.ednsflags & dns.flags.DO


def test_unknown_edns_options_and_flags_are_ignored(serve, upstream):
    unknown = struct.pack('>HH', 65001, 3) + b'abc'
    subnet = struct.pack('>HH', 8, 7) + b'\0\1\x18\0\xc6\x33\x64'
    wire = query('ok.example.com', opt=opt_record(flags=0x7fff, options=unknown + subnet))
    answer = dns.message.from_wire(serve.client.udp(wire))
    assert addresses(answer) == [ORIGIN]
    assert answer.ednsflags & 0x7fff == 0
    assert [int(option.otype) for option in answer.options] == []
    sent = dns.message.from_wire(upstream.seen[0][0])
    assert list(sent.options) == [], 'a client\'s options go nowhere'


OPT = opt_record()
GOOD = query('ok.example.com')
MALFORMED = {
    'no question': struct.pack('>6H', 1, 0x0100, 0, 0, 0, 0),
    'two questions': struct.pack('>6H', 1, 0x0100, 2, 0, 0, 0) + GOOD[12:] * 2,
    'a pointer to itself': struct.pack('>6H', 1, 0x0100, 1, 0, 0, 0) + b'\xc0\x0c\0\1\0\1',
    'a pointer past the end': struct.pack('>6H', 1, 0x0100, 1, 0, 0, 0) + b'\xc0\xff\0\1\0\1',
    'a pointer to the header': struct.pack('>6H', 1, 0x0100, 1, 0, 0, 0) + b'\xc0\0\0\1\0\1',
    'a reserved label type': struct.pack('>6H', 1, 0x0100, 1, 0, 0, 0) + b'\x40a\0\0\1\0\1',
    '130 labels': query('.'.join('a' * 130)),
    'a name of 256 bytes': query('.'.join(['a' * 63] * 3 + ['a' * 62])),
    'no type': GOOD[:-4],
    'half a class': GOOD[:-1],
    'something behind': GOOD + b'\0',
    'a record in the answer': struct.pack('>6H', 1, 0x0100, 1, 1, 0, 0) + GOOD[12:] + name('a') +
                              struct.pack('>HHIH', 1, 1, 1, 4) + b'\1\2\3\4',
    'a record in the authority': struct.pack('>6H', 1, 0x0100, 1, 0, 1, 0) + GOOD[12:] + OPT,
    'a count without a record': struct.pack('>6H', 1, 0x0100, 1, 0, 0, 1) + GOOD[12:],
    'two OPTs': struct.pack('>6H', 1, 0x0100, 1, 0, 0, 2) + GOOD[12:] + OPT * 2,
    'an OPT with a name': query('ok.example.com', opt=opt_record(owner=name('a'))),
    'an option that overruns': query('ok.example.com', opt=opt_record(options=b'\0\3\0\xff')),
    'half an option': query('ok.example.com', opt=opt_record(options=b'\0\3\0')),
    'an OPT that overruns': query('ok.example.com', opt=OPT[:-2] + b'\0\5'),
    'a cookie of 7 bytes': query('ok.example.com', opt=opt_record(options=b'\0\x0a\0\7' + b'c' * 7)),
    'a cookie of 41': query('ok.example.com', opt=opt_record(options=b'\0\x0a\0\x29' + b'c' * 41)),
}


@pytest.mark.parametrize('what', MALFORMED)
def test_malformed_messages(serve, upstream, what):
    for exchange in (serve.client.udp, serve.client.tcp):
        answer = exchange(MALFORMED[what], wait=1)
        assert answer is not None and Header(answer).rcode == 1 and Header(answer).an == 0
        assert Header(answer).id == struct.unpack('>H', MALFORMED[what][:2])[0]
        assert upstream.seen == []
    assert addresses(serve.ask('ok.example.com', wait=1)) == [ORIGIN]


def test_longest_names(serve):
    """255 bytes, 63 of a label, 127 labels: all three are names like any other."""
    for qname in ('.'.join(['a' * 63] * 3 + ['a' * 61]), '.'.join('a' * 127), 'a' * 63):
        assert Header(serve.client.udp(query(qname))).rcode == 3
    below = name('wild.example.com')
    room = 255 - len(below)
    label = b''.join(bytes([63]) + b'b' * 63 for _ in range(room // 64))
    label += bytes([room % 64 - 1]) + b'b' * (room % 64 - 1)
    assert len(label + below) == 255
    assert Header(serve.client.udp(query(label + below))).rcode in (0, 3)


# Sizes and truncation.

@pytest.fixture
def big(start, upstream):
    """128 addresses: more than any datagram takes."""
    upstream.add('ok.example.com', *(f'93.184.216.{i}' for i in range(1, 129)))
    return start()


@pytest.mark.parametrize('options,limit', [
    (['+noedns'], 512), (['+bufsize=512'], 512), (['+bufsize=1232'], 1232),
    (['+bufsize=4096'], 4096), (['+bufsize=100'], 512)])
def test_datagrams_are_not_larger_than_asked(big, host, options, limit):
    said = host.run('dig', '+ignore', '+tries=1', *options, '@127.0.0.1', 'ok.example.com').stdout
    assert int(re.search(r'MSG SIZE  rcvd: (\d+)', said)[1]) <= limit
    assert re.search(r'flags: [a-z ]*\btc\b', said), said
    del big


def test_large_answers_come_over_tcp(big, host):
    for options in (['+tcp'], []):
        said = host.run('dig', '+tries=1', *options, '@127.0.0.1', 'ok.example.com').stdout
        assert len(re.findall(r'\tA\t', said)) == 128
    assert big.client.ask('ok.example.com').flags & dns.flags.TC
    for i in range(1, 129):
        assert big.leased(f'93.184.216.{i}'), 'leases are for all, also for what was cut off'


# TCP.

def test_pipelined_queries(serve):
    """All on one connection, at once, in whatever order."""
    names = [f'n{i}.wild.example.com' for i in range(20)] + ['ok.example.com', 'bad.example.com']
    with serve.client.connect() as sock:
        wires = [query(qname, qid=i + 1) for i, qname in enumerate(names)]
        sock.sendall(b''.join(struct.pack('>H', len(wire)) + wire for wire in wires))
        answers = [Header(read_message(sock)) for _ in wires]
    assert sorted(header.id for header in answers) == list(range(1, len(names) + 1))
    codes = {header.id: header.rcode for header in answers}
    assert codes[len(names) - 1] == 0 and codes[len(names)] == 3


def test_messages_in_pieces(serve):
    wire = struct.pack('>H', len(GOOD)) + GOOD
    for cuts in ([1], [2], [3], [14], [len(wire) - 1], list(range(1, len(wire)))):
        with serve.client.connect() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for start, end in zip([0, *cuts], [*cuts, len(wire)]):
                sock.sendall(wire[start:end])
                time.sleep(0.05 if len(cuts) == 1 else 0.005)
            assert Header(read_message(sock)).an == 1


def test_half_closed_connections_are_answered(serve):
    with serve.client.connect() as sock:
        sock.sendall(struct.pack('>H', len(GOOD)) + GOOD)
        sock.shutdown(socket.SHUT_WR)
        assert Header(read_message(sock)).an == 1
        assert read_message(sock) is None, 'and closed then'


def test_a_message_of_no_bytes_ends_the_connection_or_nothing(serve):
    with serve.client.connect() as sock:
        sock.sendall(b'\0\0')
        sock.sendall(struct.pack('>H', len(GOOD)) + GOOD)
        try:
            answer = read_message(sock)
        except ConnectionError:
            answer = None
        assert answer is None or Header(answer).an == 1
    assert addresses(serve.ask('ok.example.com', wait=1)) == [ORIGIN]


def test_silent_connections_are_closed_and_do_not_fill_the_house(serve):
    before = serve.open_files()
    socks = [serve.client.connect() for _ in range(150)]
    for sock in socks[:75]:
        sock.sendall(b'\0')
    assert addresses(serve.ask('ok.example.com', tcp=True, wait=1)) == [ORIGIN]
    wait_until(lambda: serve.open_files() <= before + 5, 'silent connections to be closed',
               limit_s=30, every_s=0.2)
    for sock in socks:
        sock.close()
    assert addresses(serve.ask('ok.example.com', tcp=True, wait=1)) == [ORIGIN]


def test_resets_leave_nothing_behind(serve):
    before = serve.open_files()
    for _ in range(50):
        sock = serve.client.connect()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        sock.sendall(struct.pack('>H', len(GOOD)) + GOOD)
        sock.close()
    wait_until(lambda: serve.open_files() <= before + 1, 'descriptors to be closed')
    assert addresses(serve.ask('ok.example.com', wait=1)) == [ORIGIN]


# Upstream.

def test_nsd_as_upstream(nsd, start, host):
    del nsd
    serve = start(POLICY_NSD)
    for qname in ('ok.example.com', 'x.wild.example.com'):
        assert addresses(serve.ask(qname)) == [ORIGIN]
        assert addresses(serve.ask(qname, 'AAAA')) == [ORIGIN6]
    answer = serve.ask('alias.wild.example.com')
    assert addresses(answer) == [ORIGIN]
    assert [dns.rdatatype.to_text(rrset.rdtype) for rrset in answer.answer] == ['CNAME', 'A']
    assert rcode(serve.ask('gone.ok.example.com')) == 'NXDOMAIN'
    said = host.run('kdig', '+noall', '+answer', '@127.0.0.1', 'ok.example.com', 'A').stdout
    assert ORIGIN in said


POLICY_NSD = '''
[allow ok]
owner = tests@example.com
reason = Tests
host = ok.example.com *.wild.example.com
[resolver]
upstream = 127.0.0.1:5353
[nftables]
manage = no
'''


def test_upstream_that_truncates_is_asked_by_tcp(start, upstream):
    upstream.add('ok.example.com', *(f'93.184.216.{i}' for i in range(1, 129)))
    serve = start()
    assert len(addresses(serve.ask('ok.example.com', tcp=True))) == 128
    assert [transport for _, transport in upstream.seen] == ['udp', 'tcp']


def test_answers_are_cached_and_age(serve, upstream):
    first = serve.ask('ok.example.com').answer[0].ttl
    asked = len(upstream.seen)
    time.sleep(1.2)
    second = serve.ask('Ok.Example.Com').answer[0].ttl
    assert len(upstream.seen) == asked == 1
    assert 0 < second < first <= 60
    assert rcode(serve.ask('gone.wild.example.com')) == 'NXDOMAIN'
    asked = len(upstream.seen)
    assert rcode(serve.ask('gone.wild.example.com')) == 'NXDOMAIN'
    assert len(upstream.seen) == asked


def test_equal_questions_share_one_upstream_query(serve, upstream):
    upstream.delay_s = 0.5
    answers = []

    def ask(i):
        answers.append(serve.client.udp(query('oK.example.com' if i % 2 else 'ok.EXAMPLE.com', qid=i)))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(1, 9)]
    for thread in threads:
        thread.start()
        time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert len(upstream.seen) == 1
    assert sorted(Header(answer).id for answer in answers) == list(range(1, 9))
    for answer in answers:
        want = 'oK.example.com' if Header(answer).id % 2 else 'ok.EXAMPLE.com'
        assert answer[12:].startswith(name(want)), 'each its own spelling'


def test_upstream_queries_carry_nothing_of_the_client(serve, upstream):
    serve.client.udp(query('oK.eXaMpLe.cOm', qid=0x4242, flags=0x0110,
                           opt=opt_record(options=struct.pack('>HH', 10, 8) + b'leakleak')))
    wire, _ = upstream.seen[0]
    assert wire[:2] != b'BB' and b'leak' not in wire
    sent = dns.message.from_wire(wire)
    assert sent.question[0].name.to_text(True).lower() == 'ok.example.com'


def test_unreachable_upstream(start):
    serve = start()
    answer = serve.ask('ok.example.com', wait=6)
    assert rcode(answer) == 'SERVFAIL' and answer.answer == []
    assert ede(answer)[0] in (22, 23)
    assert_denied(serve.ask('bad.example.com', wait=1))
    assert addresses(serve.ask('pinned.example.com', wait=1)) == ['93.184.216.40']


def test_silent_upstream(serve, upstream):
    upstream.script = lambda wire, transport: Upstream.NOTHING
    began = time.monotonic()
    answer = serve.ask('ok.example.com', wait=8)
    assert rcode(answer) == 'SERVFAIL' and ede(answer)[0] == 22
    assert time.monotonic() - began < 6
    upstream.script = None
    assert addresses(serve.ask('a.wild.example.com', wait=6)) == [ORIGIN]


def forge(wire, change):
    """An answer to `wire` with another address, and with one thing wrong."""
    forged = dns.message.make_response(dns.message.from_wire(wire))
    forged.answer.append(dns.rrset.from_text('ok.example.com.', 60, 'IN', 'A', '93.184.216.66'))
    made = bytearray(forged.to_wire())
    if change == 'another id':
        made[0] ^= 0xff
    elif change == 'another name':
        made[13] = ord('x')
    elif change == 'another type':
        made[wire.index(0, 12) + 2] = 28
    elif change == 'no answer bit':
        made[2] &= 0x7f
    return bytes(made)


@pytest.mark.parametrize('change', ['another id', 'another name', 'another type', 'no answer bit'])
def test_forged_answers_are_passed_over(serve, upstream, change):
    """The right one, which comes after, is taken."""
    def answer_udp(wire, peer):
        upstream.udp.sendto(forge(wire, change), peer)
        time.sleep(0.05)
        upstream.udp.sendto(upstream.answer(wire, 'udp'), peer)

    upstream.answer_udp = answer_udp
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    assert not serve.leased('93.184.216.66')


# Answers that an upstream should not give.

@pytest.mark.parametrize('bad', [
    '127.0.0.1', '10.1.2.3', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0',
    '224.0.0.1', '255.255.255.255', '192.0.2.1', '::1', '::', '::ffff:93.184.216.34', '::ffff:127.0.0.1',
    'fe80::1', 'fd00::1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001::1', '2001:db8::1', 'ff02::1'])
def test_special_purpose_addresses_are_withheld(serve, upstream, bad):
    family = 'AAAA' if ':' in bad else 'A'
    good = ORIGIN6 if ':' in bad else ORIGIN
    upstream.add('ok.example.com', bad)
    answer = serve.ask('ok.example.com', family)
    assert answer.answer == [] and rcode(answer) in ('NOERROR', 'NXDOMAIN')
    assert ede(answer)[0] == 15 and ede(answer)[1].startswith('private-address: ')
    upstream.add('a.wild.example.com', bad, good)
    assert addresses(serve.ask('a.wild.example.com', family)) == [good]
    assert not serve.leased(bad)


def test_records_off_the_chain_are_dropped(serve, upstream):
    upstream.zone[('ok.example.com', 'A')] = [
        ('ok.example.com', 60, 'CNAME', 'cdn.example.net.'),
        ('cdn.example.net', 60, 'A', ORIGIN),
        ('other.example.net', 60, 'A', '93.184.216.66'),
    ]
    answer = serve.ask('ok.example.com')
    assert addresses(answer) == [ORIGIN]
    assert not serve.leased('93.184.216.66')
    assert_denied(serve.ask('cdn.example.net'))


def test_chains_to_doh_names_are_denied(serve, upstream):
    upstream.zone[('ok.example.com', 'A')] = [
        ('ok.example.com', 60, 'CNAME', 'dns.google.'), ('dns.google', 60, 'A', ORIGIN)]
    answer = serve.ask('ok.example.com')
    assert answer.answer == [] and ede(answer)[1].startswith('doh: ')
    assert not serve.leased(ORIGIN)


def test_loops_of_names_end(serve, upstream):
    upstream.zone[('ok.example.com', 'A')] = [
        ('ok.example.com', 60, 'CNAME', 'a.example.net.'),
        ('a.example.net', 60, 'CNAME', 'ok.example.com.')]
    answer = serve.ask('ok.example.com', wait=6)
    assert addresses(answer) == []
    assert addresses(serve.ask('a.wild.example.com')) == [ORIGIN]


def test_descriptors_do_not_grow(serve):
    serve.ask('ok.example.com')
    before = serve.open_files()
    for i in range(100):
        serve.ask(f'g{i}.wild.example.com')
        serve.ask('bad.example.com', tcp=True)
    wait_until(lambda: serve.open_files() <= before + 1, 'descriptors to be closed')


def test_the_process_is_made_for_a_flood(serve):
    """It has all the descriptors that it may have, and outlives who reads its standard error."""
    proc = pathlib.Path(f'/proc/{serve.process.pid}')
    limits = (proc / 'limits').read_text(encoding='ascii')
    soft, hard = re.search(r'Max open files +(\S+) +(\S+)', limits).groups()
    assert soft == hard
    status = (proc / 'status').read_text(encoding='ascii')
    ignored = int(re.search(r'SigIgn:\s*([0-9a-f]+)', status).group(1), 16)
    assert ignored >> (signal.SIGPIPE - 1) & 1


@pytest.mark.parametrize('own', ['127.0.0.9:53', f'{ORIGIN}:53', f'[{ORIGIN6}]:53'])
def test_the_resolver_is_not_its_own_upstream(host, tmp_path, own):
    """Who listens on all addresses has them all; nothing that is sent to one of them may wait."""
    policy = tmp_path / 'policy.ini'
    policy.write_text('[resolver]\nlisten = 0.0.0.0:53 [::]:53\n'
                      f'upstream = {own}\n[nftables]\nmanage = no\n', encoding='utf-8')
    done = host.run(PROGRAM, 'serve', '-p', str(policy), check=False, timeout=10)
    assert done.returncode != 0 and 'upstream' in done.stderr + done.stdout
