// The official TypeScript SDK as a client of the built binary.
// STENTOR names the binary.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk";

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.STENTOR ?? resolve(here, "../../target/debug/stentor");
const scenario = resolve(here, "../acp-scenarios/work.toml");
const { agent, client } = acp.methods;

/** Runs `body` with a connected agent, and makes sure that it ends well. */
async function connected(body, { answer = "allow_once", capabilities = {} } = {}) {
  const world = realpathSync(mkdtempSync(join(tmpdir(), "stentor-acp-")));
  const cwd = join(world, "work");
  mkdirSync(cwd);
  mkdirSync(join(world, "home"));
  const child = spawn(binary, ["acp", "--model", `script/${scenario}`], {
    cwd,
    env: { PATH: process.env.PATH, HOME: join(world, "home") },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((done) => child.on("exit", (code) => done(code)));
  const seen = { updates: [], questions: [] };
  const app = acp
    .client({ name: "interop" })
    .onNotification(client.session.update, ({ params }) => {
      seen.updates.push(params);
    })
    .onRequest(client.session.requestPermission, ({ params }) => {
      seen.questions.push(params);
      return { outcome: { outcome: "selected", optionId: answer } };
    });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await app.connectWith(stream, async (ctx) => {
    const hello = await ctx.request(agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: capabilities,
    });
    assert.equal(hello.protocolVersion, 1);
    assert.equal(hello.agentInfo.name, "stentor");
    const start = async (mcpServers = []) =>
      (await ctx.request(agent.session.new, { cwd, mcpServers })).sessionId;
    const prompt = (sessionId, text) =>
      ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    await body({ ctx, cwd, start, prompt, seen });
  });
  child.stdin.end();
  assert.equal(await ended, 0);
}

const text = (seen, sessionId) =>
  seen.updates
    .filter((one) => one.sessionId === sessionId)
    .map((one) => one.update)
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .map((update) => update.content.text)
    .join("");

const until = async (holds) => {
  while (!holds()) await new Promise((next) => setImmediate(next));
};

test("a session with tools, permission given", () =>
  connected(async ({ cwd, start, prompt, seen }) => {
    const session = await start();
    const end = await prompt(session, "write a file");
    assert.equal(end.stopReason, "end_turn");
    assert.equal(readFileSync(join(cwd, "made.txt"), "utf8"), "made\n");
    assert.equal(seen.questions.length, 1);
    assert.equal(seen.questions[0].toolCall.title, "Write made.txt");
    const statuses = seen.updates
      .filter((one) => one.update.toolCallId === "write-1")
      .map((one) => one.update.status);
    assert.equal(statuses.at(-1), "completed");
    assert.match(text(seen, session), /Successfully wrote 5 bytes/);
  }));

test("permission refused", () =>
  connected(
    async ({ cwd, start, prompt, seen }) => {
      const session = await start();
      const end = await prompt(session, "write a file");
      assert.equal(end.stopReason, "end_turn");
      assert.equal(existsSync(join(cwd, "made.txt")), false);
      assert.match(text(seen, session), /It was not allowed/);
    },
    { answer: "reject_once" },
  ));

test("cancel in mid-stream, and a prompt right behind it", () =>
  connected(async ({ ctx, start, prompt, seen }) => {
    const session = await start();
    const first = prompt(session, "never stop");
    await until(() => text(seen, session).includes("Working"));
    await ctx.notify(agent.session.cancel, { sessionId: session });
    const second = prompt(session, "hello");
    assert.equal((await first).stopReason, "cancelled");
    assert.equal((await second).stopReason, "end_turn");
  }));

test("cancel in mid-tool", () =>
  connected(async ({ ctx, start, prompt, seen }) => {
    const session = await start();
    const turn = prompt(session, "sleep long");
    await until(() => seen.updates.some((one) => one.update.status === "in_progress"));
    await ctx.notify(agent.session.cancel, { sessionId: session });
    assert.equal((await turn).stopReason, "cancelled");
    const last = seen.updates.filter((one) => one.update.toolCallId).at(-1);
    assert.equal(last.update.status, "failed");
  }));

test("load tells the history before it answers", () =>
  connected(async ({ ctx, cwd, start, prompt, seen }) => {
    const session = await start();
    await prompt(session, "write a file");
    await ctx.request(agent.session.close, { sessionId: session });
    const listed = await ctx.request(agent.session.list, {});
    assert.equal(listed.sessions[0].sessionId, session);
    seen.updates.length = 0;
    await ctx.request(agent.session.load, { sessionId: session, cwd, mcpServers: [] });
    const kinds = seen.updates.map((one) => one.update.sessionUpdate);
    assert.deepEqual(kinds, [
      "user_message_chunk",
      "agent_thought_chunk",
      "agent_message_chunk",
      "tool_call",
      "tool_call_update",
      "agent_message_chunk",
      "usage_update",
      "available_commands_update",
    ]);
    await ctx.request(agent.session.delete, { sessionId: session });
    assert.deepEqual((await ctx.request(agent.session.list, {})).sessions, []);
  }));

test("several sessions at once", () =>
  connected(async ({ start, prompt, seen }) => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => start()));
    const ends = await Promise.all(sessions.map((session) => prompt(session, "count")));
    for (const [n, session] of sessions.entries()) {
      assert.equal(ends[n].stopReason, "end_turn");
      assert.equal(text(seen, session), "word ".repeat(2000));
    }
  }));

test("modes and options", () =>
  connected(async ({ ctx, cwd, start, prompt, seen }) => {
    const session = await start();
    await ctx.request(agent.session.setMode, { sessionId: session, modeId: "all" });
    const { configOptions } = await ctx.request(agent.session.setConfigOption, {
      sessionId: session,
      configId: "thinking",
      value: "high",
    });
    assert.equal(configOptions.find((one) => one.id === "mode").currentValue, "all");
    assert.equal(configOptions.find((one) => one.id === "thinking").currentValue, "high");
    await prompt(session, "write a file");
    assert.equal(seen.questions.length, 0);
    assert.equal(readFileSync(join(cwd, "made.txt"), "utf8"), "made\n");
  }));

test("a real MCP server over stdio", () =>
  connected(async ({ start, prompt, seen }) => {
    const server = resolve(
      here,
      "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    );
    const session = await start([
      { name: "real", command: process.execPath, args: [server], env: [] },
    ]);
    const end = await prompt(session, "use the server");
    assert.equal(end.stopReason, "end_turn");
    assert.equal(seen.questions[0].toolCall.name, "mcp__real__echo");
    assert.match(text(seen, session), /over MCP/);
  }));

test("a real MCP server over HTTP", async () => {
  const port = await new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
  const server = spawn(
    process.execPath,
    [resolve(here, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp"],
    { env: { ...process.env, PORT: String(port) }, stdio: ["ignore", "ignore", "pipe"] },
  );
  try {
    await new Promise((ready) => {
      server.stderr.on("data", (text) => String(text).includes("listening") && ready());
    });
    await connected(async ({ start, prompt, seen }) => {
      const url = `http://127.0.0.1:${port}/mcp`;
      const session = await start([{ type: "http", name: "real", url, headers: [] }]);
      assert.equal((await prompt(session, "use the server")).stopReason, "end_turn");
      assert.match(text(seen, session), /over MCP/);
    });
  } finally {
    server.kill();
  }
});
