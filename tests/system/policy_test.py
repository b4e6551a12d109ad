# SPDX-License-Identifier: MIT
"""The policy file end to end, and the commands that read it."""

import json
import random

import pytest

from conftest import ORIGIN, POLICY
from servers import PROGRAM
from wire import addresses, ede, rcode

GRANT = 'owner = tests@example.com\nreason = Tests\n'
REST = '''
[resolver]
upstream = 127.0.0.1:5399
[nftables]
manage = no
'''


@pytest.fixture
def run(host, tmp_path):
    """Run `bailiwick COMMAND ...` on policy text, given as bytes or str."""
    def run_command(command, text, *argv):
        path = tmp_path / 'given.ini'
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if command == 'check':
            return host.run(PROGRAM, 'check', str(path), check=False)
        return host.run(PROGRAM, command, '-p', str(path), *argv, check=False)
    return run_command


def assert_only_ok(serve):
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    assert rcode(serve.ask('bad.example.com')) == 'NXDOMAIN'


@pytest.mark.parametrize('last', ['\r\n', ''])
def test_a_byte_order_mark_and_crlf(start, upstream, run, last):
    """The first section is not lost, and no name ends in a carriage return."""
    del upstream
    text = ('[allow ok]\n' + GRANT + 'host = ok.example.com\n' + REST.strip()).replace('\n', '\r\n')
    text = '\ufeff' + text + last
    assert run('check', text).returncode == 0
    assert_only_ok(start(text))


@pytest.mark.parametrize('encode', [
    lambda text: text.replace('\n', '\r').encode(),
    lambda text: text.encode('utf-16'),
    lambda text: text.replace('ok.ex', 'ok\0.ex').encode(),
    lambda text: text.replace('ok.ex', 'ok\x1b.ex').encode(),
    lambda text: text.replace('Tests', 'Te\xffts').encode('latin1'),
    lambda text: b'a' * (1 << 20)], ids=['CR', 'UTF-16', 'NUL', 'ESC', 'Latin-1', 'one line of 1 MiB'])
def test_files_that_are_refused(run, encode):
    """With the file's name and a line; never loaded with a rule less."""
    text = '[allow ok]\n' + GRANT + 'host = ok.example.com\n'
    assert run('check', text).returncode == 0
    done = run('check', encode(text))
    assert done.returncode == 1
    assert 'given.ini:' in done.stdout + done.stderr
    assert '\x1b' not in done.stdout + done.stderr and '\0' not in done.stdout


def test_the_tail_of_a_long_comment_is_no_rule(start, upstream, run):
    del upstream
    text = ('[allow ok]\n' + GRANT + '# note' + ' ' * 70000 + 'host = bad.example.com\n'
            'host = ok.example.com\n' + REST)
    if run('check', text).returncode == 0:
        assert_only_ok(start(text))
    text = text.replace(' ' * 70000, ' ' * 250)
    assert run('check', text).returncode == 0
    assert_only_ok(start(text))


def test_long_lists(start, upstream, run):
    names = [f'n{i}.example.com' for i in range(299)] + ['ok.example.com']
    text = '[allow ok]\n' + GRANT + 'host = ' + ' '.join(names) + '\n' + REST
    assert run('check', text).returncode == 0
    upstream.add('n0.example.com', ORIGIN)
    serve = start(text)
    assert_only_ok(serve)
    assert addresses(serve.ask('n0.example.com')) == [ORIGIN]


@pytest.mark.parametrize('n', [1, 150, 5000])
def test_case_does_not_depend_on_the_lists_length(start, upstream, n):
    del upstream
    fillers = ''.join(f'\n  F{i}.Example.ORG' for i in range(n))
    serve = start('[allow ok]\n' + GRANT + 'host = OK.Example.COM\n  *.WILD.example.com' + fillers +
                  '\n[deny bad]\nhost = BAD.wild.example.com\n' + REST)
    for qname in ('ok.example.com', 'oK.eXample.cOm', 'A.Wild.EXAMPLE.com'):
        assert addresses(serve.ask(qname)) == [ORIGIN]
    for qname in ('BAD.wild.Example.com', 'bad.example.com'):
        assert rcode(serve.ask(qname)) == 'NXDOMAIN'


