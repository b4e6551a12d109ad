# SPDX-License-Identifier: MIT
"""
Two agents behind one gateway, each with grants of its own, and a gateway that only observes.

The topology is that of gateway_test.py.
"""

import time

import pytest

from conftest import ORIGIN, ORIGIN6
from gateway_test import Topology, counters, try_tcp, try_udp
from servers import PROGRAM, Serve
from wire import Client, addresses, ede, rcode, wait_until

GRANTS = '''
[allow ok]
owner = tests@example.com
reason = Tests
host = ok.example.com
port = 9080

[allow literal]
owner = tests@example.com
reason = Tests
host = 93.184.216.77
port = 9080

[allow all]
owner = tests@example.com
reason = Tests
host = *.example.com
port = 9443

[resolver]
listen = 0.0.0.0:53 [::]:53
upstream = 93.184.216.53
{clients}

[nftables]
manage = chains
interface = agent0 agent1
grace = 1s

[audit]
log = {folder}/audit.log
'''

AGENTS = '''
[agent builder]
client = 10.7.1.0/24 fd07:1::/64
allow = ok literal

[agent tester]
interface = agent1
allow = all
'''

OBSERVE = '[policy]\nmode = observe\n'
CLIENTS = 'clients = 10.7.0.0/16 fd07::/16'


@pytest.fixture(scope='module')
def net(tmp_path_factory):
    topology = Topology(tmp_path_factory.mktemp('nsd'))
    yield topology
    topology.close()


@pytest.fixture
def start(net, tmp_path):
    """Start the gateway with a policy; it is stopped again."""
    started = []

    def start_serve(policy):
        server = Serve(net.gateway, policy.replace('{folder}', str(tmp_path)), tmp_path, wait=False)
        started.append(server)
        server.client = Client(net.agent, '10.7.1.1')
        wait_until(server.is_ready, 'serve to be ready', limit_s=10)
        return server

    yield start_serve
    for server in started:
        server.stop()
    net.gateway.run('nft', 'flush', 'ruleset')
    net.gateway.run('conntrack', '-F', check=False)


@pytest.fixture
def serve(start):
    return start(AGENTS + GRANTS.replace('{clients}', ''))


def queries(serve, last):
    """The records of queries for names, once the last of them is of that name."""
    def read():
        return [record for record in serve.log()
                if record['action'] == 'query' and record['name'] != 'version.bind']

    wait_until(lambda: [record['name'] for record in read()][-1:] == [last], 'the record')
    return read()


@pytest.mark.parametrize('tcp', [False, True])
@pytest.mark.parametrize('family', [4, 6])
def test_each_agent_has_its_own_grants(net, serve, family, tcp):
    """By network and by interface, over both families and both transports."""
    builder = Client(net.agent, '10.7.1.1' if family == 4 else 'fd07:1::1')
    tester = Client(net.other, '10.7.2.1' if family == 4 else 'fd07:2::1')
    assert addresses(builder.ask('ok.example.com', tcp=tcp)) == [ORIGIN]
    answer = builder.ask('quic.example.com', tcp=tcp)
    assert rcode(answer) == 'NXDOMAIN' and ede(answer)[1].startswith('not-listed')
    # A more specific host that only another agent has does not stand before a wildcard.
    assert addresses(tester.ask('ok.example.com', tcp=tcp)) == [ORIGIN]
    assert addresses(tester.ask('quic.example.com', tcp=tcp)) == [ORIGIN]
    wait_until(lambda: len(queries(serve, 'quic.example.com')) == 4, 'all records')
    records = [(record['who'], record['name'], record.get('grant'))
               for record in queries(serve, 'quic.example.com')]
    assert records[-4:] == [('builder', 'ok.example.com', 'ok'),
                            ('builder', 'quic.example.com', None),
                            ('tester', 'ok.example.com', 'all'),
                            ('tester', 'quic.example.com', 'all')]


@pytest.mark.parametrize('address', [ORIGIN, ORIGIN6])
def test_a_lease_of_one_does_not_let_the_other_through(net, serve, address):
    qtype = 'A' if address == ORIGIN else 'AAAA'
    for server in ('10.7.1.1', 'fd07:1::1'):
        assert addresses(Client(net.agent, server).ask('ok.example.com', qtype)) == [address]
    assert try_tcp(net.agent, address, 9080) == 'open'
    assert try_tcp(net.other, address, 9080) == 'refused'
    for server in ('10.7.2.1', 'fd07:2::1'):
        assert addresses(Client(net.other, server).ask('ok.example.com', qtype)) == [address]
    assert try_tcp(net.other, address, 9443) == 'open', 'by its own grant'
    assert try_tcp(net.other, address, 9080) == 'refused'
    assert try_tcp(net.agent, address, 9443) == 'refused'
    del serve


