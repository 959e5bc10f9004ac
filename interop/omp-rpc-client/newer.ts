// What only omp's newer RpcClient has: prompt results, pages, chunks, subagents, tools of its own, logins.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "./waiting";

/** A slash command, and a provider with a server where one logs in. Returns the server. */
export function prepare(cwd: string) {
  mkdirSync(join(cwd, ".stentor/prompts"), { recursive: true });
  writeFileSync(join(cwd, ".stentor/prompts/greet.md"), "---\ndescription: Greets\n---\nsay hello to $1\n");
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ access_token: "access-1", refresh_token: "refresh-1", expires_in: 3600 }),
  });
  mkdirSync(join(cwd, "stentor"), { recursive: true });
  writeFileSync(
    join(cwd, "stentor/config.toml"),
    `[providers.acme]
base_url = "http://127.0.0.1:9/v1"
api = "openai-completions"
[[providers.acme.models]]
id = "m1"
[providers.acme.oauth]
client_id = "client-1"
authorize_url = "http://127.0.0.1:${server.port}/authorize"
token_url = "http://127.0.0.1:${server.port}/token"
redirect = "https://acme.example/code"
`,
  );
  return server;
}

/** A tool that says it again, fails, or waits until it is told not to. */
export function echoTool() {
  return {
    name: "echo_host",
    description: "Says it again.",
    parameters: { type: "object", properties: { message: { type: "string" } } },
    execute: async (args: any, context: any) => {
      if (args.message === "fail") throw new Error("no echo here");
      context.sendUpdate({ content: [{ type: "text", text: "almost" }], details: { done: 1 } });
      if (args.message === "wait") {
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
        cancelled = true;
      }
      return `echo: ${args.message}`;
    },
  };
}

let cancelled = false;

export async function newer(client: any) {
  await prompts(client);
  await queues(client);
  await pages(client);
  await subagents(client);
  await tools(client);
  await commands(client);
  await login(client);
}

async function prompts(client: any) {
  const results: any[] = [];
  const stop = client.onPromptResult((result: any) => results.push(result));
  let settled = 0;
  const unsettle = client.onSessionSettled(() => settled++);
  const collected = client.collectEvents();
  const id = await client.prompt("say hello");
  assert.equal((await collected).at(-1).type, "agent_end");
  await client.waitForSettled();
  assert.deepEqual(
    results.map((result) => [result.id, result.status, result.agentInvoked, result.sessionSettled]),
    [[id, "completed", true, true]],
  );
  assert.equal((await client.getState()).isSettled, true);
  assert.equal(settled, 1);
  const begun = until(client, isDelta);
  const hanging = await client.prompt("never stop");
  await begun;
  await client.abort();
  await client.waitForSettled();
  assert.deepEqual([results.at(-1).id, results.at(-1).status], [hanging, "aborted"]);
  stop();
  unsettle();

  assert.deepEqual(await client.setEventFilter(["agent_end"]), ["agent_end"]);
  const events = await client.promptAndWait("say hello");
  assert.deepEqual(events.map((event: any) => event.type), ["agent_end"]);
  assert.equal(await client.setEventFilter(null), null);
  const told: any[] = [];
  const deaf = client.onSessionEvent((event: any) => told.push(event));
  await client.setThinkingLevel("high");
  await client.getState();
  deaf();
  assert.ok(told.some((event) => event.type === "thinking_level_changed" && event.thinkingLevel === "high"));
  assert.deepEqual((await client.getAvailableThinkingLevels())[0], "off");
}

async function queues(client: any) {
  const begun = until(client, isDelta);
  await client.prompt("never stop");
  await begun;
  await client.steer("STEER: something else");
  await client.followUp("FOLLOW one");
  const { queuedMessages, queuedMessageCount } = await client.getState();
  assert.deepEqual(queuedMessages, { steering: ["STEER: something else"], followUp: ["FOLLOW one"] });
  assert.equal(queuedMessageCount, 2);
  await client.abort();
  const events = await client.promptAndWait("say hello");
  const said = events.filter((event: any) => event.type === "message_start" && event.message.role === "user");
  assert.deepEqual(
    said.map((event: any) => event.message.content[0].text),
    ["say hello", "STEER: something else", "FOLLOW one"],
  );
}

