# SPDX-License-Identifier: MIT
"""
manage = chains: agents behind a gateway, in namespaces of their own, and real connections.

    agent  10.7.1.2, fd07:1::2 ---.
                                   gateway --- origin 93.184.216.34, 2606:2800:220:1::34
    other  10.7.2.2, fd07:2::2 ---'            also a DNS server, at .53
"""

import socket
import time

import pytest

from conftest import ORIGIN, ORIGIN6
from netns import Netns, family_of
from servers import PROGRAM, Nsd, Origin, Serve
from wire import Client, Header, addresses, ede, query, rcode

POLICY = '''
[allow ok]
owner = tests@example.com
reason = Tests
host = ok.example.com
port = 80 9080 9090/udp

[allow brief]
owner = tests@example.com
reason = Tests
host = brief.example.com
port = 9443

[allow quic]
owner = tests@example.com
reason = Tests
host = quic.example.com
port = 443/tcp 443/udp

[allow literal]
owner = tests@example.com
reason = Tests
host = 93.184.216.77
port = 9080

[resolver]
listen = 0.0.0.0:53 [::]:53
clients = 10.7.0.0/16 fd07::/16
upstream = 93.184.216.53
ttl_min = 1s

[nftables]
manage = chains
interface = agent0 agent1
grace = 1s

[audit]
log = {folder}/audit.log
'''

RECORDS = f'''
ok A {ORIGIN}
ok AAAA {ORIGIN6}
brief 1 A {ORIGIN}
brief 1 AAAA {ORIGIN6}
quic A {ORIGIN}
'''


class Topology:
    def __init__(self, folder):
        names = ('agent', 'other', 'gateway', 'origin')
        self.agent, self.other, self.gateway, self.origin = map(Netns, names)
        for i, agent in enumerate((self.agent, self.other), 1):
            agent.link('eth0', self.gateway, f'agent{i - 1}')
            self.gateway.address(f'agent{i - 1}', f'10.7.{i}.1/24', f'fd07:{i}::1/64')
            agent.address('eth0', f'10.7.{i}.2/24', f'fd07:{i}::2/64')
            agent.run('ip', 'route', 'add', 'default', 'via', f'10.7.{i}.1')
            agent.run('ip', '-6', 'route', 'add', 'default', 'via', f'fd07:{i}::1')
        self.gateway.link('uplink', self.origin, 'eth0')
        self.gateway.address('uplink', '93.184.216.1/24', '2606:2800:220:1::1/64')
        self.origin.address('eth0', f'{ORIGIN}/24', '93.184.216.53/24', '93.184.216.77/24',
                            f'{ORIGIN6}/64', '2606:2800:220:1::53/64')
        self.origin.run('ip', 'route', 'add', 'default', 'via', '93.184.216.1')
        self.origin.run('ip', '-6', 'route', 'add', 'default', 'via', '2606:2800:220:1::1')
        self.gateway.write('/proc/sys/net/ipv4/ip_forward', '1')
        self.gateway.write('/proc/sys/net/ipv6/conf/all/forwarding', '1')
        # The kernel sends an agent one ICMP error a second, after a burst; see the manual.
        self.gateway.write('/proc/sys/net/ipv4/icmp_ratelimit', '0')
        self.gateway.write('/proc/sys/net/ipv6/icmp/ratelimit', '0')
        self.nsd = Nsd(self.origin, folder, 'example.com', RECORDS, '93.184.216.53', 53)
        self.servers = [Origin(self.origin, '0.0.0.0', port) for port in (22, 80, 443, 853, 9080, 9443)]
        self.servers += [Origin(self.origin, ORIGIN6, port) for port in (22, 80, 443, 853, 9080, 9443)]
        self.servers += [Origin(self.origin, address, port, socket.SOCK_DGRAM)
                         for port in (443, 853, 9080, 9090) for address in (ORIGIN, ORIGIN6)]
        self.servers.append(Origin(self.gateway, '0.0.0.0', 8080))

    def close(self):
        for server in self.servers:
            server.close()
        self.nsd.stop()
        for netns in (self.agent, self.other, self.gateway, self.origin):
            netns.delete()


@pytest.fixture(scope='module')
def net(tmp_path_factory):
    topology = Topology(tmp_path_factory.mktemp('nsd'))
    yield topology
    topology.close()


@pytest.fixture
def serve(net, tmp_path):
    server = Serve(net.gateway, POLICY.replace('{folder}', str(tmp_path)), tmp_path, wait=False)
    server.client = Client(net.agent, '10.7.1.1')
    deadline = time.monotonic() + 10
    while not server.is_ready():
        assert time.monotonic() < deadline, server.said()
    yield server
    server.stop()
    net.gateway.run('nft', 'flush', 'ruleset')
    net.gateway.run('conntrack', '-F', check=False)


