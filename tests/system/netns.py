# SPDX-License-Identifier: MIT
"""Network namespaces, and processes and sockets in them."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
TIME_LIMIT_S = 20  # of any program that a test runs

libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent():
    """In a new process: end when the one that started it ends, however it does."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def setns(fd):
    """Move this thread into the network namespace of the descriptor."""
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


class Netns:
    """A network namespace with a name, until delete()."""

    def __init__(self, name):
        self.name = name
        self.path = f'/run/netns/{name}'
        subprocess.run(['ip', 'netns', 'add', name], check=True, timeout=TIME_LIMIT_S)
        self.run('ip', 'link', 'set', 'lo', 'up')

    def delete(self):
        subprocess.run(['ip', 'netns', 'delete', self.name], check=True, timeout=TIME_LIMIT_S)

    def command(self, argv):
        return ['nsenter', f'--net={self.path}', '--', *argv]

    def run(self, *argv, check=True, **more):
        """Run a program to its end; give it with its output as text."""
        more.setdefault('timeout', TIME_LIMIT_S)
        done = subprocess.run(self.command(argv), text=True, capture_output=True, check=False,
                              preexec_fn=end_with_parent, **more)
        if check and done.returncode != 0:
            raise AssertionError(f'{argv} ended with {done.returncode}: {done.stderr}')
        return done

    def start(self, *argv, **more):
        """Start a program; the caller ends it."""
        return subprocess.Popen(self.command(argv), preexec_fn=end_with_parent, **more)

    def write(self, path, text):
        """Write a file of /proc/sys/net as this namespace has it."""
        self.run('sh', '-c', f'printf %s "$1" >"{path}"', 'sh', text)

    @contextlib.contextmanager
    def entered(self):
        """This thread is in the namespace meanwhile; sockets made now stay in it."""
        home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
        there = os.open(self.path, os.O_RDONLY)
        try:
            setns(there)
            yield
        finally:
            setns(home)
            os.close(there)
            os.close(home)

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM):
        with self.entered():
            return socket.socket(family, kind)

    def link(self, own, other, others):
        """Join this namespace's new device `own` to the other's new device `others`."""
        subprocess.run(['ip', 'link', 'add', own, 'netns', self.name, 'type', 'veth',
                        'peer', 'name', others, 'netns', other.name],
                       check=True, timeout=TIME_LIMIT_S)
        self.run('ip', 'link', 'set', own, 'up')
        other.run('ip', 'link', 'set', others, 'up')

    def address(self, device, *addresses):
        for address in addresses:
            more = ['nodad'] if ':' in address else []
            self.run('ip', 'address', 'add', address, 'dev', device, *more)


def family_of(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET
