"""An extension that misbehaves in the way its first argument names, and otherwise works.

It asks to be asked before tool calls, denies those of `forbidden`, and adds the tool `echo`.
"""

import json
import os
import subprocess
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "well"
next_question = 0
waiting = {}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def reply(id, result):
    send(id=id, result=result)
    if MODE == "answers-twice":
        send(id=id, result={"deny": "the second answer"})


def flood():
    number = 0
    while True:
        number += 1
        send(method="ui/notify", params={"message": f"{number} " + "x" * 20000})


def ask(method, params, then):
    global next_question
    next_question += 1
    waiting[f"q{next_question}"] = then
    send(id=f"q{next_question}", method=method, params=params)


def initialize(id, params):
    if MODE == "hangs-at-start":
        return
    if MODE == "slow-start":
        time.sleep(0.7)
    if MODE == "dies-at-start":
        sys.stderr.write("the reason is on stderr\n")
        sys.exit(3)
    if MODE == "wrong-version":
        return reply(id, {"protocolVersion": 99})
    if MODE == "leaves-a-child":
        child = subprocess.Popen(["sleep", "1000"])
        with open("child.pid", "w") as file:
            file.write(str(child.pid))
    reply(
        id,
        {
            "protocolVersion": 1,
            "hooks": ["tool/before", "tool/after", "prompt/before"],
            "tools": [{"name": "echo", "description": "Says it again."}],
            "commands": [{"name": "hello", "description": "Greets."}, {"name": "expand"}],
            "events": ["*"] if MODE in ("deaf", "listens") else [],
        },
    )
    if MODE == "floods":
        threading.Thread(target=flood, daemon=True).start()
    if MODE == "no-newline":
        for _ in range(700):
            sys.stdout.write("x" * 65536)
        send()
    if MODE == "only-garbage":
        while True:
            print("\x00 this is no JSON {{{", flush=True)
    if MODE == "deaf":
        time.sleep(1000)


def before(id, params):
    if MODE in ("hangs", "hangs-but-guards"):
        return
    if MODE == "dies":
        sys.stderr.write("boom\n")
        os._exit(7)
    if MODE == "garbage":
        print("debug: before", params["tool"], flush=True)
        sys.stdout.buffer.write(b"\xff\xfe\n")
        sys.stdout.flush()
        send(id="unasked", result={})
        print('{"jsonrpc":"2.0","id":5}', flush=True)
        print("[" * 10000, flush=True)
    if MODE == "asks":
        def then(answer):
            reply(id, {} if answer.get("confirmed") else {"deny": f"confirmed: {json.dumps(answer)}"})
        return ask("ui/confirm", {"title": "Sure?", "message": params["tool"]}, then)
    if MODE == "changes" and params["tool"] == "bash":
        return reply(id, {"arguments": {"command": "echo changed"}})
    command = params["arguments"].get("command", "")
    if "nameless" in command:
        return reply(id, {"deny": " "})
    reply(id, {"deny": "it is forbidden"} if "forbidden" in command else {})


def remembers(id):
    def got(answer):
        times = (answer["value"] or 0) + 1
        ask("state/set", {"key": "times", "value": times}, lambda _: reply(id, {"text": f"hello number {times}"}))
    ask("state/get", {"key": "times"}, got)


def handle(message):
    method, params, id = message.get("method"), message.get("params", {}), message.get("id")
    if method == "initialize":
        initialize(id, params)
    elif method == "tool/before":
        before(id, params)
    elif method == "tool/after":
        if MODE == "hangs":
            return
        if MODE == "changes" and params["tool"] == "bash":
            text = params["content"][0]["text"]
            reply(id, {"content": f"seen: {text}", "isError": True})
        else:
            reply(id, None)
    elif method == "prompt/before":
        if "secret" in params["text"]:
            reply(id, {"deny": "not about secrets"})
        elif "context" in params["text"]:
            reply(id, {"context": "the moon is full"})
        else:
            reply(id, {})
    elif method == "tool/run":
        if MODE == "too-long-result":
            return reply(id, {"content": "y" * (5 * 1024 * 1024)})
        if MODE == "hangs-in-tool":
            return
        send(method="tool/progress", params={"callId": params["callId"], "content": "half"})
        reply(id, {"content": params["arguments"].get("text", "")})
    elif method == "command/run":
        if params["name"] == "hello":
            remembers(id)
        else:
            reply(id, {"prompt": f"expanded {params['arguments']}"})
    elif method == "event":
        with open("events.txt", "a") as file:
            file.write(params["type"] + "\n")
    elif method == "session/end":
        with open("ended.txt", "w") as file:
            file.write("ended")
    elif method is None and id in waiting:
        waiting.pop(id)(message.get("result"))


for line in sys.stdin:
    handle(json.loads(line))
