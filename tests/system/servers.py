# SPDX-License-Identifier: MIT
"""What the tests start: bailiwick itself, upstream servers, and origins to connect to."""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import threading
import time

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

from netns import family_of
from wire import Client, query, read_message, wait_until

PROGRAM = os.environ['BAILIWICK']
SOA = 'ns.example.com. hostmaster.example.com. 1 3600 600 86400 60'


class Serve:
    """`bailiwick serve` on a policy, from its readiness until stop()."""

    def __init__(self, netns, policy, folder, address='127.0.0.1', wait=True, within=()):
        """`within` is a program, with its arguments, that starts the one behind it."""
        self.netns, self.folder, self.within = netns, pathlib.Path(folder), within
        self.policy = self.folder / 'policy.ini'
        self.policy.write_text(policy, encoding='utf-8')
        self.client = Client(netns, address)
        self.start(wait)

    def start(self, wait=True):
        self.stderr = self.folder / 'stderr'
        with open(self.stderr, 'ab') as out:
            self.process = self.netns.start(*self.within, PROGRAM, 'serve', '-p', str(self.policy),
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        if wait:
            wait_until(self.is_ready, 'serve to be ready', limit_s=10)

    def said(self):
        return self.stderr.read_text(encoding='utf-8', errors='replace')

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f'serve ended with {self.process.returncode}: {self.said()}')
        # A class that is not served is refused without a look at the policy.
        return self.client.udp(query('version.bind', 16, qclass=3), wait=0.2) is not None

    def ask(self, *what, **more):
        return self.client.ask(*what, **more)

    def stop(self):
        """End it as a service manager would; it must end well, and soon."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f'serve did not end on SIGTERM: {self.said()}') from None
        said = self.said()
        assert status == 0, f'serve ended with {status}: {said}'
        assert 'Sanitizer' not in said and 'runtime error' not in said, said

    def open_files(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def log(self):
        """The records of the audit log, in order."""
        path = self.folder / 'audit.log'
        return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]

    # The kernel's sets.

    def nft(self, *argv, **more):
        return self.netns.run('nft', *argv, **more)

    def sets(self, table='inet bailiwick'):
        """The table's sets as nft gives them: name to object."""
        said = self.nft('-j', 'list', 'table', *table.split())
        items = json.loads(said.stdout)['nftables']
        return {item['set']['name']: item['set'] for item in items if 'set' in item}

    def elements(self, table='inet bailiwick'):
        """The elements of all the table's sets: [(set, [part, ...], element), ...]."""
        found = []
        for name, a_set in self.sets(table).items():
            for entry in a_set.get('elem', []):
                element = entry['elem'] if isinstance(entry, dict) and 'elem' in entry \
                    else {'val': entry}
                value = element['val']
                parts = value['concat'] if isinstance(value, dict) else [value]
                found.append((name, [str(part) for part in parts], element))
        return found

    def leased(self, address, table='inet bailiwick'):
        """The elements that hold the address, other than as the agent, which is the first part."""
        return [element for _, parts, element in self.elements(table)
                if address in (parts[1:] or parts)]


