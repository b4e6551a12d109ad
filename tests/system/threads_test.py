# SPDX-License-Identifier: MIT
"""Several threads that answer: one policy, one lease table, one log."""

import pathlib
import socket

from conftest import ORIGIN, POLICY
from servers import PROGRAM
from wire import addresses, query, rcode, wait_until

THREADS = 3
THREADED = POLICY.replace('[nftables]', f'threads = {THREADS}\n\n[nftables]')


def switches(serve, name):
    """How often each thread called @name has given up the processor."""
    found = []
    for task in pathlib.Path(f'/proc/{serve.process.pid}/task').iterdir():
        if (task / 'comm').read_text(encoding='utf-8').strip() == name:
            status = (task / 'status').read_text(encoding='utf-8')
            found.append(int(status.split('voluntary_ctxt_switches:')[1].split()[0]))
    return found


def test_each_thread_answers(start, upstream, host, tmp_path):
    serve = start(THREADED)
    before = sum(switches(serve, 'bailiwick-dns'))
    assert len(switches(serve, 'bailiwick-dns')) == THREADS - 1
    for i in range(100):
        tcp = i % 4 == 0
        assert addresses(serve.ask('ok.example.com', tcp=tcp)) == [ORIGIN]
        assert rcode(serve.ask(f'n{i}.bad.example.com', tcp=tcp)) == 'NXDOMAIN'
    # The kernel deals by the client's port, and each question here had one of its own.
    assert sum(switches(serve, 'bailiwick-dns')) >= before + 20
    # Each thread has its own cache, so each may have asked once for itself.
    assert 1 <= upstream.names_seen().count('ok.example.com') <= THREADS
    assert len(serve.leased(ORIGIN)) == 4, 'one for each port'
    serve.stop()
    records = serve.log()
    assert [r['seq'] for r in records] == list(range(1, len(records) + 1))
    assert len([r for r in records if r['action'] == 'query' and 'grant' in r]) == 100
    assert len([r for r in records if r.get('reason') == 'not-listed']) == 100
    assert records[-1]['action'] == 'stop'
    done = host.run(PROGRAM, 'log', 'verify', str(tmp_path / 'audit.log'), check=False)
    assert done.returncode == 0, done.stdout


def test_an_address_is_not_shared_with_another_process(start, upstream, host, tmp_path):
    """Sharing among threads lets no second server slip in, with threads or without."""
    del upstream
    start(THREADED)
    for threads in (1, THREADS):
        other = (THREADED.replace(f'threads = {THREADS}', f'threads = {threads}')
                 .replace('{folder}', str(tmp_path / 'other')).replace('{upstream}', '127.0.0.1:5399'))
        (tmp_path / 'other').mkdir(exist_ok=True)
        (tmp_path / 'other.ini').write_text(other, encoding='utf-8')
        done = host.run(PROGRAM, 'serve', '-p', str(tmp_path / 'other.ini'), check=False)
        assert done.returncode == 2 and 'already in use' in done.stderr


def test_queries_under_way_end_with_the_threads(start, upstream, host):
    """A signal ends all threads at once; what was under way leaves a record and no answer."""
    serve = start(THREADED)
    upstream.script = lambda wire, transport: upstream.NOTHING
    clients = [host.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(20)]
    for i, client in enumerate(clients):
        client.connect(('127.0.0.1', 53))
        client.send(query(f'n{i}.wild.example.com', 1))
    wait_until(lambda: len(set(upstream.names_seen())) == len(clients), 'all to be asked')
    serve.stop()
    cancelled = [r for r in serve.log() if r.get('reason') == 'cancelled']
    assert len(cancelled) == len(clients)
    for client in clients:
        client.setblocking(False)
        try:
            assert not client.recv(512)
        except (BlockingIOError, ConnectionRefusedError):
            pass
        client.close()
