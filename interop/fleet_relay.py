#!/usr/bin/env python3
"""Measures what a client costs that is connected to one node of a fleet, in a session of another.

    STENTOR_NATS_SERVER=$(interop/nats.sh) interop/fleet_relay.py [PATH OF stentor]

A scripted model says 20,000 deltas, one a millisecond and as fast as they are taken. They are read on the node that owns the session
and through a second node, in ACP, omp (deltas only) and synaps. Processor time is that of the node the client is connected to, per delta; besides it that of the owner.
"""
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

BINARY = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/stentor")
NATS = os.environ.get("STENTOR_NATS_SERVER", "nats-server")
DELTAS = 20_000


class Client:
    """A client of a node, over its socket."""

    def __init__(self, home, dialect, args, work):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(home, "s"))
        env = {"HOME": home, "PATH": os.environ["PATH"]}
        client = {"dialect": dialect, "args": args, "cwd": work, "env": env}
        self.send({"stentor": 1, "client": client})
        self.until(b'"served"')

    def send(self, frame):
        self.socket.sendall((json.dumps(frame) + "\n").encode())

    def until(self, text):
        size = 0
        tail = b""
        while text not in tail:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                sys.exit(f"the connection ended: {tail!r}")
            size += len(chunk)
            # A line at a time when it matters, the last bytes of a long answer otherwise.
            tail = (tail + chunk)[-max(len(chunk) + 200, 4096):]
        return tail, size


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(base, name, work, scenario):
    home = os.path.join(base, name)
    os.makedirs(os.path.join(home, ".config/stentor"))
    with open(os.path.join(home, ".config/stentor/config.toml"), "w") as config:
        config.write(f'''model = "script/{scenario}"
permission_mode = "all"
[fleet]
url = "nats://127.0.0.1:14322"
durability = "synced"
node = "{name}"
[fleet.places]
work = "{work}"
''')
    node = subprocess.Popen(
        [BINARY, "serve", "--socket", os.path.join(home, "s"), "--fleet"],
        stdout=subprocess.PIPE, env={"HOME": home, "PATH": os.environ["PATH"]},
    )
    node.stdout.readline()
    return home, node


def open_session(home, dialect, session, work):
    if dialect == "synaps":
        return Client(home, dialect, ["--continue", session], work)
    if dialect == "omp":
        client = Client(home, dialect, ["--session", session], work)
        client.send({"id": "f", "type": "set_event_filter", "events": None, "messageUpdates": "delta"})
        client.until(b'"id":"f"')
        return client
    client = Client(home, dialect, [], work)
    hello = {"protocolVersion": 1, "clientCapabilities": {}}
    client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    client.until(b'"id":1,')
    load = {"sessionId": session, "cwd": work, "mcpServers": []}
    client.send({"jsonrpc": "2.0", "id": 2, "method": "session/resume", "params": load})
    client.until(b'"id":2,')
    return client


def prompt(client, dialect, session, text):
    if dialect == "acp":
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        client.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params})
        return client.until(b'"id":3,')
    client.send({"id": "p", "type": "prompt", "message": text})
    return client.until(b'agent_settled' if dialect == "omp" else b'"type":"response"')


def main():
    with tempfile.TemporaryDirectory() as base:
        work = os.path.join(base, "work")
        os.makedirs(work)
        scenario = os.path.join(base, "scenario.toml")
        with open(scenario, "w") as file:
            file.write(f'''on_exhausted = "repeat-last"
[[turn]]
when = {{ last_user_contains = "hello" }}
text = "Hello."
[[turn]]
when = {{ last_user_contains = "slowly" }}
steps = [{{ text = "word {{{{n}}}} ", repeat = {DELTAS}, chunk_wait_ms = 1 }}]
[[turn]]
steps = [{{ text = "word {{{{n}}}} ", repeat = {DELTAS} }}]
''')
        nats = subprocess.Popen([NATS, "-a", "127.0.0.1", "-p", "14322", "-js", "-sd", f"{base}/js"], stderr=subprocess.DEVNULL)
        time.sleep(1)
        owner_home, owner = start(base, "owner", work, scenario)
        other_home, other = start(base, "other", work, scenario)
        try:
            print(f"{'dialect':>8} {'deltas':>8} {'through':>8} {'MB':>6} {'seconds':>8} {'µs a delta':>11} {'of the owner':>13}")
            places = (("owner", owner_home, owner), ("other", other_home, other))
            for dialect, speed in itertools.product(("acp", "omp", "synaps"), ("slowly", "at once")):
                for through, home, node in places:
                    first = Client(owner_home, "synaps", [], work)
                    tail, _ = first.until(b'"ready"')
                    session = json.loads(tail.splitlines()[-1])["session_id"]
                    prompt(first, "synaps", session, "hello")
                    time.sleep(3)
                    client = open_session(home, dialect, session, work)
                    before, before_owner = processor_seconds(node), processor_seconds(owner)
                    began = time.monotonic()
                    _, size = prompt(client, dialect, session, speed)
                    took = time.monotonic() - began
                    time.sleep(0.2)
                    cost = (processor_seconds(node) - before) / DELTAS * 1e6
                    of_owner = (processor_seconds(owner) - before_owner) / DELTAS * 1e6
                    print(f"{dialect:>8} {speed:>8} {through:>8} {size / 1e6:6.1f} {took:8.2f} {cost:11.1f} {of_owner:13.1f}", flush=True)
                    client.socket.close()
                    first.socket.close()
        finally:
            for process in (owner, other, nats):
                process.kill()


main()