class Upstream:
    """
    A DNS server that keeps every byte it is sent.

    zone maps (name, type), in lower case, to records as dnspython reads them, each a tuple
    (owner, ttl, type, text ...); a name that no key has is NXDOMAIN. script, if set, is called
    with (wire, transport) first: bytes are sent as they are, and NOTHING is silence.
    """

    NOTHING = b''

    def __init__(self, netns, address='127.0.0.1', port=5399):
        self.zone, self.script, self.seen, self.delay_s = {}, None, [], 0.0
        self.probes = []
        self.open = True
        self.udp = netns.socket(family_of(address), socket.SOCK_DGRAM)
        self.tcp = netns.socket(family_of(address))
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.udp.bind((address, port))
        self.tcp.bind((address, port))
        self.tcp.listen(64)
        for serve in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def close(self):
        self.open = False
        for sock in (self.udp, self.tcp):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def add(self, owner, *addresses, ttl=60):
        """Let a name have addresses."""
        for rdtype, mark in (('A', '.'), ('AAAA', ':')):
            texts = [a for a in addresses if mark in a and (mark == ':' or ':' not in a)]
            if texts:
                self.zone[(owner.lower(), rdtype)] = [(owner, ttl, rdtype, *texts)]

    def bytes_seen(self):
        return b''.join(wire for wire, _ in self.seen)

    def names_seen(self):
        """The names asked for, in lower case."""
        return [dns.message.from_wire(wire).question[0].name.to_text(True).lower()
                for wire, _ in self.seen]

    def answer(self, wire, transport):
        if b'\5probe\x09bailiwick\7example' in wire.lower():
            return self.answer_probe(wire, transport)
        self.seen.append((wire, transport))
        if self.delay_s:
            time.sleep(self.delay_s)
        if self.script is not None:
            scripted = self.script(wire, transport)
            if scripted is not None:
                return scripted
        message = dns.message.from_wire(wire)
        reply = dns.message.make_response(message, recursion_available=True)
        question = message.question[0]
        key = (question.name.to_text(True).lower(), dns.rdatatype.to_text(question.rdtype))
        for owner, ttl, rdtype, *texts in self.zone.get(key, []):
            reply.answer.append(dns.rrset.from_text(owner + '.', ttl, 'IN', rdtype, *texts))
        if not reply.answer:
            reply.authority.append(dns.rrset.from_text('example.com.', 60, 'IN', 'SOA', SOA))
            if key[0] not in {owner for owner, _ in self.zone}:
                reply.set_rcode(dns.rcode.NXDOMAIN)
        made = reply.to_wire(max_size=65535)
        limit = 65535 if transport == 'tcp' else max(message.payload, 512)
        if len(made) > limit:
            reply.answer.clear()
            reply.flags |= dns.flags.TC
            made = reply.to_wire()
        return made

    def answer_probe(self, wire, transport):
        """bailiwick's own questions to its servers are none that a client caused."""
        self.probes.append(wire)
        scripted = self.script(wire, transport) if self.script is not None else None
        if scripted is not None:
            return scripted
        reply = dns.message.make_response(dns.message.from_wire(wire), recursion_available=True)
        reply.set_rcode(dns.rcode.NXDOMAIN)
        return reply.to_wire()

    def serve_udp(self):
        while self.open:
            try:
                wire, peer = self.udp.recvfrom(65535)
            except OSError:
                return
            if not self.open:
                return
            threading.Thread(target=self.answer_udp, args=(wire, peer), daemon=True).start()

    def answer_udp(self, wire, peer):
        made = self.answer(wire, 'udp')
        try:
            if made:
                self.udp.sendto(made, peer)
        except OSError:
            pass

    def serve_tcp(self):
        while self.open:
            try:
                sock, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self.answer_tcp, args=(sock,), daemon=True).start()

    def answer_tcp(self, sock):
        with sock:
            try:
                while (wire := read_message(sock)) is not None:
                    made = self.answer(wire, 'tcp')
                    if not made:
                        return
                    sock.sendall(struct.pack('>H', len(made)) + made)
            except OSError:
                pass


class Nsd:
    """NSD, with one zone."""

    def __init__(self, netns, folder, zone, records, address='127.0.0.1', port=5353, sign=None):
        """With `sign`, the options of ldns-signzone, the zone is signed by a key in the folder."""
        folder = pathlib.Path(folder)
        (folder / 'zone').write_text(
            f'$ORIGIN {zone}.\n$TTL 60\n@ SOA {SOA}\n@ NS ns.example.com.\n{records}\n',
            encoding='utf-8')
        if sign is not None:
            key = netns.run('ldns-keygen', '-a', 'ECDSAP256SHA256', '-k', zone,
                            cwd=folder).stdout.strip()
            netns.run('ldns-signzone', *sign.split(), '-o', zone, '-f', 'signed', 'zone', key,
                      cwd=folder)
        zonefile = 'zone' if sign is None else 'signed'
        (folder / 'nsd.conf').write_text(
            f'server:\n ip-address: {address}@{port}\n username: ""\n chroot: ""\n'
            f' zonesdir: "{folder}"\n pidfile: "{folder}/nsd.pid"\n database: ""\n'
            f' xfrdfile: "{folder}/xfrd.state"\n zonelistfile: "{folder}/zone.list"\n'
            f' xfrdir: "{folder}"\n server-count: 1\n verbosity: 0\n'
            'remote-control:\n control-enable: no\n'
            f'zone:\n name: "{zone}"\n zonefile: "{zonefile}"\n', encoding='utf-8')
        with open(folder / 'nsd.out', 'wb') as out:
            self.process = netns.start('/usr/sbin/nsd', '-d', '-c', str(folder / 'nsd.conf'),
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        client = Client(netns, address, port)
        wait_until(lambda: client.udp(query(zone, 6), wait=0.2) is not None, 'NSD to be ready',
                   limit_s=10)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def openssl(*argv):
    subprocess.run(['openssl', *argv], check=True, capture_output=True, timeout=20)


def make_authority(folder, kind):
    """Make a certificate authority by openssl: `kind`.pem and `kind`.key."""
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
            '-keyout', f'{folder}/{kind}.key', '-out', f'{folder}/{kind}.pem', '-subj', f'/CN={kind}')


