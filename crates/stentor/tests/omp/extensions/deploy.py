"""An extension with commands: one says something, one nothing, one asks the agent, one the user, one fails."""

import json
import sys

NAMES = [
    {"name": "deploy", "description": "Deploys.", "hint": "WHERE"},
    {"name": "quiet"},
    {"name": "ask"},
    {"name": "where"},
    {"name": "boom"},
]


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def run(call, name, arguments):
    if name == "deploy":
        send(id=call, result={"text": "deployed to " + arguments})
    elif name == "quiet":
        send(id=call, result={})
    elif name == "ask":
        send(id=call, result={"prompt": "Draw " + arguments})
    elif name == "where":
        send(id="q1", method="ui/input", params={"title": "Where to?"})
        for line in sys.stdin:
            answer = json.loads(line)
            if answer.get("id") == "q1":
                send(id=call, result={"text": "gone " + str(answer["result"]["value"])})
                return
    else:
        send(id=call, error={"code": -32000, "message": "kaboom"})


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "commands": NAMES})
    elif method == "command/run":
        run(message["id"], params["name"], params["arguments"])
