#!/usr/bin/env python3
"""Measures what a fleet costs, with real NATS servers.

    STENTOR_NATS_SERVER=$(interop/nats.sh) interop/fleet_bench.py [--small] [--with PATH] [--without PATH] [PART…]

The parts:

    append     an acknowledged append (p50, p99) and taking over 1,000 entries, for each way of running the servers
    relay      20,000 deltas read on the node that owns the session, through a second node, and without a fleet
    turns      short turns on a server without a fleet, on the node that owns the session, and through a second node
    takeover   how long a client is without its session when the node is killed, stops or moves it
    sessions   1,000 sessions on three nodes with one server and with three: memory, processor time, replication
    size       the size of the program, and its start, with the fleet and without

Without names all of them run; `--small` does a twentieth of everything, to see that they work. `--with` is a program
that has the fleet and `--without` one that has not; without these flags both are built as releases, which takes long
once. Processor time is that of the process named; it hardly depends on what else the machine does, unlike the time
on the clock.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

NATS = os.environ.get("STENTOR_NATS_SERVER", "nats-server")
TICK = os.sysconf("SC_CLK_TCK")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--small", action="store_true")
parser.add_argument("--with", dest="with_fleet")
parser.add_argument("--without", dest="without_fleet")
parser.add_argument("parts", nargs="*", metavar="PART")
OPTIONS = parser.parse_args()
SCALE = 20 if OPTIONS.small else 1
DELTAS = 20_000 // SCALE


def scenario(path):
    with open(path, "w") as file:
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


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb(pid, what="RssAnon"):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(f"{what}:")) / 1024


class Servers:
    """One NATS server, or a cluster of three, that sync each write."""

    def __init__(self, base, count=1):
        self.processes, self.monitors, urls = [], [], []
        ports = [free_ports(3) for _ in range(count)]
        routes = ", ".join(f'"nats://127.0.0.1:{cluster}"' for _, _, cluster in ports)
        for number, (client, monitor, cluster) in enumerate(ports):
            config = f"{base}/nats-{number}.conf"
            with open(config, "w") as file:
                file.write(f'server_name: n{number}\nlisten: "127.0.0.1:{client}"\nhttp: "127.0.0.1:{monitor}"\n'
                           f'jetstream {{ store_dir: "{base}/js-{number}", sync_interval: always }}\n')
                if count > 1:
                    file.write(f'cluster {{ name: bench, listen: "127.0.0.1:{cluster}", routes: [{routes}] }}\n')
            self.processes.append(subprocess.Popen([NATS, "-c", config], stderr=subprocess.DEVNULL))
            urls.append(f"nats://127.0.0.1:{client}")
            self.monitors.append(f"http://127.0.0.1:{monitor}")
        self.url, self.replicas = ",".join(urls), count
        for monitor in self.monitors:
            until(lambda at=monitor: self.ask(at, "healthz") is not None)
        if count > 1:
            until(lambda: (self.ask(self.monitors[0], "jsz") or {}).get("meta_cluster", {}).get("leader"))

    @staticmethod
    def ask(monitor, what):
        try:
            with urllib.request.urlopen(f"{monitor}/{what}", timeout=2) as answer:
                return json.load(answer)
        except OSError:
            return None

    def memory(self):
        return [memory_mb(process.pid) for process in self.processes]

    def cpu(self):
        return sum(cpu_s(process.pid) for process in self.processes)

    def route_bytes(self):
        """What the servers have sent to each other."""
        routes = [route for at in self.monitors for route in (self.ask(at, "routez") or {}).get("routes") or []]
        return sum(route.get("out_bytes", 0) for route in routes)

    def stored(self):
        """Messages and bytes in all streams of the server that stores most."""
        stored = [self.ask(at, "jsz") or {} for at in self.monitors]
        return max((one.get("messages", 0), one.get("bytes", 0)) for one in stored)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Node:
    """A server, as a node of a fleet if there are NATS servers."""

    def __init__(self, base, name, work, servers, more="", flags=()):
        self.home, self.work, self.env = os.path.join(base, name), work, {"PATH": os.environ["PATH"]}
        self.env["HOME"] = self.home
        os.makedirs(os.path.join(self.home, ".config/stentor"), exist_ok=True)
        scenario(os.path.join(base, "scenario.toml"))
        with open(os.path.join(self.home, ".config/stentor/config.toml"), "w") as config:
            config.write(f'model = "script/{base}/scenario.toml"\npermission_mode = "all"\nshare_sessions = false\n')
            if servers:
                config.write(f'[fleet]\nurl = "{servers.url}"\nmonitor = "{",".join(servers.monitors)}"\n'
                             f'replicas = {servers.replicas}\nnode = "{name}"\ncapacity = 100000\n{more}\n'
                             f'[fleet.places]\nwork = "{work}"\n')
        words = [WITH, "serve", "--socket", os.path.join(self.home, "s"), *flags]
        self.process = subprocess.Popen(words + (["--fleet"] if servers else []), stdout=subprocess.PIPE, env=self.env)
        self.process.stdout.readline()

    def cpu(self):
        return cpu_s(self.process.pid)

    def memory(self):
        return memory_mb(self.process.pid)

    def ask(self, *words):
        said = subprocess.run([WITH, *words], env=self.env, cwd=self.work, capture_output=True, check=True)
        return said.stdout

    def end(self):
        self.process.kill()
        self.process.wait()


class Client:
    """A client of a node, over its socket."""

    def __init__(self, node, dialect, *args):
        self.work, self.dialect, self.read = node.work, dialect, b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(node.home, "s"))
        client = {"dialect": dialect, "args": list(args), "cwd": node.work, "env": node.env}
        self.send({"stentor": 1, "client": client})
        self.until(b'"served"')
        if dialect == "acp":
            self.call(1, "initialize", protocolVersion=1, clientCapabilities={})

    def send(self, frame):
        self.socket.sendall((json.dumps(frame) + "\n").encode())

    def until(self, text):
        """The first line with a text, and the bytes up to it."""
        size = 0
        while True:
            at = self.read.find(text)
            end = self.read.find(b"\n", at) if at >= 0 else -1
            if end >= 0:
                begin = self.read.rfind(b"\n", 0, at) + 1
                line, size = self.read[begin:end], size + end + 1
                self.read = self.read[end + 1:]
                return line, size
            kept = self.read.rfind(b"\n") + 1
            if at < 0 and kept:
                size += kept
                self.read = self.read[kept:]
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                sys.exit(f"the connection ended: {self.read!r}")
            self.read += chunk

    def call(self, number, method, **params):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        line, size = self.until(b'"id":%d,' % number)
        answer = json.loads(line)
        if "error" in answer:
            sys.exit(f"{method}: {answer}")
        return answer["result"], size

    def new_session(self):
        return self.call(2, "session/new", cwd=self.work, mcpServers=[])[0]["sessionId"]

    def prompt(self, session, text):
        if self.dialect == "acp":
            return self.call(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])[1]
        self.send({"id": "p", "type": "prompt", "message": text})
        return self.until(b"agent_settled" if self.dialect == "omp" else b'"type":"response"')[1]

    def end(self):
        self.socket.close()


def in_session(node, dialect, session):
    """A client in a session that exists."""
    if dialect == "synaps":
        return Client(node, dialect, "--continue", session)
    if dialect == "omp":
        client = Client(node, dialect, "--session", session)
        client.send({"id": "f", "type": "set_event_filter", "events": None, "messageUpdates": "delta"})
        client.until(b'"id":"f"')
        return client
    client = Client(node, dialect)
    client.call(2, "session/resume", sessionId=session, cwd=node.work, mcpServers=[])
    return client


def begun(node):
    """A session with something in it, and its client."""
    client = Client(node, "acp")
    session = client.new_session()
    client.prompt(session, "hello")
    return session, client


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            sys.exit("it takes too long")
        time.sleep(0.02)


def percentiles(times):
    times = sorted(times)
    at = lambda percent: times[(len(times) - 1) * percent // 100] * 1000
    return f"p50 {at(50):.2f} ms, p99 {at(99):.2f} ms"


class World:
    """A folder, NATS servers and nodes."""

    def __init__(self, servers=1):
        self.folder = tempfile.TemporaryDirectory()
        self.base = self.folder.name
        self.work = os.path.join(self.base, "work")
        os.makedirs(self.work)
        self.servers = Servers(self.base, servers)
        self.nodes = []

    def node(self, name, more="", flags=(), in_fleet=True):
        node = Node(self.base, name, self.work, self.servers if in_fleet else None, more, flags)
        self.nodes.append(node)
        return node

    def know(self):
        """Waits until all nodes know each other."""
        names = {os.path.basename(node.home) for node in self.nodes}
        asked = lambda: {one["name"] for one in json.loads(self.nodes[0].ask("fleet", "status", "--json"))["nodes"]}
        until(lambda: asked() == names)
        time.sleep(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.end()
        self.servers.end()
        self.folder.cleanup()


def append():
    if OPTIONS.small:
        return print("left out with --small: `cargo bench -p stentor-fleet --bench journal` builds a release")
    subprocess.run(["cargo", "bench", "-p", "stentor-fleet", "--bench", "journal"], cwd=ROOT, check=True,
                   env={**os.environ, "STENTOR_NATS_SERVER": NATS})


def relay():
    print(f"{'dialect':>8} {'deltas':>8} {'through':>9} {'MB':>6} {'seconds':>8} {'µs a delta':>11} {'of the owner':>13} {'of NATS':>8}")
    with World() as world:
        owner, other, alone = world.node("owner"), world.node("other"), world.node("alone", in_fleet=False)
        time.sleep(1)
        for dialect in ("acp", "omp", "synaps"):
            for speed in ("slowly", "at once"):
                for name, node in (("no fleet", alone), ("owner", owner), ("other", other)):
                    session, first = begun(alone if node is alone else owner)
                    time.sleep(1)
                    client = in_session(node, dialect, session)
                    first.end()
                    before = node.cpu(), owner.cpu(), world.servers.cpu()
                    began = time.monotonic()
                    size = client.prompt(session, speed)
                    took = time.monotonic() - began
                    time.sleep(0.2)
                    after = node.cpu(), owner.cpu(), world.servers.cpu()
                    costs = [(now - then) / DELTAS * 1e6 for now, then in zip(after, before)]
                    print(f"{dialect:>8} {speed:>8} {name:>9} {size / 1e6:6.1f} {took:8.2f} {costs[0]:11.1f} "
                          f"{costs[1]:13.1f} {costs[2]:8.1f}", flush=True)
                    client.end()


def turns():
    count = 1000 // SCALE
    with World() as world:
        owner, other, alone = world.node("owner"), world.node("other"), world.node("alone", in_fleet=False)
        time.sleep(1)
        for name, node in (("a server without a fleet", alone), ("the owner", owner), ("through a second node", other)):
            session, first = begun(alone if node is alone else owner)
            time.sleep(1)
            client = in_session(node, "acp", session)
            owns = alone if node is alone else owner
            before, before_owner = node.cpu(), owns.cpu()
            times = []
            for _ in range(count):
                began = time.monotonic()
                client.prompt(session, "hello")
                times.append(time.monotonic() - began)
            cpu, cpu_owner = node.cpu() - before, owns.cpu() - before_owner
            print(f"{count} short turns, {name}: {percentiles(times)}; {cpu / count * 1000:.2f} ms CPU of its node, "
                  f"{cpu_owner / count * 1000:.2f} ms of the owner", flush=True)
            client.end()
            first.end()


def takeover():
    lease = 15 if SCALE == 1 else 3
    times = {"killed": [], "stopped": [], "moved": []}
    for count in range(3 if SCALE == 1 else 1):
        for how in times:
            with World() as world:
                owner = world.node("owner", f"lease_seconds = {lease}")
                world.node("other", f"lease_seconds = {lease}")
                world.know()
                session, first = begun(owner)
                first.end()
                until(lambda: session.encode() in world.nodes[1].ask("fleet", "sessions"))
                client = in_session(world.nodes[1], "omp", session)
                began = time.monotonic()
                if how == "killed":
                    owner.process.kill()
                elif how == "stopped":
                    owner.process.send_signal(signal.SIGTERM)
                else:
                    owner.ask("fleet", "move", session, "other")
                client.until(b"the node owner")
                client.send({"id": "g", "type": "get_state"})
                client.until(b'"id":"g"')
                times[how].append(time.monotonic() - began)
                client.end()
    for how, took in times.items():
        took = ", ".join(f"{one:.2f}" for one in took)
        print(f"the node is {how}: its client at another node has the session again after {took} s (lease {lease} s)")


def sessions():
    count = 1000 // SCALE
    for servers in (1, 3):
        with World(servers) as world:
            flags = ("--max-connections", str(count + 10))
            for name in ("one", "two", "three"):
                world.node(name, flags=flags)
            world.know()
            idle_nodes, idle_servers = [node.memory() for node in world.nodes], world.servers.memory()
            before, before_servers = sum(node.cpu() for node in world.nodes), world.servers.cpu()
            routed, (messages, stored) = world.servers.route_bytes(), world.servers.stored()
            began = time.monotonic()
            clients = []
            for number in range(count):
                clients.append(begun(world.nodes[number % 3])[1])
            took = time.monotonic() - began
            cpu = sum(node.cpu() for node in world.nodes) - before
            cpu_servers = world.servers.cpu() - before_servers
            time.sleep(2)
            routed_now, (messages_now, stored_now) = world.servers.route_bytes(), world.servers.stored()
            nodes = [now - then for now, then in zip((node.memory() for node in world.nodes), idle_nodes)]
            server_memory = world.servers.memory()
            grown = sum(server_memory) - sum(idle_servers)
            messages_now, stored_now = messages_now - messages, stored_now - stored
            print(f"{count} sessions on three nodes with {servers} server(s), each with a client and an answer, made in {took:.1f} s:")
            print(f"  nodes: {sum(nodes) * 1024 / count:.0f} kB a session, {cpu / count * 1000:.1f} ms CPU a session; "
                  f"{', '.join(f'{one:.0f}' for one in idle_nodes)} MB before, {', '.join(f'{node.memory():.0f}' for node in world.nodes)} MB after")
            print(f"  servers: {', '.join(f'{one:.0f}' for one in idle_servers)} MB before, {', '.join(f'{one:.0f}' for one in server_memory)} MB after: "
                  f"{grown * 1024 / count / servers:.1f} kB a session on each; {cpu_servers / count * 1000:.1f} ms CPU a session of all")
            print(f"  stored: {messages_now / count:.1f} messages and {stored_now / count / 1024:.1f} kB a session on each server")
            if servers > 1:
                sent = routed_now - routed
                print(f"  between the servers: {sent / count / 1024:.1f} kB a session, {sent / max(stored_now, 1):.1f} bytes for each that is stored, "
                      f"{sent / max(messages_now, 1):.0f} bytes a write")
            before, before_servers, routed = sum(node.cpu() for node in world.nodes), world.servers.cpu(), world.servers.route_bytes()
            rest = 30 if SCALE == 1 else 5
            time.sleep(rest)
            cpu, cpu_servers = sum(node.cpu() for node in world.nodes) - before, world.servers.cpu() - before_servers
            print(f"  at rest: {cpu / rest * 1000:.1f} ms CPU a second of all nodes, {cpu_servers / rest * 1000:.1f} ms of all servers, "
                  f"{(world.servers.route_bytes() - routed) / rest / 1024:.1f} kB/s between the servers", flush=True)
            for client in clients:
                client.end()


def size():
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ["PATH"]}
        scenario(f"{home}/scenario.toml")
        times = {WITH: [], WITHOUT: []}
        cpu = {WITH: [], WITHOUT: []}
        for _ in range(200 // SCALE):
            for binary in times:
                # From its start to its first frame, and its processor time.
                before = os.times()
                began = time.monotonic()
                words = [binary, "--mode", "rpc", "--model", f"script/{home}/scenario.toml"]
                process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=home)
                process.stdout.readline()
                times[binary].append(time.monotonic() - began)
                process.communicate()
                after = os.times()
                cpu[binary].append(after.children_user + after.children_system - before.children_user - before.children_system)
        for name, binary in (("without the fleet", WITHOUT), ("with the fleet", WITH)):
            bytes_ = os.path.getsize(binary)
            print(f"{name}: {bytes_ / 1e6:.2f} MB ({bytes_} bytes); first frame after {statistics.median(times[binary]) * 1000:.2f} ms "
                  f"(median of {len(times[binary])}), {statistics.mean(cpu[binary]) * 1000:.2f} ms CPU a start")
        print(f"the fleet adds {(os.path.getsize(WITH) - os.path.getsize(WITHOUT)) / 1e6:.2f} MB and "
              f"{(statistics.median(times[WITH]) - statistics.median(times[WITHOUT])) * 1000:.2f} ms")


def built(features):
    """A release with or without the fleet."""
    subprocess.run(["cargo", "build", "--release", "-p", "stentor", *features], cwd=ROOT, check=True)
    copy = os.path.join(ROOT, "target/release", f"stentor-{'with' if features else 'without'}-fleet")
    shutil.copy(os.path.join(ROOT, "target/release/stentor"), copy)
    return copy


ALL = {"append": append, "relay": relay, "turns": turns, "takeover": takeover, "sessions": sessions, "size": size}
PARTS = OPTIONS.parts or list(ALL)
if unknown := [part for part in PARTS if part not in ALL]:
    parser.error(f"there is no part {unknown[0]}; there are: {', '.join(ALL)}")
WITHOUT = (OPTIONS.without_fleet or built([])) if "size" in PARTS else None
WITH = OPTIONS.with_fleet or built(["--features", "fleet"])
WITH, WITHOUT = os.path.abspath(WITH), WITHOUT and os.path.abspath(WITHOUT)
for part in PARTS:
    print(f"\n{part}", flush=True)
    ALL[part]()
