# SPDX-License-Identifier: MIT
"""Nothing of a denied name leaves: the upstream keeps every byte that it is sent."""

import struct

import pytest

from wire import Header, name, opt_record, query, read_message

SECRET = 'k7f3a9payload'

# Each spells a name that is denied and carries SECRET; bytes are wire.
SPELLINGS = {
    'plain': name(f'{SECRET}.bad.example.com'),
    'upper case': name(f'{SECRET.upper()}.BAD.EXAMPLE.COM'),
    'below an exact host': name(f'{SECRET}.ok.example.com'),
    'an allowed name as prefix': name(f'ok.example.com.{SECRET}.example'),
    'one label with dots': bytes([len(SECRET) + 15]) + f'{SECRET}.ok.example.com'.encode() + b'\0',
    'a label that looks like the suffix': name(SECRET)[:-1] + b'\x10wild.example.com\0',
    'a NUL before the suffix': name(SECRET)[:-1] + b'\x0bok.example\0' + name('com'),
    'a NUL behind the name': name(SECRET)[:-1] + b'\3ok\0' + name('example.com'),
    'a denied name below a wildcard': name('bad.wild.example.com'),
    'beside the wildcard': name(f'{SECRET}-wild.example.com'),
    'a search suffix': name(f'ok.example.com.{SECRET}.lan'),
    'a reverse name': name(f'{SECRET}.8.8.8.8.in-addr.arpa'),
    'single label': name(SECRET),
    'a DoH name': name(f'{SECRET}.dns.google'),
    'discovery': name(f'_dns.{SECRET}.example.com'),
    'the longest': b''.join(b'\x3f' + (SECRET * 5).encode()[:63] for _ in range(3)) + b'\x3d' +
                   (SECRET * 5).encode()[:61] + b'\0',
}

TYPES = [1, 2, 5, 6, 10, 12, 15, 16, 28, 33, 35, 43, 48, 64, 65, 255, 257, 65280, 65399]


def assert_nothing_left(upstream):
    seen = upstream.bytes_seen().lower()
    assert SECRET.encode() not in seen
    assert upstream.seen == [], upstream.seen


@pytest.mark.parametrize('spelling', SPELLINGS)
def test_not_a_byte_of_a_denied_name(serve, upstream, spelling):
    for qtype in TYPES:
        for exchange in (serve.client.udp, serve.client.tcp):
            header = Header(exchange(query(SPELLINGS[spelling], qtype)))
            assert header.an == 0 and header.rcode in (0, 3)
    assert_nothing_left(upstream)


def test_not_by_a_type_of_an_allowed_name(serve, upstream):
    for qtype in TYPES:
        if qtype not in (1, 28):
            serve.client.udp(query('ok.example.com', qtype))
            serve.client.udp(query(f'{SECRET}.wild.example.com', qtype))
    assert_nothing_left(upstream)


def test_not_by_a_second_question_or_another_section(serve, upstream):
    first, second = query('ok.example.com')[12:], query(f'{SECRET}.bad.example.com')[12:]
    record = name(f'{SECRET}.bad.example.com') + struct.pack('>HHIH', 1, 1, 60, 4) + b'\1\2\3\4'
    for counts, body in (((2, 0, 0, 0), first + second), ((1, 1, 0, 0), first + record),
                         ((1, 0, 1, 0), first + record)):
        serve.client.udp(struct.pack('>6H', 1, 0x0100, *counts) + body)
    assert_nothing_left(upstream)


def test_not_by_an_option_or_an_additional_record(serve, upstream):
    option = struct.pack('>HH', 65001, len(SECRET)) + SECRET.encode()
    serve.client.udp(query('ok.example.com', opt=opt_record(options=option)))
    record = name(f'{SECRET}.bad.example.com') + struct.pack('>HHIH', 1, 1, 60, 4) + b'\1\2\3\4'
    serve.client.udp(query('a.wild.example.com', opt=record))
    assert SECRET.encode() not in upstream.bytes_seen().lower()


def test_not_by_pipelining_behind_an_allowed_name(serve, upstream):
    wires = [query('ok.example.com', qid=1), query(f'{SECRET}.bad.example.com', qid=2),
             query('a.wild.example.com', qid=3)]
    with serve.client.connect() as sock:
        sock.sendall(b''.join(struct.pack('>H', len(wire)) + wire for wire in wires))
        assert sorted(Header(read_message(sock)).id for _ in wires) == [1, 2, 3]
    assert sorted(upstream.names_seen()) == ['a.wild.example.com', 'ok.example.com']


def test_not_by_a_chain_to_a_name_that_carries_it(serve, upstream):
    """What an upstream itself says may be asked of it; a client chooses none of these bytes."""
    upstream.zone[('ok.example.com', 'A')] = [('ok.example.com', 60, 'CNAME', 'cdn.example.net.')]
    serve.ask('ok.example.com', wait=6)
    assert set(upstream.names_seen()) <= {'ok.example.com', 'cdn.example.net'}


def test_the_case_of_a_name_carries_nothing(serve, upstream):
    """Upstream sees a case of our own making, at random: two equal queries differ in it."""
    for i in range(8):
        qname = f'n{i}' + ''.join(c.upper() if i >> k & 1 else c for k, c in enumerate('aaabbb'))
        serve.client.udp(query(f'{qname}.wild.example.com'))
    sent = [wire[13:21] for wire, _ in upstream.seen]
    assert [label.lower() for label in sent] == [f'n{i}aaabbb'.encode() for i in range(8)]
    asked = [f'n{i}'.encode() + bytes(c - 32 if i >> k & 1 else c for k, c in enumerate(b'aaabbb'))
             for i in range(8)]
    assert sent != asked