async function pages(client: any) {
  // Longer than a frame of protocol 1 may be: it comes in chunks, which the class takes only after
  // it has negotiated protocol 2.
  const events = await client.promptAndWait("at length");
  const end = events.findLast((event: any) => event.type === "message_end" && event.message.role === "assistant");
  assert.ok(end.message.content[0].text.length > 1024 * 1024);
  const all = await client.getMessages();
  const first = await client.getMessagesPage({ limit: 2 });
  assert.deepEqual([first.messages, first.totalMessages], [all.slice(0, 2), all.length]);
  const second = await client.getMessagesPage({ cursor: first.nextCursor, limit: 256 });
  assert.deepEqual([second.messages, second.nextCursor], [all.slice(2), undefined]);
  await assert.rejects(() => client.getMessagesPage({ cursor: "nonsense" }), { code: "stale_cursor" });
}

async function subagents(client: any) {
  assert.equal(await client.setSubagentSubscription("events"), "events");
  const told: string[] = [];
  client.onSubagentLifecycle((payload: any) => told.push(payload.status));
  let file = "";
  client.onSubagentProgress((payload: any) => (file = payload.sessionFile));
  let said = "";
  client.onSubagentEvent((payload: any) => (said += payload.event.assistantMessageEvent?.delta ?? ""));
  await client.promptAndWait("delegate it");
  assert.deepEqual(told, ["started", "completed"]);
  assert.equal(said, "The subagent is done.");
  assert.deepEqual(await client.getSubagents(), []);
  const kept = await client.getSubagentMessages({ sessionFile: file });
  assert.deepEqual(kept.messages.map((message: any) => message.role), ["user", "assistant"]);
}

async function tools(client: any) {
  const ended = (events: any[]) => events.find((event: any) => event.type === "tool_execution_end");
  const events = await client.promptAndWait("call the host");
  assert.ok(events.some((event: any) => event.type === "tool_execution_update"));
  assert.equal(ended(events).result.content[0].text, "echo: hello");
  const failed = ended(await client.promptAndWait("let the host fail"));
  assert.deepEqual([failed.result.content[0].text, failed.isError], ["no echo here", true]);
  const running = until(client, (event) => event.type === "tool_execution_update");
  await client.prompt("keep the host busy");
  await running;
  await client.abort();
  await client.waitForSettled();
  assert.ok(cancelled, "the tool was not told to stop");
  assert.deepEqual(await client.setCustomTools([]), []);
}

async function commands(client: any) {
  const listed = await client.getAvailableCommands();
  const greet = listed.find((command: any) => command.name === "greet");
  assert.deepEqual([greet.description, greet.source], ["Greets", "file"]);
  const { tree, leafId } = await client.getTree();
  assert.ok(tree.length > 0 && leafId);
  const { entries } = await client.getEntries();
  assert.equal(entries.at(-1).id, leafId);
  await assert.rejects(() => client.getEntries("nobody"), { code: "unknown_since" });

  const { sessionFile, sessionId } = await client.getState();
  const fresh = await client.openSession(join(dirname(sessionFile), "fresh"));
  assert.deepEqual([fresh.resumed, fresh.cancelled], [false, false]);
  assert.notEqual(fresh.sessionId, sessionId);
  const back = await client.openSession(dirname(sessionFile));
  assert.deepEqual([back.resumed, back.sessionId, back.sessionFile], [true, sessionId, sessionFile]);
  assert.deepEqual(await client.setFastMode(false), { enabled: false, active: false });
  assert.deepEqual(await client.handoff("Be brief"), {});
  assert.equal((await client.getMessages())[0].role, "compactionSummary");
}

async function login(client: any) {
  const acme = async () => (await client.getLoginProviders()).find((provider: any) => provider.id === "acme");
  assert.deepEqual(await acme(), { id: "acme", name: "acme", available: true, authenticated: false });
  let opened = "";
  const logged = await client.login("acme", {
    onOpenUrl: (url: string) => (opened = url),
    onManualCodeInput: () => `https://acme.example/code?code=1&state=${new URL(opened).searchParams.get("state")}`,
  });
  assert.deepEqual(logged, { providerId: "acme" });
  assert.equal((await acme()).authenticated, true);
  await assert.rejects(() => client.login("nobody"), { command: "login" });
}

function isDelta(event: any) {
  return event.assistantMessageEvent?.type === "text_delta";
}
