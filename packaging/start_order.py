#!/usr/bin/env python3
"""Writes crates/stentor/native/start_order.ld: which functions a start and a first prompt run, for the linker.

    packaging/start_order.py

Builds a release with its symbols in target/start-order, runs it under valgrind in every dialect, until it is ready
and through a prompt, with the built-in model and with one over HTTP, and notes the functions that ran. A release build puts them side by side
(crates/stentor/build.rs): the kernel maps a program's file in pieces of 64 KiB, so functions that are
strewn over the whole file make most of it resident. Needs valgrind and binutils. A list that is out of date does no
harm, it only gathers less; make it anew before a release.
"""

import collections
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "target" / "start-order"
OUTPUT = ROOT / "crates" / "stentor" / "native" / "start_order.ld"

PROMPT = "list files"
# For each dialect: its arguments, the requests until it is ready, those of a prompt, and what ends that.
DIALECTS = {
    "acp": (
        ["acp"],
        [
            '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}',
            '{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"FOLDER","mcpServers":[]}}',
        ],
        [
            '{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"SESSION",'
            f'"prompt":[{{"type":"text","text":"{PROMPT}"}}]}}}}',
        ],
        '"stopReason"',
    ),
    "omp": (
        ["--mode", "rpc"],
        ['{"type":"get_state","id":"1"}'],
        [f'{{"type":"prompt","message":"{PROMPT}","id":"2"}}'],
        '"type":"agent_end"',
    ),
    "psi": (
        ["--rpc-edn"],
        ['{:id "1" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}'],
        [
            '{:id "2" :kind :request :op "subscribe" :params {:topics ["assistant/message" "session/updated"]}}',
            f'{{:id "3" :kind :request :op "prompt" :params {{:message "{PROMPT}"}}}}',
        ],
        ":event \"assistant/message\"",
    ),
    "synaps": (["rpc"], [], [f'{{"type":"prompt","id":"1","message":"{PROMPT}"}}'], '"type":"agent_end"'),
}


def main():
    environment = dict(os.environ, CARGO_TARGET_DIR=str(TARGET), RUSTC_WRAPPER=os.path.abspath(__file__))
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "stentor"], cwd=ROOT, env=environment, check=True)
    program = TARGET / "release" / "stentor"
    sizes = function_sizes(program)
    ready, prompted = collections.defaultdict(set), collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        for dialect, (arguments, opening, prompting, last) in DIALECTS.items():
            for port in (None, model.server_port):
                ready[dialect] |= functions_run(program, folder, port, arguments, opening, [], None)
                prompted[dialect] |= functions_run(program, folder, port, arguments, opening, prompting, last)
        model.shutdown()
    lines = ordered(sizes, ready, prompted)
    OUTPUT.write_text(
        "/* Functions that a start and a first prompt run. Made by packaging/start_order.py, which says why. */\n"
        "SECTIONS\n{\n  .text.start_order :\n  {\n"
        + "".join(f"    *(.text.{line})\n" for line in lines)
        + "  }\n}\nINSERT BEFORE .text;\n"
    )
    print(f"{len(lines)} patterns in {OUTPUT.relative_to(ROOT)}", file=sys.stderr)


def function_sizes(program):
    """Every function of the program by its mangled name."""
    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listing.splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tTwW"}


class Model(http.server.BaseHTTPRequestHandler):
    """A model on Anthropic's wire that has one answer."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


def functions_run(program, folder, port, arguments, opening, prompting, last):
    """The names of the functions that run from the start, through these requests, to the end of the input."""
    home = tempfile.mkdtemp(dir=folder)
    if port:
        provider = {"baseUrl": f"http://127.0.0.1:{port}", "api": "anthropic-messages", "apiKey": "x"}
        models = pathlib.Path(home, ".pi", "agent", "models.json")
        models.parent.mkdir(parents=True)
        models.write_text(json.dumps({"providers": {"local": provider | {"models": [{"id": "m"}]}}}))
    profile = os.path.join(home, "callgrind.out")
    command = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}", program, *arguments]
    environment = {"HOME": home, "PATH": os.environ["PATH"]}
    process = subprocess.Popen(
        command, cwd=home, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    session = ""
    for request in opening + prompting:
        print(request.replace("FOLDER", home).replace("SESSION", session), file=process.stdin, flush=True)
        answer = process.stdout.readline()
        named = re.search(r'"sessionId":"([^"]+)"', answer)
        session = named[1] if named else session
    if not opening + prompting:
        process.stdout.readline()
    if last and not any(last in line for line in process.stdout):
        sys.exit(f"{' '.join(arguments)}: the prompt has not ended with {last}")
    process.stdin.close()
    process.stdout.read()
    process.wait()
    with open(profile, encoding="utf-8") as lines:
        return {named[1] for named in (re.match(r"c?fn=\(\d+\) ([^'\s]+)", line) for line in lines) if named}


def ordered(sizes, ready, prompted):
    """Patterns for the functions that ran, in the order in which they are to stand in the program.

    A pattern leaves out the hash of a name, which changes with the compiler and with dependencies, so it stands for
    all instances of a generic function. Where few of them ran, each that did is named with its hash, and the
    pattern comes last of all, for the day on which the hashes are others.
    """
    dialects = collections.defaultdict(set)
    for dialect, names in ready.items():
        for name in names & sizes.keys():
            dialects[name].add(dialect)
    names = set().union(*ready.values(), *prompted.values()) & sizes.keys()
    whole, ran = collections.Counter(), collections.Counter()
    for name, size in sizes.items():
        whole[pattern(name)] += size
    for name in names:
        ran[pattern(name)] += sizes[name]
    sparse = {key for key in ran if ran[key] < whole[key] / 2}

    # What every start runs, what those of one dialect run, what only prompts run.
    def place(name):
        return (not dialects[name], -len(dialects[name]), sorted(dialects[name]), name)

    exact = [name if pattern(name) in sparse else pattern(name) for name in sorted(names, key=place)]
    return list(dict.fromkeys(exact + sorted(sparse)))


def pattern(name):
    name = re.sub(r"\.llvm\.\d+$", "", name)
    legacy = re.match(r"(.*17h)[0-9a-f]{16}E", name)
    if legacy:
        return legacy[1] + "*"
    return re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", name) if name.startswith("_R") else name


def compile_with_symbols(command):
    """What cargo calls for each crate. Another profile would leave the symbols in as well, but it would change them."""
    command = ["strip=none" if argument == "strip=symbols" else argument for argument in command]
    os.execvp(command[0], command)


if len(sys.argv) > 1:
    compile_with_symbols(sys.argv[1:])
else:
    main()
