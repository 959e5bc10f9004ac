// The official TypeScript SDK's clients of ACP over HTTP and WebSocket, against `stentor serve --http`.
// STENTOR names the binary.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import WebSocket from "ws";

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.STENTOR ?? resolve(here, "../../target/debug/stentor");
const scenario = resolve(here, "../acp-scenarios/work.toml");
const { agent, client } = acp.methods;

/** Runs `body` with a server and the ways to it. */
async function served(body) {
  const world = realpathSync(mkdtempSync(join(tmpdir(), "stentor-remote-")));
  const cwd = join(world, "work");
  mkdirSync(cwd);
  mkdirSync(join(world, "home"));
  const server = spawn(binary, ["serve", "--socket", join(world, "s"), "--http", "0"], {
    cwd,
    env: { PATH: process.env.PATH, HOME: join(world, "home"), STENTOR_MODEL: `script/${scenario}` },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((done) => server.on("exit", done));
  try {
    const [line] = await new Promise((done) =>
      createInterface({ input: server.stdout }).once("line", (first) => done([first])),
    );
    const ready = JSON.parse(line);
    const token = /^drive (.*)$/m.exec(readFileSync(ready.token_file, "utf8"))[1];
    const address = `${ready.http}/acp`;
    const headers = { Authorization: `Bearer ${token}` };
    const socket = address.replace("http", "ws");
    const ways = {
      http: () => createHttpStream(address, { headers }),
      "web socket": () => createWebSocketStream(socket, { headers, WebSocket }),
      "web socket with the token in its path": () =>
        createWebSocketStream(socket.replace("/acp", `/${token}/acp`), { WebSocket }),
    };
    await body({ cwd, address, ways });
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
}

/** A client that has shaken hands. */
async function connected(stream, body) {
  const seen = { updates: [], questions: [] };
  const app = acp
    .client({ name: "interop" })
    .onNotification(client.session.update, ({ params }) => {
      seen.updates.push(params);
    })
    .onRequest(client.session.requestPermission, ({ params }) => {
      seen.questions.push(params);
      return { outcome: { outcome: "selected", optionId: "allow_once" } };
    });
  await app.connectWith(stream, async (ctx) => {
    const hello = await ctx.request(agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    assert.equal(hello.agentInfo.name, "stentor");
    await body(ctx, seen);
  });
}

/** Waits until an update has this text. */
async function arrived(seen, text) {
  while (!JSON.stringify(seen.updates).includes(text)) {
    await new Promise((next) => setImmediate(next));
  }
}

for (const way of ["http", "web socket", "web socket with the token in its path"]) {
  test(`a session over ${way}: tools, permission, two at once, loaded again`, () =>
    served(async ({ cwd, ways }) => {
      let first;
      await connected(ways[way](), async (ctx, seen) => {
        const start = async () =>
          (await ctx.request(agent.session.new, { cwd, mcpServers: [] })).sessionId;
        const prompt = (sessionId, text) =>
          ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
        first = await start();
        const second = await start();
        const ends = await Promise.all([prompt(first, "write a file"), prompt(second, "hello")]);
        assert.deepEqual(ends.map((end) => end.stopReason), ["end_turn", "end_turn"]);
        assert.equal(readFileSync(join(cwd, "made.txt"), "utf8"), "made\n");
        assert.equal(seen.questions.length, 1);
        for (const session of [first, second]) {
          assert.ok(seen.updates.some((one) => one.sessionId === session));
        }
        const stopped = prompt(second, "never stop");
        await arrived(seen, "Working");
        await ctx.notify(agent.session.cancel, { sessionId: second });
        assert.equal((await stopped).stopReason, "cancelled");
      });
      await connected(ways[way](), async (ctx, seen) => {
        await ctx.request(agent.session.load, { sessionId: first, cwd, mcpServers: [] });
        // Over HTTP the answer and what is loaded come on streams of their own.
        await arrived(seen, "I will write it.");
      });
    }));
}

test("a wrong token ends the transport", () =>
  served(async ({ address }) => {
    const headers = { Authorization: `Bearer ${"x".repeat(43)}` };
    await assert.rejects(connected(createHttpStream(address, { headers }), async () => {}));
  }));
