"""An MCP server over stdio that works, or misbehaves in the way its first argument names."""

import json
import os
import sys
import threading
import time

mode = sys.argv[1] if len(sys.argv) > 1 else "well"
out = sys.stdout.buffer
lock = threading.Lock()


def raw(data):
    with lock:
        out.write(data)
        out.flush()


def send(message):
    raw(json.dumps(message).encode() + b"\n")


def answer(id, result):
    if mode == "garbage":
        raw(b"this is a log line\n\xff\xfe not utf-8\n{\"half\": \n[]\n42\n")
    send({"jsonrpc": "2.0", "id": id, "result": result})
    if mode == "answers-twice":
        send({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "again"}]}})
        send({"jsonrpc": "2.0", "id": 987654, "result": {}})
        send({"jsonrpc": "2.0", "id": "never", "error": {"code": 1, "message": "no"}})


def text(id, said):
    answer(id, {"content": [{"type": "text", "text": said}]})


def tool(name, **properties):
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": "The tool " + name, "inputSchema": schema}


tools = [
    tool(name)
    for name in ["echo", "picture", "wrong", "unreadable", "slow", "progress", "die", "more", "huge", "where"]
]


def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.005)


def progress(params, done):
    token = params["_meta"]["progressToken"]
    report = {"progressToken": token, "progress": done, "total": 3, "message": "step %d" % done}
    send({"jsonrpc": "2.0", "method": "notifications/progress", "params": report})


def call(id, params):
    name = params["name"]
    arguments = params.get("arguments", {})
    if name == "echo":
        text(id, "echo: " + json.dumps(arguments, sort_keys=True))
    elif name == "picture":
        picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
        answer(id, {"content": [{"type": "text", "text": "look"}, picture], "structuredContent": {"n": 1}})
    elif name == "wrong":
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "no luck"}})
    elif name == "unreadable":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":7}\n' % id)
    elif name == "slow":
        open("begun", "w").close()
    elif name == "progress":
        progress(params, 1)
        wait_for("seen")
        text(id, "done")
    elif name == "die":
        if not mode.endswith("-once") or not os.path.exists("died"):
            open("died", "w").close()
            if mode == "hangs-up-once":
                os.close(1)
                return
            print("I leave", file=sys.stderr, flush=True)
            os._exit(3)
        text(id, "I live")
    elif name == "more":
        tools.append(tool("added"))
        prompts.append({"name": "fresh"})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(id, "there is more")
    elif name == "added":
        text(id, "I was added")
    elif name == "huge":
        text(id, "x" * (9 << 20))
    elif name == "where":
        text(id, os.path.basename(os.getcwd()) + " " + os.environ.get("WORD", "-"))


prompts = [
    {
        "name": "greet",
        "description": "Greets somebody",
        "arguments": [{"name": "who", "required": True}, {"name": "how"}],
    }
]


def prompt(id, params):
    arguments = params.get("arguments", {})
    said = "Greet %s %s." % (arguments.get("who"), arguments.get("how", "plainly"))
    messages = [
        {"role": "user", "content": {"type": "text", "text": said}},
        {"role": "assistant", "content": {"type": "text", "text": "I will."}},
    ]
    answer(id, {"messages": messages})


def many_tools(id, params):
    start = int(params.get("cursor", "0"))
    page = [tool("t%d" % number) for number in range(start, start + 1000)]
    answer(id, {"tools": page, "nextCursor": str(start + 1000)})


def handle(message):
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "initialize":
        if mode == "dies-at-start":
            print("the reason is on stderr", file=sys.stderr, flush=True)
            os._exit(3)
        if mode == "hangs-at-start":
            return
        capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        info = {"name": "test", "version": "1"}
        answer(id, {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        if mode == "dies-after-greeting":
            os._exit(4)
        if mode == "million-tools":
            many_tools(id, params)
        elif mode == "million-tools-at-once":
            # Piece by piece: to make all of it first takes long on a busy machine.
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[' % id)
            for start in range(0, 1000000, 1000):
                page = [json.dumps(tool("t%d" % number)) for number in range(start, start + 1000)]
                raw((", ".join(page) + ", ").encode())
            raw(json.dumps(tool("last")).encode() + b"]}}\n")
        elif mode == "endless-pages":
            answer(id, {"tools": [tool("echo")], "nextCursor": "on"})
        elif mode == "odd-tools":
            answer(id, {"tools": [tool("echo"), {"name": "odd", "inputSchema": None}, tool("a.b"), tool("a_b")]})
        else:
            answer(id, {"tools": tools})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, params), daemon=True).start()
    elif method == "prompts/list":
        answer(id, {"prompts": prompts})
    elif method == "prompts/get":
        prompt(id, params)
    elif method == "resources/list":
        answer(id, {"resources": [{"uri": "note://one", "name": "one", "mimeType": "text/plain"}]})
    elif method == "resources/templates/list":
        answer(id, {"resourceTemplates": [{"uriTemplate": "note://{n}", "name": "any", "description": "A note"}]})
    elif method == "resources/read":
        note = "x" * (9 << 20) if params["uri"] == "note://huge" else "the note"
        answer(id, {"contents": [{"uri": params["uri"], "text": note}]})
    elif method == "notifications/cancelled":
        open("cancelled", "w").close()


def flood(data):
    while True:
        raw(data)


with open("started", "a") as started:
    started.write("%d\n" % os.getpid())
if mode == "line-without-end":
    flood(b"x" * 65536)
if mode == "only-garbage":
    flood(b"no MCP at all\n")
if mode == "floods":
    notification = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}}
    data = json.dumps(notification).encode() + b"\n"
    threading.Thread(target=flood, args=(data,), daemon=True).start()
if mode == "asks-without-end":
    asked = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    threading.Thread(target=flood, args=(asked,), daemon=True).start()
    time.sleep(3600)
for line in sys.stdin:
    handle(json.loads(line))
