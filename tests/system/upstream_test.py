# SPDX-License-Identifier: MIT
"""Upstream servers: over TLS, dead, lying, slow, changed, and ourselves."""

import contextlib
import socket
import subprocess
import threading
import time

import pytest

from servers import PROGRAM, Unbound, Upstream, make_authority, make_certificate
from wire import Client, addresses, ede, query, rcode, wait_until

ORIGIN = '93.184.216.34'
DOT = '127.0.0.5'
LATER = '20490101000000Z'

POLICY = '''
[policy]
owner = tests
[allow wild]
owner = tests@example.com
reason = Tests
host = ok.example.com *.wild.example.com
max_names = 1000
max_labels = 1000000
[resolver]
listen = 127.0.0.1:53
{resolver}
[nftables]
manage = no
[audit]
log = {folder}/audit.log
'''


def policy(resolver):
    return POLICY.replace('{resolver}', resolver)


@pytest.fixture
def certificates(tmp_path):
    """Two authorities, and a function that makes what they sign."""
    make_authority(tmp_path, 'ca')
    make_authority(tmp_path, 'stranger')
    return lambda *what: make_certificate(tmp_path, *what)


@pytest.fixture
def unbound(host, tmp_path):
    """Start unbound as a DoT server with a certificate and key; all that were started are stopped."""
    started = []

    def start_unbound(files, address=DOT):
        records = [f'{name}.example.com A {ORIGIN}' for name in ('ok', 'wild')]
        started.append(Unbound(host, tmp_path, files, records, address))
        return started[-1]

    yield start_unbound
    for server in started:
        server.stop()


@contextlib.contextmanager
def captured(netns):
    """Meanwhile, keep every packet of the loopback; a list of frames."""
    with netns.entered():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind(('lo', 0))
    sock.settimeout(0.1)
    packets, over = [], threading.Event()

    def capture():
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                packets.append(sock.recv(65535))

    thread = threading.Thread(target=capture)
    thread.start()
    try:
        yield packets
    finally:
        time.sleep(0.1)
        over.set()
        thread.join()
        sock.close()


def assert_no_plain_text(packets):
    """No packet to or from the server has a word of the question."""
    server = socket.inet_aton(DOT)
    theirs = [packet for packet in packets if server in (packet[26:30], packet[30:34])]
    assert theirs
    for packet in theirs:
        assert b'\7example\3com' not in packet.lower() and b'bailiwick' not in packet.lower()
        assert packet[23] == 6 and 853 in (int.from_bytes(packet[34:36], 'big'),
                                           int.from_bytes(packet[36:38], 'big'))


@pytest.mark.parametrize('names,whom', [('DNS:dot.example.net', '#dot.example.net'),
                                        (f'IP:{DOT}', ''), ('DNS:*.example.net', '#dot.example.net')])
def test_a_verified_server_is_asked(start, host, unbound, certificates, tmp_path, names, whom):
    unbound(certificates(names, LATER))
    with captured(host) as packets:
        serve = start(policy(f'upstream = tls://{DOT}{whom}\nupstream_ca = {tmp_path}/ca.pem'))
        assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
        for i in range(20):
            assert addresses(serve.ask(f'x{i}.wild.example.com')) == [ORIGIN]
    assert_no_plain_text(packets)
    opened = [p for p in packets if p[30:34] == socket.inet_aton(DOT) and p[47] & 0x12 == 0x02]
    assert len(opened) <= 3, 'the connection is kept'


@pytest.mark.parametrize('names,until,signer,why', [
    ('DNS:other.example.net', LATER, 'ca', 'ostname mismatch'),
    ('DNS:dot.example.net', '20210101000000Z', 'ca', 'expired'),
    ('DNS:dot.example.net', LATER, 'stranger', 'certificate'),
])
def test_a_server_that_cannot_be_verified_is_asked_nothing(start, host, unbound, certificates,
                                                           tmp_path, names, until, signer, why):
    unbound(certificates(names, until, signer))
    with captured(host) as packets:
        serve = start(policy(f'upstream = tls://{DOT}#dot.example.net\n'
                             f'upstream_ca = {tmp_path}/ca.pem'))
        answer = serve.ask('ok.example.com', wait=6)
        assert rcode(answer) == 'SERVFAIL' and answer.answer == []
        assert ede(answer)[0] == 23 and ede(answer)[1].startswith('upstream-untrusted: ')
    assert_no_plain_text(packets)
    said = [record['detail'] for record in serve.log() if record['action'] == 'upstream']
    assert any(why in text and f'tls://{DOT}:853#dot.example.net' in text for text in said), said


def test_the_start_is_refused_without_authorities(host, tmp_path):
    text = policy(f'upstream = tls://{DOT}#dot.example.net\nupstream_ca = {tmp_path}/gone.pem')
    (tmp_path / 'policy.ini').write_text(text.replace('{folder}', str(tmp_path)), encoding='utf-8')
    done = host.run(PROGRAM, 'serve', '-p', str(tmp_path / 'policy.ini'), check=False)
    assert done.returncode != 0 and 'gone.pem' in done.stderr


