# SPDX-License-Identifier: MIT
"""
Every bit of an answer, over UDP and TCP.

A row says what is sent and what comes back: the header, the sections' counts, and the OPT record
with its options. What a row does not say is that which all answers have in common.
"""

import struct

import dns.rdatatype
import pytest

from conftest import ORIGIN
from servers import Upstream
from wire import Header, name, opt_record, query, read_message

RD, CD, AD, Z, RA, TC, AA, QR = 0x0100, 0x0010, 0x0020, 0x0040, 0x0080, 0x0200, 0x0400, 0x8000
DO = 0x8000
NOERROR, FORMERR, NXDOMAIN, NOTIMP, REFUSED, BADVERS, BADCOOKIE = 0, 1, 3, 4, 5, 16, 23
COOKIE, KEEPALIVE, EDE = 10, 11, 15
ALLOWED, DENIED, ABOVE = 'oK.Example.com', 'Bad.eXample.com', 'eXample.com'
ANSWER, SOA, NONE = (1, 0), (0, 1), (0, 0)  # records in the answer and authority sections


def option(code, data=b''):
    return struct.pack('>HH', code, len(data)) + data


def opt(*options, **more):
    return opt_record(options=b''.join(options), **more)


def message(*parts, counts=(1, 0, 0, 0), flags=RD):
    return struct.pack('>6H', 0x1234, flags, *counts) + b''.join(parts)


class Answer(Header):
    """An answer taken apart, to its last byte."""

    def __init__(self, wire):
        super().__init__(wire)
        self.wire, self.opt, self.records = wire, None, []
        at = 12
        for _ in range(self.qd):
            at = self.skip_name(at) + 4
        self.question = wire[12:at]
        for _ in range(self.an + self.ns + self.ar):
            owner, at = wire[at:at + 1], self.skip_name(at)
            rtype, rclass, ttl, length = struct.unpack('>HHIH', wire[at:at + 10])
            data = wire[at + 10:at + 10 + length]
            at += 10 + length
            self.records.append((rtype, ttl, data))
            if rtype == 41:
                assert owner == b'\0' and self.opt is None
                self.opt = (rclass, ttl >> 24, ttl >> 16 & 255, ttl & 0xffff)
                self.options = dict(self.read_options(data))
                assert ttl & 0x7fff == 0, 'flags that nobody knows are clear (RFC 6891, 6.1.4)'
        assert at == len(wire), 'nothing lies behind the last record'
        if self.opt is not None:
            self.rcode |= self.opt[1] << 4

    def skip_name(self, at):
        while self.wire[at] and self.wire[at] < 0xc0:
            at += 1 + self.wire[at]
        return at + (2 if self.wire[at] else 1)

    @staticmethod
    def read_options(data):
        seen = set()
        while data:
            code, length = struct.unpack('>HH', data[:4])
            assert length <= len(data) - 4 and code not in seen
            seen.add(code)
            yield code, data[4:4 + length]
            data = data[4 + length:]

    def ede(self):
        if self.opt is None or EDE not in self.options:
            return None
        return struct.unpack('>H', self.options[EDE][:2])[0]


def check(wire, sent, rcode, records, echo, options, ede):
    """All that is said of an answer to `sent`."""
    answer = Answer(wire)
    flags = struct.unpack('>H', sent[2:4])[0]
    asked_opt = options is not None
    assert answer.id == struct.unpack('>H', sent[:2])[0]
    assert answer.rcode == rcode
    assert answer.flags & (QR | RA) == QR | RA and answer.flags & (AA | TC | AD | Z) == 0
    kept = RD | CD | 0x7800
    assert answer.flags & kept == flags & kept, 'RD, CD and the opcode are copied'
    assert (answer.an, answer.ns) == records
    assert answer.question == (sent[12:12 + len(answer.question)] if echo else b'')
    assert answer.qd == (1 if echo else 0)
    assert answer.ar == (1 if asked_opt else 0)
    if asked_opt:
        assert answer.opt[0] == 1232 and answer.opt[2] == 0, 'our size and version'
        want = set(options) | ({EDE} if ede is not None else set())
        assert set(answer.options) == want
    else:
        assert answer.opt is None
    assert answer.ede() == (ede if asked_opt else None)
    return answer


