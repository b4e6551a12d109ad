# SPDX-License-Identifier: MIT
"""The audit log: one line for each decision, that no name can forge and no disk can lose."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from conftest import ORIGIN, POLICY
from servers import PROGRAM
from wire import addresses, ede, query, rcode, wait_until

EVIL = ['a\n{"verdict":"allow","name":"ok', 'a"b', 'a\x1b[2Kb', 'a\\b', 'a\r', 'a\xff', 'a\x85b',
        'a|b,c;d', '%n%s', 'a\0b', '\x7f', 'a b', '\u2028'.encode().decode('latin1')]


def run_log(serve, *argv):
    return serve.netns.run(PROGRAM, 'log', *argv, check=False)


def queries(serve):
    return [record for record in serve.log() if record['action'] == 'query']


def names_in(folder):
    """The names of all records of all files of the log."""
    text = b''.join(path.read_bytes() for path in sorted(folder.glob('audit.log*'))
                    if not path.name.endswith('.head'))
    assert b'\0' not in text
    return [json.loads(line).get('name') for line in text.splitlines()]


def test_each_decision_has_a_line(serve):
    serve.ask('ok.example.com')
    denied = serve.ask('bad.example.com', 'TXT', tcp=True)
    serve.ask('example.com')
    names = ('ok.example.com', 'bad.example.com', 'example.com')
    wait_until(lambda: [r.get('name') for r in queries(serve)][-3:] == list(names), 'the records')
    ok, bad, above = [record for record in queries(serve) if record.get('name') in names]
    assert (ok['verdict'], ok['reason'], ok['grant'], ok['rcode']) == ('allow', 'granted', 'ok', 'NOERROR')
    assert ok['addresses'] == [ORIGIN] and ok['agent'] == '127.0.0.1' and ok['transport'] == 'udp'
    assert (bad['verdict'], bad['reason'], bad['type']) == ('deny', 'not-listed', 'TXT')
    assert bad['transport'] == 'tcp' and bad['rcode'] == 'NXDOMAIN' and 'grant' not in bad
    assert (above['verdict'], above['reason'], above['rcode']) == ('deny', 'name-above', 'NOERROR')
    assert f'record {bad["seq"]}' in ede(denied)[1], 'the client was told the record'
    for record in (ok, bad, above):
        assert record['duration_us'] < 5_000_000 and len(record['prev']) == 64
    numbers = [record['seq'] for record in serve.log() if record['action'] != 'continue']
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_the_record_of_the_stop_is_the_last(serve, upstream):
    upstream.script = lambda wire, transport: upstream.NOTHING
    assert serve.client.udp(query('ok.example.com'), wait=0.1) is None
    serve.stop()
    last_two = [(record['action'], record.get('reason')) for record in serve.log()[-2:]]
    assert last_two == [('query', 'cancelled'), ('stop', None)]


def test_names_forge_no_lines(serve, tmp_path):
    wait_until(lambda: os.path.exists(tmp_path / 'audit.log'), 'the log')
    time.sleep(0.3)
    before = len(serve.log())
    for label in EVIL:
        wire = label.encode('latin1')
        serve.client.udp(query(bytes([len(wire)]) + wire + b'\3bad\7example\3com\0'))
    wait_until(lambda: len(serve.log()) >= before + len(EVIL), 'the records')
    time.sleep(0.2)
    raw = (tmp_path / 'audit.log').read_bytes()
    records = serve.log()[before:]
    assert len(records) == len(EVIL), 'exactly one line for each'
    assert {record['verdict'] for record in records} == {'deny'}
    assert re.search(rb'[\x00-\x09\x0b-\x1f\x7f-\xff]', raw) is None
    assert len({record['name'] for record in records}) == len(EVIL), 'names stay apart'
    for argv in ([], ['--json'], ['--verdict', 'deny']):
        said = run_log(serve, *argv, str(tmp_path / 'audit.log')).stdout
        assert re.search(r'[\x00-\x09\x0b-\x1f\x7f-\xff]', said) is None


def test_the_chain_is_verified(serve, tmp_path):
    for i in range(20):
        serve.ask(f'n{i}.bad.example.com')
    serve.stop()
    log = tmp_path / 'audit.log'
    assert run_log(serve, 'verify', str(log)).returncode == 0
    lines = log.read_bytes().splitlines(keepends=True)
    changed = [line.replace(b'"deny"', b'"allow"', 1) if i == 10 else line
               for i, line in enumerate(lines)]
    assert changed != lines
    for what, forged in (('an edit', changed), ('a deletion', lines[:10] + lines[11:]),
                         ('a reordering', lines[:10] + [lines[11], lines[10]] + lines[12:]),
                         ('a cut tail', lines[:-3]), ('an addition', lines + [lines[-1]]),
                         ('a missing beginning', lines[5:])):
        log.write_bytes(b''.join(forged))
        assert run_log(serve, 'verify', str(log)).returncode == 1, what
    log.write_bytes(b''.join(lines))
    assert run_log(serve, 'verify', str(log)).returncode == 0
    assert run_log(serve, 'verify', str(tmp_path / 'none')).returncode == 2


def test_the_log_is_shown_to_people(serve, tmp_path):
    serve.ask('ok.example.com')
    serve.ask('x.bad.example.com')
    serve.ask('wild.example.com')
    serve.stop()
    log = str(tmp_path / 'audit.log')
    assert 'x.bad.example.com' in run_log(serve, log).stdout
    denied = run_log(serve, '--verdict', 'deny', log).stdout
    assert 'x.bad.example.com' in denied and 'ok.example.com' not in denied
    named = run_log(serve, '--name', 'bad.example.com', log).stdout
    assert 'x.bad.example.com' in named and 'wild' not in named
    assert 'x.bad.example.com' not in run_log(serve, '--agent', '192.0.2.1', log).stdout
    assert 'x.bad.example.com' in run_log(serve, '--agent', '127.0.0.0/8', log).stdout
    assert 'x.bad.example.com' in run_log(serve, '-p', str(serve.policy)).stdout
    assert run_log(serve, '--verdict', 'deny', '--nonsense', log).returncode == 2


def ask_many(serve, count, per_second):
    """Denied names, each once, each answered."""
    lost = []

    def ask():
        for i in range(count):
            if serve.client.udp(query(f'n{i:04}.bad.example.com'), wait=2) is None:
                lost.append(i)
            time.sleep(1 / per_second)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, lost


def assert_each_once(folder, count):
    found = [name[:5] for name in names_in(folder) if name and name.endswith('.bad.example.com')]
    assert sorted(found) == [f'n{i:04}' for i in range(count)]


def test_rotation_by_rename_loses_nothing(serve, tmp_path):
    thread, lost = ask_many(serve, 1000, 400)
    for i in range(1, 6):
        time.sleep(0.4)
        os.rename(tmp_path / 'audit.log', tmp_path / f'audit.log.moved{i}')
        serve.process.send_signal(signal.SIGHUP)
    thread.join()
    serve.stop()
    assert lost == []
    assert_each_once(tmp_path, 1000)
    assert os.path.getsize(tmp_path / 'audit.log') > 0


def test_rotation_by_size_loses_nothing(start, upstream, tmp_path):
    del upstream
    serve = start(POLICY.replace('[audit]', '[audit]\nrotate = 20KiB\nkeep = 50'))
    thread, lost = ask_many(serve, 500, 1000)
    thread.join()
    serve.stop()
    assert lost == [] and len(list(tmp_path.glob('audit.log.[0-9]*'))) >= 5
    assert_each_once(tmp_path, 500)
    assert run_log(serve, 'verify', str(tmp_path / 'audit.log')).returncode == 0


def test_a_folder_that_cannot_be_written_when_the_signal_comes(serve, tmp_path):
    """It goes on writing the old file, says so, and does not stop answering."""
    serve.ask('n0000.bad.example.com')
    os.rename(tmp_path / 'audit.log', tmp_path / 'audit.log.moved1')
    (tmp_path / 'audit.log').mkdir()
    serve.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    serve.ask('n0001.bad.example.com')
    wait_until(lambda: b'n0001' in (tmp_path / 'audit.log.moved1').read_bytes(),
               'the record in the old file')
    assert 'audit' in serve.said()
    (tmp_path / 'audit.log').rmdir()


@pytest.fixture
def small_disk(host, tmp_path):
    """A folder on a disk of 128 KiB."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', str(folder)], check=True)
    yield folder
    subprocess.run(['umount', '-l', str(folder)], check=True)
    del host