def make_certificate(folder, names, until, signer='ca'):
    """Make a server's certificate that has the names and ends at a time; give its path and its key's."""
    (folder / 'ca.conf').write_text(
        f'[ca]\ndefault_ca = x\n[x]\ndatabase = {folder}/index\nnew_certs_dir = {folder}\n'
        'default_md = sha256\npolicy = p\nrand_serial = yes\nunique_subject = no\n'
        f'x509_extensions = e\n[p]\ncommonName = supplied\n[e]\nsubjectAltName = {names}\n',
        encoding='ascii')
    (folder / 'index').write_text('', encoding='ascii')
    cert, key = folder / 'server.pem', folder / 'server.key'
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
            '-keyout', str(key), '-out', f'{folder}/server.csr', '-subj', '/CN=server')
    openssl('ca', '-batch', '-notext', '-config', f'{folder}/ca.conf', '-cert', f'{folder}/{signer}.pem',
            '-keyfile', f'{folder}/{signer}.key', '-in', f'{folder}/server.csr', '-out', str(cert),
            '-startdate', '20200101000000Z', '-enddate', until)
    return cert, key


class Unbound:
    """unbound as a DNS server over TLS, on port 853, that has the records and no other server."""

    def __init__(self, netns, folder, files, records, address):
        cert, key = files
        data = ''.join(f' local-zone: "{record.split()[0]}" redirect\n local-data: "{record}"\n'
                       for record in records)
        conf = pathlib.Path(folder) / 'unbound.conf'
        conf.write_text(
            f'server:\n interface: {address}@853\n tls-port: 853\n username: ""\n chroot: ""\n'
            f' directory: "{folder}"\n pidfile: ""\n use-syslog: no\n do-daemonize: no\n'
            ' access-control: 127.0.0.0/8 allow\n do-not-query-localhost: no\n num-threads: 1\n'
            f' tls-service-pem: "{cert}"\n tls-service-key: "{key}"\n'
            f' local-zone: "." static\n{data}'
            'remote-control:\n control-enable: no\n', encoding='utf-8')
        with open(pathlib.Path(folder) / 'unbound.out', 'ab') as out:
            self.process = netns.start('/usr/sbin/unbound', '-d', '-c', str(conf),
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        client = Client(netns, address, 853)

        def is_ready():
            try:
                client.connect(0.5).close()
                return True
            except OSError:
                return False

        wait_until(is_ready, 'unbound to be ready', limit_s=10)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Origin:
    """A server that echoes, by TCP or UDP, and counts who came."""

    def __init__(self, netns, address, port, kind=socket.SOCK_STREAM):
        self.accepted, self.open = 0, True
        self.sock = netns.socket(family_of(address), kind)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((address, port))
        if kind == socket.SOCK_STREAM:
            self.sock.listen(256)
        serve = self.serve_tcp if kind == socket.SOCK_STREAM else self.serve_udp
        threading.Thread(target=serve, daemon=True).start()

    def close(self):
        self.open = False
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def serve_udp(self):
        while self.open:
            try:
                data, peer = self.sock.recvfrom(65535)
                if self.open:
                    self.accepted += 1
                    self.sock.sendto(data, peer)
            except OSError:
                continue

    def serve_tcp(self):
        while self.open:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.echo, args=(sock,), daemon=True).start()

    @staticmethod
    def echo(sock):
        with sock:
            try:
                while data := sock.recv(65536):
                    sock.sendall(data)
            except OSError:
                pass
