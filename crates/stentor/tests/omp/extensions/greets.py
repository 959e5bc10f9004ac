"""An extension that shows and asks something as soon as it is there."""

import json
import sys


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        send(id=message["id"], result={"protocolVersion": 1})
        send(method="ui/notify", params={"message": "hello"})
        send(method="ui/status", params={"key": "s", "text": "here"})
        send(id="q", method="ui/confirm", params={"title": "Trust", "message": "Go on?"})
    elif message.get("id") == "q":
        send(method="ui/title", params={"title": "trusted" if message["result"]["confirmed"] else "not"})
