#!/usr/bin/env python3
"""Measures what a server costs.

    interop/serve_bench.py [--small] [PATH OF stentor] [PART…]

The parts are `start` (a relay next to a program of one's own, from its start to its first answer, and next to a
client that connects by itself), `frames` (a request and its answer through a relay and without one), `relay`
(what a long answer costs a relay), `clients` (100 clients on one session under 20,000 deltas, one of them
asleep), `sessions` (1,000 sessions live at once) and `replay` (a session of 100,000 messages is loaded).
Without names all of them run; with `--small` only a twentieth of everything, to see that they work. Processor
time is that of the process named; it hardly depends on what else the machine does, unlike the time on the clock.

What other agents took for 20,000 deltas to one client over stdio, on a quiet machine of two cores, is printed
beside `clients`.
"""
import json
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = [word for word in sys.argv[1:] if word != "--small"]
SCALE = 20 if "--small" in sys.argv else 1
BINARY = os.path.abspath(WORDS[0] if WORDS else "target/release/stentor")
PARTS = WORDS[1:] or ["start", "frames", "relay", "clients", "sessions", "replay"]
TICK = os.sysconf("SC_CLK_TCK")

# Processor time and memory of other agents for 20,000 deltas to one client.
FIELD = [("goose 1.52.0", 1800, 155), ("codex-acp 0.16", 1110, 114), ("opencode 1.18", 7320, 1128), ("pi 0.87.1", 710, 240)]