def test_every_fault_at_once(run):
    text = ('[allow one]\nhots = ok.example.com\nowner = a@example.com\n'
            '[allow two]\nowner = a@example.com\nreason = r\nhost = *wild.example.com\nport = 65536\n'
            '[nonsense]\nkey = value\n[allow three]\n' + GRANT + 'host = *.com\n')
    done = run('check', text)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    for line in (2, 7, 8, 9, 14):
        assert f'given.ini:{line}: ' in said, f'line {line}: {said}'
    assert 'host' in said.split('given.ini:2: ')[1].splitlines()[0], 'the nearest key is named'


@pytest.mark.parametrize('host_text', ['wild.*.com', '*wild.example.com', '*.*', '*', '*.com',
                                       '*.co.uk', '*.github.io', 'a..b', '127.1', '0x7f000001',
                                       '10.0.0.1/8', 'http://ok.example.com', 'ok.example.com:443'])
def test_hosts_that_are_refused(run, host_text):
    done = run('check', '[allow ok]\n' + GRANT + f'host = {host_text}\n')
    assert done.returncode == 1 and 'given.ini:4: ' in done.stdout + done.stderr


def test_exit_statuses_of_check(run, host):
    assert run('check', '').returncode == 0, 'an empty policy is a good one: it allows nothing'
    assert run('check', '[allow x]\n').returncode == 1
    assert host.run(PROGRAM, 'check', '/no/such/file', check=False).returncode == 2
    assert host.run(PROGRAM, 'check', '--nonsense', check=False).returncode == 2


EXPLAIN = POLICY.replace('{upstream}', '127.0.0.1:5399').replace('{folder}', '/tmp')


@pytest.mark.parametrize('what,status,word', [
    ('ok.example.com', 0, 'granted'),
    ('ok.example.com:9080', 0, 'granted'),
    ('OK.example.com.:9080', 0, 'granted'),
    ('http://ok.example.com/x', 0, 'granted'),
    ('https://a.wild.example.com:9080/', 0, 'granted'),
    ('ok.example.com:22', 1, 'port'),
    ('bad.example.com', 1, 'not-listed'),
    ('bad.wild.example.com', 1, 'denied'),
    ('wild.example.com', 1, 'name-above'),
    ('dns.google', 1, 'doh'),
    ('localhost', None, 'special-name'),
    ('93.184.216.34', 1, 'no-lease'),
    ('[2606:2800:220:1::34]:443', 1, 'no-lease')])
def test_explain(run, what, status, word):
    done = run('explain', EXPLAIN, what)
    assert status is None or done.returncode == status, done.stdout + done.stderr
    assert word in done.stdout


@pytest.mark.parametrize('what', ['127.1:80', '0x7f000001:80', 'ok.example.com:', 'ok.example.com:0',
                                  'ok.example.com:65536', 'ok.example.com:443x',
                                  'ok.example.com:4294967739', 'a..b', ''])
def test_explain_refuses_what_is_no_destination(run, what):
    done = run('explain', EXPLAIN, what)
    assert done.returncode in (1, 2) and 'granted' not in done.stdout


def test_explain_says_what_the_resolver_does(start, upstream, run):
    del upstream
    serve = start(POLICY)
    for qname in ('ok.example.com', 'bad.example.com', 'a.wild.example.com', 'bad.wild.example.com',
                  'example.com', 'dns.google', 'pinned.example.com', 'notwild.example.com'):
        allowed = run('explain', EXPLAIN, qname).returncode == 0
        assert (addresses(serve.ask(qname)) != []) == allowed, qname