class Row:
    """One row: what is sent, and what comes back."""

    def __init__(self, sent, rcode=NOERROR, records=NONE, echo=True, options=None, tcp_options=None,
                 ede=None, do=False):
        self.sent, self.rcode, self.records, self.echo = sent, rcode, records, echo
        self.options, self.ede, self.do = options, ede, do
        self.tcp_options = options if tcp_options is None else tcp_options

    def check(self, client):
        for exchange, options in ((client.udp, self.options), (client.tcp, self.tcp_options)):
            wire = exchange(self.sent, wait=3)
            assert wire is not None, 'no answer'
            answer = check(wire, self.sent, self.rcode, self.records, self.echo, options, self.ede)
            assert answer.opt is None or bool(answer.opt[3] & DO) == self.do


def kinds(flags=RD, options=None, do=False, ede=True, **more):
    """The same message about each kind of name: allowed, no data, denied, above, special."""
    return {
        'allowed': Row(query(ALLOWED, flags=flags, **more), NOERROR, ANSWER, options=options, do=do),
        'no data': Row(query(ALLOWED, 16, flags=flags, **more), NOERROR, SOA, options=options,
                       ede=15 if ede else None, do=do),
        'denied': Row(query(DENIED, flags=flags, **more), NXDOMAIN, SOA, options=options,
                      ede=15 if ede else None, do=do),
        'above': Row(query(ABOVE, flags=flags, **more), NOERROR, SOA, options=options,
                     ede=15 if ede else None, do=do),
        'special': Row(query('x.Onion', flags=flags, **more), NXDOMAIN, SOA, options=options,
                       ede=15 if ede else None, do=do),
    }


MANY = [option(3), option(8, b'\0\1\x18\0\xc6\x33\x64'), option(9), option(12, bytes(40)),
        option(14, b'\x4f\x66'), option(18, name('agent.example')), option(65001, b'abc')]
SHAPES = {
    'plain': {},
    'no RD': {'flags': 0},
    'AD': {'flags': RD | AD}, 'CD': {'flags': RD | CD}, 'Z': {'flags': RD | Z},
    'RA': {'flags': RD | RA}, 'AA': {'flags': RD | AA}, 'TC': {'flags': RD | TC},
    'an rcode': {'flags': RD | 5},
    'all of them': {'flags': RD | AD | CD | Z | RA | AA | TC | 15},
    'edns0': {'opt': opt(), 'options': set()},
    'do': {'opt': opt(flags=DO), 'options': set(), 'do': True},
    'ednsflags': {'opt': opt(flags=0x7fff), 'options': set()},
    'edns512': {'opt': opt(size=512), 'options': set()},
    'edns of size 0': {'opt': opt(size=0), 'options': set()},
    'edns of size 65535': {'opt': opt(size=65535), 'options': set()},
    'ednsopt': {'opt': opt(option(100)), 'options': set()},
    'optlist': {'opt': opt(*MANY), 'options': set()},
    'the same option often': {'opt': opt(*[option(3)] * 500), 'options': set()},
    'an rcode in OPT': {'opt': b'\0' + struct.pack('>HHIH', 41, 1232, 0x55000000, 0),
                        'options': set()},
    'docookie': {'opt': opt(option(COOKIE, b'cookie!!'), flags=DO), 'options': {COOKIE}, 'do': True},
}


@pytest.mark.parametrize('shape', SHAPES)
def test_every_shape_of_a_query_about_every_kind_of_name(serve, shape):
    for row in kinds(**SHAPES[shape]).values():
        row.check(serve.client)


def header_only(opcode, flags=0):
    return message(counts=(0, 0, 0, 0), flags=opcode << 11 | flags)


QUESTION = query(ALLOWED)[12:]
RECORD = name(ALLOWED) + struct.pack('>HHIH', 1, 1, 60, 4) + b'\1\2\3\4'
SOA_RECORD = b'\xc0\x0c' + struct.pack('>HHIH', 6, 1, 0, 22) + b'\0\0' + bytes(20)
TSIG_RECORD = name('key') + struct.pack('>HHIH', 250, 255, 0, 4) + b'\0\0\0\0'
COOKIE_OPT = opt(option(COOKIE, b'cookie!!'))
E = set()

