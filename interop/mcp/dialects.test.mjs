// The published servers at work in sessions of ACP, psi and synaps: what frontends see of them.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { World, calls, everything, filesystem, freePort } from "./world.mjs";

const world = new World();
const servers = ["stdio", "http", "sse"];
const more = join(world.root, "more");
mkdirSync(more);
world.file("note.txt", "written before\n");

/** Starts the server of everything over HTTP. */
async function overHttp(transport) {
  const port = await freePort();
  await world.listening(everything, [transport], { PORT: String(port) });
  return port;
}

before(async () => {
  const [http, sse] = await Promise.all([overHttp("streamableHttp"), overHttp("sse")]);
  const text = JSON.stringify;
  world.configure(`
model = ${text(`script/${join(world.work, "play.toml")}`)}
permission_mode = "all"

[mcp_servers.stdio]
command = ${text(process.execPath)}
args = [${text(everything)}, "stdio"]
sampling = "allow"

[mcp_servers.http]
url = "http://127.0.0.1:${http}/mcp"

[mcp_servers.sse]
url = "http://127.0.0.1:${sse}/sse"
transport = "sse"

[mcp_servers.files]
command = ${text(process.execPath)}
args = [${text(filesystem)}, ${text(world.work)}]
`);
});

after(() => world.end());

/** A program that speaks in lines. */
class Spoken {
  constructor(...words) {
    this.child = world.start(...words);
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  send(line) {
    this.child.stdin.write(line + "\n");
  }

  /** The lines up to the first that fits, with it. */
  async until(fits) {
    const lines = [];
    for (;;) {
      const { value, done } = await this.lines.next();
      assert.equal(done, false, `it ended after ${lines.join("\n")}`);
      lines.push(value);
      if (fits(value)) return lines;
    }
  }

  end() {
    this.child.stdin.end();
  }
}

/** Prompts a session of ACP: its updates and what the model said at last. */
async function acp(scenario, { capabilities = {}, session = {}, answer = () => ({ action: "cancel" }) } = {}) {
  world.file("play.toml", scenario);
  const agent = new Spoken("acp");
  let last = 0;
  const updates = [];
  const ask = async (method, params) => {
    const id = ++last;
    agent.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    let result;
    await agent.until((line) => {
      const frame = JSON.parse(line);
      if (frame.method === "session/update") updates.push(frame.params.update);
      if (frame.method && frame.id !== undefined) {
        agent.send(JSON.stringify({ jsonrpc: "2.0", id: frame.id, result: answer(frame) }));
      }
      const isAnswer = frame.id === id && !frame.method;
      if (isAnswer) result = frame.result;
      return isAnswer;
    });
    assert.ok(result, method);
    return result;
  };
  await ask("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
  const { sessionId } = await ask("session/new", { cwd: world.work, mcpServers: [], ...session });
  const prompt = [{ type: "text", text: "go" }];
  const { stopReason } = await ask("session/prompt", { sessionId, prompt });
  agent.end();
  assert.equal(stopReason, "end_turn");
  const chunks = updates.filter((update) => update.sessionUpdate === "agent_message_chunk");
  return { updates, said: chunks.map((chunk) => chunk.content.text).join("") };
}

for (const server of servers) {
  const echo = calls(`mcp__${server}__echo`, `{ message = "hello" }`);

  test(`acp, ${server}: a tool is called and shown`, async () => {
    const { updates, said } = await acp(echo);
    assert.equal(said, "Echo: hello");
    const ended = updates.filter((update) => update.sessionUpdate === "tool_call_update").at(-1);
    assert.equal(ended.status, "completed");
    assert.equal(ended.content[0].content.text, "Echo: hello");
  });

  test(`acp, ${server}: how far a tool is is shown`, async () => {
    const tool = `mcp__${server}__trigger-long-running-operation`;
    const { updates, said } = await acp(calls(tool, "{ duration = 2, steps = 2 }"));
    assert.match(said, /Long running operation completed/);
    assert.ok(updates.some((update) => /[12] of 2/.test(JSON.stringify(update))), JSON.stringify(updates));
  });

  test(`psi, ${server}: a tool is called`, async () => {
    world.file("play.toml", echo);
    const backend = new Spoken("--rpc-edn", "--no-session");
    const request = (id, op, params) => backend.send(`{:id "${id}" :kind :request :op "${op}" :params ${params}}`);
    request("h", "handshake", `{:client-info {:name "c" :version "0" :protocol-version "1.0" :features []}}`);
    request("s", "subscribe", `{:topics ["assistant/message"]}`);
    request("p", "prompt", `{:message "go"}`);
    const isAnswer = (line) => line.includes(`:event "assistant/message"`) && line.includes(":stop-reason :stop");
    const lines = await backend.until(isAnswer);
    backend.end();
    assert.match(lines.at(-1), /:text "Echo: hello"/);
  });

  test(`synaps, ${server}: a tool is called`, async () => {
    world.file("play.toml", echo.replace("{{last", "It says: {{last"));
    const bridge = new Spoken("rpc");
    bridge.send(JSON.stringify({ type: "prompt", id: "p", message: "go" }));
    const lines = await bridge.until((line) => JSON.parse(line).type === "agent_end");
    bridge.end();
    assert.match(lines.join("\n"), /It says: Echo: hello/);
  });
}

test("acp: the server of files reads and refuses as it should", async () => {
  const read = (path) => calls("mcp__files__read_text_file", `{ path = "${path}" }`);
  assert.equal((await acp(read("note.txt"))).said.trim(), "written before");
  assert.match((await acp(read("/etc/passwd"))).said, /Access denied/);
});

test("acp: a server learns all folders of the session", async () => {
  const { said } = await acp(calls("mcp__stdio__get-roots-list", "{}"), {
    session: { additionalDirectories: [more] },
  });
  assert.ok(said.includes(`file://${world.work}`), said);
  assert.ok(said.includes(`file://${more}`), said);
});

test("acp: a server asks the model", async () => {
  const { said } = await acp(
    calls("mcp__stdio__trigger-sampling-request", `{ prompt = "the weather", maxTokens = 50 }`) +
      `[[turn]]\nwhen = { last_user_contains = "the weather" }\ntext = "Sunny."\n`,
  );
  assert.match(said, /Sunny\./);
});

test("acp: a server asks a person, who declines, and where nobody can be asked its question is cancelled", async () => {
  const tool = calls("mcp__stdio__trigger-elicitation-request", "{}");
  const capabilities = { elicitation: { form: {} } };
  const questions = [];
  const declined = await acp(tool, {
    capabilities,
    answer: (frame) => {
      assert.equal(frame.method, "elicitation/create");
      questions.push(frame.params.message);
      return { action: "decline" };
    },
  });
  assert.ok(questions.length > 0);
  assert.match(declined.said, /declin|cancel/i);
  const nobody = await acp(tool);
  assert.match(nobody.said, /cancel/i);
});
