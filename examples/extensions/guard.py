#!/usr/bin/env python3
"""Asks before a dangerous shell command runs.

Try it:  stentor -e examples/extensions/guard.py -p "run `rm -rf build`"

With nobody to ask, as with -p, the answer is no.
"""

import json
import re
import sys

DANGEROUS = [
    # An option may stand behind the files, and its long name may be cut short.
    (r"\brm\s([^;&|\n]*\s)?(-\w*[rRf]\w*|--r\w*|--f\w*)(?![\w-])", "removes files for good"),
    (r"\bgit\s+push\b.*(--force|-f)\b", "overwrites what others may have"),
    (r"\bgit\s+(reset\s+--hard|clean\s+-\w*f)", "throws uncommitted work away"),
    (r"\bsudo\b", "acts as the system's administrator"),
    (r"\b(mkfs|dd)\b", "can overwrite a disk"),
    (r"(curl|wget)\b.*\|\s*(ba|z)?sh\b", "runs what it downloads"),
]

# Our questions that are open: the id of the question -> the id of the call it is about.
questions = {}
next_id = 1
allowed = []


def send(**message):
    # A line for each message, and nothing else on stdout.
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def danger_of(command):
    for pattern, why in DANGEROUS:
        if re.search(pattern, command):
            return why
    return None


def before_tool(call, params):
    global next_id
    command = params["arguments"].get("command", "")
    why = danger_of(command) if params["tool"] == "bash" else None
    if why is None or command in allowed:
        return send(id=call, result={})
    question = f"q{next_id}"
    next_id += 1
    questions[question] = (call, command)
    send(
        id=question,
        method="ui/confirm",
        params={"title": "Dangerous command", "message": f"This command {why}:\n\n{command}\n\nRun it?"},
    )


def answered(question, result):
    call, command = questions.pop(question)
    if result.get("confirmed"):
        allowed.append(command)
        return send(id=call, result={})
    who = "The user did not allow" if result.get("answered") else "Nobody could be asked about"
    send(id=call, result={"deny": f"{who} this command: it {danger_of(command)}."})


def handle(message):
    method, params, id = message.get("method"), message.get("params", {}), message.get("id")
    if method == "initialize":
        send(id=id, result={"protocolVersion": 1, "hooks": ["tool/before"]})
    elif method == "tool/before":
        before_tool(id, params)
    elif method is None and id in questions:
        answered(id, message.get("result") or {})
    elif method is not None and id is not None:
        send(id=id, error={"code": -32601, "message": "no such method"})


for line in sys.stdin:
    handle(json.loads(line))
