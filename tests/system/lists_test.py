# SPDX-License-Identifier: MIT
"""Lists of denied names and of DoH names, as a client sees them."""

import pytest

from conftest import ORIGIN, POLICY
from wire import addresses, ede, rcode

LISTED = POLICY.replace('[resolver]', '[deny listed]\nlist = {folder}/deny.list\n[resolver]\n'
                        'doh_list = {folder}/doh.list')


@pytest.fixture
def listed(start, upstream, tmp_path):
    """A server with the names of a list denied."""
    def start_with(text, doh='dns.resolver.example\n'):
        (tmp_path / 'deny.list').write_text(text)
        (tmp_path / 'doh.list').write_text(doh)
        for qname in ('a.wild.example.com', 'x.ads.wild.example.com', 'ads.wild.example.com',
                      'ok.example.com', 'doh.wild.example.com'):
            upstream.add(qname, ORIGIN)
        return start(LISTED)
    return start_with


def ads(count):
    return [f'n{i}.Tracker{i % 7}.example' for i in range(count)]


@pytest.mark.parametrize('form', [
    lambda names: '\n'.join(names) + '\n',
    lambda names: '127.0.0.1 localhost\n' + ''.join(f'0.0.0.0 {name}\n' for name in names),
    lambda names: '$TTL 60\n@ SOA a. b. 1 2 3 4 5\n' + ''.join(f'{n} CNAME .\n' for n in names)],
    ids=['names', 'hosts', 'zone'])
@pytest.mark.parametrize('further', [0, 150, 5000])
def test_case_and_length_change_nothing(listed, form, further):
    serve = listed(form(ads(further) + ['ADS.Wild.Example.COM']))
    for qname in ('ads.wild.example.com', 'ADS.wILD.example.com'):
        answer = serve.ask(qname)
        assert rcode(answer) == 'NXDOMAIN' and ede(answer)[0] == 15
        assert 'denied: ' in ede(answer)[1] and '(deny.list:' in ede(answer)[1]
    assert addresses(serve.ask('x.ads.wild.example.com')) == [ORIGIN]
    assert addresses(serve.ask('A.wild.EXAMPLE.com')) == [ORIGIN]
    assert addresses(serve.ask('oK.eXample.cOm')) == [ORIGIN]


def test_all_may_be_denied_but_exact_hosts(listed):
    serve = listed('*\n')
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    assert ede(serve.ask('a.wild.example.com'))[1].startswith('denied: ')
    assert ede(serve.ask('other.example'))[1].startswith('denied: ')


def test_doh_names_of_a_file(listed, upstream):
    """They beat exact hosts, and deny the answer whose chain of CNAMEs ends at one."""
    serve = listed('ads.example\n', 'ok.example.com\ndns.resolver.example\n')
    assert ede(serve.ask('ok.example.com'))[1].startswith('doh: ')
    owner, target = 'cname.wild.example.com', 'dns.resolver.example'
    upstream.zone[(owner, 'A')] = [
        (owner, 60, 'CNAME', target + '.'), (target, 60, 'A', ORIGIN)]
    answer = serve.ask(owner)
    assert addresses(answer) == [] and ede(answer)[1].startswith('doh: ')
    assert not serve.leased(ORIGIN)
