# SPDX-License-Identifier: MIT
"""
An agent that knows its packets: each test sends some with a mark in them, past all sockets, and
looks for the mark on the origin's link. The topology is that of gateway_test.py.
"""

import itertools
import signal
import socket
import struct
import time

import pytest

from conftest import ORIGIN, ORIGIN6
from gateway_test import Topology, dns, serve, try_tcp
from netns import family_of
from wire import query, wait_until

AGENT, AGENT6 = '10.7.1.2', 'fd07:1::2'
UNLEASED, UNLEASED6 = '93.184.216.53', '2606:2800:220:1::53'
marks = itertools.count(1)


@pytest.fixture(scope='module')
def net(tmp_path_factory):
    topology = Topology(tmp_path_factory.mktemp('nsd'))
    yield topology
    topology.close()


# Packets, made by hand.

def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip(source, target, protocol, payload, fragment=0, options=b''):
    """An IP packet; `fragment` is the flags and offset of IPv4."""
    family = family_of(source)
    ends = socket.inet_pton(family, source) + socket.inet_pton(family, target)
    if family == socket.AF_INET6:
        return struct.pack('>IHBB', 6 << 28, len(payload), protocol, 64) + ends + payload
    head = struct.pack('>BBHHHBBH', 0x45 + len(options) // 4, 0,
                       20 + len(options) + len(payload), 77, fragment, 64, protocol, 0)
    total = checksum(head + ends + options)
    return head[:10] + struct.pack('>H', total) + ends + options + payload


def with_checksum(source, target, protocol, at, data):
    """The data of a transport protocol, with its checksum at a byte."""
    family = family_of(source)
    ends = socket.inet_pton(family, source) + socket.inet_pton(family, target)
    total = checksum(ends + struct.pack('>II', len(data), protocol) + data)
    return data[:at] + struct.pack('>H', total) + data[at + 2:]


def udp(source, target, sport, dport, data):
    head = struct.pack('>4H', sport, dport, 8 + len(data), 0)
    return with_checksum(source, target, 17, 6, head + data)


def tcp(source, target, sport, dport, flags, data=b''):
    head = struct.pack('>HHIIBBHHH', sport, dport, 1, 1, 0x50, flags, 65535, 0, 0)
    return with_checksum(source, target, 6, 16, head + data)


def icmp(source, target, kind, data):
    v6 = family_of(source) == socket.AF_INET6
    body = struct.pack('>BBHI', kind, 0, 0, 1) + data
    if v6:
        return with_checksum(source, target, 58, 2, body)
    return body[:2] + struct.pack('>H', checksum(body)) + body[4:]


class Link:
    """An end of a link: what is sent there as it is, and what has come."""

    def __init__(self, netns, device='eth0', gateway=None, gateway_device=None):
        with netns.entered():
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.bind((device, 0))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.own = self.sock.getsockname()[4]
        if gateway is not None:
            with Link(gateway, gateway_device) as other:
                self.other = other.own

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, packet, ether=None):
        kind = 0x86dd if packet[0] >> 4 == 6 else 0x0800
        self.sock.send(self.other + (ether or self.own) + struct.pack('>H', kind) + packet)

    def has(self, mark, wait):
        """Whether a packet with the mark comes within the time."""
        deadline = time.monotonic() + wait
        while (left := deadline - time.monotonic()) > 0:
            self.sock.settimeout(left)
            try:
                if mark in self.sock.recv(65535):
                    return True
            except TimeoutError:
                break
        return False


@pytest.fixture
def gets_out(net, serve):
    """Whether one of the packets that make(mark) gives is seen at the origin."""
    del serve
    links = {'agent': Link(net.agent, 'eth0', net.gateway, 'agent0'),
             'other': Link(net.other, 'eth0', net.gateway, 'agent1')}

    def attack(make, who='agent', ether=None, wait=0.15):
        mark = b'<mark %d>' % next(marks)
        with Link(net.origin) as origin:
            for packet in make(mark):
                links[who].send(packet, ether)
            return origin.has(mark, wait)

    attack.links = links
    yield attack
    for link in links.values():
        link.__exit__()


@pytest.fixture
def leased(dns):
    """What most of these tests start from: ok.example.com is leased over both families."""
    dns.ask('ok.example.com')
    dns.ask('ok.example.com', 'AAAA')


def test_the_method_sees_what_passes(gets_out, leased):
    del leased
    for source, target in ((AGENT, ORIGIN), (AGENT6, ORIGIN6)):
        assert gets_out(lambda mark: [ip(source, target, 17, udp(source, target, 4000, 9090, mark))],
                        wait=5)
        assert not gets_out(lambda mark: [ip(source, target, 17,
                                             udp(source, target, 4000, 22, mark))])


@pytest.mark.parametrize('target', [ORIGIN, UNLEASED])
@pytest.mark.parametrize('flags', [0, 1, 2, 4, 0x10, 0x11, 0x12, 0x14, 0x18, 0x29, 0x3f])
def test_no_tcp_segment(gets_out, leased, target, flags):
    del leased
    assert not gets_out(lambda mark: [ip(AGENT, target, 6, tcp(AGENT, target, 4001, 22, flags, mark))])


