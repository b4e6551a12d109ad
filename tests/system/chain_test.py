# SPDX-License-Identifier: MIT
"""Answers out of more than one part, or out of what was known before."""

import time

import dns.message
import dns.rrset
import pytest

from conftest import ORIGIN, POLICY
from dns_test import assert_denied
from wire import addresses, ede, rcode, wait_until

# What was known before.

STALE = POLICY.replace('manage = sets', 'manage = sets\ngrace = 1s').replace(
    'upstream = {upstream}', 'upstream = 127.0.0.1:5353\nttl_min = 1s')


def test_what_was_known_is_answered_while_upstream_is_dead(start, nsd, host, tmp_path):
    """With its leases, until it is back (RFC 8767)."""
    serve = start(STALE.replace('ttl_min = 1s', 'ttl_min = 1s\nttl_max = 1s'))
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    nsd.stop()
    wait_until(lambda: not serve.leased(ORIGIN), 'the lease to end')
    answer = serve.ask('ok.example.com', wait=5)
    assert addresses(answer) == [ORIGIN] and ede(answer)[0] == 3
    assert [rrset.ttl for rrset in answer.answer] == [30] and serve.leased(ORIGIN)
    assert serve.log()[-1]['reason'] == 'stale' and serve.log()[-1]['verdict'] == 'allow'
    assert rcode(serve.ask('never.wild.example.com', wait=6)) == 'SERVFAIL'


def test_nothing_old_is_answered_where_the_policy_says_so(start, nsd):
    serve = start(STALE.replace('ttl_min = 1s', 'ttl_min = 1s\nttl_max = 1s\nstale = 0s'))
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    nsd.stop()
    time.sleep(1.1)
    answer = serve.ask('ok.example.com', wait=6)
    assert rcode(answer) == 'SERVFAIL' and addresses(answer) == []


def test_a_chain_without_an_end_is_followed(serve, upstream):
    upstream.script = leave_out('partial.wild.example.com', 'edge.example.net')
    upstream.add('edge.example.net', ORIGIN)
    for tcp in (False, True, False):
        answer = serve.ask('Partial.wild.example.com', tcp=tcp)
        assert addresses(answer) == [ORIGIN]
        assert [rrset.name.to_text() for rrset in answer.answer] == \
            ['Partial.wild.example.com.', 'edge.example.net.']
    assert upstream.names_seen() == ['partial.wild.example.com', 'edge.example.net']
    assert serve.leased(ORIGIN)
    assert_denied(serve.ask('edge.example.net'))


@pytest.mark.parametrize('target', ['dns.google', 'x.onion', 'localhost',
                                    'chatty.wild.example.com'])
def test_a_chain_is_not_followed_anywhere(serve, upstream, target):
    upstream.script = leave_out('chatty.wild.example.com', target)
    answer = serve.ask('chatty.wild.example.com', wait=6)
    assert addresses(answer) == []
    assert upstream.names_seen()[0] == 'chatty.wild.example.com'
    assert set(upstream.names_seen()) == {'chatty.wild.example.com'}


def leave_out(owner, target):
    """A script that gives the link alone."""
    def script(wire, transport):
        del transport
        message = dns.message.from_wire(wire)
        if message.question[0].name.to_text(True).lower() != owner:
            return None
        reply = dns.message.make_response(message)
        reply.answer.append(dns.rrset.from_text(owner + '.', 60, 'IN', 'CNAME', target + '.'))
        return reply.to_wire()
    return script
