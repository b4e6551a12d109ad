#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
What an answer costs `bailiwick serve`, and what it costs others: in one run, on one machine.

usage: unshare -n tests/bench/resolver.py BUILD [ROW ...]

BUILD is a folder in which `make all tests/bench/echo` was run. All servers serve on loopback in a
network namespace of their own, one after the other; dnsperf asks, with EDNS. A cost is CPU time of
all threads of the server, in user space and in the kernel, for each answer. The peers are
Debian's: unbound and dnsdist (cached answers, denials), dnsmasq --nftset (new leases), and an echo
on recvmmsg() and sendmmsg(). NSD is the upstream. Only what is called `log` writes an audit log.
"""
import pathlib
import random
import re
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SECONDS = 4     # of each measurement that repeats its questions ...
ROUNDS = 3      # ... of which the median counts
N_NEW = 60000   # names, each with an address of its own
N_LEASES = 100000
N_DENIED = 1000000

POLICY = """
[policy]
owner = bench
[allow all]
owner = bench
reason = measured
host = {hosts}
[resolver]
listen = 127.0.0.1:5300
upstream = 127.0.0.1:5353
cache = 200000
ttl_max = 1h
threads = {threads}
[nftables]
manage = sets
size = 262144
{more}
"""

UNBOUND = """
server:
  interface: 127.0.0.1@5301
  access-control: 127.0.0.0/8 allow
  directory: "{dir}"
  chroot: ""
  username: ""
  pidfile: ""
  do-daemonize: no
  use-syslog: no
  do-not-query-localhost: no
  module-config: "iterator"
  num-threads: 1
  local-zone: "denied.example.net." always_nxdomain
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@5353
remote-control:
  control-enable: no
"""

DNSDIST = """
setLocal("127.0.0.1:5302")
setSecurityPollSuffix("")
newServer({{address="127.0.0.1:5353", healthCheckMode="up"}})
pool = getPool("")
pool:setCache(newPacketCache(200000, {{maxTTL=3600}}))
addAction("denied.example.net.", RCodeAction(DNSRCode.NXDOMAIN))
"""

NSD = """
server:
  ip-address: 127.0.0.1@5353
  username: ""
  chroot: ""
  database: ""
  zonesdir: "{dir}"
  pidfile: "{dir}/nsd.pid"
  xfrdfile: "{dir}/xfrd.state"
  zonelistfile: "{dir}/zone.list"
  xfrdir: "{dir}"
  server-count: 1
remote-control:
  control-enable: no
zone:
  name: "example.com"
  zonefile: "zone"
