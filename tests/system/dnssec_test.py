# SPDX-License-Identifier: MIT
"""
Signed zones: what a client that asks with DO is given can be validated, and nothing else changes.

NSD serves the zones, signed by ldns-signzone. delv is the judge: it validates what bailiwick
answers with the zone's key as its trust anchor, and gets the key itself, which no grant lists,
from NSD by way of a switch.
"""

import re

import dns.flags
import dns.message
import dns.rdata
import dns.rdatatype
import dns.rrset
import pytest

from conftest import ORIGIN, ORIGIN6
from servers import Nsd, Upstream
from wire import Client, addresses, ede, query, rcode

ZONE = 'signed.example'
RECORDS = f'''
ns A 93.184.216.1
ok A {ORIGIN}
ok AAAA {ORIGIN6}
only4 A {ORIGIN}
two A {ORIGIN}
two A 93.184.216.35
mixed A {ORIGIN}
mixed A 10.0.0.9
inside A 10.0.0.9
alias CNAME ok
alias2 CNAME alias
*.wild A {ORIGIN}
*.star CNAME ok
tree DNAME branch
leaf.branch A {ORIGIN}
short 0 A {ORIGIN}
'''
POLICY = '''
[policy]
name = tests

[allow signed]
owner = tests@example.com
reason = Tests
host = *.signed.example

[allow pinned]
owner = tests@example.com
reason = Tests
host = two.signed.example
address = 93.184.216.34

[resolver]
listen = 127.0.0.1:53
upstream = 127.0.0.1:5353

[nftables]
manage = sets

[audit]
log = {folder}/audit.log
'''


class Switch(Upstream):
    """Sends questions for keys to NSD, and all others to bailiwick."""

    def __init__(self, netns, port):
        self.keys, self.others = Client(netns, port=5353), Client(netns)
        super().__init__(netns, port=port)

    def answer(self, wire, transport):
        rdtype = dns.message.from_wire(wire).question[0].rdtype
        keys = rdtype in (dns.rdatatype.DNSKEY, dns.rdatatype.DS)
        return getattr(self.keys if keys else self.others, transport)(wire) or self.NOTHING


class Signed:
    """NSD with the signed zone, and what is asked of bailiwick about it."""

    def __init__(self, netns, folder, nsec3):
        self.netns, self.folder = netns, folder
        self.nsd = Nsd(netns, folder, ZONE, RECORDS, sign='-n' if nsec3 else '')
        self.switch = Switch(netns, 5300)
        key = next(folder.glob('K*.key')).read_text(encoding='ascii').split(';')[0].split()
        flags, protocol, algorithm, *base64 = key[key.index('DNSKEY') + 1:]
        (folder / 'anchor').write_text(
            f'trust-anchors {{ {ZONE}. static-key {flags} {protocol} {algorithm} '
            f'"{"".join(base64)}"; }};\n', encoding='ascii')

    def judge(self, qname, qtype='A'):
        """What delv says of the answer: its first line."""
        said = self.netns.run('delv', '@127.0.0.1', '-p', '5300', '-a',
                              str(self.folder / 'anchor'), f'+root={ZONE}',
                              f'{qname}.{ZONE}', qtype, check=False)
        return said.stdout + said.stderr

    def stop(self):
        self.switch.close()
        self.nsd.stop()


@pytest.fixture(params=['nsec', 'nsec3'])
def signed(request, host, tmp_path, start):
    folder = tmp_path / 'nsd'
    folder.mkdir()
    made = Signed(host, folder, request.param == 'nsec3')
    made.serve = start(POLICY)
    yield made
    made.stop()


def types(section):
    return [dns.rdatatype.to_text(rrset.rdtype) for rrset in section]


def ask(signed, owner, rdtype='A', **more):
    return signed.serve.ask(f'{owner}.{ZONE}', rdtype, want_dnssec=True, **more)


@pytest.mark.parametrize('owner,rdtype', [
    ('ok', 'A'), ('ok', 'AAAA'), ('alias', 'A'), ('alias2', 'AAAA'), ('a.wild', 'A'),
    ('b.c.wild', 'A'), ('a.star', 'A'), ('leaf.tree', 'A'), ('short', 'A')])
def test_addresses_are_proved(signed, owner, rdtype):
    said = signed.judge(owner, rdtype)
    assert '; fully validated' in said and '; unsigned' not in said, said
    assert (ORIGIN if rdtype == 'A' else ORIGIN6) in said


@pytest.mark.parametrize('owner,rdtype', [
    ('only4', 'AAAA'), ('none', 'A'), ('b.none', 'A'), ('a.wild', 'AAAA')])
def test_denials_are_proved(signed, owner, rdtype):
    said = signed.judge(owner, rdtype)
    assert re.search(r'negative response, fully validated', said), said


def test_the_same_from_the_cache(signed):
    for _ in range(2):
        assert 'fully validated' in signed.judge('alias2')
        assert 'negative response, fully validated' in signed.judge('none')