def test_literals_are_open_to_those_who_have_them(net, serve):
    assert try_tcp(net.agent, '93.184.216.77', 9080) == 'open'
    assert try_tcp(net.other, '93.184.216.77', 9080) == 'refused'
    del serve


def test_who_is_no_agent_is_refused(net, serve):
    """The gateway itself, whose loopback address no agent has."""
    answer = Client(net.gateway, '127.0.0.1').ask('ok.example.com')
    assert rcode(answer) == 'REFUSED' and ede(answer)[0] == 18
    assert 'who' not in queries(serve, 'ok.example.com')[-1]


def test_the_log_is_filtered_by_agent(net, serve, tmp_path):
    Client(net.agent, '10.7.1.1').ask('ok.example.com')
    Client(net.other, '10.7.2.1').ask('ok.example.com')
    wait_until(lambda: any(record.get('who') == 'tester' for record in serve.log()), 'the record')
    said = net.gateway.run(PROGRAM, 'log', '--agent', 'tester', str(tmp_path / 'audit.log')).stdout
    assert 'as tester' in said and 'as builder' not in said


def test_explain_says_it_for_each_agent(net, serve):
    def explain(*what):
        return net.gateway.run(PROGRAM, 'explain', '-p', str(serve.policy), *what, check=False)

    said = explain('quic.example.com')
    assert said.returncode == 1
    assert 'agent     builder' in said.stdout and 'agent     tester' in said.stdout
    assert explain('--agent', 'tester', 'quic.example.com').returncode == 0
    assert explain('--agent', 'builder', 'quic.example.com').returncode == 1
    assert explain('--agent', '10.7.1.9', 'quic.example.com').returncode == 1
    assert explain('--agent', '10.7.1.9', 'ok.example.com').returncode == 0
    said = explain('--agent', 'nobody', 'ok.example.com')
    assert said.returncode == 2 and 'nobody' in said.stderr


def test_observing_lets_through_and_says_why(net, start):
    serve = start(OBSERVE + GRANTS.replace('{clients}', CLIENTS).replace('*.example.com', 'x.test.example.com'))
    assert 'NOTHING IS ENFORCED' in serve.said()
    wait_until(lambda: len(serve.log()) > 1, 'the records of the start')
    assert [record['action'] for record in serve.log() if record['action'] != 'query'][:2] == \
        ['start', 'observe']
    dns = Client(net.agent, '10.7.1.1')
    # An allowed name has its lease as ever; another is answered, and has none.
    assert addresses(dns.ask('ok.example.com')) == [ORIGIN]
    assert addresses(dns.ask('quic.example.com')) == [ORIGIN]
    assert addresses(dns.ask('brief.example.com', 'AAAA')) == [ORIGIN6]
    records = queries(serve, 'brief.example.com')
    assert [(record['verdict'], record['reason'], record.get('grant')) for record in records] == \
        [('allow', 'granted', 'ok'), ('observe', 'not-listed', None), ('observe', 'not-listed', None)]
    # Names that upstream does not know, types that nobody answers, and what stays denied.
    assert rcode(dns.ask('unknown.example.com')) == 'NXDOMAIN'
    assert queries(serve, 'unknown.example.com')[-1]['verdict'] == 'observe'
    assert rcode(dns.ask('quic.example.com', 'MX')) == 'NOERROR'
    assert rcode(dns.ask('use-application-dns.net')) == 'NXDOMAIN'
    assert rcode(Client(net.gateway, '127.0.0.1').ask('ok.example.com')) == 'REFUSED'
    # Packets: counted once for each connection, and let through.
    for netns in (net.agent, net.other):
        before = counters(net)['no_lease']
        for address in (ORIGIN, ORIGIN6):
            assert try_tcp(netns, address, 22) == 'open'
        assert counters(net)['no_lease'] == before + 2
    assert try_udp(net.agent, ORIGIN, 443) == 'open'
    assert counters(net)['quic'] == 1
    before = counters(net)['no_lease']
    assert try_tcp(net.agent, ORIGIN, 9080) == 'open', 'by its lease'
    assert counters(net)['no_lease'] == before
    for address, port in ((ORIGIN, 853), ('10.7.1.1', 8080)):
        assert try_tcp(net.agent, address, port) == 'refused'
    printed = net.gateway.run(PROGRAM, 'serve', '-p', str(serve.policy), '--print-ruleset').stdout
    assert printed.startswith('# mode = observe')


def test_what_was_only_observed_ends_when_it_is_enforced(net, start):
    policy = GRANTS.replace('{clients}', CLIENTS)
    serve = start(OBSERVE + policy)
    with net.agent.socket() as sock:
        sock.settimeout(2)
        sock.connect((ORIGIN, 22))
        sock.sendall(b'one')
        assert sock.recv(3) == b'one'
        serve.stop()
        start(policy)
        with pytest.raises(OSError):
            for _ in range(5):
                sock.sendall(b'two')
                sock.recv(3)
                time.sleep(0.1)
