#!/usr/bin/env python3
"""Measures what relaying a long answer costs in the omp dialect.

    interop/relay.py [PATH OF stentor]

A scripted model says 2,000, 20,000 and 200,000 deltas as fast as they are taken. For each, with
full snapshots and with deltas only, to a reader that reads at once and to one that sleeps two
seconds first: frames and bytes on the pipe, processor time and peak memory of the child.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

BINARY = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/stentor")


def relay(deltas, updates, sleep, wait_ms=0):
    with tempfile.TemporaryDirectory() as home:
        scenario = os.path.join(home, "scenario.toml")
        with open(scenario, "w") as file:
            pause = f", chunk_wait_ms = {wait_ms}" if wait_ms else ""
            file.write(f'[[turn]]\nsteps = [{{ text = "word {{{{n}}}} ", repeat = {deltas}{pause} }}]\n')
        child = subprocess.Popen(
            [BINARY, "--mode", "rpc", "--no-session", "--model", f"script/{scenario}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home,
            env={"HOME": home, "PATH": os.environ["PATH"]}, bufsize=0,
        )
        send = lambda frame: child.stdin.write((json.dumps(frame) + "\n").encode())
        send({"type": "set_event_filter", "events": None, "messageUpdates": updates})
        start = time.monotonic()
        send({"type": "prompt", "message": "go"})
        time.sleep(sleep)
        size = lines = 0
        peak = 0
        tail = b""
        while b'"type":"agent_settled"' not in tail:
            chunk = os.read(child.stdout.fileno(), 1 << 20)
            if not chunk:
                break
            size += len(chunk)
            lines += chunk.count(b"\n")
            tail = (tail + chunk)[-200:]
        took = time.monotonic() - start - sleep
        with open(f"/proc/{child.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        with open(f"/proc/{child.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        child.stdin.close()
        child.wait()
        return lines, size, took, cpu, peak / 1024


print(f"{'deltas':>8} {'updates':>8} {'reader':>8} {'frames':>7} {'MB':>9} {'seconds':>8} {'cpu s':>6} {'peak MB':>8}")
for deltas in (2_000, 20_000, 200_000):
    for updates in ("full", "delta"):
        for sleep in (0, 2):
            lines, size, took, cpu, peak = relay(deltas, updates, sleep)
            reader = "sleeps" if sleep else "reads"
            print(f"{deltas:>8} {updates:>8} {reader:>8} {lines:>7} {size / 1e6:>9.1f} {took:>8.2f} {cpu:>6.2f} {peak:>8.1f}", flush=True)
print("\n20,000 deltas that come one by one, a millisecond apart:")
lines, size, took, cpu, peak = relay(20_000, "full", 0, wait_ms=1)
print(f"{20_000:>8} {'full':>8} {'reads':>8} {lines:>7} {size / 1e6:>9.1f} {took:>8.2f} {cpu:>6.2f} {peak:>8.1f}")