RANDOM_POLICY = POLICY + '''
[allow more]
owner = tests@example.com
reason = Hosts that meet each other, and names that are denied and special
wide = yes
host = *.a.example b.a.example *.google x.test *.c.b.a.example *.localhost a.onion
max_names = 1000
max_labels = 100000
type = A
[allow gone]
owner = tests@example.com
reason = Expired, and more specific than a wildcard that is not
host = old.a.example
expires = 2020-01-01
[deny some]
host = *.d.a.example c.b.a.example
reason = Tests
'''


def words_of(answer):
    """The answer as explain would say it."""
    said = rcode(answer)
    if said == 'NOERROR' and not answer.answer:
        said = 'NODATA'
    told = ede(answer)
    return f'{said}, EDE {told[0]}' if told else said


def test_explain_agrees_with_the_resolver_on_random_names(start, upstream, run):
    """For each name and type: what explain says is what is answered, and why."""
    labels = ['a', 'b', 'c', 'd', 'old', 'x', 'dns', 'google', 'test', 'example', 'onion',
              'localhost', 'ok', 'com', 'wild', 'bad']
    tails = ['', 'a.example', 'b.a.example', 'd.a.example', 'google', 'test', 'example.com',
             'wild.example.com', 'dns.google', 'old.a.example']
    chance = random.Random(20261130)
    serve = start(RANDOM_POLICY)
    text = RANDOM_POLICY.replace('{upstream}', '127.0.0.1:5399').replace('{folder}', '/tmp')
    outcomes = set()
    for _ in range(120):
        head = [chance.choice(labels) for _ in range(chance.randrange(3))]
        qname = '.'.join(head + [tail for tail in [chance.choice(tails)] if tail]) or '.'
        done = run('explain', text, '--json', qname)
        for row in json.loads(done.stdout)['dns']:
            seen = len(upstream.seen)
            answer = serve.ask(qname, row['type'])
            context = (qname, row, words_of(answer))
            if row['verdict'] == 'allow':
                assert not ede(answer), context
            elif 'loopback' in row['answer']:
                assert addresses(answer), context
            else:
                assert row['answer'].startswith(words_of(answer)), context
                assert ede(answer)[1].startswith(row['reason'] + ':'), context
                assert len(upstream.seen) == seen, context
            outcomes.add(row['reason'])
    assert outcomes == {'granted', 'not-listed', 'name-above', 'denied', 'doh', 'special-name',
                        'expired', 'type'}


def test_serve_refuses_a_bad_policy(run, host):
    done = run('serve', '[allow ok]\n' + GRANT + 'hots = ok.example.com\n')
    assert done.returncode in (1, 2) and 'given.ini:4: ' in done.stdout + done.stderr
    done = host.run(PROGRAM, 'serve', '-p', '/no/such/file', check=False)
    assert done.returncode == 2 and '/no/such/file' in done.stderr


def test_serve_refuses_an_address_that_is_not_ours(run):
    done = run('serve', '[resolver]\nlisten = 203.0.113.1:53\nupstream = 127.0.0.1:5399\n'
                        '[nftables]\nmanage = no\n')
    assert done.returncode == 2 and '203.0.113.1' in done.stderr


def test_a_second_serve_disturbs_nothing(start, upstream, host, tmp_path):
    """It fails before it touches the ruleset of the first."""
    del upstream
    serve = start(POLICY.replace('manage = no', 'manage = sets'))
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    second = tmp_path / 'second.ini'
    second.write_text(serve.policy.read_text().replace(str(tmp_path), str(tmp_path / 'second')))
    (tmp_path / 'second').mkdir()
    done = host.run(PROGRAM, 'serve', '-p', str(second), check=False)
    assert done.returncode == 2 and 'Address already in use' in done.stderr
    assert 'another program' not in serve.said()
    assert ORIGIN in host.run('nft', 'list', 'set', 'inet', 'bailiwick', 'lease4').stdout
