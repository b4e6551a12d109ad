# SPDX-License-Identifier: MIT
"""DNS messages, well made (by dnspython) and ill made (by hand), and how to exchange them."""

import socket
import struct
import time

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype

from netns import family_of

EDE = dns.edns.OptionType.EDE


def name(text):
    """A name's wire from labels that are joined by dots; any byte but a dot stands for itself."""
    labels = [label.encode('latin1') for label in text.rstrip('.').split('.') if label]
    return b''.join(bytes([len(label)]) + label for label in labels) + b'\0'


def query(qname, qtype=1, qid=0x1234, flags=0x0100, qclass=1, opt=b''):
    """One query, made by hand. `qname` is text as name() has it, or wire."""
    qname = name(qname) if isinstance(qname, str) else qname
    header = struct.pack('>6H', qid, flags, 1, 0, 0, 1 if opt else 0)
    return header + qname + struct.pack('>2H', qtype, qclass) + opt


def opt_record(size=1232, version=0, flags=0, options=b'', owner=b'\0'):
    return owner + struct.pack('>HHBBHH', 41, size, 0, version, flags, len(options)) + options


class Header:
    """A message's first twelve bytes."""

    def __init__(self, wire):
        self.id, self.flags, self.qd, self.an, self.ns, self.ar = struct.unpack('>6H', wire[:12])
        self.rcode = self.flags & 15
        self.tc = bool(self.flags & 0x0200)
        self.aa = bool(self.flags & 0x0400)
        self.ra = bool(self.flags & 0x0080)
        self.ad = bool(self.flags & 0x0020)
        self.cd = bool(self.flags & 0x0010)


class Client:
    """Asks the server at an address and port, from a namespace."""

    def __init__(self, netns, address='127.0.0.1', port=53):
        self.netns, self.address, self.port = netns, address, port

    def udp(self, wire, wait=3.0):
        """Send one datagram; give the one that comes back, or None."""
        with self.netns.socket(family_of(self.address), socket.SOCK_DGRAM) as sock:
            sock.settimeout(wait)
            sock.connect((self.address, self.port))
            sock.send(wire)
            try:
                return sock.recv(65535)
            except (TimeoutError, ConnectionRefusedError):
                return None

    def connect(self, wait=3.0):
        sock = self.netns.socket(family_of(self.address))
        sock.settimeout(wait)
        sock.connect((self.address, self.port))
        return sock

    def tcp(self, wire, wait=3.0):
        """Send one message on a connection of its own; give its answer, or None."""
        with self.connect(wait) as sock:
            sock.sendall(struct.pack('>H', len(wire)) + wire)
            try:
                return read_message(sock)
            except (TimeoutError, ConnectionError):
                return None

    def ask(self, qname, qtype='A', tcp=False, edns=True, wait=3.0, **more):
        """Ask; give the answer as dnspython reads it, which checks id and question too."""
        message = dns.message.make_query(qname, qtype, use_edns=0 if edns else -1, **more)
        wire = (self.tcp if tcp else self.udp)(message.to_wire(), wait)
        assert wire is not None, f'no answer to {qname} {qtype}'
        answer = dns.message.from_wire(wire)
        assert message.is_response(answer), f'{answer} is no answer to {message}'
        assert (answer.edns >= 0) == edns, 'OPT must come back if, and only if, it was sent'
        return answer


def read_exactly(sock, length):
    """Read that many bytes; None if the stream ends before."""
    data = b''
    while len(data) < length:
        more = sock.recv(length - len(data))
        if not more:
            return None
        data += more
    return data


def read_message(sock):
    """Read one message of a DNS stream; None if the stream ends."""
    head = read_exactly(sock, 2)
    return None if head is None else read_exactly(sock, struct.unpack('>H', head)[0])


def rcode(answer):
    return dns.rcode.to_text(answer.rcode())


def addresses(answer):
    """The addresses of the answer section."""
    return sorted(rdata.to_text() for rrset in answer.answer for rdata in rrset
                  if rrset.rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA))


def ede(answer):
    """The Extended DNS Error as (code, text), or None."""
    options = [option for option in answer.options if option.otype == EDE]
    assert len(options) <= 1
    return (int(options[0].code), options[0].text or '') if options else None


def soa_ttl(answer):
    """The TTL and MINIMUM of a negative answer's SOA, or None."""
    rrsets = [rrset for rrset in answer.authority if rrset.rdtype == dns.rdatatype.SOA]
    return (rrsets[0].ttl, rrsets[0][0].minimum) if rrsets else None


def wait_until(true, what, limit_s=5.0, every_s=0.02):
    """Wait until true() is; fail with `what` after the limit."""
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end, f'{limit_s} s were not enough: {what}'
        time.sleep(every_s)
