"""A model on OpenAI's chat wire that needs no network: one call of the agent's shell tool, then a
text. Prints the port it listens on."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": [{"id": "mock", "object": "model"}]}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        after_user = []
        for message in body["messages"]:
            after_user = [] if message["role"] == "user" else after_user + [message["role"]]
        tools = [tool["function"]["name"] for tool in body.get("tools") or []]
        shell = next((name for name in tools if name in ("bash", "shell", "developer__shell")), None)
        if shell and "tool" not in after_user:
            call = {"name": shell, "arguments": json.dumps({"command": "echo from the tool"})}
            delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}
            self.stream(delta, "tool_calls")
        else:
            self.stream({"content": "The model has answered."}, "stop")

    def stream(self, delta, reason):
        base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "mock"}
        choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]
        last = [{"index": 0, "delta": {}, "finish_reason": reason}]
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        chunks = [{**base, "choices": choices}, {**base, "choices": last}, {**base, "choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        self.answer("text/event-stream", "".join(lines))

    def answer(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_address[1], flush=True)
server.serve_forever()
