// One session of one server with the clients that others publish, at the same time: the official ACP
// SDK, pi's RpcClient, psi's frames and the lines of a Synaps bridge.
// STENTOR names the binary, PI the folder of pi's package, STENTOR_MJS what starts stentor in its place.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough, Readable, Writable } from "node:stream";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as acp from "@agentclientprotocol/sdk";

const binary = process.env.STENTOR;
const { RpcClient } = await import(pathToFileURL(join(process.env.PI, "dist/modes/rpc/rpc-client.js")));
const { agent, client } = acp.methods;

const world = realpathSync(mkdtempSync(join(tmpdir(), "stentor-together-")));
const [cwd, home, socket] = ["work", "home", "s"].map((name) => join(world, name));
mkdirSync(cwd);
mkdirSync(join(home, ".config/stentor"), { recursive: true });
const scenario = join(world, "scenario.toml");
writeFileSync(
  scenario,
  `[[turn]]
when = { last_user_contains = "say " }
text = "Heard: {{last_user}}."
[[turn]]
when = { last_user_contains = "never stop" }
steps = [{ text = "On and on" }, { hang = true }]
[[turn]]
when = { last_user_contains = "run it" }
tool = "bash"
arguments = { command = "echo ran >> ran.txt" }
[[turn]]
when = { tool = "bash" }
text = "It ran."
`,
);
writeFileSync(
  join(home, ".config/stentor/config.toml"),
  `model = "script/${scenario}"\nsession_dir = "${join(world, "sessions")}"\nshare_sessions = false\n`,
);
const env = { PATH: process.env.PATH, HOME: home };
const children = [];
after(() => children.forEach((child) => child.kill("SIGKILL")));

