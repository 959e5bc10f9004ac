"""The extension of the recorded runs: its commands ask, show, fail; its hook guards a command."""

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


def tell(method, **params):
    send(method=f"ui/{method}", params=params)


def uidemo():
    tell("notify", message="starting", level="info")
    ok = ask("ui/confirm", title="Confirm", message="Continue?", timeoutMs=30000)
    select = ask("ui/select", title="Pick one", options=["Allow", "Block"])
    ask("ui/input", title="Branch name", placeholder="feature/...")
    edited = ask("ui/editor", title="Edit text", prefill="line 1\nline 2")
    tell("status", key="demo", text="running")
    tell("status", key="demo")
    tell("widget", key="demo", lines=["a", "b"])
    tell("widget", key="demo")
    tell("title", title="demo title")
    tell("editorText", text="prefill")
    said = {"ok": ok["confirmed"], "sel": select["value"], "ed": edited["value"]}
    tell("notify", message=json.dumps(said, separators=(",", ":")), level="warning")


def uitimeout():
    ok = ask("ui/confirm", title="T", message="times out", timeoutMs=300)
    chosen = ask("ui/select", title="S", options=["x"], timeoutMs=300)
    said = {"ok": ok["confirmed"], "s": "undefined" if chosen["value"] is None else "given"}
    tell("notify", message=json.dumps(said, separators=(",", ":")))


def sendmsg():
    ask("message/send", customType="demo", content="custom body", display=True, details={"k": 1})


def quit_program():
    ask("shutdown")


COMMANDS = {
    "uidemo": uidemo,
    "uitimeout": uitimeout,
    "boom": None,
    "sendmsg": sendmsg,
    "quit": quit_program,
}

for line in sys.stdin:
    message = json.loads(line)
    method, call, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        commands = [{"name": name} for name in COMMANDS]
        send(id=call, result={"protocolVersion": 1, "commands": commands, "hooks": ["tool/before"]})
    elif method == "command/run" and params["name"] == "boom":
        send(id=call, error={"code": -32000, "message": "kaboom"})
    elif method == "command/run":
        COMMANDS[params["name"]]()
        send(id=call, result={})
    elif method == "tool/before":
        answer = {}
        if "GUARDED" in params["arguments"].get("command", ""):
            allowed = ask("ui/confirm", title="Dangerous", message="Allow guarded command?")
            if not allowed["confirmed"]:
                answer = {"deny": "Blocked by user"}
        send(id=call, result=answer)
