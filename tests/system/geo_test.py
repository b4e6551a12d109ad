# SPDX-License-Identifier: MIT
"""Conditions on where answered addresses are, with databases that are made here."""

import json
import pathlib
import random

import pytest

from servers import PROGRAM
from wire import addresses, ede, rcode, wait_until

HERE = pathlib.Path(__file__).parent
COUNTRIES = ('93.184.0.0/16=DE', '151.101.0.0/16=US', '2606:2800::/32=FR')
ASNS = ('93.184.0.0/16=15133', '151.101.0.0/16=54113', '2606:2800::/32=15133')
GERMAN, AMERICAN, FRENCH, UNKNOWN = '93.184.216.34', '151.101.1.1', '2606:2800::1', '8.9.9.9'

POLICY = '''
[allow place]
owner = tests
reason = Tests
host = *.place.example
country = DE FR
[allow network]
owner = tests
reason = Tests
host = *.network.example
asn = AS54113
country = US
[allow any]
owner = tests
reason = Tests
host = any.example inner.example
private = yes
[allow inner]
owner = tests
reason = Tests
host = inner-place.example
private = yes
country = DE
[resolver]
upstream = {upstream}
[nftables]
manage = no
[audit]
log = {folder}/audit.log
[geo]
country = {folder}/country.mmdb
asn = {folder}/asn.mmdb
'''


@pytest.fixture
def databases(host, tmp_path):
    host.run('perl', str(HERE / 'mmdb.pl'), 'country', str(tmp_path / 'country.mmdb'), *COUNTRIES)
    host.run('perl', str(HERE / 'mmdb.pl'), 'asn', str(tmp_path / 'asn.mmdb'), *ASNS)
    return tmp_path


@pytest.fixture
def explain(host, databases):
    """Run `bailiwick COMMAND` on policy text."""
    def run(text, *argv, command='explain'):
        path = databases / 'given.ini'
        path.write_text(text.replace('{folder}', str(databases))
                        .replace('{upstream}', '127.0.0.1:5399'), encoding='utf-8')
        argv = (str(path),) if command == 'check' else ('-p', str(path), *argv)
        return host.run(PROGRAM, command, *argv, check=False)
    return run


def test_an_address_is_where_the_grant_says(start, upstream, databases):
    del databases
    upstream.add('a.place.example', GERMAN, AMERICAN, UNKNOWN, FRENCH)
    upstream.add('b.place.example', AMERICAN, UNKNOWN)
    upstream.add('a.network.example', GERMAN, AMERICAN, UNKNOWN)
    upstream.add('b.network.example', GERMAN)
    upstream.add('any.example', GERMAN, AMERICAN, UNKNOWN)
    upstream.add('inner-place.example', '10.1.2.3', AMERICAN)
    serve = start(POLICY)
    for _ in range(2):  # not cached, and cached
        assert addresses(serve.ask('a.place.example')) == [GERMAN]
        assert addresses(serve.ask('a.place.example', 'AAAA')) == [FRENCH]
        assert addresses(serve.ask('a.network.example')) == [AMERICAN]
    denied = serve.ask('b.place.example')
    assert not addresses(denied) and ede(denied)[0] == 15
    assert ede(denied)[1].startswith('country: ') and 'policy.ini:6)' in ede(denied)[1]
    denied = serve.ask('b.network.example')
    assert not addresses(denied) and ede(denied)[1].startswith('country: ')
    assert addresses(serve.ask('any.example')) == sorted([GERMAN, AMERICAN, UNKNOWN])
    # What is special-purpose is in no country, and was allowed in so many words.
    assert addresses(serve.ask('inner-place.example')) == ['10.1.2.3']
    assert rcode(serve.ask('place.example')) == 'NOERROR'

    wait_until(lambda: serve.log()[-1].get('name') == 'place.example', 'the last record')
    records = {record['name']: record for record in serve.log() if record.get('addresses')}
    record = records['any.example']
    places = dict(zip(record['addresses'], zip(record['countries'], record['asns'])))
    assert places == {GERMAN: ('DE', 15133), AMERICAN: ('US', 54113), UNKNOWN: ('', 0)}
    assert 'countries' not in records['inner-place.example']
    said = serve.netns.run(PROGRAM, 'log', str(serve.folder / 'audit.log')).stdout
    assert f'{GERMAN} (DE AS15133)' in said
    assert UNKNOWN in said and f'{UNKNOWN} (' not in said
    assert serve.netns.run(PROGRAM, 'log', 'verify', str(serve.folder / 'audit.log'))


def test_without_geo_the_log_says_nothing_of_it(start, upstream):
    upstream.add('any.example', GERMAN)
    serve = start(POLICY.partition('[geo]')[0].replace('country', ';').replace('asn', ';'))
    assert addresses(serve.ask('any.example')) == [GERMAN]
    assert not any('countries' in record or 'asns' in record for record in serve.log())


def test_explain_says_where_an_address_is(explain):
    said = explain(POLICY, GERMAN).stdout
    assert 'country   DE' in said and 'asn       AS15133' in said
    said = json.loads(explain(POLICY, '--json', FRENCH).stdout)
    assert said['country'] == 'FR' and said['asn'] == 15133
    assert 'country' not in json.loads(explain(POLICY, '--json', UNKNOWN).stdout)


@pytest.mark.parametrize('old, new, line, part', [
    ('country = DE FR', 'country = DE XX', 6, '`XX` is no country'),
    ('country = DE FR', 'country = de', 6, '`de` is no country'),
    ('country = DE FR', 'country = !US', 6, '`!US` is no country'),
    ('asn = AS54113', 'asn = 0', 11, '`0` is no autonomous system'),
    ('asn = AS54113', 'asn = 4294967296', 11, 'is no autonomous system'),
    ('country = {folder}/country.mmdb', '', 6, '`country` needs a database'),
    ('country.mmdb', 'none.mmdb', 31, 'cannot be read'),
    ('country.mmdb', 'asn.mmdb', 31, 'no database of countries'),
    ('asn.mmdb', 'country.mmdb', 32, 'no database of autonomous systems'),
    ('asn.mmdb', 'given.ini', 32, 'no database of addresses'),
    ('{folder}/asn.mmdb', '/dev/null', 32, 'no regular file'),
    ('*.place.example', '*.place.example 9.9.9.9', 5, 'is opened as it stands'),
    ('country = DE FR', 'country = DE\naddress = 192.0.2.1', 6, 'pins are answered'),
])
def test_what_cannot_be_judged_is_a_fault(explain, old, new, line, part):
    said = explain(POLICY.replace(old, new), command='check')
    assert said.returncode == 1
    assert any(f':{line}: ' in one and part in one for one in said.stdout.splitlines()), said.stdout


def test_a_damaged_database_crashes_nothing(explain, databases):
    chance = random.Random(7)
    whole = (databases / 'country.mmdb').read_bytes()
    for i in range(300):
        damaged = bytearray(whole)
        if i % 3 == 0:
            damaged = damaged[:chance.randrange(len(damaged))]
        for _ in range(i % 3 * chance.randrange(1, 40)):
            # Most of the tree is zeros: aim at what says something.
            damaged[chance.choice([at for at, byte in enumerate(whole) if byte])] = \
                chance.randrange(256)
        (databases / 'country.mmdb').write_bytes(bytes(damaged))
        address = (GERMAN, FRENCH, AMERICAN, UNKNOWN)[i % 4]
        said = explain(POLICY, address)
        assert said.returncode in (1, 2) and 'Sanitizer' not in said.stderr, (i, said)
