// Drives the stentor binary with pi's RpcClient of three generations, each as it was published.
//
//   ./fetch.sh && STENTOR=/path/to/stentor node run.mjs
//
// Each check is one call of the client class, or one thing a program does with it.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync, readFileSync, existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const stentor = resolve(process.env.STENTOR ?? join(here, "../../target/debug/stentor"));
assert.ok(existsSync(stentor), `there is no ${stentor}; build it or set STENTOR`);

for (const version of ["0.73.1", "0.87.1", "1.5.0"]) {
  const folder = join(here, "clients", version);
  assert.ok(existsSync(folder), `there is no ${folder}; run fetch.sh first`);
  assert.equal(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version, version);
  const { RpcClient } = await import(pathToFileURL(join(folder, "dist/modes/rpc/rpc-client.js")));
  await drive(RpcClient, version);
  console.log(`ok: pi ${version}`);
}
await exchangeSessions();
console.log("ok: sessions of pi here, and ours there");

async function drive(RpcClient, version) {
  const cwd = mkdtempSync(join(tmpdir(), "stentor-interop-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  const scenario = join(cwd, "scenario.toml");
  writeFileSync(scenario, readFileSync(join(here, "scenario.toml")));
  mkdirSync(join(cwd, "stentor"));
  writeFileSync(join(cwd, "stentor/config.toml"), "[retry]\nbase_delay_ms = 1\n");
  mkdirSync(join(cwd, ".stentor/prompts"), { recursive: true });
  writeFileSync(join(cwd, ".stentor/prompts/greet.md"), "---\ndescription: Greets\n---\nsay hello to $1\n");
  const start = async (...args) => {
    const client = new RpcClient({
      cliPath: join(here, "stentor.mjs"),
      cwd,
      env: { STENTOR: stentor, HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd },
      provider: "script",
      model: scenario,
      args: ["--session-dir", join(cwd, "sessions"), "--no-rules", "--a-flag-nobody-knows", ...args],
    });
    await client.start();
    return client;
  };
  const client = await start();
  try {
    await conversation(client, cwd, version);
    await interruptions(client, cwd, version);
    await recoveries(client, version);
    await models(client);
    await sessions(client, cwd);
  } finally {
    await client.stop();
  }
  const careful = await start("--permission-mode", "ask");
  try {
    await permissions(careful);
  } finally {
    await careful.stop();
  }
  const extended = await start("--extension", join(here, "../../crates/stentor/tests/omp/extensions/demo.py"));
  try {
    await extensionUi(extended);
  } finally {
    await extended.stop();
  }
  rmSync(cwd, { recursive: true, force: true });
}

async function conversation(client, cwd, version) {
  // A prompt with thinking and text.
  let events = await client.promptAndWait("say hello");
  const types = events.map((event) => event.type);
  for (const type of ["agent_start", "turn_start", "message_start", "message_update", "message_end", "turn_end", "agent_end"]) {
    assert.ok(types.includes(type), `${type} is missing`);
  }
  const deltas = events.filter((event) => event.assistantMessageEvent?.type === "text_delta");
  assert.equal(deltas.map((event) => event.assistantMessageEvent.delta).join(""), "Hello from the script.");
  assert.equal(await client.getLastAssistantText(), "Hello from the script.");

  // A prompt with tools.
  events = await client.promptAndWait("use tools");
  const ends = events.filter((event) => event.type === "tool_execution_end");
  assert.deepEqual(ends.map((event) => [event.toolCallId, event.isError]), [["bash-1", false], ["read-1", false]]);
  assert.equal(ends[0].result.content[0].text, "one\ntwo\n");
  assert.match(ends[1].result.content[0].text, /alpha/);

  // A command of the user, and one that is stopped.
  const bash = await client.bash("echo out; exit 3");
  assert.deepEqual([bash.output, bash.exitCode, bash.cancelled], ["out\n", 3, false]);
  const sleeping = client.bash("sleep 60");
  await client.abortBash();
  assert.equal((await sleeping).cancelled, true);

  // A picture, and a template of the user.
  const picture = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
  events = await client.promptAndWait("/greet Bob", [picture]);
  const said = events.find((event) => event.type === "message_end" && event.message.role === "user");
  assert.equal(said.message.content[0].text.trim(), "say hello to Bob");
  assert.deepEqual(said.message.content[1], picture);
  const [greet] = await client.getCommands();
  assert.deepEqual([greet.name, greet.description, greet.source], ["greet", "Greets", "prompt"]);

  // The two ways to wait for the end of a prompt.
  const collected = client.collectEvents();
  const disposition = await client.prompt("say hello");
  if (version === "1.5.0") assert.equal(disposition, "started");
  assert.ok((await collected).some((event) => event.type === "agent_end"));
  const waited = client.waitForIdle();
  await client.prompt("say hello");
  await waited;
  await idle(client);

  // Compaction.
  const told = collect(client, "compaction_end");
  const compacted = await client.compact("Be brief");
  assert.equal(compacted.summary, "## Goal\nThe user tried things.");
  assert.ok(compacted.tokensBefore > 0);
  const [began, ended] = (await told).filter((event) => event.type.startsWith("compaction"));
  assert.deepEqual([began.type, began.reason], ["compaction_start", "manual"]);
  assert.deepEqual([ended.reason, ended.aborted, ended.result.summary], ["manual", false, compacted.summary]);
  assert.equal((await client.getMessages())[0].role, "compactionSummary");
  await assert.rejects(() => client.compact(), /Already compacted/);
  await client.setAutoCompaction(false);
  assert.equal((await client.getState()).autoCompactionEnabled, false);
}

async function interruptions(client, cwd, version) {
  // Steering while a tool runs: the second call is skipped.
  const steered = collect(client, "agent_end");
  const running = until(client, (event) => event.type === "tool_execution_start");
  await client.prompt("run three");
  await running;
  await client.steer("STEER: something else");
  assert.equal((await client.getState()).isStreaming, true);
  writeFileSync(join(cwd, "go"), "");
  let events = await steered;
  const skipped = events.find((event) => event.type === "tool_execution_end" && event.toolCallId === "slow-2");
  assert.equal(skipped.result.content[0].text, "Skipped due to queued user message.");
  assert.equal(await client.getLastAssistantText(), "Understood, changing direction.");
  await idle(client);

  // A follow-up and an abort.
  const hung = until(client, (event) => event.assistantMessageEvent?.type === "text_delta");
  await client.prompt("never stop");
  await hung;
  await client.followUp("FOLLOW one");
  // The oldest class does not look whether a prompt was refused, so the answer itself is looked at.
  const refused = await client.send({ type: "prompt", message: "no behaviour given" });
  assert.match(refused.error, /already processing/);
  const aborted = collect(client, "agent_end");
  await client.abort();
  const last = (await aborted).find((event) => event.type === "message_end");
  assert.equal(last.message.stopReason, "aborted");
  events = await client.promptAndWait("say hello");
  const said = events.filter((event) => event.type === "message_start" && event.message.role === "user");
  assert.deepEqual(said.map((event) => event.message.content[0].text), ["say hello", "FOLLOW one"]);

  // A follow-up while the agent works is answered in the same run.
  const working = until(client, (event) => event.type === "tool_execution_start");
  const whole = collect(client, "agent_end");
  await client.prompt("wait for a file");
  await working;
  const queued = await client.followUp("FOLLOW two");
  if (version === "1.5.0") assert.equal(queued, "queued");
  assert.equal((await client.getState()).pendingMessageCount, 1);
  writeFileSync(join(cwd, "file"), "");
  events = await whole;
  assert.deepEqual(texts(events, "user"), ["wait for a file", "FOLLOW two"]);
  assert.deepEqual(texts(events, "assistant"), ["", "The command is done.", "Here is the follow-up answer."]);
  await idle(client);

  // An abort while a tool runs.
  const begun = until(client, (event) => event.type === "tool_execution_update");
  const stopped = collect(client, "agent_end");
  await client.prompt("sleep long");
  await begun;
  await client.abort();
  events = await stopped;
  assert.equal(events.find((event) => event.type === "tool_execution_end").isError, true);
  const answers = events.filter((event) => event.type === "message_end" && event.message.role === "assistant");
  assert.deepEqual(answers.map((event) => event.message.stopReason), ["toolUse", "aborted"]);
  assert.equal((await client.getState()).isStreaming, false);

  if (version !== "0.73.1") {
    const hanging = until(client, (event) => event.assistantMessageEvent?.type === "text_delta");
    await client.prompt("never stop");
    await hanging;
    await client.steer("STEER one");
    await client.followUp("FOLLOW three");
    assert.deepEqual(await client.clearQueue(), { steering: ["STEER one"], followUp: ["FOLLOW three"] });
    assert.deepEqual(await client.clearQueue(), { steering: [], followUp: [] });
    await client.abort();
  }
}

async function recoveries(client, version) {
  // A model that is busy once is asked again.
  const again = collect(client, "auto_retry_end");
  await client.prompt("try again");
  const told = (await again).filter((event) => event.type.startsWith("auto_retry"));
  assert.deepEqual([told[0].attempt, told[0].maxAttempts, told[0].errorMessage], [1, 3, "busy"]);
  assert.deepEqual([told[1].success, told[1].attempt], [true, 1]);
  await idle(client);
  assert.equal(await client.getLastAssistantText(), "The second time it worked.");

  // Unless that is not wanted.
  await client.setAutoRetry(false);
  const events = collect(client, "agent_settled");
  await client.prompt("be busy");
  const failed = (await events).findLast((event) => event.type === "message_end");
  assert.deepEqual([failed.message.stopReason, failed.message.errorMessage], ["error", "busy"]);
  assert.ok(!(await events).some((event) => event.type === "auto_retry_start"));
  await client.setAutoRetry(true);

  // Or is given up.
  const waiting = until(client, (event) => event.type === "auto_retry_start");
  const over = collect(client, "agent_settled");
  await client.prompt("be slow");
  assert.equal((await waiting).errorMessage, "slow down");
  await client.abortRetry();
  const end = (await over).find((event) => event.type === "auto_retry_end");
  assert.deepEqual([end.success, end.finalError], [false, "Retry cancelled"]);
}

async function models(client) {
  const state = await client.getState();
  assert.equal(state.model.provider, "script");
  const available = await client.getAvailableModels();
  assert.ok(available.some((model) => model.provider === "offline"));
  assert.equal((await client.setModel("offline", "guide")).id, "guide");
  assert.equal((await client.getState()).model.id, "guide");
  await assert.rejects(() => client.setModel("nope", "missing"), /Model not found: nope\/missing/);
  await client.setModel("script", state.model.id);
  await client.setThinkingLevel("low");
  assert.equal((await client.getState()).thinkingLevel, "low");
  assert.deepEqual(await client.cycleThinkingLevel(), { level: "medium" });
  const { model, isScoped } = await client.cycleModel();
  assert.deepEqual([model.provider, model.id, isScoped], ["offline", "guide", false]);
  assert.equal(await client.cycleModel(), null);
  await client.setModel("script", state.model.id);
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  const changed = await client.getState();
  assert.deepEqual([changed.steeringMode, changed.followUpMode], ["all", "all"]);
}

async function sessions(client, cwd) {
  await client.setSessionName("  my work  ");
  const first = await client.getState();
  assert.equal(first.sessionName, "my work");
  const stats = await client.getSessionStats();
  assert.ok(stats.totalMessages > 0 && stats.cost > 0);
  const page = join(cwd, "out.html");
  assert.deepEqual(await client.exportHtml(page), { path: page });
  assert.match(readFileSync(page, "utf8"), /Hello from the script/);
  const points = await client.getForkMessages();
  assert.equal(points[0].text, "say hello");
  const forked = await client.fork(points[1].entryId);
  assert.deepEqual(forked, { text: "use tools", cancelled: false });
  assert.equal((await client.getMessages()).length, 2);
  await assert.rejects(() => client.fork("deadbeef"), /Invalid entry ID for forking/);
  const copied = await client.getState();
  assert.deepEqual(await client.clone(), { cancelled: false });
  const cloned = await client.getState();
  assert.notEqual(cloned.sessionId, copied.sessionId);
  assert.equal(cloned.messageCount, 2);
  assert.deepEqual(await client.newSession(first.sessionFile), { cancelled: false });
  assert.equal((await client.getState()).messageCount, 0);
  assert.deepEqual(await client.switchSession(first.sessionFile), { cancelled: false });
  const back = await client.getState();
  assert.deepEqual([back.sessionId, back.sessionName], [first.sessionId, "my work"]);
  if (client.getTree) {
    const { tree, leafId } = await client.getTree();
    assert.ok(tree.length > 0 && leafId);
    const { entries } = await client.getEntries();
    assert.equal(entries.at(-1).id, leafId);
    assert.ok((await client.getAvailableThinkingLevels()).includes("high"));
  }
}

/** pi's own session manager reads what was written here and writes what is read here. */
async function exchangeSessions() {
  const folder = join(here, "clients/0.73.1/dist");
  const { SessionManager } = await import(pathToFileURL(join(folder, "core/session-manager.js")));
  const { RpcClient } = await import(pathToFileURL(join(folder, "modes/rpc/rpc-client.js")));
  const cwd = mkdtempSync(join(tmpdir(), "stentor-interop-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  const scenario = join(cwd, "scenario.toml");
  writeFileSync(scenario, readFileSync(join(here, "scenario.toml")));
  const client = new RpcClient({
    cliPath: join(here, "stentor.mjs"),
    cwd,
    env: { STENTOR: stentor, HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd },
    provider: "script",
    model: scenario,
    args: ["--session-dir", join(cwd, "sessions")],
  });
  await client.start();
  try {
    // With a picture, tools, a command of the user, a name, a compaction.
    const picture = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
    await client.promptAndWait("say hello", [picture]);
    await client.promptAndWait("use tools");
    await client.bash("echo from the user");
    await client.setSessionName("exchanged");
    await client.promptAndWait("say hello again");
    await client.compact();
    await client.promptAndWait("say hello at last");
    const { sessionFile } = await client.getState();
    const ours = await client.getMessages();
    const read = SessionManager.open(sessionFile);
    const seen = read.buildSessionContext();
    assert.deepEqual(seen.messages.map(brief), ours.map(brief));
    assert.equal(read.getSessionName(), "exchanged");
    assert.equal(seen.thinkingLevel, "medium");

    // It goes on with it on another branch, and leaves a mark and a note.
    const first = read.getEntries().find((entry) => entry.type === "message");
    await client.newSession();
    read.branch(first.id);
    read.appendMessage({ role: "user", content: [{ type: "text", text: "written by pi" }], timestamp: 1 });
    read.appendMessage(answer("Read by stentor."));
    read.appendCustomMessageEntry("note", "a note of pi", true);
    read.appendLabelChange(first.id, "here");
    await client.switchSession(sessionFile);
    const back = await client.getMessages();
    assert.deepEqual(back.map(brief), read.buildSessionContext().messages.map(brief));
    assert.deepEqual(back.map((message) => message.role), ["user", "user", "assistant", "custom"]);
    const whole = SessionManager.open(sessionFile).getEntries().length;
    await client.promptAndWait("say hello to pi");
    assert.ok(SessionManager.open(sessionFile).getEntries().length > whole);
  } finally {
    await client.stop();
  }
  rmSync(cwd, { recursive: true, force: true });
}

function brief(message) {
  return { role: message.role, content: message.content ?? message.summary ?? message.command };
}

function answer(text) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "anthropic-messages",
    provider: "script",
    model: "mock-1",
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
    stopReason: "stop",
    timestamp: 2,
  };
}

/** An extension asks everything that can be asked, and shows everything that can be shown. */
async function extensionUi(client) {
  const answers = {
    confirm: { confirmed: true },
    select: { value: "Block" },
    input: { cancelled: true },
    editor: { value: "edited" },
  };
  const asked = [];
  const stop = client.onEvent((event) => {
    if (event.type !== "extension_ui_request" || !(event.method in answers)) return;
    asked.push(event.method);
    const answer = { type: "extension_ui_response", id: event.id, ...answers[event.method] };
    client.process.stdin.write(`${JSON.stringify(answer)}\n`);
  });
  let events = await client.promptAndWait("ask me everything");
  stop();
  assert.deepEqual(asked, ["confirm", "select", "input", "editor"]);
  const end = events.find((event) => event.type === "tool_execution_end");
  assert.deepEqual(JSON.parse(end.result.content[0].text), [
    { confirmed: true, answered: true },
    { value: "b" },
    { value: null },
    { value: "edited" },
  ]);
  const all = collect(client, "agent_end");
  const last = until(client, (event) => event.method === "set_editor_text");
  await client.prompt("show me everything");
  await last;
  events = await all;
  const shown = events.filter((event) => event.type === "extension_ui_request").map((event) => event.method);
  for (const method of ["notify", "setStatus", "setWidget", "setTitle"]) {
    assert.ok(shown.includes(method), `${method} is missing`);
  }
}

async function permissions(client) {
  const asked = until(client, (event) => event.type === "extension_ui_request" && event.method === "select");
  const done = collect(client, "agent_end");
  await client.prompt("a guarded command");
  const request = await asked;
  const labels = request.options.map((label) => label.replace(/^(Always \w+) .*/, "$1"));
  assert.deepEqual(labels, ["Allow", "Always allow", "Deny", "Always deny"]);
  client.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id: "unknown", value: "Allow" })}\n`);
  client.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id: request.id, value: "Deny" })}\n`);
  const denied = (await done).find((event) => event.type === "tool_execution_end");
  assert.equal(denied.isError, true);
}

/** Resolves with the first event that fits. */
function until(client, fits) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the event did not come")), 30_000);
    const stop = client.onEvent((event) => {
      if (!fits(event)) return;
      clearTimeout(timer);
      stop();
      resolve(event);
    });
  });
}

/** Resolves with all events up to and with the first of that type. */
function collect(client, type) {
  const events = [];
  return until(client, (event) => events.push(event) && event.type === type).then(() => events);
}

/** What was said in that role, in order. */
function texts(events, role) {
  const ends = events.filter((event) => event.type === "message_end" && event.message.role === role);
  const text = (block) => block.text ?? "";
  return ends.map((event) => event.message.content.map(text).join(""));
}

/** Waits until nothing follows, by asking: older clients have no event for it. */
async function idle(client) {
  while ((await client.getState()).isStreaming) await new Promise((resolve) => setTimeout(resolve, 10));
}
