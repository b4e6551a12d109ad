# SPDX-License-Identifier: MIT
"""Leases and the kernel's sets: an address is open before its answer leaves, or not answered."""

import socket
import subprocess
import threading
import time

import pytest

from conftest import ORIGIN, ORIGIN6, POLICY
from servers import Origin
from wire import Client, addresses, ede, query, rcode, wait_until

SETS = POLICY.replace('manage = sets', 'manage = sets\ngrace = 2s').replace(
    'upstream = {upstream}', 'upstream = {upstream}\nttl_min = 1s')


@pytest.fixture
def serve(start, upstream):
    del upstream
    return start(SETS)


@pytest.fixture
def origin(host):
    """What the leases of these tests lead to."""
    servers = [Origin(host, address, 9080) for address in (ORIGIN, ORIGIN6)]
    yield servers
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def no_tables(host):
    """Each test begins without a ruleset."""
    yield
    host.run('nft', 'flush', 'ruleset')


def guard(serve):
    """Rules of the operator's own, in the table of our sets: what has no lease is refused."""
    serve.nft('add chain inet bailiwick guard { type filter hook output priority 0; }')
    for family, which, address in (('ip', 'lease4', ORIGIN), ('ip6', 'lease6', ORIGIN6)):
        serve.nft(f'add rule inet bailiwick guard {family} daddr {address} meta l4proto tcp '
                  f'ct state new {family} saddr . {family} daddr . meta l4proto . th dport '
                  f'!= @{which} reject with tcp reset')


def can_connect(netns, address, port, source):
    with netns.socket(socket.AF_INET6 if ':' in address else socket.AF_INET) as sock:
        sock.settimeout(1)
        sock.bind((source, 0))
        try:
            sock.connect((address, port))
            sock.sendall(b'hello')
            return sock.recv(5) == b'hello'
        except OSError:
            return False


def only(elements):
    assert len(elements) == 1, elements
    return elements[0]


def test_the_key_and_the_comment(serve):
    """An element is agent . address . protocol . port, with a timeout and the name."""
    assert addresses(serve.ask('a.wild.example.com')) == [ORIGIN]
    found = [(parts, element) for _, parts, element in serve.elements() if ORIGIN in parts]
    parts, element = only(found)
    assert parts == ['127.0.0.1', ORIGIN, 'tcp', '9080']
    assert 'a.wild.example.com' in element['comment']
    assert 60 <= element['timeout'] <= 70 and element['expires'] <= element['timeout']
    serve.ask('ok.example.com')
    ports = sorted(parts[3] for _, parts, _ in serve.elements() if ORIGIN in parts)
    assert ports == ['443', '80', '9080', '9443']


@pytest.mark.usefixtures('origin')
def test_ipv6_addresses_and_agents(serve, host):
    guard(serve)
    assert not can_connect(host, ORIGIN6, 9080, '::1')
    assert addresses(Client(host, '::1').ask('a.wild.example.com', 'AAAA')) == [ORIGIN6]
    assert can_connect(host, ORIGIN6, 9080, '::1')
    assert ['::1', ORIGIN6, 'tcp', '9080'] in [parts for _, parts, _ in serve.elements()]


@pytest.mark.usefixtures('origin')
def test_the_answer_never_comes_before_the_element(serve, host):
    """200 times: empty the set, ask, connect at once."""
    guard(serve)
    assert not can_connect(host, ORIGIN, 9080, '127.0.0.1')
    for i in range(200):
        serve.nft('flush set inet bailiwick lease4')
        answer = serve.ask('ok.example.com', tcp=i % 4 == 0)
        assert addresses(answer) == [ORIGIN]
        assert can_connect(host, ORIGIN, 9080, '127.0.0.1'), f'refused in round {i}'