@pytest.mark.parametrize('target', [ORIGIN, UNLEASED])
def test_no_other_protocol(gets_out, leased, target):
    """Nor one that has the ports of a leased tuple in the same place."""
    del leased
    ports = struct.pack('>4H', 4000, 9090, 8, 0)
    for protocol in (2, 4, 33, 41, 47, 50, 51, 58, 94, 103, 115, 132, 136, 253, 255):
        assert not gets_out(lambda mark: [ip(AGENT, target, protocol, ports + mark)]), protocol
    for kind in (0, 3, 4, 5, 8, 11, 12, 13, 14, 42):
        assert not gets_out(lambda mark: [ip(AGENT, target, 1, icmp(AGENT, target, kind, mark))]), kind


@pytest.mark.parametrize('target', [ORIGIN6, UNLEASED6])
def test_no_other_protocol_over_ipv6(gets_out, leased, target):
    del leased
    for protocol in (4, 41, 47, 50, 51, 59, 132, 135, 136, 139, 140, 253):
        assert not gets_out(lambda mark: [ip(AGENT6, target, protocol, bytes(8) + mark)]), protocol
    for kind in (1, 2, 3, 4, 128, 129, 133, 134, 135, 136, 137, 151):
        assert not gets_out(lambda mark: [ip(AGENT6, target, 58, icmp(AGENT6, target, kind, mark))]), kind


@pytest.mark.parametrize('target', [ORIGIN, UNLEASED])
def test_no_fragment(gets_out, leased, target):
    """The ports in a second fragment, no first fragment, two first fragments."""
    del leased
    fine = tcp(AGENT, target, 4004, 9080, 2)

    def pieces(*parts):
        return [ip(AGENT, target, 6, data, flags) for data, flags in parts]

    for make in (
            lambda bad: pieces((bad[:8], 0x2000), (bad[8:], 1)),
            lambda bad: pieces((bad[8:], 1)),
            lambda bad: pieces((bad[8:], 0x2001)),
            lambda bad: pieces((fine[:8], 0x2000), (bad[:8], 0x2000), (bad[8:], 1)),
            lambda bad: pieces((bad[8:], 1), (fine[:8], 0x2000), (bad[:8], 0x2000))):
        assert not gets_out(lambda mark: make(tcp(AGENT, target, 4004, 22, 2, mark)))


@pytest.mark.parametrize('target', [ORIGIN6, UNLEASED6])
def test_no_extension_header(gets_out, leased, target):
    del leased
    pad = struct.pack('>BBBB4x', 17, 0, 1, 4)
    chained = struct.pack('>BBBB4x', 60, 0, 1, 4) + pad

    def piece(kind, offset, more):
        return struct.pack('>BBHI', kind, 0, offset << 3 | more, 7)

    for make in (
            lambda bad: [ip(AGENT6, target, 60, pad + bad)],
            lambda bad: [ip(AGENT6, target, 0, chained + bad)],
            lambda bad: [ip(AGENT6, target, 44, piece(17, 0, 0) + bad)],
            lambda bad: [ip(AGENT6, target, 44, piece(17, 5, 0) + bad)],
            lambda bad: [ip(AGENT6, target, 44, piece(17, 0, 1) + bad[:8]),
                         ip(AGENT6, target, 44, piece(17, 1, 0) + bad[8:])],
            lambda bad: [ip(AGENT6, target, 44, piece(60, 0, 1) + pad),
                         ip(AGENT6, target, 44, piece(60, 1, 0) + bad)]):
        assert not gets_out(lambda mark: make(udp(AGENT6, target, 4000, 22, mark)))


def test_no_source_route(gets_out, leased):
    del leased
    route = struct.pack('>BBB4sx', 131, 7, 4, socket.inet_aton(UNLEASED))
    for through in (ORIGIN, '10.7.1.1'):
        assert not gets_out(lambda mark: [ip(AGENT, through, 17, udp(AGENT, UNLEASED, 4000, 9090, mark),
                                             options=route)])


def test_no_error_about_a_query_that_was_turned_to_us(gets_out, net):
    """An ICMP error quotes a packet of a flow, and is let through with it."""
    for sport, server in ((4400, '8.8.8.8'), (4401, UNLEASED)):
        gets_out.links['agent'].send(
            ip(AGENT, server, 17, udp(AGENT, server, sport, 53, query('bad.example.com'))))
        time.sleep(0.1)
        for target in (server, UNLEASED, ORIGIN):
            assert not gets_out(lambda mark: [ip(AGENT, target, 1, icmp(
                AGENT, target, 3, ip(server, AGENT, 17, udp(server, AGENT, 53, sport, mark)) + mark))])
    del net


def test_nothing_to_port_53_but_dns(gets_out):
    for flags in (0x3f, 0x10, 0x18):
        assert not gets_out(lambda mark: [ip(AGENT, UNLEASED, 6, tcp(AGENT, UNLEASED, 4200, 53, flags, mark))])
    assert not gets_out(lambda mark: [ip(AGENT, UNLEASED, 17, udp(AGENT, UNLEASED, 4200, 53, mark * 5))])
    assert not gets_out(lambda mark: [ip(AGENT, UNLEASED, 17, udp(AGENT, ORIGIN, 4201, 53, mark))])