def test_signatures_go_to_those_who_ask(signed):
    """... and neither from upstream to the others, nor from the cache."""
    for _ in range(2):
        assert types(ask(signed, 'ok').answer) == ['A', 'RRSIG']
        plain = signed.serve.ask(f'ok.{ZONE}')
        assert types(plain.answer) == ['A'] and not plain.ednsflags & dns.flags.DO
        assert types(signed.serve.ask(f'none.{ZONE}').authority) == ['SOA']
        assert 'RRSIG' in types(ask(signed, 'none').authority)
    message = dns.message.make_query(f'Ok.{ZONE}'.replace('sig', 'SiG'), 'A', want_dnssec=True)
    wire = signed.serve.client.udp(message.to_wire())
    assert {rrset.name.to_text() for rrset in dns.message.from_wire(wire).answer} == \
        {'Ok.SiGned.example.'}
    # What is not DNSSEC's is as it was: one OPT, no AD from a server that does not validate.
    assert not dns.message.from_wire(wire).flags & (dns.flags.AD | dns.flags.AA)


def test_what_is_edited_has_no_signature(signed):
    answer = ask(signed, 'mixed')
    assert addresses(answer) == [ORIGIN] and types(answer.answer) == ['A']
    answer = ask(signed, 'two')
    assert addresses(answer) == [ORIGIN] and types(answer.answer) == ['A'], 'a pin is ours'
    answer = ask(signed, 'inside')
    assert addresses(answer) == [] and types(answer.authority) == ['SOA']
    assert ede(answer)[0] == 15


def test_a_dname_is_shown_to_those_who_can_use_it(signed):
    assert types(ask(signed, 'leaf.tree').answer) == ['DNAME', 'RRSIG', 'CNAME', 'A', 'RRSIG']
    assert types(signed.serve.ask(f'leaf.tree.{ZONE}').answer) == ['CNAME', 'A']


def test_a_ttl_is_not_above_what_is_signed(signed):
    answer = ask(signed, 'short')
    assert [rrset.ttl for rrset in answer.answer] == [0, 0]
    assert signed.serve.leased(ORIGIN), 'and can be used all the same'
    assert [rrset.ttl for rrset in signed.serve.ask(f'short.{ZONE}').answer] == [5]


def test_keys_are_not_answered(signed):
    """A stub that validates from the root cannot: it stays closed."""
    for qname in (ZONE, f'ok.{ZONE}'):
        for qtype in ('DNSKEY', 'DS'):
            answer = signed.serve.ask(qname, qtype, want_dnssec=True)
            assert rcode(answer) == 'NOERROR' and answer.answer == []


def test_large_proofs_are_truncated(signed):
    message = dns.message.make_query(f'none.{ZONE}', 'A', want_dnssec=True, payload=512)
    wire = signed.serve.client.udp(message.to_wire())
    answer = dns.message.from_wire(wire)
    if not answer.flags & dns.flags.TC:
        pytest.skip('the proof fits')
    assert answer.authority == [] and len(wire) <= 512
    assert 'RRSIG' in types(ask(signed, 'none', tcp=True).authority)


def with_flags(owner, flags, dnssec_ok):
    message = dns.message.make_query(owner, 'A', want_dnssec=dnssec_ok, use_edns=0)
    message.flags |= flags
    return message.to_wire()


AD, CD = dns.flags.AD, dns.flags.CD


@pytest.mark.parametrize('flags,dnssec_ok,authentic', [
    (0, False, False), (AD, False, True), (0, True, True), (AD | CD, True, True)])
def test_ad_from_a_trusted_upstream(start, upstream, flags, dnssec_ok, authentic):
    """On this host nobody can change what an upstream says of itself."""
    def script(wire, transport):
        del transport
        message = dns.message.from_wire(wire)
        reply = dns.message.make_response(message)
        owner = message.question[0].name.to_text()
        reply.answer.append(dns.rrset.from_text(owner, 60, 'IN', 'A', ORIGIN))
        if 'mixed' in owner.lower():
            reply.answer[0].add(dns.rdata.from_text('IN', 'A', '10.0.0.9'))
        reply.flags |= AD
        return reply.to_wire()

    upstream.script = script
    serve = start(POLICY.replace('5353', '5399'))
    for _ in range(2):
        answer = dns.message.from_wire(
            serve.client.udp(with_flags(f'ok.{ZONE}', flags, dnssec_ok)))
        assert bool(answer.flags & AD) == authentic and addresses(answer) == [ORIGIN]
        for owner in ('mixed', 'two', 'x.localhost.'):
            name = owner if owner.endswith('.') else f'{owner}.{ZONE}'
            answer = dns.message.from_wire(
                serve.client.udp(with_flags(name, flags, dnssec_ok)))
            assert not answer.flags & AD
    sent = dns.message.from_wire(upstream.seen[0][0])
    assert bool(sent.flags & CD) == bool(flags & CD)
    assert bool(sent.ednsflags & dns.flags.DO) == dnssec_ok
    assert [dns.message.from_wire(wire).question[0].name.labels[0].lower()
            for wire, _ in upstream.seen] == [b'ok', b'mixed']


def test_each_form_is_asked_once(start, upstream):
    """By name, type, DO and CD."""
    upstream.add(f'ok.{ZONE}', ORIGIN)
    serve = start(POLICY.replace('5353', '5399'))
    for _ in range(2):
        for flags, dnssec_ok in ((0, False), (AD, False), (CD, False), (0, True), (CD, True)):
            serve.client.udp(with_flags(f'ok.{ZONE}', flags, dnssec_ok))
    asked = [dns.message.from_wire(wire) for wire, _ in upstream.seen]
    assert [(bool(m.flags & CD), bool(m.ednsflags & dns.flags.DO)) for m in asked] == \
        [(False, False), (True, False), (False, True), (True, True)]
    assert serve.client.udp(query(f'ok.{ZONE}')) is not None
