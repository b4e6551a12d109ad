# SPDX-License-Identifier: MIT
"""An agent that wants to use up what the gateway needs for itself."""

import contextlib
import socket
import threading
import time

import pytest

from servers import Upstream
from wire import addresses, query, rcode, wait_until

DESCRIPTORS = 256


@pytest.fixture
def poor(start, upstream):
    """The server with few descriptors, and an upstream that never answers for slow names."""
    upstream.script = lambda wire, _: Upstream.NOTHING if b'slow' in wire.lower() else None
    return start(within=('prlimit', f'--nofile={DESCRIPTORS}:{DESCRIPTORS}'))


@contextlib.contextmanager
def flood(netns):
    """Meanwhile, ask for a new slow name every ms."""
    over = threading.Event()
    sock = netns.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(('127.0.0.1', 53))
    sock.setblocking(False)

    def ask():
        i = 0
        while not over.is_set():
            i += 1
            with contextlib.suppress(OSError):
                sock.send(query(f'slow{i}.wild.example.com'))
            time.sleep(0.001)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        sock.close()


def test_descriptors_are_kept_for_the_packet_filter_and_the_log(poor, host, tmp_path):
    """Without one the ruleset could not be restored, and the network would stand open."""
    before = poor.open_files()
    idle = [poor.client.connect() for _ in range(DESCRIPTORS)]
    with flood(host):
        time.sleep(2)
        assert before + 100 < poor.open_files() < DESCRIPTORS - 20, 'a share is used, and no more'
        for _ in range(3):
            poor.nft('delete', 'table', 'inet', 'bailiwick')
            wait_until(lambda: poor.nft('list', 'table', 'inet', 'bailiwick',
                                        check=False).returncode == 0, 'the table to be restored')
        assert addresses(poor.ask('pinned.example.com')) == ['93.184.216.40']
        assert rcode(poor.ask('api.deep.example.com')) == 'SERVFAIL'
        (tmp_path / 'audit.log').rename(tmp_path / 'audit.log.1')
        poor.process.send_signal(1)
        wait_until((tmp_path / 'audit.log').exists, 'the log to be opened anew')
    for sock in idle:
        sock.close()
    wait_until(lambda: poor.open_files() <= before + 4, 'what was used to be given back', limit_s=15)
    assert addresses(poor.ask('ok.example.com')) == ['93.184.216.34']