ODD = {
    # EDNS versions (RFC 6891, 6.1.3): nothing of the options is looked at.
    'edns1': Row(query(ALLOWED, opt=opt(version=1)), BADVERS, options=E),
    'edns1opt': Row(query(ALLOWED, opt=opt(option(100), version=1)), BADVERS, options=E),
    'edns1flags': Row(query(ALLOWED, opt=opt(version=1, flags=0x7fff)), BADVERS, options=E),
    'edns1do': Row(query(ALLOWED, opt=opt(version=1, flags=DO)), BADVERS, options=E, do=True),
    'edns1cookie': Row(query(ALLOWED, opt=opt(option(COOKIE, b'x'), version=1)), BADVERS, options=E),
    'edns255 of a denied name': Row(query(DENIED, opt=opt(version=255)), BADVERS, options=E),
    'edns1 of another class': Row(query(ALLOWED, qclass=3, opt=opt(version=1)), BADVERS, options=E),
    # OPT records that are none.
    'two OPTs': Row(message(QUESTION, opt(), opt(), counts=(1, 0, 0, 2)), FORMERR, options=E),
    'OPT with a name': Row(query(ALLOWED, opt=opt_record(owner=name('a'))), FORMERR, options=E),
    'OPT in the answer': Row(message(QUESTION, opt(), counts=(1, 1, 0, 0)), FORMERR, echo=False),
    'OPT in the authority': Row(message(QUESTION, opt(), counts=(1, 0, 1, 0)), FORMERR, echo=False),
    'an option that overruns': Row(query(ALLOWED, opt=opt(b'\0\3\0\xff')), FORMERR, options=E),
    'half an option': Row(query(ALLOWED, opt=opt(b'\0\3\0')), FORMERR, options=E),
    'OPT that overruns': Row(query(ALLOWED, opt=opt()[:-2] + b'\0\5'), FORMERR),
    'OPT beside another record': Row(
        message(QUESTION, TSIG_RECORD, opt(), counts=(1, 0, 0, 2)), NOERROR, ANSWER, options=E),
    # Counts and lengths.
    'no question': Row(message(counts=(0, 0, 0, 0)), FORMERR, echo=False),
    'no question, but OPT': Row(message(opt(), counts=(0, 0, 0, 1)), FORMERR, echo=False, options=E),
    'two questions': Row(message(QUESTION, QUESTION, counts=(2, 0, 0, 0)), FORMERR, echo=False),
    'two questions and OPT': Row(message(QUESTION, QUESTION, opt(), counts=(2, 0, 0, 1)), FORMERR,
                                 echo=False, options=E),
    '65535 questions': Row(message(QUESTION, counts=(65535, 0, 0, 0)), FORMERR, echo=False),
    'an answer': Row(message(QUESTION, RECORD, opt(), counts=(1, 1, 0, 1)), FORMERR, echo=False,
                     options=E),
    'an authority': Row(message(QUESTION, SOA_RECORD, counts=(1, 0, 1, 0)), FORMERR, echo=False),
    'an additional': Row(message(QUESTION, RECORD, counts=(1, 0, 0, 1)), NOERROR, ANSWER),
    'trailing bytes': Row(query(ALLOWED) + b'\0', FORMERR),
    'trailing bytes behind OPT': Row(query(ALLOWED, opt=opt()) + b'\0', FORMERR, options=E),
    'a count without a record': Row(message(QUESTION, counts=(1, 0, 0, 1)), FORMERR),
    'half a question': Row(message(QUESTION[:-1]), FORMERR, echo=False),
    'a name cut short': Row(message(b'\3ab'), FORMERR, echo=False),
    'a pointer to itself': Row(message(b'\xc0\x0c\0\1\0\1'), FORMERR, echo=False),
    'a pointer past the end': Row(message(b'\xc0\xff\0\1\0\1'), FORMERR, echo=False),
    'a reserved label type': Row(message(b'\x40a\0\0\1\0\1'), FORMERR, echo=False),
    'a label type of old EDNS': Row(message(b'\x41\0\0\1\0\1'), FORMERR, echo=False),
    '130 labels': Row(query('.'.join('a' * 130)), FORMERR, echo=False),
    'a name of 256 bytes': Row(query('.'.join(['a' * 63] * 3 + ['a' * 62])), FORMERR, echo=False),
    'more than a query needs': Row(query(ALLOWED, opt=opt(option(12, bytes(4100)))), FORMERR,
                                   echo=False),
    'much more': Row(query(ALLOWED, opt=opt(option(12, bytes(40000)))), FORMERR, echo=False),
    # Cookies (RFC 7873, 5.2.2, 5.4).
    'a cookie without a question': Row(message(COOKIE_OPT, counts=(0, 0, 0, 1)), echo=False,
                                       options={COOKIE}),
    'a bad cookie without a question': Row(
        message(opt(option(COOKIE, b'c' * 24)), counts=(0, 0, 0, 1)), BADCOOKIE, echo=False,
        options={COOKIE}),
    'two cookies': Row(query(ALLOWED, opt=opt(option(COOKIE, b'cookie!!'), option(COOKIE, b'another!'))),
                       NOERROR, ANSWER, options={COOKIE}),
    # TCP keepalive (RFC 7828): not a word of it over UDP.
    'keepalive': Row(query(ALLOWED, opt=opt(option(KEEPALIVE))), NOERROR, ANSWER, options=E,
                     tcp_options={KEEPALIVE}),
    'keepalive and a cookie': Row(
        query(DENIED, opt=opt(option(KEEPALIVE), option(COOKIE, b'cookie!!'))), NXDOMAIN, SOA,
        options={COOKIE}, tcp_options={COOKIE, KEEPALIVE}, ede=15),
    # Types (RFC 6895, 3.1; RFC 8482; RFC 9824, 3.5).
    'ANY': Row(query(ALLOWED, 255, opt=opt()), NOERROR, ANSWER, options=E),
    'ANY of a pinned name': Row(query('pinned.example.com', 255), NOERROR, ANSWER),
    'ANY of a denied name': Row(query(DENIED, 255, opt=opt()), NXDOMAIN, SOA, options=E, ede=15),
    'ANY above': Row(query(ABOVE, 255, opt=opt()), NOERROR, SOA, options=E, ede=15),
    'ANY of localhost': Row(query('Localhost', 255, opt=opt()), NOERROR, ANSWER, options=E),
}
for _type in (0, 41, 128, 250):
    ODD[f'type {_type}'] = Row(query(ALLOWED, _type, opt=opt()), FORMERR, options=E, ede=30)
