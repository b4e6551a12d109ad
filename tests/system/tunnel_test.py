# SPDX-License-Identifier: MIT
"""A real tunnel, iodine: dead for a name that is not listed, starved below one that is."""

import os
import socket
import subprocess
import threading
import time

import dns.flags
import dns.message
import pytest

from netns import Netns
from servers import Origin
from wire import Client, addresses, query, wait_until

TYPES = ['NULL', 'PRIVATE', 'TXT', 'SRV', 'MX', 'CNAME', 'A']
LIMIT_NAMES, LIMIT_LABELS = 20, 1000
POLICY = '''
[allow tunnel]
owner = tests
reason = A zone that is not what it seems
host = *.t.example
[allow ok]
owner = tests
reason = Tests
host = ok.example.com
[resolver]
upstream = 127.0.0.1:5399
[nftables]
manage = no
[audit]
log = {folder}/audit.log
'''

pytestmark = pytest.mark.skipif(not os.path.exists('/dev/net/tun'), reason='no /dev/net/tun')


class Relay:
    """Passes datagrams from 127.0.0.1:5399 on to a server, and keeps what it was sent and when."""

    def __init__(self, netns, server):
        self.seen, self.server, self.netns = [], server, netns
        self.sock = netns.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(('127.0.0.1', 5399))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                wire, peer = self.sock.recvfrom(65535)
            except OSError:
                return
            if not wire:
                return
            if b'\5probe\x09bailiwick\7example' not in wire.lower():  # those are our own
                self.seen.append((time.monotonic(), wire))
            threading.Thread(target=self.ask, args=(wire, peer), daemon=True).start()

    def ask(self, wire, peer):
        with self.netns.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(5)
            try:
                sock.sendto(wire, self.server)
                self.sock.sendto(sock.recv(65535), peer)
            except OSError:
                pass

    def close(self):
        with self.netns.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b'', ('127.0.0.1', 5399))
        self.sock.close()

    def names(self):
        """The names that were asked for, in lower case, each once."""
        return {dns.message.from_wire(wire).question[0].name.to_text().lower()
                for _, wire in self.seen}

    def label_bytes(self):
        """The bytes of labels of these names below example., each place of the tree once."""
        places = set()
        for text in (dns.message.from_wire(wire).question[0].name for _, wire in self.seen):
            labels = [label.lower() for label in text.labels[:-3]]
            places |= {tuple(labels[i:]) for i in range(len(labels))}
        return sum(len(place[0]) for place in places)


