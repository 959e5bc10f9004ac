// The servers that the protocol's authors publish, used by sessions with a scripted model.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { World, calls, everything, filesystem, freePort } from "./world.mjs";

const world = new World();
const stentor = (...words) => world.stentor(...words);
world.file("note.txt", "written before\n");

/** Starts the server of everything over HTTP. */
async function overHttp(transport) {
  const port = await freePort();
  await world.listening(everything, [transport], { PORT: String(port) });
  return port;
}

before(async () => {
  const [http, sse] = await Promise.all([overHttp("streamableHttp"), overHttp("sse")]);
  const text = JSON.stringify;
  world.configure(`
[mcp_servers.stdio]
command = ${text(process.execPath)}
args = [${text(everything)}, "stdio"]

[mcp_servers.http]
url = "http://127.0.0.1:${http}/mcp"

[mcp_servers.sse]
url = "http://127.0.0.1:${sse}/sse"
transport = "sse"

[mcp_servers.files]
command = ${text(process.execPath)}
args = [${text(filesystem)}, ${text(world.work)}]
`);
});

after(() => world.end());

/** Asks a model that plays this scenario. */
async function asked(scenario, prompt = "go") {
  world.file("play.toml", scenario);
  const ran = await stentor("--model", "script/play.toml", "--no-session", "-p", prompt);
  assert.equal(ran.status, 0, ran.err);
  return ran;
}

for (const server of ["stdio", "http", "sse"]) {
  test(`${server}: a tool is called`, async () => {
    const { out, err } = await asked(calls(`mcp__${server}__echo`, `{ message = "hello" }`));
    assert.equal(out, "Echo: hello\n", err);
    assert.equal(err.includes("warning"), false, err);
  });

  test(`${server}: a tool that says how far it is is called`, async () => {
    const tool = `mcp__${server}__trigger-long-running-operation`;
    world.file("play.toml", calls(tool, "{ duration = 2, steps = 2 }"));
    const ran = await stentor(
      ..."--model script/play.toml --no-session --json -p go".split(" "),
    );
    const events = ran.out.trim().split("\n").map((line) => JSON.parse(line));
    const reports = events.filter((event) => /progress/.test(event.type)).map((event) => JSON.stringify(event));
    assert.ok(reports.some((report) => /[12] of 2/.test(report)), ran.out);
    assert.match(ran.out, /Long running operation completed/);
  });

  test(`${server}: a prompt is a slash command`, async () => {
    const { out } = await asked(
      `[[turn]]\ntext = "I was asked: {{last_user}}"\n`,
      `/mcp__${server}__args-prompt Paris state=Texas`,
    );
    assert.match(out, /I was asked: .*Paris, Texas/);
  });

  test(`${server}: resources are listed and read`, async () => {
    const listed = await asked(calls("list_mcp_resources", `{ server = "${server}" }`));
    assert.match(listed.out, /demo:\/\/resource\/static\/document\/architecture\.md/);
    assert.match(listed.out, /demo:\/\/resource\/dynamic\/text\/\{resourceId\}.*\[template\]/);
    const uri = "demo://resource/dynamic/text/7";
    const read = await asked(calls("read_mcp_resource", `{ server = "${server}", uri = "${uri}" }`));
    assert.match(read.out, /demo:\/\/resource\/dynamic\/text\/7:\n.*7/);
  });
}

test("a picture of a tool reaches the model", async () => {
  world.file("play.toml", calls("mcp__stdio__get-tiny-image", "{}"));
  const ran = await stentor(..."--model script/play.toml --no-session --json -p go".split(" "));
  assert.match(ran.out, /"type":"image"/);
});

test("the server of files reads and refuses as it should", async () => {
  const inside = await asked(calls("mcp__files__read_text_file", `{ path = "note.txt" }`));
  assert.equal(inside.out.trim(), "written before");
  const outside = await asked(calls("mcp__files__read_text_file", `{ path = "/etc/passwd" }`));
  assert.match(outside.out, /Access denied/);
});

test("all of them are found to work", async () => {
  const ran = await stentor("mcp", "test", "--json");
  assert.equal(ran.status, 0, ran.out + ran.err);
  const { mcpServers } = JSON.parse(ran.out);
  const works = Object.fromEntries(mcpServers.map((server) => [server.name, server.works]));
  assert.deepEqual(works, { stdio: true, http: true, sse: true, files: true });
  for (const { name, tools } of mcpServers) {
    assert.ok(tools.length > 5, `${name} ${tools}`);
  }
});