for _type in (249, 253, 254):
    ODD[f'type {_type}'] = Row(query(ALLOWED, _type, opt=opt()), NOTIMP, options=E, ede=21)
for _type in (251, 252):
    ODD[f'type {_type}'] = Row(query(ALLOWED, _type, opt=opt()), REFUSED, options=E, ede=21)
    ODD[f'type {_type} of a denied name'] = Row(query(DENIED, _type), REFUSED)
ODD['IXFR with its SOA'] = Row(
    message(name(ALLOWED) + b'\0\xfb\0\1', SOA_RECORD, opt(), counts=(1, 0, 1, 1)), REFUSED,
    echo=False, options=E, ede=21)
for _type in (2, 3, 5, 6, 12, 13, 15, 16, 33, 43, 46, 47, 48, 64, 65, 99, 127, 129, 240, 248, 256,
              1000, 32768, 65280, 65399, 65535):
    ODD[f'type {_type} of an allowed name'] = Row(query(ALLOWED, _type, opt=opt()), NOERROR, SOA,
                                                  options=E, ede=15)
    ODD[f'type {_type} of a denied name'] = Row(query(DENIED, _type, opt=opt()), NXDOMAIN, SOA,
                                                options=E, ede=15)
for _class in (0, 2, 3, 4, 254, 255, 256, 65535):
    ODD[f'class {_class}'] = Row(query(ALLOWED, qclass=_class, opt=opt()), REFUSED, options=E, ede=21)
    ODD[f'class {_class} without OPT'] = Row(query('version.bind', 16, qclass=_class), REFUSED)