function start(...words) {
  const child = spawn(binary, words, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  return child;
}

/** What a client has seen, and a way to wait until something of it fits. */
function sight() {
  const seen = [];
  const waiting = [];
  return {
    add(item) {
      seen.push(item);
      for (const look of [...waiting]) look();
    },
    /** The first from `from` on that fits, and the place behind it. */
    async until(fits, from = 0) {
      let at = from;
      return new Promise((done) => {
        const look = () => {
          for (; at < seen.length; at++) {
            if (!fits(seen[at])) continue;
            const found = waiting.indexOf(look);
            if (found >= 0) waiting.splice(found, 1);
            return done([seen[at], at + 1]);
          }
          if (!waiting.includes(look)) waiting.push(look);
        };
        look();
      });
    },
    now: () => seen.length,
  };
}

/** A client that reads and writes lines. */
function lines(child) {
  const view = sight();
  createInterface({ input: child.stdout }).on("line", (line) => view.add(line));
  return { ...view, send: (line) => child.stdin.write(`${line}\n`) };
}

const server = start("serve", "--socket", socket);
await new Promise((ready) => createInterface({ input: server.stdout }).once("line", ready));
const attach = `--attach=${socket}`;

/** A client of the official SDK; questions are answered by `answer`. */
async function official(answer) {
  const view = sight();
  const child = start("acp", attach);
  const app = acp
    .client({ name: "together" })
    .onNotification(client.session.update, ({ params }) => view.add(params.update))
    .onRequest(client.session.requestPermission, ({ params }) => {
      view.add({ question: params });
      return answer(params);
    });
  // What the SDK does not hand on is seen in the lines.
  const { until: line } = lines(child);
  const forSdk = child.stdout.pipe(new PassThrough());
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(forSdk));
  return new Promise((connected) => {
    const connection = app.connectWith(stream, async (ctx) => {
      await ctx.request(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
      connected({ ...view, line, ctx });
      await new Promise(() => {});
    });
    // It is killed in the end.
    connection.catch(() => {});
  });
}

const never = () => new Promise(() => {});
const answerOf = { one: never };
const one = await official((question) => answerOf.one(question));
const { sessionId } = await one.ctx.request(agent.session.new, { cwd, mcpServers: [] });
const prompt = (who, text) =>
  who.ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
assert.equal((await prompt(one, "say hello")).stopReason, "end_turn");

const two = await official(never);
await two.ctx.request(agent.session.load, { sessionId, cwd, mcpServers: [] });

const pi = new RpcClient({
  cliPath: process.env.STENTOR_MJS,
  cwd,
  env: { ...env, STENTOR: binary },
  args: [attach, "--session", sessionId],
});
await pi.start();
assert.equal((await pi.getState()).sessionId, sessionId);
const piView = sight();
pi.onEvent((event) => piView.add(event));
after(() => pi.stop());

const psi = lines(start("--rpc-edn", attach));
const file = join(world, "sessions", readdirSync(join(world, "sessions")).find((name) => name.endsWith(`${sessionId}.jsonl`)));
const psiAsk = async (id, op, params) => {
  const from = psi.now();
  psi.send(`{:id "${id}" :kind :request :op "${op}" :params ${params}}`);
  const [line] = await psi.until((line) => line.includes(`:id "${id}"`) && line.includes(":kind :response"), from);
  return line;
};
await psiAsk("h", "handshake", `{:client-info {:name "psi-emacs" :version "0.1.0" :protocol-version "1.0" :features []}}`);
await psiAsk("s", "subscribe", `{:topics ["assistant/message" "session/updated" "ui/dialog-requested"]}`);
await psiAsk("w", "switch_session", `{:session-path "${file}"}`);

const synaps = lines(start("rpc", "--continue", sessionId, attach));
await synaps.until((line) => line.includes(`"session_id":"${sessionId}"`));

/** Everybody sees the answer; those that can show a prompt see that, too. */
async function seenByAll(text, ask) {
  const from = [one, two, psi, synaps, piView].map((view) => view.now());
  await ask();
  const answer = `Heard: ${text}.`;
  const chunk = (kind, text) => {
    let so_far = "";
    return (update) => {
      if (update.sessionUpdate !== kind) return false;
      so_far += update.content.text;
      return so_far.includes(text);
    };
  };
  const isSaid = (role, text) => (event) =>
    event.type === "message_end" && event.message.role === role && JSON.stringify(event.message).includes(text);
  const inPsi = (text) => (line) => line.includes(`:event "assistant/message"`) && line.includes(text);
  await Promise.all([
    one.until(chunk("agent_message_chunk", answer), from[0]),
    two.until(chunk("agent_message_chunk", answer), from[1]),
    two.until(chunk("user_message_chunk", text), from[1]),
    psi.until(inPsi(text), from[2]),
    psi.until(inPsi(answer), from[2]),
    psi.until((line) => line.includes(`:phase "idle"`), from[2]),
    synaps.until((line) => line.includes(`"type":"agent_end"`), from[3]),
    piView.until(isSaid("user", text), from[4]),
    piView.until(isSaid("assistant", answer), from[4]),
    piView.until((event) => event.type === "agent_settled", from[4]),
  ]);
}

test("a prompt of each is seen by all", async () => {
  await seenByAll("say one", () => prompt(one, "say one"));
  await seenByAll("say two", () => pi.prompt("say two"));
  await seenByAll("say three", () => psiAsk("p", "prompt", `{:message "say three"}`));
  await seenByAll("say four", () => synaps.send(`{"type":"prompt","id":"p","message":"say four"}`));
});

test("each is stopped by another", async () => {
  const begins = async (ask, stop) => {
    const [from, fromPi] = [two.now(), piView.now()];
    const asked = ask();
    let so_far = "";
    await two.until((update) => {
      so_far += update.sessionUpdate === "agent_message_chunk" ? update.content.text : "";
      return so_far.includes("On and on");
    }, from);
    await stop();
    await asked;
    await piView.until((event) => event.type === "agent_settled", fromPi);
  };
  await begins(
    async () => assert.equal((await prompt(one, "never stop")).stopReason, "cancelled"),
    () => pi.abort(),
  );
  await begins(
    () => pi.prompt("never stop"),
    () => two.ctx.notify(agent.session.cancel, { sessionId }),
  );
  await begins(
    () => psiAsk("p2", "prompt", `{:message "never stop"}`),
    () => synaps.send(`{"type":"abort","id":"a"}`),
  );
});

test("a question is answered by one and withdrawn from the others", async () => {
  const asked = prompt(one, "run it");
  const [dialog, fromPsi] = await psi.until((line) => line.includes(`:event "ui/dialog-requested"`));
  const [question] = await piView.until((event) => event.type === "extension_ui_request" && event.method === "select");
  await one.until((update) => update.question);
  await two.until((update) => update.question);
  assert.equal(existsSync(join(cwd, "ran.txt")), false);
  const allow = question.options.find((label) => label.startsWith("Allow"));
  pi.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id: question.id, value: allow })}\n`);
  assert.equal((await asked).stopReason, "end_turn");
  assert.equal(existsSync(join(cwd, "ran.txt")), true);
  await psi.until((line) => line.includes("It ran."), fromPsi);
  for (const who of [one, two]) {
    const [line, behind] = await who.line((line) => line.includes("session/request_permission"));
    const { id } = JSON.parse(line);
    const [cancel] = await who.line((line) => line.includes("$/cancel_request"), behind);
    assert.equal(JSON.parse(cancel).params.requestId, id);
  }
  // psi's dialog is gone: who answers it now is refused.
  const dialogId = /:dialog-id "([^"]+)"/.exec(dialog)[1];
  const from = psi.now();
  psi.send(`{:id "late" :kind :request :op "resolve_dialog" :params {:dialog-id "${dialogId}" :result "Reject"}}`);
  const [late] = await psi.until((line) => line.includes(`:id "late"`), from);
  assert.match(late, /:kind :error/);
  // The other way round: pi's is withdrawn when ACP answers.
  const [fromPi, fromOne] = [piView.now(), one.now()];
  answerOf.one = ({ options }) => ({
    outcome: { outcome: "selected", optionId: options.find(({ kind }) => kind === "reject_once").optionId },
  });
  assert.equal((await prompt(one, "run it")).stopReason, "end_turn");
  await one.until((update) => update.question, fromOne);
  const isQuestion = (event) => event.type === "extension_ui_request" && event.method === "select";
  const [open, behind] = await piView.until(isQuestion, fromPi);
  const isCancel = (event) => event.type === "extension_ui_request" && event.method === "cancel";
  const [cancelled] = await piView.until(isCancel, behind);
  assert.equal(cancelled.targetId, open.id);
});

test("who was killed comes back, and so does the server, with everything that was said", async () => {
  children.slice(1).forEach((child) => child.kill("SIGKILL"));
  const back = await official(never);
  const history = async (who) => {
    await who.ctx.request(agent.session.load, { sessionId, cwd, mcpServers: [] });
    await who.until((update) => JSON.stringify(update).includes("It ran."));
  };
  await history(back);
  server.kill("SIGKILL");
  await new Promise((gone) => server.on("exit", gone));
  const again = start("serve", "--socket", socket);
  await new Promise((ready) => createInterface({ input: again.stdout }).once("line", ready));
  const last = await official(never);
  await history(last);
  assert.equal((await prompt(last, "say goodbye")).stopReason, "end_turn");
});
