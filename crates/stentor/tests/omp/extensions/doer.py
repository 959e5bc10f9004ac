"""An extension whose command `/do` makes the request that its argument says and tells the answer."""

import json
import sys


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer_to(request):
    send(id="asked", **request)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "asked":
            return message.get("error", message.get("result"))
    sys.exit(0)


for line in sys.stdin:
    message = json.loads(line)
    method, call, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        send(id=call, result={"protocolVersion": 1, "commands": [{"name": "do"}]})
    elif method == "command/run":
        answer = answer_to(json.loads(params["arguments"]))
        send(id=call, result={"text": json.dumps(answer)})