@pytest.fixture
def tunnel(host):
    """iodined behind the relay, and what starts its client."""
    server = Netns('tunnelsrv')
    host.link('tun-h', server, 'tun-s')
    host.address('tun-h', '10.66.0.1/24')
    server.address('tun-s', '10.66.0.2/24')
    daemon = server.start('iodined', '-f', '-c', '-P', 'secret', '-l', '10.66.0.2', '10.77.0.1/24',
                          't.example', stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    client = Client(host, '10.66.0.2')
    wait_until(lambda: client.udp(query('ns.t.example', 2), wait=0.2) is not None, 'iodined')
    relay = Relay(host, ('10.66.0.2', 53))
    echo = Origin(server, '10.77.0.1', 7777, socket.SOCK_DGRAM)
    yield relay
    echo.close()
    relay.close()
    daemon.kill()
    daemon.wait()
    host.run('ip', 'link', 'delete', 'tun-h')
    server.delete()


def is_echoed(host):
    """Whether a datagram to the far end of the tunnel comes back."""
    with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        try:
            sock.sendto(b'echo', ('10.77.0.1', 7777))
            return sock.recv(100) == b'echo'
        except OSError:
            return False


def try_tunnel(host, qtype, server, seconds):
    """Run the client for so long, or until a packet has crossed; whether one has."""
    client = host.start('iodine', '-f', '-4', '-r', '-P', 'secret', '-T', qtype, server, 't.example',
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
    ends = time.monotonic() + seconds
    crossed = False
    try:
        while not crossed and time.monotonic() < ends and client.poll() is None:
            crossed = is_echoed(host)
            time.sleep(0.2)
    finally:
        client.kill()
        client.wait()
    return crossed


@pytest.mark.parametrize('qtype', ['NULL', 'A'])
def test_the_tunnel_works_without_us(host, tunnel, qtype):
    """So that the others mean something."""
    with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as relay:
        relay.bind(('127.0.0.1', 53))
        stop = threading.Event()
        threading.Thread(target=pass_on, args=(host, relay, stop), daemon=True).start()
        assert try_tunnel(host, qtype, '127.0.0.1', 40)
        stop.set()
    assert len(tunnel.names()) > LIMIT_NAMES


def pass_on(host, sock, stop):
    """In our place: pass every datagram on as it is."""
    sock.settimeout(0.2)

    def ask(wire, peer):
        with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as up:
            up.settimeout(5)
            try:
                up.sendto(wire, ('127.0.0.1', 5399))
                sock.sendto(up.recv(65535), peer)
            except OSError:
                pass

    while not stop.is_set():
        try:
            wire, peer = sock.recvfrom(65535)
        except OSError:
            continue
        threading.Thread(target=ask, args=(wire, peer), daemon=True).start()


@pytest.mark.parametrize('qtype', TYPES)
def test_a_name_that_is_not_listed_is_dead(host, start, tunnel, qtype):
    serve = start(POLICY.replace('*.t.example', '*.other.example'))
    assert not try_tunnel(host, qtype, '127.0.0.1', 5)
    assert tunnel.seen == []
    wait_until(lambda: any(r.get('reason') == 'not-listed' for r in serve.log()), 'its record')


@pytest.mark.parametrize('qtype', TYPES)
def test_a_listed_wildcard_starves_it(host, start, tunnel, qtype):
    # The client tries slowly: of few names it has spent the budget within its time here.
    limit = 3 if qtype == 'A' else LIMIT_NAMES
    serve = start(POLICY.replace('*.t.example', f'*.t.example\nmax_names = {limit}'))
    began = time.monotonic()
    assert not try_tunnel(host, qtype, '127.0.0.1', 25 if qtype == 'A' else 5)
    assert time.monotonic() - began < 60
    # All that left within the minute, and not a byte by a type that cannot be answered. What the
    # server's own answers lead to is asked as well; those names are not the agent's.
    asked = {r['name'] for r in serve.log() if r.get('name') and r['verdict'] != 'deny'}
    assert len({name for name in tunnel.names() if name.rstrip('.') in asked}) <= limit
    assert tunnel.label_bytes() <= LIMIT_LABELS
    assert {dns.message.from_wire(wire).question[0].rdtype for _, wire in tunnel.seen} <= {1, 28}
    if qtype == 'A':
        assert tunnel.seen
        wait_until(lambda: any(r.get('reason') in ('names', 'labels') and r['grant'] == 'tunnel'
                               for r in serve.log()), 'its record')


def test_what_is_sent_upstream_is_ours(start, upstream):
    """Case, id, size, options and flags of a query carry nothing on."""
    owner = 'abcdefghijklmnopqrstuvwxyz.t.example'
    upstream.add(owner, '93.184.216.34')
    serve = start(POLICY)
    secret = b'k7f3a9'
    wires = [query(text, qid=qid, flags=0x0130, opt=opt) for text, qid, opt in (
        (owner, 0x4141, b''),
        (owner.title(), 0x4242, b'\0\0\x29\x0f\xff\0\0\x80\0\0\x0a\xfd\xe9\0\6' + secret),
        (owner.upper(), 0x4343, b'\0\0\x29\x02\x01\0\0\0\0\0\x14\0\x0c\0\x10' + bytes(16)))]
    for qtype in (1, 28):
        for wire in wires:
            serve.client.udp(wire.replace(b'\0\1\0\1', bytes([0, qtype, 0, 1]), 1)
                             if qtype != 1 else wire)
    seen = [dns.message.from_wire(wire) for wire, _ in upstream.seen]
    assert secret not in upstream.bytes_seen() and seen
    assert not {message.id for message in seen} & {0x4141, 0x4242, 0x4343}
    assert len({len(wire) for wire, _ in upstream.seen}) == 1
    # Whether signatures are wanted, and unchecked data, is all that crosses of the flags.
    assert len({(message.payload, message.ednsflags & ~dns.flags.DO, message.flags & ~dns.flags.CD)
                for message in seen}) == 1
    assert all(not message.options for message in seen)
    texts = {message.question[0].name.to_text() for message in seen}
    assert not texts & {owner + '.', owner.title() + '.', owner.upper() + '.'}


def test_retries_of_a_client_are_not_passed_on(start, upstream):
    upstream.script = lambda wire, transport: upstream.NOTHING
    serve = start(POLICY)
    for _ in range(20):
        serve.client.udp(query('a.t.example'), wait=0.05)
    # One question, asked as we ask: its tries, and no other's.
    assert 0 < len(upstream.seen) <= 4


def test_threads_share_the_budget(start, upstream):
    serve = start(POLICY.replace('[resolver]', '[resolver]\nthreads = 2'))
    answered = 0
    for i in range(60):
        upstream.add(f'n{i}.t.example', '93.184.216.34')
        # A socket, and so perhaps a thread, of its own.
        answered += bool(addresses(serve.ask(f'n{i}.t.example')))
    assert answered == LIMIT_NAMES
    assert len(set(upstream.names_seen())) == LIMIT_NAMES