"""


class Process:
    """A server, ended at the end of the block."""

    def __init__(self, port, *argv, **more):
        self.port, self.began = port, time.monotonic()
        self.process = subprocess.Popen(argv, stderr=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, **more)
        while not self.answers():
            if self.process.poll() is not None:
                sys.exit(f'{argv[0]} ended at once: {" ".join(argv)}')
        self.ready_s = time.monotonic() - self.began

    def answers(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(0.05)
            sock.connect(('127.0.0.1', self.port))
            try:
                sock.send(query('ready.denied.example.net'))
                return sock.recv(4096)
            except (TimeoutError, ConnectionRefusedError):
                return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def cpu_us(self):
        total = 0
        for task in pathlib.Path(f'/proc/{self.process.pid}/task').iterdir():
            total += int((task / 'schedstat').read_text(encoding='ascii').split()[0])
        return total / 1000

    def rss_mib(self):
        status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text(encoding='ascii')
        return int(re.search(r'VmRSS:\s+(\d+)', status).group(1)) / 1024

    def load(self, questions, *how):
        """Let dnsperf ask; give CPU us of each answer, and answers a second."""
        before = self.cpu_us()
        out = subprocess.run(['dnsperf', '-e', '-s', '127.0.0.1', '-p', str(self.port), '-d',
                              str(questions), '-c', '8', '-q', '200', *how],
                             capture_output=True, text=True, check=True).stdout
        used = self.cpu_us() - before
        answers = int(re.search(r'Queries completed:\s+(\d+)', out).group(1))
        rate = float(re.search(r'Queries per second:\s+([\d.]+)', out).group(1))
        return used / answers, rate

    def repeated(self, questions):
        """The median cost of questions that are asked over and over."""
        self.load(questions, '-n', '1')
        return statistics.median(self.load(questions, '-l', str(SECONDS))[0]
                                 for _ in range(ROUNDS))


def query(name):
    labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.'))
    return (struct.pack('>HHHHHH', random.getrandbits(16), 0x100, 1, 0, 0, 1) + labels +
            b'\0\0\1\0\1' + b'\0\0\x29\x04\xd0\0\0\0\0\0\0')


class Bench:
    """The folder, and the servers that run there."""

    def __init__(self, build, folder):
        self.build, self.folder = pathlib.Path(build), pathlib.Path(folder)
        new = [f'n{i}.example.com' for i in range(N_LEASES)]
        zone = ['$ORIGIN example.com.', '$TTL 3600',
                '@ SOA ns.example.com. hostmaster.example.com. 1 3600 600 86400 60',
                '@ NS ns.example.com.']
        # One address for each, none of them special-purpose.
        zone += [f'n{i} A 20.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}' for i in range(N_LEASES)]
        self.put('zone', '\n'.join(zone) + '\n')
        self.put('nsd.conf', NSD.format(dir=folder))
        self.allowed = self.put('allowed', ''.join(f'{n} A\n' for n in new[:100]))
        self.denied = self.put('denied', ''.join(f'x{i}.denied.example.net A\n' for i in range(1000)))
        self.new = self.put('new', ''.join(f'{n} A\n' for n in new[:N_NEW]))
        self.leases = self.put('leases', ''.join(f'{n} A\n' for n in new))
        self.hosts = '\n       '.join(new)

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding='ascii')
        return path

    def serve(self, log=False, threads=1, hosts=None, more=''):
        if log:
            more += f'[audit]\nlog = {self.folder}/audit.log\n'
        path = self.put('policy.ini', POLICY.format(hosts=hosts or self.hosts, threads=threads,
                                                    more=more))
        return Process(5300, str(self.build / 'bailiwick'), 'serve', '-p', str(path))

    def unbound(self):
        path = self.put('unbound.conf', UNBOUND.format(dir=self.folder))
        return Process(5301, 'unbound', '-d', '-c', str(path))

    def dnsdist(self):
        path = self.put('dnsdist.conf', DNSDIST.format())
        return Process(5302, 'dnsdist', '--supervised', '--disable-syslog', '-C', str(path))

    def dnsmasq(self):
        nft('add table inet dm; add set inet dm v4 '
            '{ type ipv4_addr; flags timeout; timeout 1h; size 262144; }')
        return Process(5303, 'dnsmasq', '-k', '-C', '/dev/null', '-p', '5303', '-R', '-c', '0',
                       '-u', 'root', '-g', 'root', '--server=127.0.0.1#5353', '--dns-forward-max=10000',
                       '--nftset=/example.com/4#inet#dm#v4', '--local=/denied.example.net/')

    def echo(self):
        return Process(5304, str(self.build / 'tests/bench/echo'), '5304')


def nft(text):
    subprocess.run(['nft', '-f', '-'], input=text, text=True, check=True)


def say(row, ours, *others):
    print(f'| {row} | {ours} | ' + ' | '.join(others) + ' |', flush=True)


def against(mine, theirs, name):
    return f'{name} {theirs:.2f}: {mine / theirs:.2f} x'


def row_repeated(bench, title, questions, peers):
    costs = {}
    for log in (False, True):
        with bench.serve(log=log) as serve:
            costs[log] = serve.repeated(questions)
    theirs = {}
    for name in peers:
        with getattr(bench, name)() as peer:
            theirs[name] = peer.repeated(questions)
    for log, mine in costs.items():
        say(title + (', log on' if log else ''), f'{mine:.2f} us',
            *(against(mine, cost, name) for name, cost in theirs.items()))


def row_allowed(bench):
    row_repeated(bench, 'allowed, cached, lease standing', bench.allowed,
                 ('unbound', 'dnsdist', 'echo'))


def row_denied(bench):
    row_repeated(bench, 'denied, with SOA and EDE', bench.denied, ('unbound', 'dnsdist', 'echo'))


def row_new(bench):
    """Each name once: fetched, and each answer a new lease; then flushed, and asked once more."""
    with bench.serve() as serve:
        cost, rate = serve.load(bench.new, '-n', '1')
        time.sleep(1)
        flushed = []
        for _ in range(ROUNDS):
            nft('flush set inet bailiwick lease4')
            flushed.append(serve.load(bench.new, '-n', '1')[0])
            time.sleep(1)
    with bench.dnsmasq() as dnsmasq:
        their_cost, their_rate = dnsmasq.load(bench.new, '-n', '1')
    say('not cached, each a new lease', f'{cost:.2f} us',
        against(cost, their_cost, 'dnsmasq --nftset'))
    say('the same, answers a second', f'{rate:.0f}',
        against(rate, their_rate, 'dnsmasq --nftset'))
    say('cached, the leases flushed', f'{statistics.median(flushed):.2f} us')


def row_lock(bench):
    """Latency while another program holds the kernel's lock much of the time."""
    elements = ', '.join(f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}' for i in range(60000))
    path = bench.put('foreign.nft', 'add table inet other\nadd set inet other s '
                     '{ type ipv4_addr; }\nflush set inet other s\nadd element inet other s { ' +
                     elements + ' }\n')
    with bench.serve() as serve, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        serve.load(bench.allowed, '-n', '1')
        other = subprocess.Popen(['sh', '-c', f'while nft -f {path}; do :; done'])
        sock.connect(('127.0.0.1', serve.port))
        waits = []
        while len(waits) < 6000:
            name = f'n{len(waits) % 100}.example.com' if len(waits) % 2 else 'x.denied.example.net'
            began = time.monotonic()
            sock.send(query(name))
            select.select([sock], [], [], 2)
            sock.recv(4096)
            waits.append((time.monotonic() - began) * 1000)
            time.sleep(0.001)
        other.terminate()
        other.wait()
    waits.sort()
    say('while another program commits sets of 60,000 elements',
        f'p99 {waits[len(waits) * 99 // 100]:.2f} ms, worst {waits[-1]:.1f} ms')