@pytest.fixture
def dns(net, serve):
    del serve
    return Client(net.agent, '10.7.1.1')


def try_tcp(netns, address, port):
    """'open', 'refused' (at once, by a reset or an ICMP error), or 'silent'."""
    with netns.socket(family_of(address)) as sock:
        sock.settimeout(1)
        try:
            sock.connect((address, port))
            sock.sendall(b'hello')
            return 'open' if sock.recv(5) == b'hello' else 'closed'
        except TimeoutError:
            return 'silent'
        except OSError:
            return 'refused'


def try_udp(netns, address, port, data=b'hello'):
    with netns.socket(family_of(address), socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        sock.connect((address, port))
        sock.send(data)
        try:
            return 'open' if sock.recv(100) == data else 'other'
        except TimeoutError:
            return 'silent'
        except OSError:
            return 'refused'


def counters(net):
    """Packets refused, by reason."""
    said = net.gateway.run('nft', 'list', 'counters', 'table', 'inet', 'bailiwick').stdout.split()
    return {said[i + 1]: int(said[i + 4]) for i, word in enumerate(said) if word == 'counter'}


# Allowed.

@pytest.mark.parametrize('address', [ORIGIN, ORIGIN6])
def test_allowed_passes_at_the_first_try_200_times(net, dns, serve, address):
    dns = Client(net.agent, '10.7.1.1' if '.' in address else 'fd07:1::1')
    qtype = 'A' if '.' in address else 'AAAA'
    which = 'lease4' if '.' in address else 'ether6'
    passed = 0
    for i in range(200):
        serve.nft(f'flush set inet bailiwick {which}')
        assert addresses(dns.ask('ok.example.com', qtype, tcp=i % 4 == 0)) == [address]
        passed += try_tcp(net.agent, address, 9080) == 'open'
    assert passed == 200


def test_allowed_udp(net, dns):
    assert try_udp(net.agent, ORIGIN, 9090) == 'refused'
    dns.ask('ok.example.com')
    dns.ask('ok.example.com', 'AAAA')
    assert try_udp(net.agent, ORIGIN, 9090) == 'open'


def test_literal_addresses_need_no_name(net, serve):
    assert try_tcp(net.agent, '93.184.216.77', 9080) == 'open'
    assert try_tcp(net.agent, '93.184.216.77', 80) == 'refused'
    del serve


def test_asking_over_one_family_for_the_other(net, dns):
    """An agent with both families asks over IPv4 for an IPv6 address, and the reverse."""
    assert addresses(dns.ask('ok.example.com', 'AAAA')) == [ORIGIN6]
    assert try_tcp(net.agent, ORIGIN6, 9080) == 'open'
    assert addresses(Client(net.other, 'fd07:2::1').ask('ok.example.com', 'A')) == [ORIGIN]
    assert try_tcp(net.other, ORIGIN, 9080) == 'open'


def test_connecting_from_another_ipv6_address(net, dns):
    """A host picks its IPv6 source for each destination; its link tells who it is."""
    del dns
    net.agent.run('ip', 'addr', 'add', 'fd07:1::77/64', 'dev', 'eth0', 'nodad')
    try:
        dns6 = Client(net.agent, 'fd07:1::1')
        dns6.ask('bad.example.com')  # from here on the gateway knows the address on its link
        assert addresses(dns6.ask('ok.example.com', 'AAAA')) == [ORIGIN6]
        for source in ('fd07:1::77', 'fd07:1::2'):
            with net.agent.socket(family_of(ORIGIN6)) as sock:
                sock.settimeout(2)
                sock.bind((source, 0))
                sock.connect((ORIGIN6, 9080))
    finally:
        net.agent.run('ip', 'addr', 'del', 'fd07:1::77/64', 'dev', 'eth0')


# Refused at once: a program that is denied must not hang.

def assert_refused(net, netns, address, port, udp=False):
    before = sum(counters(net).values())
    began = time.monotonic()
    assert (try_udp if udp else try_tcp)(netns, address, port) == 'refused'
    assert time.monotonic() - began < 1
    assert sum(counters(net).values()) > before, 'it is counted'


@pytest.mark.parametrize('address', [ORIGIN, ORIGIN6])
def test_refused(net, dns, address):
    # Unleased: nobody has asked yet, or asked for a name that is denied.
    assert_refused(net, net.agent, address, 9080)
    assert rcode(dns.ask('bad.example.com')) == 'NXDOMAIN'
    assert_refused(net, net.agent, address, 9080)
    dns.ask('ok.example.com')
    dns.ask('ok.example.com', 'AAAA')
    assert try_tcp(net.agent, address, 9080) == 'open'
    # Another port, another protocol, another agent, another address.
    for port in (22, 443, 9443):
        assert_refused(net, net.agent, address, port)
    assert_refused(net, net.agent, address, 9080, udp=True)
    assert_refused(net, net.other, address, 9080)
    assert_refused(net, net.agent, '93.184.216.77' if '.' in address else '2606:2800:220:1::53', 80)


@pytest.mark.parametrize('address', [ORIGIN, ORIGIN6])
def test_refused_after_the_lease_but_open_flows_go_on(net, dns, address):
    dns.ask('brief.example.com')
    dns.ask('brief.example.com', 'AAAA')
    with net.agent.socket(family_of(address)) as sock:
        sock.settimeout(2)
        sock.connect((address, 9443))
        time.sleep(3)
        assert_refused(net, net.agent, address, 9443)
        for _ in range(3):
            sock.sendall(b'still here')
            assert sock.recv(100) == b'still here'
            time.sleep(0.3)


def test_dot_and_quic(net, dns):
    """853 is refused whatever is leased; UDP 443 unless it is asked for."""
    dns.ask('ok.example.com')
    for udp in (False, True):
        assert_refused(net, net.agent, ORIGIN, 853, udp)
        assert_refused(net, net.agent, ORIGIN6, 853, udp)
    assert_refused(net, net.agent, ORIGIN, 443, udp=True)
    dns.ask('quic.example.com')
    assert try_udp(net.agent, ORIGIN, 443) == 'open'


# DNS.

@pytest.mark.parametrize('server', ['10.7.1.1', 'fd07:1::1', '93.184.216.53', ORIGIN, '8.8.8.8',
                                    '2606:2800:220:1::53'])
@pytest.mark.parametrize('tcp', [False, True])
def test_dns_to_any_server_is_answered_by_us(net, serve, server, tcp):
    """bad.example.com does not exist for NSD either, but only we say why."""
    client = Client(net.agent, server)
    answer = client.ask('bad.example.com', tcp=tcp)
    assert rcode(answer) == 'NXDOMAIN' and ede(answer)[0] == 15
    assert addresses(client.ask('ok.example.com', tcp=tcp)) == [ORIGIN]
    del serve


def test_the_upstream_is_not_reached_by_an_agent(net, serve):
    """A query with a secret in its name, straight at the upstream, is answered by us."""
    client = Client(net.agent, '93.184.216.53')
    answer = client.udp(query('secret.bad.example.com'))
    assert Header(answer).rcode == 3 and not Header(answer).aa, 'NSD would have set AA'
    del serve


# The gateway itself.

def test_the_gateways_own_services_are_closed(net, serve):
    assert try_tcp(net.origin, '93.184.216.1', 8080) == 'open', 'to those who are not confined'
    for address in ('10.7.1.1', '93.184.216.1', '10.7.2.1'):
        assert_refused(net, net.agent, address, 8080)
    assert_refused(net, net.agent, '10.7.1.1', 9999, udp=True)
    del serve


def test_agents_do_not_reach_each_other(net, serve):
    origin = Origin(net.other, '10.7.2.2', 9080)
    assert_refused(net, net.agent, '10.7.2.2', 9080)
    origin.close()
    del serve


def test_refusals_are_counted_by_reason(net, dns):
    dns.ask('ok.example.com')
    for address, port, udp, reason in ((ORIGIN, 22, False, 'no_lease'), (ORIGIN, 853, False, 'dot'),
                                       (ORIGIN, 443, True, 'quic'),
                                       ('10.7.1.1', 8080, False, 'local_service')):
        before = counters(net)[reason]
        assert_refused(net, net.agent, address, port, udp)
        assert counters(net)[reason] > before


def test_what_others_remove_is_restored(net, dns, serve):
    """Chains and all: until then nothing is answered with an address."""
    dns.ask('ok.example.com')
    serve.nft('delete table inet bailiwick')
    deadline = time.monotonic() + 10
    while rcode(dns.ask('ok.example.com')) != 'NOERROR':
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert try_tcp(net.agent, ORIGIN, 9080) == 'open'
    assert_refused(net, net.agent, ORIGIN, 22)
    assert_refused(net, net.other, ORIGIN, 9080)


def test_the_ruleset_is_what_is_printed(net, serve):
    """--print-ruleset gives text that nft takes, and the chains that stand are those."""
    printed = net.gateway.run(PROGRAM, 'serve', '-p', str(serve.policy), '--print-ruleset').stdout
    net.gateway.run('nft', '--check', '-f', '-', input=printed)
    stands = net.gateway.run('nft', '-s', 'list', 'table', 'inet', 'bailiwick').stdout
    for chain in ('to_host', 'through_host', 'dns'):
        assert f'chain {chain} ' in printed and f'chain {chain} ' in stands