def test_a_server_that_restarts_under_load(start, host, unbound, certificates, tmp_path):
    """It is asked again soon after it is back, nothing false is said, and nothing leaks."""
    files = certificates('DNS:dot.example.net', LATER)
    server = unbound(files)
    serve = start(policy(f'upstream = tls://{DOT}#dot.example.net\n'
                         f'upstream_ca = {tmp_path}/ca.pem\ncache = 0'))
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    before = serve.open_files()
    queries = tmp_path / 'queries'
    queries.write_text(''.join(f'q{i}.wild.example.com A\n' for i in range(500)), encoding='ascii')
    load = host.start('dnsperf', '-s', '127.0.0.1', '-d', str(queries), '-l', '6', '-Q', '300', '-t', '5',
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for _ in range(2):
        time.sleep(1)
        server.stop()
        time.sleep(0.7)
        server = unbound(files)
    said = load.communicate(timeout=30)[0]
    assert 'NOERROR' in said and 'NXDOMAIN' not in said, said
    wait_until(lambda: addresses(serve.ask('ok.example.com', wait=6)) == [ORIGIN],
               'the server to be asked again', limit_s=40, every_s=0.5)
    wait_until(lambda: serve.open_files() <= before + 2, 'descriptors to be closed', limit_s=15)


def test_a_dead_first_server_is_remembered(start, upstream):
    upstream.add('ok.example.com', ORIGIN)
    serve = start(policy('upstream = 127.0.0.9:5398 [2001:db8::1]:53 127.0.0.1:5399'))
    for i in range(5):
        began = time.monotonic()
        assert rcode(serve.ask(f'x{i}.wild.example.com')) == 'NXDOMAIN'
        assert time.monotonic() - began < 2
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]


def test_a_silent_first_server_is_remembered(start, host, upstream):
    silent = Upstream(host, '127.0.0.9', 5398)
    silent.script = lambda wire, transport: Upstream.NOTHING
    try:
        serve = start(policy('upstream = 127.0.0.9:5398 127.0.0.1:5399'))
        assert rcode(serve.ask('x.wild.example.com')) == 'NXDOMAIN'
        for i in range(5):
            assert rcode(serve.ask(f'x{i}.wild.example.com', wait=2)) == 'NXDOMAIN'
        assert len([name for name in silent.names_seen() if 'wild' in name]) <= 2
        silent.script = None
        wait_until(lambda: 'answers again' in serve.said(), 'the server to be probed', limit_s=20)
        asked = len(upstream.seen)
        assert rcode(serve.ask('y.wild.example.com')) == 'NXDOMAIN'
        assert len(upstream.seen) == asked
    finally:
        silent.close()


def test_a_lying_and_truncating_server_under_load(start, host, upstream, tmp_path):
    """Half of its answers are cut, and wrong ones come before the right ones."""
    def answer_udp(wire, peer):
        wrong = bytearray(upstream.answer(wire, 'udp'))
        wrong[0] ^= 0xff
        for _ in range(3):
            upstream.udp.sendto(bytes(wrong), peer)
        right = bytearray(upstream.answer(wire, 'udp'))
        if wire[1] & 1:
            right[2] |= 0x02
        upstream.udp.sendto(bytes(right), peer)

    upstream.answer_udp = answer_udp
    serve = start(policy('upstream = 127.0.0.1:5399'))
    before = serve.open_files()
    queries = tmp_path / 'queries'
    queries.write_text(''.join(f'q{i}.wild.example.com A\n' for i in range(5000)), encoding='ascii')
    said = host.run('dnsperf', '-s', '127.0.0.1', '-d', str(queries), '-l', '3', '-Q', '200', '-t', '5').stdout
    assert 'NXDOMAIN' in said and 'SERVFAIL' not in said, said
    upstream.add('ok.example.com', ORIGIN)
    assert addresses(serve.ask('ok.example.com', wait=6)) == [ORIGIN]
    wait_until(lambda: serve.open_files() <= before + 2, 'descriptors to be closed', limit_s=15)


def test_a_server_that_asks_us_is_left_out(start, host):
    """As a stub resolver of the host does that was told to ask us."""
    stub = Upstream(host, '127.0.0.53', 53)
    stub.script = lambda wire, transport: Client(host).udp(wire, wait=5) or Upstream.NOTHING
    try:
        serve = start(policy('upstream = 127.0.0.53'))
        wait_until(lambda: 'it asks this resolver' in serve.said(), 'the loop to be found')
        answer = serve.ask('ok.example.com', wait=2)
        assert rcode(answer) == 'SERVFAIL' and ede(answer)[0] == 23
        assert [record['reason'] for record in serve.log() if record.get('reason') == 'loop']
        assert not [name for name in stub.names_seen() if name.startswith('ok.')]
    finally:
        stub.close()


@pytest.fixture
def resolv_conf(tmp_path):
    """A resolv.conf of the test's own, over the one of the host; a function that writes it."""
    path = tmp_path / 'resolv.conf'
    path.write_text('', encoding='ascii')
    subprocess.run(['mount', '--bind', str(path), '/etc/resolv.conf'], check=True)
    yield lambda *servers: path.write_text(
        ''.join(f'nameserver {server}\n' for server in servers), encoding='ascii')
    subprocess.run(['umount', '/etc/resolv.conf'], check=True)


def test_resolv_conf_is_read_anew(start, host, resolv_conf):
    first, second = Upstream(host, '127.0.0.7', 53), Upstream(host, '127.0.0.8', 53)
    try:
        # One of them is ourselves, and left out.
        resolv_conf('127.0.0.1', '127.0.0.7')
        serve = start(policy('upstream = auto'))
        assert rcode(serve.ask('x.wild.example.com')) == 'NXDOMAIN'
        assert not [name for name in second.names_seen() if 'wild' in name]
        resolv_conf('127.0.0.8')
        time.sleep(5.1)
        asked = len(first.seen)
        assert rcode(serve.ask('y.wild.example.com')) == 'NXDOMAIN'
        assert 'y.wild.example.com' in second.names_seen() and len(first.seen) == asked
        resolv_conf()
        time.sleep(5.1)
        answer = serve.ask('z.wild.example.com')
        assert rcode(answer) == 'SERVFAIL' and ede(answer)[0] == 23
    finally:
        first.close()
        second.close()
    serve.client.udp(query('x.wild.example.com'))
