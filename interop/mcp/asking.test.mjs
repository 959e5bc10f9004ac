// What the published server of everything asks of its client: a person, the model, the folder.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { World, calls, everything, freePort } from "./world.mjs";

const world = new World();

before(async () => {
  const port = await freePort();
  await world.listening(everything, ["streamableHttp"], { PORT: String(port) });
  const text = JSON.stringify;
  world.configure(`
[mcp_servers.stdio]
command = ${text(process.execPath)}
args = [${text(everything)}, "stdio"]
sampling = "allow"

[mcp_servers.http]
url = "http://127.0.0.1:${port}/mcp"
sampling = "allow"
`);
});

after(() => world.end());

async function asked(scenario) {
  world.file("play.toml", scenario);
  const ran = await world.stentor("--model", "script/play.toml", "--no-session", "-p", "go");
  assert.equal(ran.status, 0, ran.err);
  return ran.out;
}

/** Prompts a session whose frontend shows dialogs, and answers them. */
async function answered(scenario, answer) {
  world.file("play.toml", scenario);
  const child = world.start("--mode", "rpc-ui", "--no-session", "--model", "script/play.toml");
  const send = (frame) => child.stdin.write(JSON.stringify(frame) + "\n");
  const questions = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const frame = JSON.parse(line);
    if (frame.type === "ready") send({ id: "p", type: "prompt", message: "go" });
    if (frame.type === "extension_ui_request" && frame.title) {
      questions.push(frame.title);
      send({ type: "extension_ui_response", id: frame.id, ...answer(frame) });
    }
    if (frame.type === "tool_execution_end") {
      child.stdin.end();
      return { questions, result: frame.result.content.map((block) => block.text).join("\n") };
    }
  }
}

// The tools of this server depend on what its client can do, and are listed when it has said so.
for (const server of ["stdio", "http"]) {
  test(`${server}: it learns the folder of the session`, async () => {
    const out = await asked(calls(`mcp__${server}__get-roots-list`, "{}"));
    assert.ok(out.includes(`file://${world.work}`), out);
  });

  test(`${server}: it asks the model`, async () => {
    const out = await asked(
      calls(`mcp__${server}__trigger-sampling-request`, `{ prompt = "the weather", maxTokens = 50 }`) +
        `[[turn]]\nwhen = { last_user_contains = "the weather" }\ntext = "Sunny."\n`,
    );
    assert.match(out, /Sunny\./);
  });

  test(`${server}: it asks a person, who answers`, async () => {
    const tool = calls(`mcp__${server}__trigger-elicitation-request`, "{}");
    const { questions, result } = await answered(tool, (frame) => {
      if (frame.method === "confirm") return { confirmed: true };
      if (frame.method === "select") return { value: frame.options[0] };
      return { value: /legal name/.test(frame.title) ? "Ada" : "" };
    });
    assert.ok(questions.length > 5, questions.join("\n"));
    assert.match(result, /"name": ?"Ada"|Ada/);
  });

  test(`${server}: it asks a person, who declines`, async () => {
    const tool = calls(`mcp__${server}__trigger-elicitation-request`, "{}");
    const { result } = await answered(tool, () => ({ confirmed: false }));
    assert.match(result, /declin/i);
  });

  test(`${server}: where nobody can be asked, its question is cancelled`, async () => {
    const out = await asked(calls(`mcp__${server}__trigger-elicitation-request`, "{}"));
    assert.match(out, /cancel/i);
  });
}
