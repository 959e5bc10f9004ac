#!/usr/bin/env python3
"""Measures what memory the program takes, and what of it goes back.

    interop/memory.py [PATH OF stentor] [start] [answer] [sessions]

start: spawn to the first frame and memory at rest, in each dialect: all of it, and what is not the program's file.
answer: memory before, at the peak of and after one answer of 10 MB, in each dialect; the peak also as a multiple of
    the answer. An answer of 1 MB comes first: what a first long answer brings into memory is not counted.
sessions: 700 sessions of one ACP agent: memory with all of them open, and when they are closed.
"""
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time

words = sys.argv[1:]
BINARY = os.path.abspath(words.pop(0) if words and "/" in words[0] else "target/release/stentor")
ANSWER_MB = 10  # of 2^20 bytes, as all MB here
SESSIONS = 700
STARTS = 200


class Program:
    """A child in a home of its own, whose output is looked through for what ends a wait."""

    def __init__(self, arguments, scenario):
        self.home = tempfile.TemporaryDirectory()
        home = self.home.name
        plan = os.path.join(home, "plan.toml")
        with open(plan, "w") as file:
            file.write(scenario)
        self.begun = time.perf_counter()
        self.child = subprocess.Popen(
            [BINARY, *arguments, "--model", f"script/{plan}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, bufsize=0,
            env={"HOME": home, "PATH": os.environ["PATH"]},
        )
        self.read = b""

    def send(self, line):
        self.child.stdin.write(line.encode() + b"\n")

    def more(self):
        chunk = os.read(self.child.stdout.fileno(), 1 << 20)
        if not chunk:
            raise EOFError(self.read[-1000:])
        return chunk

    def until(self, mark):
        """Reads on to the end of the next `mark`."""
        while mark not in self.read:
            self.read = self.read[-len(mark):] + self.more()
        self.read = self.read[self.read.index(mark) + len(mark):]

    def take(self, count):
        """The next bytes."""
        while len(self.read) < count:
            self.read += self.more()
        return self.read[:count].decode()

    def memory(self, name):
        with open(f"/proc/{self.child.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024

    def at_rest(self):
        """Resident memory once everything is read and nothing is going on any more."""
        self.read = b""
        while select.select([self.child.stdout], [], [], 0.5)[0]:
            self.more()
        return self.memory("VmRSS")

    def end(self):
        self.child.stdin.close()
        while os.read(self.child.stdout.fileno(), 1 << 20):
            pass
        self.child.wait()
        self.home.cleanup()


def acp(program, number, method, params):
    program.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))


def new_session(program, number):
    acp(program, number, "session/new", {"cwd": program.home.name, "mcpServers": []})
    # Notifications name sessions, too.
    program.until(b'"id":%d,"result"' % number)
    program.until(b'"sessionId":"')
    return program.take(36)


def psi(program, number, operation, params):
    program.send(f'{{:id "{number}" :kind :request :op "{operation}" :params {params}}}')


def start_omp(scenario):
    program = Program(["--mode", "rpc"], scenario)
    program.until(b'"ready"')
    return program


def start_synaps(scenario):
    program = Program(["rpc"], scenario)
    program.until(b'"ready"')
    return program


def start_psi(scenario):
    program = Program(["--rpc-edn"], scenario)
    psi(program, 1, "handshake", '{:client-info {:name "memory" :version "1" :protocol-version "1.0"}}')
    program.until(b':id "1" :kind :response')
    return program


def start_acp(scenario):
    program = Program(["acp"], scenario)
    acp(program, 1, "initialize", {"protocolVersion": 1})
    program.until(b'"id":1')
    return program


def prompt_omp(program):
    program.send('{"type":"prompt","message":"go"}')
    program.until(b'"type":"agent_settled"')


def prompt_synaps(program):
    program.send('{"type":"prompt","id":"p","message":"go"}')
    program.until(b'"command":"prompt","ok":true')


def prompt_psi(program):
    psi(program, 2, "subscribe", '{:topics ["assistant/delta" "assistant/message" "session/updated" "error"]}')
    program.until(b':id "2" :kind :response')
    psi(program, 3, "prompt", '{:message "go"}')
    program.until(b':event "assistant/message"')


def prompt_acp(program):
    # The next answer of the scenario is that of the same session.
    program.session = getattr(program, "session", None) or new_session(program, 2)
    acp(program, 3, "session/prompt", {"sessionId": program.session, "prompt": [{"type": "text", "text": "go"}]})
    program.until(b'"stopReason"')


DIALECTS = {
    "omp": (start_omp, prompt_omp),
    "synaps": (start_synaps, prompt_synaps),
    "psi": (start_psi, prompt_psi),
    "acp": (start_acp, prompt_acp),
}


def measure_start():
    for name, (start, _) in DIALECTS.items():
        times, idle, private = [], [], []
        for count in range(STARTS):
            program = start('[[turn]]\ntext = "hi"\n')
            times.append((time.perf_counter() - program.begun) * 1000)
            if count % 40 == 0:
                idle.append(program.at_rest())
                private.append(program.memory("RssAnon"))
            program.end()
        print(f"{name:>8}: first frame {statistics.median(times):.2f} ms median, {min(times):.2f} best; "
              f"idle {statistics.median(idle):.1f} MB, {statistics.median(private):.1f} of it private", flush=True)


def measure_answer():
    text = "0123456789abcdef" * 512
    turns = (f'[[turn]]\nsteps = [{{ text = "{text}", repeat = {megabytes * 128} }}]\n' for megabytes in (1, ANSWER_MB))
    scenario = "".join(turns)
    for name, (start, prompt) in DIALECTS.items():
        program = start(scenario)
        prompt(program)
        before = program.at_rest()
        begun = time.perf_counter()
        prompt(program)
        took = time.perf_counter() - begun
        after = program.at_rest()
        peak = program.memory("VmHWM")
        print(f"{name:>8}: {ANSWER_MB} MB in {took:.1f} s; before {before:.1f} MB, peak {peak:.1f} MB "
              f"(+{(peak - before) / ANSWER_MB:.2f} times the answer), after {after:.1f} MB", flush=True)
        program.end()


def measure_sessions():
    program = start_acp('[[turn]]\ntext = "hi"\n')
    before = program.at_rest()
    begun = time.perf_counter()
    ids = [new_session(program, 10 + number) for number in range(SESSIONS)]
    took = time.perf_counter() - begun
    opened = program.at_rest()
    for number, session in enumerate(ids):
        acp(program, 10_000 + number, "session/close", {"sessionId": session})
        program.until(b'"id":%d' % (10_000 + number))
    closed = program.at_rest()
    print(f"     acp: {SESSIONS} sessions in {took:.1f} s; before {before:.1f} MB, open {opened:.1f} MB "
          f"({(opened - before) * 1024 / SESSIONS:.0f} KB each), closed {closed:.1f} MB", flush=True)
    program.end()


for name, measure in (("start", measure_start), ("answer", measure_answer), ("sessions", measure_sessions)):
    if not words or name in words:
        measure()
