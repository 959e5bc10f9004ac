// The official ACP SDK in front of another agent: a prompt with a tool and the question whether it may run, a
// cancel, and the session once more.
//   STENTOR=… AGENT=NAME [ASKS=1] node acp.mjs
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { agent, client } = acp.methods;
const cwd = process.env.FOLDER;

async function connected(body) {
  const words = ["acp", "--model", `agent/${process.env.AGENT}`, "--permission-mode", "ask"];
  const child = spawn(process.env.STENTOR, words, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((done) => child.on("exit", (code) => done(code)));
  const seen = { text: "", tools: "", questions: [] };
  const app = acp
    .client({ name: "interop" })
    .onNotification(client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text;
      if (update.sessionUpdate.startsWith("tool_call")) seen.tools += JSON.stringify(update);
    })
    .onRequest(client.session.requestPermission, ({ params }) => {
      seen.questions.push(params);
      const allow = params.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: allow.optionId } };
    });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await app.connectWith(stream, async (ctx) => {
    await ctx.request(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
    const prompt = (sessionId, text) =>
      ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    await body({ ctx, prompt, seen });
  });
  child.stdin.end();
  assert.equal(await ended, 0);
}

let session;
await connected(async ({ ctx, prompt, seen }) => {
  session = (await ctx.request(agent.session.new, { cwd, mcpServers: [] })).sessionId;
  assert.equal((await prompt(session, "Run something.")).stopReason, "end_turn");
  assert.match(seen.tools, /from the tool/);
  assert.match(seen.text, /answered 1 prompts/);
  assert.equal(seen.questions.length, process.env.ASKS === "1" ? 1 : 0, JSON.stringify(seen.questions));
  const hanging = prompt(session, "Hang.");
  while (!seen.text.includes("I begin.")) await new Promise((next) => setTimeout(next, 10));
  await ctx.notify(agent.session.cancel, { sessionId: session });
  assert.equal((await hanging).stopReason, "cancelled");
});
await connected(async ({ ctx, prompt, seen }) => {
  await ctx.request(agent.session.resume, { sessionId: session, cwd, mcpServers: [] });
  await prompt(session, "How many?");
  assert.match(seen.text, /answered [23] prompts/);
});
