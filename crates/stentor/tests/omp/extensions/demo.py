"""An extension with a tool `demo` that asks or shows what its argument says."""

import json
import sys

asked = 0


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method, **params):
    global asked
    asked += 1
    send(id=f"q{asked}", method=method, params=params)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == f"q{asked}":
            return message["result"]
    sys.exit(0)


def ask_all(**limit):
    return [
        ask("ui/confirm", title="Confirm", message="Continue?", **limit),
        ask("ui/select", title="Pick one", options=["Allow", {"value": "b", "label": "Block", "description": "No"}], **limit),
        ask("ui/input", title="Branch name", placeholder="feature/...", **limit),
        ask("ui/editor", title="Edit text", prefill="line 1\nline 2"),
    ]


def tell(method, **params):
    send(method=f"ui/{method}", params=params)


def show():
    for level in ["info", "warning", "error"]:
        tell("notify", message="starting", level=level)
    tell("status", key="s", text="running")
    tell("status", key="s")
    tell("widget", key="w", lines=["a", "b"])
    tell("widget", key="w", lines=["a"], placement="belowEditor")
    tell("widget", key="w")
    tell("title", title="demo title")
    tell("editorText", text="prefill")


def mix():
    """Shows things before, between and after questions, without waiting for any answer."""
    for number in range(8):
        tell("notify", message=f"before {number}")
        tell("status", key="s", text=f"before {number}")
        send(id=f"m{number}", method="ui/input", params={"title": f"question {number}"})
        tell("title", title=f"after {number}")
    answers = {}
    while len(answers) < 8:
        message = json.loads(sys.stdin.readline())
        if str(message.get("id")).startswith("m"):
            answers[message["id"]] = message["result"]["value"]
    tell("notify", message="last")
    # The answers come in any order.
    return [answers[f"m{number}"] for number in range(8)]


def run(what):
    if what == "ask":
        return ask_all()
    if what == "ask in vain":
        limit = {"timeoutMs": 1}
        return [
            ask("ui/confirm", title="C", message="m", **limit),
            ask("ui/select", title="S", options=["x"], **limit),
            ask("ui/input", title="I", **limit),
        ]
    if what == "show":
        return show()
    if what == "keep":
        for value in [{"a": 1}, None]:
            ask("state/set", key="k", value=value)
        return "kept"
    if what == "mix":
        return mix()
    if what == "die":
        print("kaboom", file=sys.stderr)
        sys.exit(3)
    return "what?"


TOOL = {
    "name": "demo",
    "description": "Asks or shows something.",
    "effect": "nothing",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
}

for line in sys.stdin:
    message = json.loads(line)
    method, call = message.get("method"), message.get("id")
    if method == "initialize":
        send(id=call, result={"protocolVersion": 1, "tools": [TOOL]})
    elif method == "tool/run":
        said = run(message["params"]["arguments"]["what"])
        send(id=call, result={"content": json.dumps(said)})
