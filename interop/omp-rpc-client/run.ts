// Drives the stentor binary with omp's RpcClient, each version as it was published.
//
//   ./fetch.sh && STENTOR=/path/to/stentor clients/bun/node_modules/.bin/bun run.ts
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { echoTool, newer, prepare } from "./newer";
import { collect, idle, until } from "./waiting";

const here = dirname(fileURLToPath(import.meta.url));
const stentor = resolve(process.env.STENTOR ?? join(here, "../../target/debug/stentor"));
assert.ok(existsSync(stentor), `there is no ${stentor}; build it or set STENTOR`);

for (const version of ["13.19.0", "18.3.4"]) {
  const folder = join(here, "clients", version);
  assert.ok(existsSync(folder), `there is no ${folder}; run fetch.sh first`);
  assert.equal(JSON.parse(readFileSync(join(folder, "published.json"), "utf8")).version, version);
  const { RpcClient } = await import(join(folder, "src/modes/rpc/rpc-client.ts"));
  await drive(RpcClient, version);
  console.log(`ok: omp ${version}`);
}

async function drive(RpcClient: any, version: string) {
  const cwd = mkdtempSync(join(tmpdir(), "stentor-interop-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  const scenario = join(cwd, "scenario.toml");
  writeFileSync(scenario, readFileSync(join(here, "../pi-rpc-client/scenario.toml")));
  const isNew = version.startsWith("18");
  const server = isNew ? prepare(cwd) : undefined;
  const client = new RpcClient({
    // The older class starts `bun <cliPath>`, the newer one any command.
    ...(isNew ? { command: [stentor] } : { cliPath: join(here, "../pi-rpc-client/stentor.mjs") }),
    ...(isNew && { customTools: [echoTool()] }),
    cwd,
    env: { STENTOR: stentor, HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd },
    provider: "script",
    model: scenario,
    sessionDir: join(cwd, "sessions"),
    args: ["--no-rules", "--no-title", "--a-flag-nobody-knows"],
  });
  await client.start();
  try {
    await conversation(client, cwd);
    await choices(client);
    await sessions(client, cwd);
    if (isNew) await newer(client);
  } finally {
    await client.stop();
    server?.stop(true);
  }
  rmSync(cwd, { recursive: true, force: true });
}

async function conversation(client: any, cwd: string) {
  let events = await client.promptAndWait("say hello");
  const deltas = events.filter((event: any) => event.assistantMessageEvent?.type === "text_delta");
  assert.equal(deltas.map((event: any) => event.assistantMessageEvent.delta).join(""), "Hello from the script.");
  events = await client.promptAndWait("use tools");
  const ends = events.filter((event: any) => event.type === "tool_execution_end");
  assert.deepEqual(ends.map((event: any) => [event.toolCallId, event.isError]), [["bash-1", false], ["read-1", false]]);

  const running = until(client, (event) => event.type === "tool_execution_start");
  const steered = until(client, (event) => event.type === "agent_end");
  await client.prompt("run three");
  await running;
  await client.steer("STEER: something else");
  writeFileSync(join(cwd, "go"), "");
  await steered;
  assert.equal(await client.getLastAssistantText(), "Understood, changing direction.");
  await idle(client);

  const hung = until(client, (event) => event.assistantMessageEvent?.type === "text_delta");
  await client.prompt("never stop");
  await hung;
  await client.followUp("FOLLOW one");
  const again = until(client, (event) => event.type === "agent_start");
  const over = collect(client, (event) => event.type === "agent_end", 2);
  await client.abortAndPrompt("say hello");
  await again;
  const seen = await over;
  const aborted = seen.find((event: any) => event.type === "message_end" && event.message.stopReason === "aborted");
  assert.ok(aborted);
  await idle(client);

  const bash = await client.bash("echo out; exit 3");
  assert.deepEqual([bash.output, bash.exitCode, bash.cancelled], ["out\n", 3, false]);
  const sleeping = client.bash("sleep 60");
  await client.abortBash();
  assert.equal((await sleeping).cancelled, true);

  const compacted = await client.compact("Be brief");
  assert.equal(compacted.summary, "## Goal\nThe user tried things.");
  assert.equal((await client.getMessages())[0].role, "compactionSummary");
  await client.setAutoCompaction(false);
  await client.setAutoRetry(false);
  await client.abortRetry();
}

async function choices(client: any) {
  const state = await client.getState();
  assert.equal(state.model.provider, "script");
  assert.ok((await client.getAvailableModels()).some((model: any) => model.provider === "offline"));
  assert.equal((await client.setModel("offline", "guide")).id, "guide");
  await assert.rejects(() => client.setModel("nope", "missing"), /Model not found: nope\/missing/);
  await client.setModel("script", state.model.id);
  await client.setThinkingLevel("low");
  assert.deepEqual(await client.cycleThinkingLevel(), { level: "medium" });
  await client.cycleModel();
  await client.setModel("script", state.model.id);
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  const changed = await client.getState();
  assert.deepEqual([changed.steeringMode, changed.followUpMode, changed.queuedMessageCount], ["all", "all", 0]);
}

async function sessions(client: any, cwd: string) {
  const first = await client.getState();
  const stats = await client.getSessionStats();
  assert.ok(stats.totalMessages > 0 && stats.cost > 0);
  const page = join(cwd, "out.html");
  assert.deepEqual(await client.exportHtml(page), { path: page });
  const points = await client.getBranchMessages();
  assert.equal(points[0].text, "say hello");
  assert.deepEqual(await client.branch(points[1].entryId), { text: "use tools", cancelled: false });
  assert.equal((await client.getMessages()).length, 2);
  assert.deepEqual(await client.newSession(first.sessionFile), { cancelled: false });
  assert.equal((await client.getState()).messageCount, 0);
  assert.deepEqual(await client.switchSession(first.sessionFile), { cancelled: false });
  assert.equal((await client.getState()).sessionId, first.sessionId);
}
