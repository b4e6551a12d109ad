# SPDX-License-Identifier: MIT
"""
Fixtures of the system tests.

Each test file has namespaces of its own; each test that starts `bailiwick serve` stops it again,
which asserts that it ended well. Nothing here is mocked but time to wait.
"""

import signal

import pytest

from netns import Netns
from servers import Nsd, Serve, Upstream

TEST_LIMIT_S = 90
ORIGIN = '93.184.216.34'
ORIGIN6 = '2606:2800:220:1::34'

# Names as most tests have them: one, a tree, and a hole in the tree. Ports, and two families.
POLICY = '''
[policy]
name = tests

[allow ok]
owner = tests@example.com
reason = Tests
host = ok.example.com
       api.deep.example.com
port = 80 443 9080 9443

[allow wild]
owner = tests@example.com
reason = Tests
host = *.wild.example.com
port = 9080
max_names = 1000
max_labels = 100000

[allow pinned]
owner = tests@example.com
reason = Tests
host = pinned.example.com
address = 93.184.216.40
port = 443

[deny bad]
host = bad.wild.example.com
reason = Tests

[resolver]
listen = 127.0.0.1:53 [::1]:53
upstream = {upstream}

[nftables]
manage = sets

[audit]
log = {folder}/audit.log
'''


def pytest_configure(config):
    del config
    signal.signal(signal.SIGALRM, ring)


def ring(signum, frame):
    raise TimeoutError(f'a test may last {TEST_LIMIT_S} s')


@pytest.fixture(autouse=True)
def time_limit():
    """No test goes on for ever."""
    signal.alarm(TEST_LIMIT_S)
    yield
    signal.alarm(0)


@pytest.fixture(scope='module')
def host(request):
    """A namespace with the origin's addresses on its loopback, where everything runs."""
    netns = Netns('h' + request.module.__name__[:10])
    netns.address('lo', f'{ORIGIN}/32', f'{ORIGIN6}/128')
    yield netns
    netns.delete()


@pytest.fixture
def upstream(host):
    """The recording upstream, with the names of POLICY, and others that it denies."""
    server = Upstream(host)
    for owner in ('ok', 'a.wild', 'b.c.wild', 'bad.wild', 'bad', 'api.deep'):
        server.add(f'{owner}.example.com', ORIGIN, ORIGIN6)
    yield server
    server.close()


@pytest.fixture
def start(host, tmp_path):
    """Start `bailiwick serve` with a policy; all that were started are stopped."""
    started = []

    def start_serve(policy=POLICY, **more):
        text = policy.replace('{folder}', str(tmp_path)).replace('{upstream}', '127.0.0.1:5399')
        started.append(Serve(host, text, tmp_path, **more))
        return started[-1]

    yield start_serve
    for serve in started:
        serve.stop()


@pytest.fixture
def serve(start, upstream):
    """The server on POLICY, with the recording upstream."""
    del upstream
    return start()


@pytest.fixture
def nsd(host, tmp_path):
    """NSD on 127.0.0.1:5353 with the zone example.com."""
    records = '\n'.join(
        f'{owner} {rdtype} {address}' for owner in ('ok', '*.wild', 'api.deep')
        for rdtype, address in (('A', ORIGIN), ('AAAA', ORIGIN6)))
    folder = tmp_path / 'nsd'
    folder.mkdir()
    server = Nsd(host, folder, 'example.com', records + '\nalias.wild CNAME ok\n')
    yield server
    server.stop()
