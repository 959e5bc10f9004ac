// pi's RpcClient in front of another agent: a prompt with a tool and the question whether it may run, an abort,
// and its session once more.
//   CLIENT=PATH OF rpc-client.js STENTOR=… AGENT=NAME [ASKS=1] node omp.mjs
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

const { RpcClient } = await import(pathToFileURL(process.env.CLIENT));
const here = dirname(fileURLToPath(import.meta.url));
// Whoever runs this ends it when it takes too long.
const FOR_EVER = 2 ** 30;

async function start(...args) {
  const client = new RpcClient({
    cliPath: join(here, "../pi-rpc-client/stentor.mjs"),
    cwd: process.cwd(),
    env: process.env,
    provider: "agent",
    model: process.env.AGENT,
    args: ["--permission-mode", "ask", ...args],
  });
  await client.start();
  client.questions = [];
  client.onEvent((event) => {
    if (event.type !== "extension_ui_request" || event.method !== "select") return;
    client.questions.push(event);
    const answer = { type: "extension_ui_response", id: event.id, value: "Allow" };
    client.process.stdin.write(`${JSON.stringify(answer)}\n`);
  });
  return client;
}

const last = (events) => events.filter((event) => event.type === "message_end").at(-1).message;
const said = (events) => last(events).content.map((block) => block.text ?? "").join("");

const client = await start();
let events = await client.promptAndWait("Run something.", undefined, FOR_EVER);
const ended = events.find((event) => event.type === "tool_execution_end");
assert.match(JSON.stringify(ended?.result ?? null), /from the tool/);
assert.match(said(events), /answered 1 prompts/);
assert.equal(client.questions.length, process.env.ASKS === "1" ? 1 : 0, JSON.stringify(client.questions));

const begun = new Promise((done) =>
  client.onEvent((event) => event.assistantMessageEvent?.type === "text_delta" && done()),
);
const over = new Promise((done) => client.onEvent((event) => event.type === "agent_end" && done(event)));
await client.prompt("Hang.");
await begun;
await client.abort();
await over;
const { sessionFile } = await client.getState();
await client.stop();

const again = await start("--session", sessionFile);
events = await again.promptAndWait("How many?", undefined, FOR_EVER);
assert.match(said(events), /answered [23] prompts/);
await again.stop();