for _opcode in range(1, 16):
    ODD[f'opcode {_opcode}, a header alone'] = Row(header_only(_opcode), NOTIMP, echo=False)
    ODD[f'opcode {_opcode}, with all flags'] = Row(
        header_only(_opcode, RD | AD | CD | Z | RA | AA | TC | 15), NOTIMP, echo=False)
    ODD[f'opcode {_opcode}, a question'] = Row(query(ALLOWED, flags=_opcode << 11), NOTIMP, echo=False)
    ODD[f'opcode {_opcode}, a question and OPT'] = Row(
        query(ALLOWED, flags=_opcode << 11, opt=COOKIE_OPT), NOTIMP, echo=False, options=E, ede=21)
    ODD[f'opcode {_opcode}, EDNS 1'] = Row(
        query(ALLOWED, flags=_opcode << 11, opt=opt(version=1)), NOTIMP, echo=False, options=E, ede=21)
    ODD[f'opcode {_opcode}, nonsense'] = Row(
        message(b'nonsense', counts=(7, 7, 7, 7), flags=_opcode << 11), NOTIMP, echo=False)
ODD['UPDATE'] = Row(
    message(name('example.com') + b'\0\6\0\1', b'\xc0\x0c' + RECORD[len(name(ALLOWED)):], opt(),
            counts=(1, 0, 1, 1), flags=5 << 11), NOTIMP, echo=False, options=E, ede=21)
ODD['NOTIFY'] = Row(message(name('example.com') + b'\0\6\0\1', SOA_RECORD, counts=(1, 1, 0, 0),
                            flags=4 << 11 | AA), NOTIMP, echo=False)
for _length in range(0, 42):
    _fine = _length == 8 or 16 <= _length <= 40
    ODD[f'a cookie of {_length} bytes'] = Row(
        query(ALLOWED, opt=opt(option(COOKIE, b'c' * _length))), NOERROR if _fine else FORMERR,
        ANSWER if _fine else NONE, options={COOKIE} if _fine else E)


def test_every_odd_message(serve, upstream):
    wrong = []
    for what, row in ODD.items():
        try:
            row.check(serve.client)
        except AssertionError as error:
            wrong.append(f'{what}: {error}')
    assert not wrong, '\n'.join(wrong)
    asked = [dns.rdatatype.to_text(struct.unpack('>H', wire[12:][wire[12:].index(0) + 1:][:2])[0])
             for wire, _ in upstream.seen]
    assert set(asked) <= {'A'} and set(upstream.names_seen()) <= {ALLOWED.lower()}


def test_over_udp_a_keepalive_with_a_time_is_passed_over(serve):
    """Over TCP it is malformed: only a server says a time (RFC 7828, 3.2.1)."""
    sent = query(ALLOWED, opt=opt(option(KEEPALIVE, b'\0\x64')))
    check(serve.client.udp(sent), sent, NOERROR, ANSWER, True, E, None)
    check(serve.client.tcp(sent), sent, FORMERR, NONE, True, E, None)


@pytest.mark.parametrize('sent', [
    b'', b'\x12', bytes.fromhex('1234010000'), bytes(11), query(ALLOWED, flags=QR | RD),
    query(DENIED, flags=0x8183), query(ALLOWED, flags=QR | 5 << 11),
    message(counts=(0, 0, 0, 0), flags=QR)])
def test_what_gets_no_answer(serve, sent):
    """Scraps, and answers: two servers that answered each other's would talk for ever."""
    assert serve.client.udp(sent, wait=0.3) is None
    good = query(DENIED, qid=0x4321)
    with serve.client.connect() as sock:
        if sent:
            sock.sendall(struct.pack('>H', len(sent)) + sent)
        sock.sendall(struct.pack('>H', len(good)) + good)
        assert Answer(read_message(sock)).id == 0x4321, 'and the connection goes on'


def test_any_is_answered_with_nothing_of_use(serve, upstream):
    """RFC 8482, 4.2: a HINFO record; and nothing is asked for, or opened."""
    for qname in (ALLOWED, 'pinned.example.com'):
        for exchange in (serve.client.udp, serve.client.tcp):
            answer = Answer(exchange(query(qname, 255)))
            assert answer.records == [(13, 3600, b'\7RFC8482\0')]
    assert upstream.seen == []
    assert not serve.leased(ORIGIN) and not serve.leased('93.184.216.40')