def row_memory(bench):
    with bench.serve(hosts='ok.example.com') as serve:
        idle = serve.rss_mib()
    say('idle', f'{idle:.1f} MiB')
    with bench.serve() as serve:
        serve.load(bench.leases, '-n', '1')
        say(f'{N_LEASES:,} leases and cached names', f'{serve.rss_mib():.1f} MiB')
    names = bench.put('names', ''.join(f'h{i}.list.test\n' for i in range(N_DENIED)))
    more = f'[deny list]\nlist = {names}\n'
    with bench.serve(hosts='ok.example.com', more=more) as serve:
        say(f'{N_DENIED:,} denied names', f'{serve.rss_mib() - idle:.1f} MiB more, '
            f'{serve.ready_s:.2f} s to start')


def row_threads(bench):
    """Here the load generator is the limit, so what is told is what a second's CPU would answer."""
    costs = []
    for threads in (1, 2):
        with bench.serve(threads=threads) as serve:
            costs.append(serve.repeated(bench.denied))
    say('two threads', f'{costs[1]:.2f} us', f'one {costs[0]:.2f}: room for '
        f'{2 * costs[0] / costs[1]:.2f} x the answers')


ROWS = {'allowed': row_allowed, 'denied': row_denied, 'new': row_new, 'lock': row_lock,
        'memory': row_memory, 'threads': row_threads}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        with Process(5353, 'nsd', '-d', '-c', f'{folder}/nsd.conf'):
            for name in sys.argv[2:] or ROWS:
                ROWS[name](bench)


if __name__ == '__main__':
    main()
