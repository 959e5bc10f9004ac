// `stentor mcp serve` with the client that the protocol's authors publish, in TypeScript and Python.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { STENTOR, World } from "./world.mjs";

const world = new World();

before(() =>
  world.file(
    "play.toml",
    `
[[turn]]
tool = "bash"
arguments = { command = "echo worked" }

[[turn]]
text = "It said {{last_tool_result}}"
`,
  ),
);

after(() => world.end());

async function connected(words, capabilities, answer) {
  const client = new Client({ name: "interop", version: "1" }, { capabilities });
  if (answer) client.setRequestHandler(ElicitRequestSchema, answer);
  const args = ["mcp", "serve", "--model", "script/play.toml", ...words];
  await client.connect(new StdioClientTransport({ command: STENTOR, args, cwd: world.work, env: world.env }));
  return client;
}

test("the client of TypeScript lists the tools, prompts, and reads the session", async () => {
  const client = await connected(["--permission-mode", "all"], {});
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ["prompt", "steer", "abort", "status", "sessions", "read_session"],
  );
  const progress = [];
  const onprogress = (report) => progress.push(report.message);
  const done = await client.callTool({ name: "prompt", arguments: { prompt: "go" } }, undefined, { onprogress });
  const { session_id, status, text } = done.structuredContent;
  assert.deepEqual([status, text.trim()], ["done", "It said worked"]);
  assert.deepEqual(progress, ["bash: echo worked"]);
  const read = await client.callTool({ name: "read_session", arguments: { session_id } });
  assert.equal(read.structuredContent.messages.length, 4);
  await client.close();
});

test("the client of TypeScript is asked what may run", async () => {
  const asked = [];
  const client = await connected([], { elicitation: {} }, ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { decision: "allow_once" } };
  });
  const done = await client.callTool({ name: "prompt", arguments: { prompt: "go" } });
  assert.equal(done.structuredContent.text.trim(), "It said worked");
  assert.match(asked[0], /echo worked/);
  await client.close();
});

test("the client of Python prompts and lists", { skip: !process.env.PYTHON }, async () => {
  const script = join(import.meta.dirname, "serve.py");
  const out = await new Promise((resolve, reject) => {
    const env = { ...world.env, STENTOR };
    execFile(process.env.PYTHON, [script], { cwd: world.work, env }, (error, out, err) => {
      if (error) reject(new Error(err));
      else resolve(out);
    });
  });
  assert.equal(out.trim(), "done It said worked 1");
});