@pytest.mark.usefixtures('origin')
def test_two_at_once_wait_for_the_same_element(serve, host):
    """The second of two queries under way must not be let go before the first one's commit."""
    guard(serve)
    refused = []

    def ask_and_connect():
        serve.ask('ok.example.com')
        if not can_connect(host, ORIGIN, 9080, '127.0.0.1'):
            refused.append(1)

    for _ in range(20):
        serve.nft('flush set inet bailiwick lease4')
        threads = [threading.Thread(target=ask_and_connect) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert refused == []


def test_an_answer_from_the_cache_renews_the_element(serve, upstream):
    serve.ask('a.wild.example.com')
    asked = len(upstream.seen)
    serve.nft(f'delete element inet bailiwick lease4 {{ 127.0.0.1 . {ORIGIN} . tcp . 9080 }}')
    answer = serve.ask('a.wild.example.com')
    assert len(upstream.seen) == asked
    assert only(serve.leased(ORIGIN))['expires'] >= answer.answer[0].ttl


def test_deadlines_move_on(serve):
    """Each answer's element lives at least as long as its TTL says."""
    for wait in (0, 1.5, 1.5):
        time.sleep(wait)
        answer = serve.ask('a.wild.example.com')
        assert only(serve.leased(ORIGIN))['expires'] >= answer.answer[0].ttl
    upstream_ttl = answer.answer[0].ttl
    assert upstream_ttl < 60, 'it came from the cache'


def test_deadlines_never_move_back(serve, upstream):
    """A second name with a short TTL does not shorten the first one's lease."""
    upstream.add('long.wild.example.com', ORIGIN, ttl=300)
    upstream.add('short.wild.example.com', ORIGIN, ttl=1)
    serve.ask('long.wild.example.com')
    assert only(serve.leased(ORIGIN))['expires'] > 290
    serve.ask('short.wild.example.com')
    assert only(serve.leased(ORIGIN))['expires'] > 290


@pytest.mark.usefixtures('origin')
def test_a_refresh_leaves_no_gap(serve, host, upstream):
    """An element that is renewed all the time is there all the time."""
    guard(serve)
    upstream.add('a.wild.example.com', ORIGIN, ttl=1)
    serve.ask('a.wild.example.com')
    end, refused, n = time.monotonic() + 4, 0, 0
    over = threading.Event()

    def ask():
        while not over.is_set():
            serve.ask('a.wild.example.com')

    asker = threading.Thread(target=ask)
    asker.start()
    while time.monotonic() < end:
        n += 1
        refused += not can_connect(host, ORIGIN, 9080, '127.0.0.1')
    over.set()
    asker.join()
    assert n > 100 and refused == 0


@pytest.mark.usefixtures('origin')
def test_leases_end(serve, host, upstream):
    guard(serve)
    upstream.add('a.wild.example.com', ORIGIN, ttl=1)
    serve.ask('a.wild.example.com')
    assert can_connect(host, ORIGIN, 9080, '127.0.0.1')
    time.sleep(3.6)
    assert not can_connect(host, ORIGIN, 9080, '127.0.0.1')
    serve.ask('a.wild.example.com')
    assert can_connect(host, ORIGIN, 9080, '127.0.0.1')


def test_pins_are_leased(serve):
    serve.ask('pinned.example.com')
    assert only(serve.leased('93.184.216.40'))['expires'] >= 60


# What others do to the sets.

def assert_comes_back(serve):
    """Until the mirror works again, answers are withheld; then they come with their element."""
    end = time.monotonic() + 10
    while True:
        answer = serve.ask('a.wild.example.com')
        if rcode(answer) == 'NOERROR':
            assert addresses(answer) == [ORIGIN] and serve.leased(ORIGIN)
            return
        assert rcode(answer) == 'SERVFAIL' and answer.answer == []
        code, text = ede(answer)
        assert code == 0 and text.startswith('mirror: ')
        assert time.monotonic() < end, 'the mirror did not recover by itself'
        time.sleep(0.1)


@pytest.mark.parametrize('command', [
    'flush set inet bailiwick lease4', 'delete set inet bailiwick lease4',
    'flush table inet bailiwick', 'delete table inet bailiwick', 'flush ruleset'])
def test_what_others_remove_is_restored(serve, command):
    """Leases of before come back too, though nobody asks for them."""
    serve.ask('ok.example.com')
    serve.ask('pinned.example.com')
    serve.nft(command)
    assert_comes_back(serve)
    wait_until(lambda: serve.leased('93.184.216.40'), 'the other lease to be restored')
    assert len(serve.leased(ORIGIN)) == 4


def test_a_table_that_someone_else_made_different(serve):
    """A set of our name with other keys: no answer with addresses, and we live."""
    serve.nft('delete table inet bailiwick; add table inet bailiwick; '
              'add set inet bailiwick lease4 { type ipv4_addr; }; '
              'add set inet bailiwick lease6 { type ipv6_addr; }')
    for _ in range(5):
        answer = serve.ask('a.wild.example.com')
        if rcode(answer) == 'NOERROR':
            assert serve.leased(ORIGIN), 'an address was answered that is not open'
        time.sleep(0.1)
    serve.nft('flush ruleset')
    assert_comes_back(serve)


def test_a_full_set(start, upstream):
    """What does not fit is not answered; what times out makes room again."""
    serve = start(SETS.replace('manage = sets', 'manage = sets\nsize = 4'))
    for i in range(6):
        upstream.add(f'f{i}.wild.example.com', f'93.184.217.{i}', ttl=1)
    answers = [serve.ask(f'f{i}.wild.example.com') for i in range(6)]
    assert [rcode(answer) for answer in answers[:4]] == ['NOERROR'] * 4
    for answer in answers[4:]:
        assert rcode(answer) == 'SERVFAIL' and answer.answer == []
        code, text = ede(answer)
        assert code == 0 and text.startswith('leases-full: ')
    assert addresses(serve.ask('f0.wild.example.com')) == ['93.184.217.0'], 'it is in the set'
    assert rcode(serve.ask('bad.example.com')) == 'NXDOMAIN'
    wait_until(lambda: rcode(serve.ask('f5.wild.example.com')) == 'NOERROR', 'room', limit_s=15,
               every_s=0.5)
    assert serve.leased('93.184.217.5')


def is_root_of_all():
    """Whether we are root of the host, whose transactions may be of any size."""
    with open('/proc/self/uid_map', encoding='ascii') as uid_map:
        return uid_map.read().split()[2] == '4294967295'


def test_another_program_holds_the_kernels_lock(serve, host, tmp_path):
    """Large transactions of others: answers that need no commit do not wait for them."""
    n_elements, n_runs = (200000, 1) if is_root_of_all() else (1500, 50)
    batch = tmp_path / 'batch'
    elements = ', '.join(f'{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}.1' for i in range(n_elements))
    batch.write_text('add table inet other\n'
                     'add set inet other s { type ipv4_addr; size 1000000; }\n'
                     f'add element inet other s {{ {elements} }}\n', encoding='utf-8')
    nft = host.start('sh', '-ec', 'for i in $(seq "$2"); do nft -f "$1"; done', 'sh', str(batch),
                     str(n_runs), stdin=subprocess.DEVNULL)
    slowest, n = 0.0, 0
    while nft.poll() is None:
        began = time.monotonic()
        assert rcode(serve.ask('bad.example.com')) == 'NXDOMAIN'
        slowest = max(slowest, time.monotonic() - began)
        n += 1
        if n % 10 == 0:
            answer = serve.ask(f'l{n}.wild.example.com', wait=5)
            assert rcode(answer) in ('NOERROR', 'NXDOMAIN')
    assert nft.returncode == 0 and n > 20
    assert slowest < 0.5, f'a denial took {slowest:.3f} s'


# Sets of others.

OTHERS = '''
table inet other {
	set allowed { type ipv4_addr; flags timeout; }
	set tuples { type ipv4_addr . inet_proto . inet_service; flags timeout; }
	set ranges { type ipv4_addr; flags interval, timeout; }
	set forever { type ipv4_addr; }
}
'''


def push(*sets):
    return SETS.replace('manage = sets', 'manage = no\npush =' + ''.join(f'\n  {s}' for s in sets))


def test_sets_of_others_get_the_leases(start, upstream, host):
    del upstream
    host.run('nft', '-f', '-', input=OTHERS)
    serve = start(push('inet other allowed', 'inet other tuples'))
    serve.ask('a.wild.example.com')
    found = [(name, parts) for name, parts, _ in serve.elements('inet other')]
    assert sorted(found) == [('allowed', [ORIGIN]), ('tuples', [ORIGIN, 'tcp', '9080'])]
    serve.nft('flush set inet other allowed')
    assert addresses(serve.ask('a.wild.example.com')) == [ORIGIN]
    assert len(serve.elements('inet other')) == 2


@pytest.mark.parametrize('pushed', ['inet other ranges', 'inet other forever', 'inet other none',
                                    'ip other allowed', 'inet missing allowed'])
def test_sets_that_cannot_be_pushed_to(start, host, pushed):
    """Refused at the start, with a sentence; a set that would leak or stay is never filled."""
    host.run('nft', '-f', '-', input=OTHERS)
    serve = start(push(pushed), wait=False)
    assert serve.process.wait(timeout=10) == 2
    assert pushed.split()[-1] in serve.said()
    serve.process.returncode = 0  # it has ended as it should


# The end.

def test_stopping_with_queries_under_way(serve, upstream):
    """Each either has its answer and its element, or no answer."""
    upstream.delay_s = 0.4
    answers = []

    def ask(qid):
        answers.append(serve.client.udp(query('a.wild.example.com', qid=qid), wait=2))

    threads = [threading.Thread(target=ask, args=(qid,)) for qid in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    serve.stop()
    for thread in threads:
        thread.join()
    assert all(answer is None or serve.leased(ORIGIN) for answer in answers)


def test_starting_twice_takes_up_the_table(serve, start):
    """A second start, after the first has ended, does not trip over what that left."""
    serve.ask('ok.example.com')
    serve.stop()
    again = start(SETS)
    assert addresses(again.ask('ok.example.com')) == [ORIGIN]
    assert len(again.leased(ORIGIN)) == 4