def test_a_server_that_was_killed_leaves_the_network_closed(net, serve, leased):
    del leased
    serve.process.kill()
    serve.process.wait()
    assert try_tcp(net.agent, ORIGIN, 9443) == 'refused'
    assert serve.client.udp(query('ok.example.com'), wait=0.5) is None
    serve.start(wait=False)
    wait_until(serve.is_ready, 'serve to be ready', limit_s=10)


def test_no_answer_to_who_was_not_asked(net, serve):
    """Somebody outside begins: what the agent answers would be a way out."""
    del serve
    with net.agent.socket() as listener, net.origin.socket() as caller:
        listener.bind((AGENT, 4800))
        listener.listen()
        caller.bind((UNLEASED, 0))
        caller.settimeout(1)
        with pytest.raises(OSError):
            caller.connect((AGENT, 4800))
    with net.agent.socket(kind=socket.SOCK_DGRAM) as agent, \
            net.origin.socket(kind=socket.SOCK_DGRAM) as caller:
        agent.bind((AGENT, 4700))
        agent.settimeout(1)
        caller.bind((UNLEASED, 22))
        caller.settimeout(0.3)
        caller.sendto(b'come out', (AGENT, 4700))
        assert agent.recv(100) == b'come out', 'that this way is open is not ours to judge'
        agent.sendto(b'here I am', (UNLEASED, 22))
        with pytest.raises(TimeoutError):
            caller.recv(100)
    # An ICMP error about what came quotes, and so carries, what the agent likes.
    with Link(net.origin) as origin, Link(net.agent, 'eth0', net.gateway, 'agent0') as agent, \
            net.origin.socket(kind=socket.SOCK_DGRAM) as caller:
        caller.bind((UNLEASED, 23))
        caller.sendto(b'come out', (AGENT, 4701))
        quoted = ip(UNLEASED, AGENT, 17, udp(UNLEASED, AGENT, 23, 4701, b'<quoted>'))
        agent.send(ip(AGENT, UNLEASED, 1, icmp(AGENT, UNLEASED, 3, quoted)))
        assert not origin.has(b'<quoted>', 0.3)


def test_no_other_agents_source(gets_out, leased):
    """What is leased to one is not open to another who takes its address."""
    del leased
    assert not gets_out(lambda mark: [ip(AGENT, ORIGIN, 17, udp(AGENT, ORIGIN, 4100, 9090, mark))],
                        who='other')
    for source in ('8.8.8.8', '10.7.2.2', '93.184.216.1'):
        assert not gets_out(lambda mark: [ip(source, '93.184.216.77', 6, tcp(
            source, '93.184.216.77', 4100, 9080, 2, mark))]), source


def test_a_forged_source_is_not_heard(net, serve, gets_out):
    """Else a record in the log would name another agent than the one that asked."""
    del net
    gets_out.links['other'].send(ip(AGENT, '10.7.2.1', 17, udp(
        AGENT, '10.7.2.1', 4000, 53, query('forged.example.com'))))
    assert serve.ask('bad.example.com') is not None
    wait_until(lambda: any(record.get('name', '').startswith('bad.') for record in serve.log()),
               'the record')
    assert not any('forged' in record.get('name', '') for record in serve.log())


@pytest.mark.parametrize('kind', [0, 2, 4])
def test_no_routing_header(gets_out, leased, kind):
    """Its next segment is a destination that nobody judged."""
    del leased
    routing = struct.pack('>BBBB4x', 17, 2, kind, 1) + socket.inet_pton(socket.AF_INET6, UNLEASED6)
    assert not gets_out(lambda mark: [ip(AGENT6, ORIGIN6, 43, routing + udp(
        AGENT6, ORIGIN6, 4000, 9090, mark))])


def test_what_slipped_through_in_a_bad_moment_does_not_go_on(net, serve, leased):
    """Another program deletes the table: until it is restored, the network stands open."""
    del leased
    good = net.agent.socket()
    good.settimeout(1)
    good.connect((ORIGIN, 9080))
    # So that flows are tracked meanwhile, too, as they are where addresses are translated.
    serve.nft('add table inet others; add chain inet others f { type filter hook forward '
              'priority 0; }; add rule inet others f ct state new counter')
    slipped = net.agent.socket()
    slipped.settimeout(1)
    serve.process.send_signal(signal.SIGSTOP)
    serve.nft('delete table inet bailiwick')
    slipped.connect((ORIGIN, 22))
    slipped.sendall(b'out')
    assert slipped.recv(3) == b'out'
    serve.process.send_signal(signal.SIGCONT)
    wait_until(lambda: serve.nft('list', 'table', 'inet', 'bailiwick', check=False).returncode == 0,
               'the table to be restored')
    slipped.sendall(b'still')
    with pytest.raises(OSError):
        if slipped.recv(5) == b'':
            raise ConnectionError
    good.sendall(b'hello')
    assert good.recv(5) == b'hello', 'what was let in goes on'
    for sock in (good, slipped):
        sock.close()
