"""An extension that forbids some calls, changes others, and forbids a prompt."""

import json
import sys


def decide(method, params):
    if method == "prompt/before":
        return {"deny": "not before noon"} if "forbidden" in params["text"] else {}
    command = params["arguments"].get("command", "")
    if method == "tool/before":
        if "secret" in command:
            return {"deny": "secrets stay secret"}
        return {"arguments": {"command": command.replace("old", "new")}} if "old" in command else {}
    return {"content": "looked at"} if "look" in command else {}


for line in sys.stdin:
    message = json.loads(line)
    method, answer = message.get("method"), {"jsonrpc": "2.0", "id": message.get("id")}
    if method == "initialize":
        answer["result"] = {"protocolVersion": 1, "hooks": ["tool/before", "tool/after", "prompt/before"]}
    elif message.get("id") is not None:
        answer["result"] = decide(method, message["params"])
    else:
        continue
    print(json.dumps(answer), flush=True)
