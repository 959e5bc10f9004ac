"""A model that needs no network, on OpenAI's two wires (chat completions and responses), Gemini's and Anthropic's.
What it answers depends on the last thing the user said:

- "Run something.": one call of the agent's shell tool, then a text
- "Hang.", or what `stentor agents check` aborts: a text, then nothing more
- anything else: how many prompts it has been given, unless it has been given them as one text: then that

Prints the port it listens on."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: It writes: agents ask about nothing that they take for harmless.
COMMAND = "printf 'from the tool\\n' > x; cat x"
SHELLS = ("bash", "shell", "shell_command", "exec_command", "run_shell_command")
HANGS = ("Hang.", "Count from 1 to 1000")
PROMPTS = ("Run something.", "How many?", *HANGS)


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(block.get("text") or "" for block in content or [] if isinstance(block, dict))


def messages_of(body):
    """The conversation as pairs of role and text, on every wire."""
    for message in body.get("contents") or []:
        parts = message.get("parts") or []
        is_result = any("functionResponse" in part for part in parts)
        yield "tool" if is_result else message.get("role"), text_of(parts)
    for message in body.get("messages") or body.get("input") or []:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks):
            yield "tool", ""
        if message.get("type") == "function_call_output":
            yield "tool", ""
        elif message.get("role"):
            yield message["role"], text_of(content)


def tools_of(body):
    """The agent's tools as pairs of name and schema, on every wire."""
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations") or [tool.get("function", tool)]:
            schema = one.get("parameters") or one.get("parametersJsonSchema") or one.get("input_schema")
            yield one.get("name") or "", schema or {}


def shell_call(body):
    """The agent's own shell tool and arguments that fit its schema."""
    for name, schema in tools_of(body):
        if name.split("__")[-1].split(".")[-1].lower() in SHELLS:
            known = schema.get("properties") or {}
            arguments = {name: "to see" for name in schema.get("required") or [] if known[name].get("type") == "string"}
            key = "cmd" if "cmd" in known else "command"
            is_list = known.get(key, {}).get("type") == "array"
            arguments[key] = ["bash", "-c", COMMAND] if is_list else COMMAND
            return name, json.dumps(arguments)
    return None


def gemini(parts, reason):
    """A part of an answer on Gemini's wire."""
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": reason} if reason else {})}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "mock"}


def anthropic(content):
    """An answer on Anthropic's wire that has not ended."""
    return {"id": "m", "type": "message", "role": "assistant", "model": "mock", "content": content, "stop_reason": None,
            "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.write_json({"object": "list", "data": [{"id": "mock", "object": "model"}]})

    def write_json(self, answer):
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.split("?")[0]
        if path.endswith((":countTokens", "/count_tokens")):
            return self.write_json({"totalTokens": 10, "input_tokens": 10})
        # What agents ask beside their conversation.
        if path.endswith(":generateContent"):
            return self.write_json(gemini([{"text": "{}"}], "STOP"))
        if path.endswith("/messages") and not body.get("stream"):
            return self.write_json({**anthropic([{"type": "text", "text": "{}"}]), "stop_reason": "end_turn"})
        messages = list(messages_of(body))
        # What agents add in the user's name does not count; prompts that were not answered they may join.
        prompts = [(index, prompt) for index, (role, text) in enumerate(messages) if role == "user"
                   for prompt in sorted(PROMPTS, key=text.find) if prompt in text]
        place, last = prompts[-1] if prompts else (0, "")
        has_result = any(role == "tool" for role, _ in messages[place:])
        call = shell_call(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        wires = {"/responses": self.write_responses, ":streamGenerateContent": self.write_gemini,
                 "/messages": self.write_anthropic}
        wire = next((wire for end, wire in wires.items() if path.endswith(end)), self.write_chat)
        if last in HANGS:
            wire("I begin.", None, hangs=True)
        elif last == "Run something." and call and not has_result:
            wire(None, call)
        elif any(role == "user" and "<conversation>" in text for role, text in messages):
            wire("The model was given the conversation as a text.", None)
        else:
            wire(f"The model has answered {len(prompts)} prompts.", None)
        self.close_connection = True

    def event(self, data):
        name = f"event: {data['type']}\n" if "type" in data else ""
        self.wfile.write(f"{name}data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def write_chat(self, text, call, hangs=False):
        def chunk(delta, reason=None, **more):
            choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
            base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "mock"}
            self.event({**base, "choices": choices, **more})

        if call:
            function = {"name": call[0], "arguments": call[1]}
            chunk({"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        else:
            chunk({"role": "assistant", "content": text})
        if hangs:
            return self.hang()
        chunk({}, "tool_calls" if call else "stop")
        chunk(None, usage={"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12})
        self.wfile.write(b"data: [DONE]\n\n")

    def write_responses(self, text, call, hangs=False):
        response = {"id": "r", "object": "response", "created_at": 0, "model": "mock", "status": "in_progress", "output": []}
        self.event({"type": "response.created", "response": response})
        if call:
            item = {"type": "function_call", "id": "f", "call_id": "call_1", "name": call[0], "arguments": call[1], "status": "completed"}
        else:
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
            self.event({"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}})
            self.event({"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": text})
        if hangs:
            return self.hang()
        self.event({"type": "response.output_item.done", "output_index": 0, "item": item})
        usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        self.event({"type": "response.completed", "response": {**response, "status": "completed", "output": [item], "usage": usage}})

    def write_gemini(self, text, call, hangs=False):
        part = {"functionCall": {"name": call[0], "args": json.loads(call[1])}} if call else {"text": text}
        self.event(gemini([part], None if hangs else "STOP"))
        if hangs:
            return self.hang()

    def write_anthropic(self, text, call, hangs=False):
        self.event({"type": "message_start", "message": anthropic([])})
        if call:
            block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": call[1]}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        self.event({"type": "content_block_start", "index": 0, "content_block": block})
        self.event({"type": "content_block_delta", "index": 0, "delta": delta})
        if hangs:
            return self.hang()
        self.event({"type": "content_block_stop", "index": 0})
        reason = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        self.event({"type": "message_delta", "delta": reason, "usage": {"output_tokens": 2}})
        self.event({"type": "message_stop"})

    def hang(self):
        """Until the agent gives up: then there is something to read, the end."""
        self.connection.settimeout(None)
        try:
            self.rfile.read(1)
        except OSError:
            pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever).start()