def test_cookies_are_kept(serve, host):
    """What we gave is taken, and given back while it is young; what we did not give is replaced."""
    ask = lambda cookie: Answer(serve.client.udp(  # noqa: E731
        message(opt(option(COOKIE, cookie)), counts=(0, 0, 0, 1))))
    first = ask(b'cookie!!').options[COOKIE]
    assert len(first) == 24 and first.startswith(b'cookie!!\1\0\0\0')
    again = ask(first)
    assert again.rcode == NOERROR and again.options[COOKIE] == first
    for bad in (first[:-1] + bytes([first[-1] ^ 1]), b'another!' + first[8:], first[:16]):
        answer = ask(bad)
        assert answer.rcode == BADCOOKIE
        assert answer.options[COOKIE][:8] == bad[:8] and answer.options[COOKIE] != bad
    for program in (['dig', '+tries=1', '+cookie=0123456789abcdef'], ['kdig', '+cookie']):
        said = host.run(*program, '@127.0.0.1', ALLOWED, '@127.0.0.1', ALLOWED).stdout
        assert said.count(ORIGIN) == 2, said
    said = host.run('dig', '+tries=1', '+cookie', '@127.0.0.1', ALLOWED).stdout
    assert '(good)' in said, said
    cookie = said.split('COOKIE: ')[1].split()[0]
    said = host.run('dig', '+tries=1', '+qr', f'+cookie={cookie}', '@127.0.0.1', ALLOWED).stdout
    assert said.count(f'COOKIE: {cookie}') == 2 and '(good)' in said, said


def test_cookies_go_nowhere(serve, upstream):
    serve.client.udp(query(ALLOWED, opt=opt(option(COOKIE, b'leakleak'))))
    assert upstream.seen and b'leak' not in upstream.bytes_seen()


# Sizes.

@pytest.mark.parametrize('size,limit', [(None, 512), (0, 512), (511, 512), (512, 512), (600, 600),
                                        (1232, 1232), (4096, 1232), (65535, 1232)])
def test_sizes(start, upstream, size, limit):
    """A datagram as large as may be, whole or with TC and nothing; TCP knows no such limit."""
    serve = start()
    sized = b'' if size is None else opt(size=size)
    head = 12 + len(QUESTION) + (11 if sized else 0)
    fits = (limit - head) // 16
    for label, n in (('a', fits), ('b', fits + 1)):
        qname = f'{label}.wild.example.com'
        more = len(name(qname)) - len(name(ALLOWED))
        n -= -(-more // 16) if n == fits else 0
        upstream.add(qname, *(f'93.184.216.{i}' for i in range(1, n + 1)))
        answer = Answer(serve.client.udp(query(qname, opt=sized)))
        assert len(answer.wire) <= limit
        assert (answer.an, answer.tc) == ((n, False) if label == 'a' else (0, True))
        assert (answer.opt is not None) == bool(sized)
        assert Answer(serve.client.tcp(query(qname, opt=sized))).an == n


def test_the_text_of_an_error_makes_room_first(serve):
    """A long denied name, a small datagram, a cookie: the text is cut, nothing else is."""
    qname = '.'.join(['a' * 63] * 3 + ['a' * 40, 'example'])
    for size in (0, 512, 1232):
        sent = query(qname, opt=opt(option(COOKIE, b'cookie!!'), size=size))
        answer = check(serve.client.udp(sent), sent, NXDOMAIN, SOA, True, {COOKIE}, 15)
        assert answer.ns == 1 and len(answer.wire) <= max(size, 512)
        assert b'not-listed: '.startswith(answer.options[EDE][2:14])


def test_strangers_are_told_so_whatever_they_ask(start, upstream, host):
    del upstream
    host.address('lo', '10.98.0.1/32')
    serve = start('''
[resolver]
listen = 10.98.0.1:53
clients = 10.97.0.0/16
upstream = 127.0.0.1:5399
[nftables]
manage = no
''', address='10.98.0.1')
    for qtype in (1, 16, 255):
        for qname in (ALLOWED, 'x.onion', 'localhost'):
            Row(query(qname, qtype), REFUSED).check(serve.client)
            Row(query(qname, qtype, opt=COOKIE_OPT), REFUSED, options={COOKIE}, ede=18).check(
                serve.client)


def test_failures_keep_the_form(serve, upstream):
    upstream.script = lambda wire, transport: Upstream.NOTHING
    sent = query(ALLOWED, opt=opt(option(COOKIE, b'cookie!!'), flags=DO), flags=RD | CD)
    check(serve.client.udp(sent, wait=8), sent, 2, NONE, True, {COOKIE}, 22)
