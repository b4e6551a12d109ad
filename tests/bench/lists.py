#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a list of denied names costs: time to load, memory, and CPU time of a start.

usage: unshare -Urn tests/bench/lists.py BAILIWICK [NAMES]

`bailiwick check` and `bailiwick serve` read a policy without a list, and one with a list of NAMES
(1,000,000) names, in each form; the memory is the peak of check, and what serve holds at rest.
"""
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time

POLICY = """
[policy]
owner = bench
[resolver]
listen = 127.0.0.1:5300
upstream = 127.0.0.1:5301
[nftables]
manage = no
"""
FORMS = {
    "names": "{}\n",
    "hosts": "0.0.0.0 {}\n",
    "zone": "{} CNAME .\n",
}


def make_names(count):
    """One by one: the memory of a parent counts as its child's peak."""
    chance = random.Random(1)
    words = ("ads", "track", "pixel", "stat", "cdn", "beacon", "metric", "click", "tag", "sync")
    ends = ("com", "net", "example", "co.uk")
    return (f"{chance.choice(words)}{chance.randrange(10**7)}.{chance.choice(words)}-{i}."
            f"{chance.choice(ends)}" for i in range(count))


def check(program, policy):
    """Wall and CPU seconds, and the peak in MiB, of one `bailiwick check`."""
    began = time.monotonic()
    process = subprocess.Popen([program, "check", policy])
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return (time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def listens():
    """True if something takes connections where the server listens."""
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", 5300)) == 0


def serve(program, policy, folder):
    """Seconds until `bailiwick serve` is ready, and the MiB that it holds and held."""
    log = os.path.join(folder, "serve.log")
    began = time.monotonic()
    with open(log, "wb") as file:
        process = subprocess.Popen([program, "serve", "-p", policy], stderr=file)
    try:
        while not listens():
            assert process.poll() is None, open(log, encoding="utf-8").read()
            time.sleep(0.01)
        took = time.monotonic() - began
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return took, int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024
    finally:
        process.terminate()
        process.wait()


def main():
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = {"none": POLICY}
        for form, line in FORMS.items():
            with open(os.path.join(folder, form), "w", encoding="ascii") as file:
                file.write("$TTL 60\n@ SOA a. b. 1 2 3 4 5\n" if form == "zone" else "")
                file.writelines(map(line.format, make_names(count)))
            rows[form] = f"{POLICY}[deny bench]\nlist = {form}\n"
        print("list    check: s  CPU s  peak MiB   serve: s to ready  MiB  peak MiB")
        for name, text in rows.items():
            policy = os.path.join(folder, name + ".ini")
            with open(policy, "w", encoding="ascii") as file:
                file.write(text)
            wall, cpu, peak = check(program, policy)
            ready, rss, high = serve(program, policy, folder)
            print(f"{name:8}{wall:8.2f}{cpu:7.2f}{peak:10.1f}{ready:21.2f}{rss:5.0f}{high:10.1f}")


main()
