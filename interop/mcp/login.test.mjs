// The published example of a server that wants a login, with the authorization server beside it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { World, calls, examples, freePort } from "./world.mjs";

const world = new World();

before(async () => {
  const [port, auth] = await Promise.all([freePort(), freePort()]);
  const env = { MCP_PORT: String(port), MCP_AUTH_PORT: String(auth) };
  await world.listening(join(examples, "simpleStreamableHttp.js"), ["--oauth"], env);
  world.configure(`[mcp_servers.guarded]\nurl = "http://localhost:${port}/mcp"\n`);
  world.file("play.toml", calls("mcp__guarded__greet", `{ name = "Ada" }`));
});

after(() => world.end());

const ask = () => world.stentor("--model", "script/play.toml", "--no-session", "-p", "go");

test("without a login the server says what to do", async () => {
  const ran = await ask();
  assert.match(ran.err, /run `stentor mcp login guarded`/);
});

test("after a login in a browser its tools are called", async () => {
  const child = world.start("mcp", "login", "guarded");
  const said = [];
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line);
    // As a browser does, through the authorization server and back to this machine.
    if (line.trim().startsWith("http")) assert.match(await (await fetch(line.trim())).text(), /logged in/);
  }
  assert.match(said.at(-1), /Logged in to guarded\./, said.join("\n"));
  const ran = await ask();
  assert.match(ran.out, /Hello, Ada/, ran.err);
});