class World:
    """A home, a folder, a scripted model and a server."""

    def __init__(self, scenario, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name
        os.makedirs(f"{self.path}/.config/stentor")
        with open(f"{self.path}/scenario.toml", "w") as file:
            file.write(scenario)
        with open(f"{self.path}/.config/stentor/config.toml", "w") as file:
            file.write(f'model = "script/{self.path}/scenario.toml"\n')
            file.write(f'session_dir = "{self.path}/sessions"\nshare_sessions = false\n')
        self.env = {"HOME": self.path, "PATH": os.environ["PATH"]}
        self.socket = f"{self.path}/s"
        self.server = self.start("serve", "--socket", self.socket, *flags)
        self.server.stdout.readline()

    def start(self, *words):
        return subprocess.Popen([BINARY, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                cwd=self.path, env=self.env, bufsize=0)

    def client(self, dialect, *args):
        """A client without a process of its own."""
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(self.socket)
        hello = {"stentor": 1, "client": {"dialect": dialect, "args": args, "cwd": self.path, "env": self.env}}
        stream.sendall((json.dumps(hello) + "\n").encode())
        client = Client(stream)
        assert "served" in client.line(), "not served"
        return client

    def end(self):
        self.server.terminate()
        self.server.wait()
        self.folder.cleanup()


class Client:
    def __init__(self, stream):
        self.stream = stream
        self.rest = b""

    def send(self, frame):
        self.stream.sendall((json.dumps(frame) + "\n").encode())

    def line(self):
        while b"\n" not in self.rest:
            self.rest += self.stream.recv(1 << 20)
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, number, method, **params):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.answer(number)

    def answer(self, number):
        while True:
            frame = self.line()
            if frame.get("id") == number and "method" not in frame:
                return frame["result"]

    def omp(self, **command):
        self.send({"id": "x", **command})
        while True:
            frame = self.line()
            if frame.get("type") == "response" and frame.get("id") == "x":
                assert frame["success"], frame
                return frame["data"]

    def count(self, what, last):
        """How often something comes before the last."""
        number, tail = self.rest.count(what), self.rest
        while last not in tail:
            chunk = self.stream.recv(1 << 20)
            number += chunk.count(what)
            tail = (tail + chunk)[-5000:]
        return number

    def greet(self):
        self.ask(1, "initialize", protocolVersion=1, clientCapabilities={})


def memory_mb(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def text(prompt):
    return [{"type": "text", "text": prompt}]


def start():
    """Alternately, so that what else goes on meets both."""
    world = World('[[turn]]\ntext = "x"\n')
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}\n'
    took = {"relay": [], "direct": [], "socket": []}
    cpu = {"relay": [], "direct": []}
    for _ in range(100 // SCALE):
        begun = time.monotonic()
        client = world.client("acp")
        client.greet()
        took["socket"].append(time.monotonic() - begun)
        client.stream.close()
        for name, words in (("relay", ["acp", f"--attach={world.socket}"]), ("direct", ["acp"])):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begun = time.monotonic()
            child = world.start(*words)
            child.stdin.write(hello)
            child.stdout.readline()
            took[name].append(time.monotonic() - begun)
            child.stdin.close()
            child.wait()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    world.end()
    for name in took:
        processor = f", {statistics.mean(cpu[name]) * 1000:.1f} ms CPU" if name in cpu else " (no process of its own)"
        print(f"start to initialize, {name}: {statistics.median(took[name]) * 1000:.1f} ms, "
              f"best {min(took[name]) * 1000:.1f} ms{processor}")
    print(f"start: a relay takes {(min(took['relay']) - min(took['direct'])) * 1000:+.1f} ms compared with a program of "
          f"one's own, {(min(took['relay']) - min(took['socket'])) * 1000:+.1f} ms with a client that connects by itself (best)")


def frames(count=5000 // SCALE):
    """A request and its answer, alternately through a relay, to the server and to a program of one's own."""
    world = World('[[turn]]\ntext = "x"\n')
    words = ["--mode", "rpc", "--no-session"]
    children = {"relay": world.start(*words, f"--attach={world.socket}"), "direct": world.start(*words)}
    peers = {name: Client(PipePair(child)) for name, child in children.items()}
    peers["socket"] = world.client("omp", "--no-session")
    took = {name: [] for name in peers}
    before = cpu_s(children["relay"].pid)
    for _ in range(count):
        for name, peer in peers.items():
            begun = time.monotonic()
            peer.omp(type="get_state")
            took[name].append(time.monotonic() - begun)
    cpu = cpu_s(children["relay"].pid) - before
    middle = {name: statistics.median(times) * 1e6 for name, times in took.items()}
    print(f"a request and its answer: {middle['relay']:.0f} µs through a relay, {middle['socket']:.0f} µs over the socket, "
          f"{middle['direct']:.0f} µs with a program of one's own (median of {count}); "
          f"{cpu / count * 1e6:.0f} µs CPU of the relay for both")
    for child in children.values():
        child.stdin.close()
        child.wait()
    world.end()


def relay():
    for deltas in (20_000 // SCALE, 200_000 // SCALE):
        world = World(f'[[turn]]\ntext = "word {{{{n}}}} "\nrepeat = {deltas}\n')
        child = world.start("acp", f"--attach={world.socket}")
        client = Client(PipePair(child))
        client.greet()
        session = client.ask(2, "session/new", cwd=world.path, mcpServers=[])["sessionId"]
        before = cpu_s(child.pid)
        begun = time.monotonic()
        client.ask(3, "session/prompt", sessionId=session, prompt=text("go"))
        print(f"relay of {deltas} deltas: {time.monotonic() - begun:.2f} s, "
              f"{(cpu_s(child.pid) - before) * 1000:.0f} ms CPU and {memory_mb(child.pid, 'VmHWM'):.1f} MB of the relay")
        child.stdin.close()
        child.wait()
        world.end()


class PipePair:
    """A process as something to send to and receive from."""

    def __init__(self, child):
        self.child = child

    def sendall(self, data):
        self.child.stdin.write(data)

    def recv(self, most):
        return os.read(self.child.stdout.fileno(), most)


def clients(count=100 // SCALE, deltas=20_000 // SCALE):
    world = World(f'[[turn]]\ntext = "word {{{{n}}}} "\nrepeat = {deltas}\n')
    first = world.client("acp")
    first.greet()
    session = first.ask(2, "session/new", cwd=world.path, mcpServers=[])["sessionId"]
    others = []
    for _ in range(1, count):
        other = world.client("acp")
        other.greet()
        other.ask(2, "session/load", sessionId=session, cwd=world.path, mcpServers=[])
        others.append(other)
    asleep = others.pop()
    pid = world.server.pid
    idle, threads = memory_mb(pid), len(os.listdir(f"/proc/{pid}/task"))
    before, begun = cpu_s(pid), time.monotonic()
    first.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt",
                "params": {"sessionId": session, "prompt": text("go")}})
    last = f"word {deltas} ".encode()
    selector = selectors.DefaultSelector()
    tails = {}
    for one in [first, *others]:
        one.stream.setblocking(False)
        selector.register(one.stream, selectors.EVENT_READ)
        tails[one.stream] = b""
    while tails:
        for key, _ in selector.select():
            stream = key.fileobj
            tail = tails[stream] + stream.recv(1 << 20)
            tails[stream] = tail[-100:]
            if last in tail:
                selector.unregister(stream)
                del tails[stream]
    cpu, took = cpu_s(pid) - before, time.monotonic() - begun
    print(f"{count} clients, {deltas} deltas, one asleep: {took:.2f} s, {cpu * 1000 / count:.1f} ms CPU a client, "
          f"memory {idle:.1f} MB before, {memory_mb(pid, 'VmHWM'):.1f} MB at most, {threads} threads")
    for name, cpu_ms, memory in FIELD:
        print(f"  for comparison, {name} with one client: {cpu_ms} ms CPU, {memory} MB")
    del asleep
    world.end()


def sessions(count=1000 // SCALE):
    world = World('[[turn]]\nwhen = { last_user_contains = "x" }\ntext = "Said."\n', "--max-connections", str(count + 10))
    pid = world.server.pid
    idle = memory_mb(pid)
    before, begun = cpu_s(pid), time.monotonic()
    open_clients = []
    for _ in range(count):
        one = world.client("acp")
        one.greet()
        session = one.ask(2, "session/new", cwd=world.path, mcpServers=[])["sessionId"]
        one.ask(3, "session/prompt", sessionId=session, prompt=text("x"))
        open_clients.append(one)
    took, cpu, full = time.monotonic() - begun, cpu_s(pid) - before, memory_mb(pid)
    again = time.monotonic()
    cpu_again = cpu_s(pid)
    status = subprocess.run([BINARY, "serve", "status", "--json", "--socket", world.socket], env=world.env,
                            cwd=world.path, capture_output=True, check=True)
    live = len(json.loads(status.stdout)["sessions"])
    threads = len(os.listdir(f"/proc/{pid}/task"))
    files = len(os.listdir(f"/proc/{pid}/fd"))
    print(f"{live} sessions live, each with a client and an answer: {full:.0f} MB, {(full - idle) * 1024 / count:.0f} kB each "
          f"({idle:.1f} MB before); {took / count * 1000:.1f} ms and {cpu / count * 1000:.1f} ms CPU each; "
          f"{threads} threads, {files} descriptors; status in {(time.monotonic() - again) * 1000:.0f} ms")
    del open_clients, cpu_again
    world.end()


def replay(count=100_000 // SCALE):
    world = World('[[turn]]\ntext = "x"\n')
    one = world.client("acp")
    one.greet()
    session = one.ask(2, "session/new", cwd=world.path, mcpServers=[])["sessionId"]
    one.ask(3, "session/prompt", sessionId=session, prompt=text("begin"))
    one.stream.close()
    world.server.terminate()
    world.server.wait()
    folder = f"{world.path}/sessions"
    name = next(name for name in os.listdir(folder) if name.endswith(f"{session}.jsonl"))
    with open(f"{folder}/{name}") as file:
        lines = file.read().splitlines()
    user, answer = (next(json.loads(line) for line in lines if f'"role":"{role}"' in line) for role in ("user", "assistant"))
    parent = json.loads(lines[-1])["id"]
    with open(f"{folder}/{name}", "a") as file:
        for n in range(count):
            entry = dict(answer if n % 2 else user, id=f"{n:08x}", parentId=parent)
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
            parent = entry["id"]
    world.server = world.start("serve", "--socket", world.socket)
    world.server.stdout.readline()
    pid = world.server.pid
    idle = memory_mb(pid)
    keeps = []
    for what, dialect, args in (("ACP's session/load, from disk", "acp", []),
                                ("ACP's session/load, live already", "acp", []),
                                ("omp's get_messages_page, page by page", "omp", ["--session", session]),
                                ("omp's get_entries since the last but 100", "omp", ["--session", session]),
                                ("the page", "page", [])):
        before, begun = cpu_s(pid), time.monotonic()
        one = world.client(dialect, *args)
        keeps.append(one)
        if dialect == "acp":
            one.greet()
            one.send({"jsonrpc": "2.0", "id": 2, "method": "session/load",
                      "params": {"sessionId": session, "cwd": world.path, "mcpServers": []}})
            found = one.count(b'"session/update"', b'"id":2')
        elif dialect == "page":
            one.send({"do": "open", "session": session})
            found = one.count(b"<article", b'"id":"sessions"')
        elif "since" in what:
            since = f"{count - 101:08x}"
            found = len(one.omp(type="get_entries", since=since)["entries"])
        else:
            found, page = 0, {}
            while True:
                page = one.omp(type="get_messages_page", **page)
                found += len(page["messages"])
                if "nextCursor" not in page:
                    break
                page = {"cursor": page["nextCursor"]}
        print(f"{count} messages, {what}: {found} in {time.monotonic() - begun:.2f} s, {cpu_s(pid) - before:.2f} s CPU, "
              f"memory {idle:.1f} MB before, {memory_mb(pid, 'VmHWM'):.1f} MB at most")
    world.end()


for part in PARTS:
    {"start": start, "frames": frames, "relay": relay, "clients": clients, "sessions": sessions, "replay": replay}[part]()