@pytest.mark.parametrize('on_failure', ['deny', 'continue'])
def test_a_full_disk(start, upstream, small_disk, on_failure):
    del upstream
    policy = POLICY.replace('{folder}/audit.log', f'{small_disk}/audit.log\non_failure = {on_failure}')
    serve = start(policy)
    assert addresses(serve.ask('ok.example.com')) == [ORIGIN]
    filler = small_disk / 'filler'
    with open(filler, 'wb', buffering=0) as out:
        try:
            while True:
                out.write(bytes(1024))
        except OSError:
            pass
    deadline = time.monotonic() + 10
    if on_failure == 'deny':
        while rcode(answer := serve.ask('ok.example.com')) == 'NOERROR':
            assert time.monotonic() < deadline, 'answers go on without a log'
        assert rcode(answer) == 'SERVFAIL' and answer.answer == []
        assert ede(answer)[1].startswith('audit: ')
    else:
        for i in range(300):
            assert rcode(serve.ask('ok.example.com')) == 'NOERROR'
            assert rcode(serve.ask(f'd{i}.bad.example.com')) == 'NXDOMAIN'
    wait_until(lambda: 'log' in serve.said(), 'a word about it on standard error')
    filler.unlink()
    wait_until(lambda: rcode(serve.ask('ok.example.com')) == 'NOERROR', 'recovery', limit_s=15,
               every_s=0.3)
    time.sleep(0.5)
    serve.stop()
    records = [json.loads(line) for line in (small_disk / 'audit.log').read_text().splitlines()]
    assert any(record['action'] == 'gap' for record in records), 'what is missing is said'
    assert run_log(serve, 'verify', str(small_disk / 'audit.log')).returncode == 0


def test_following(serve, tmp_path):
    serve.ask('n1.bad.example.com')
    wait_until(lambda: os.path.exists(tmp_path / 'audit.log'), 'the log')
    with open(tmp_path / 'followed', 'wb') as out:
        follow = serve.netns.start(PROGRAM, 'log', '--follow', str(tmp_path / 'audit.log'), stdout=out)
    serve.ask('n2.bad.example.com')
    wait_until(lambda: b'n2.bad' in (tmp_path / 'followed').read_bytes(), 'the new record')
    follow.terminate()
    follow.wait(timeout=10)


def test_two_do_not_write_one_log(serve, start, tmp_path, host):
    """The second is refused at the start, and the first goes on."""
    del start
    other = (serve.policy.read_text(encoding='utf-8')
             .replace('127.0.0.1:53 [::1]:53', '127.0.0.1:1053').replace('manage = sets', 'manage = no'))
    (tmp_path / 'other.ini').write_text(other, encoding='utf-8')
    done = host.run(PROGRAM, 'serve', '-p', str(tmp_path / 'other.ini'), check=False)
    assert done.returncode == 2 and 'audit.log' in done.stderr
    assert rcode(serve.ask('bad.example.com')) == 'NXDOMAIN'
