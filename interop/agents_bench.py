#!/usr/bin/env python3
"""Measures what another agent costs in a session, beyond what it costs itself.

    interop/agents_bench.py [--small] [PATH OF stentor] [PART…]

The parts are `start` (a session's first prompt, for which its agent is started, next to the same agent driven
directly), `delta` (what the program takes for each delta that it relays, in processor time, which hardly depends on
what else the machine does, and in wall time, which does) and `memory` (what a session takes more with its agent
running: in the program, and in the process that supervises the agent). Without names all of them run; with `--small`
a part of everything, to see that they work. The agent is a script of a shell that speaks ACP and has no model.

Prints a table for docs/agents.md: of which build and day, and for each number whether it is CPU time (of the program
alone), wall time (with the agent and the client) or memory.
"""
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

WORDS = [word for word in sys.argv[1:] if word != "--small"]
SMALL = "--small" in sys.argv
BINARY = os.path.abspath(WORDS[0] if WORDS else "target/release/stentor")
PARTS = WORDS[1:] or ["start", "delta", "memory"]
STARTS = 5 if SMALL else 40
DELTAS = 5_000 if SMALL else 200_000
SESSIONS = 5 if SMALL else 28
TICK = os.sysconf("SC_CLK_TCK")

DELTA = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {
    "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "word "}}}}

AGENT = """
say() { printf '%s\\n' "$1"; }
IFS= read -r line; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
IFS= read -r line; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
id=3
while IFS= read -r line; do
    case "$line" in *long*) cat "$HOME/deltas";; esac
    say "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$id,\\"result\\":{\\"stopReason\\":\\"end_turn\\"}}"
    id=$((id + 1))
done
"""


class Peer:
    """A program that speaks ACP."""

    def __init__(self, command, home):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home,
                                        env={"HOME": home, "PATH": os.environ["PATH"]}, bufsize=1 << 20)
        self.last = 0

    def ask(self, method, **params):
        self.last += 1
        frame = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.process.stdin.write((json.dumps(frame) + "\n").encode())
        self.process.stdin.flush()
        mark = f'"id":{self.last},'.encode()
        for line in self.process.stdout:
            if mark in line and b'"method"' not in line:
                return json.loads(line).get("result")
        raise EOFError(method)

    def session(self, home):
        return self.ask("session/new", cwd=home, mcpServers=[])["sessionId"]

    def prompt(self, session, text):
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def hello(self):
        self.ask("initialize", protocolVersion=1)
        return self

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private"))


def descendants(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            yield from (int(child) for child in file.read().split())


def start(home, command):
    direct, ours, later = [], [], []
    for _ in range(STARTS):
        begun = time.perf_counter()
        agent = Peer(["sh", f"{home}/agent.sh"], home).hello()
        agent.prompt(agent.session(home), "Go on.")
        direct.append(time.perf_counter() - begun)
        agent.end()
    program = Peer(command, home).hello()
    for _ in range(STARTS):
        session = program.session(home)
        begun = time.perf_counter()
        program.prompt(session, "Go on.")
        ours.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        program.prompt(session, "Go on.")
        later.append(time.perf_counter() - begun)
        program.ask("session/close", sessionId=session)
    program.end()
    best = [1000 * min(times) for times in (direct, ours, later)]
    yield "the agent driven directly: start and first prompt", f"{best[0]:.2f} ms", "wall"
    yield "the first prompt in a session, with the start of the agent", f"{best[1]:.2f} ms", "wall"
    yield "the same beyond the agent's own", f"{best[1] - best[0]:.2f} ms", "wall"
    yield "each further prompt", f"{best[2]:.2f} ms", "wall"


def delta(home, command):
    with open(f"{home}/deltas", "w") as file:
        file.write((json.dumps(DELTA, separators=(",", ":")) + "\n") * DELTAS)
    times, walls = [], []
    for _ in range(5):
        program = Peer(command, home).hello()
        session = program.session(home)
        program.prompt(session, "Go on.")
        before, begun = processor_time(program.process.pid), time.perf_counter()
        program.prompt(session, "A long one.")
        walls.append(time.perf_counter() - begun)
        times.append(processor_time(program.process.pid) - before)
        program.end()
    what = "a delta, from the agent's pipe to the client's"
    yield what, f"{1e6 * min(times) / DELTAS:.2f} µs", "CPU"
    yield f"{what}, which reads as it comes", f"{1e6 * min(walls) / DELTAS:.2f} µs", "wall"


def memory(home, command):
    def each(command):
        """What each session takes that has answered a prompt, and each process below the program."""
        program = Peer(command, home).hello()
        pid = program.process.pid
        for number in range(SESSIONS + 2):
            program.prompt(program.session(home), "Go on.")
            if number == 1:
                before = private_kb(pid)
        after, below = private_kb(pid), [private_kb(child) for child in descendants(pid)]
        program.end()
        return (after - before) / SESSIONS, sum(below) / max(1, len(below))

    with open(f"{home}/scenario.toml", "w") as file:
        file.write('on_exhausted = "repeat-last"\n[[turn]]\ntext = "Yes."\n')
    scripted = [BINARY, "acp", "--model", f"script/{home}/scenario.toml"]
    pairs = [(each(command), each(scripted)[0]) for _ in range(3)]
    (ours, supervisor), without = min(pairs)
    yield "a session with its agent, in the program", f"{ours:.0f} KB", "memory"
    yield "a session with a scripted model", f"{without:.0f} KB", "memory"
    yield "the process that supervises the agent", f"{supervisor:.0f} KB", "memory"


def printed(*command):
    """What a command prints on its first line; nothing if there is no such command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=os.path.dirname(os.path.abspath(__file__)))
    except OSError:
        return ""
    return done.stdout.split("\n", 1)[0].strip()


def heading():
    """Which build was measured, when and where."""
    built = datetime.date.fromtimestamp(os.path.getmtime(BINARY))
    profile = os.path.basename(os.path.dirname(BINARY))
    tree = printed("git", "describe", "--always", "--dirty")
    size = "a part of everything, only to see that it works" if SMALL else f"best of {STARTS} starts, of 5 and of 3 runs"
    return (f"Measured on {datetime.date.today()}: {printed(BINARY, '--version')}, `{profile}` build of {built}, "
            f"tree {tree or 'unknown'}, {len(os.sched_getaffinity(0))} cores; {size}.")


def main():
    with tempfile.TemporaryDirectory() as home:
        os.makedirs(f"{home}/.config/stentor")
        with open(f"{home}/agent.sh", "w") as file:
            file.write(AGENT)
        with open(f"{home}/.config/stentor/config.toml", "w") as file:
            file.write(f'[agents.script]\ncommand = ["sh", "{home}/agent.sh"]\ndialect = "acp"\n'
                       f'[agents.script.env]\nHOME = "{home}"\n')
        command = [BINARY, "acp", "--model", "agent/script"]
        print(heading(), end="\n\n")
        print("| | | measured as |\n|---|---|---|")
        for part in PARTS:
            for row in {"start": start, "delta": delta, "memory": memory}[part](home, command):
                print(f"| {' | '.join(row)} |", flush=True)


main()
