#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""CPU time per answer of `bailiwick serve` and of unbound, in one run on one machine.

usage: unshare -Urn tests/bench/answers.py BAILIWICK [SECONDS]

Both serve on loopback in a network namespace of their own, on one thread of answering; dnsperf
asks. bailiwick is measured with its audit log on, a record for each answer, all threads counted;
unbound without a log. A ratio below 1 means that bailiwick takes less.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

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
  num-threads: 1
  local-zone: "denied.example." always_nxdomain
  local-data: "pinned.example.com. 60 A 192.0.2.10"
remote-control:
  control-enable: no
"""

POLICY = """
[policy]
owner = bench
[allow pinned]
owner = bench
reason = answered without an upstream
host = pinned.example.com
address = 192.0.2.10
[resolver]
listen = 127.0.0.1:5300
[nftables]
manage = sets
[audit]
log = {dir}/audit.log
"""

ROWS = {
    "allowed, leases standing": ["pinned.example.com A"],
    "denied": [f"n{i}.denied.example A" for i in range(1000)],
}


def cpu_s(pid):
    """CPU seconds of all threads of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server, port, queries, seconds):
    """Microseconds of the server's CPU per answer, and answers per second."""
    before = cpu_s(server.pid)
    out = subprocess.run(
        ["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", queries, "-l", str(seconds),
         "-c", "8", "-q", "200"], capture_output=True, text=True, check=True).stdout
    used = cpu_s(server.pid) - before
    answers = int(re.search(r"Queries completed:\s+(\d+)", out).group(1))
    return used * 1e6 / answers, answers / seconds


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        def put(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(text.format(dir=folder))
            return path

        servers = [
            subprocess.Popen([sys.argv[1], "serve", "-p", put("policy.ini", POLICY)],
                             stderr=subprocess.DEVNULL),
            subprocess.Popen(["unbound", "-d", "-c", put("unbound.conf", UNBOUND)],
                             stderr=subprocess.DEVNULL),
        ]
        try:
            time.sleep(1)
            print(f"{'':28}{'bailiwick':>12}{'unbound':>12}{'ratio':>8}   us of CPU per answer")
            for row, lines in ROWS.items():
                queries = put("queries", "\n".join(lines) + "\n")
                ours, _ = measure(servers[0], 5300, queries, seconds)
                theirs, _ = measure(servers[1], 5301, queries, seconds)
                print(f"{row:28}{ours:12.2f}{theirs:12.2f}{ours / theirs:8.2f}")
        finally:
            for server in servers:
                server.terminate()
                server.wait()


if __name__ == "__main__":
    main()
