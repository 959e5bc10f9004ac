// ACP's TypeScript SDK in the form it had before 2.0: a connection and a client with methods.
// AGENT is a command without arguments to use instead of stentor.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const acp = await import(process.env.PACKAGE);
const { AGENT, STENTOR, SCENARIO } = process.env;
const [command, words] = AGENT ? [AGENT, []] : [STENTOR, ["acp", "--model", `script/${SCENARIO}`]];
const child = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((done) => child.on("exit", done));

const seen = [];
const client = {
  async requestPermission({ options }) {
    const { optionId } = options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  },
  async sessionUpdate({ update }) {
    seen.push(update);
  },
};
const connection = new acp.ClientSideConnection(
  () => client,
  acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
);
const hello = await connection.initialize({
  protocolVersion: acp.PROTOCOL_VERSION,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } },
});
assert.equal(hello.protocolVersion, 1);
const cwd = process.cwd();
const { sessionId } = await connection.newSession({ cwd, mcpServers: [] });
const end = await connection.prompt({ sessionId, prompt: [{ type: "text", text: "write a file" }] });
assert.equal(end.stopReason, "end_turn");
const call = seen.filter((update) => update.toolCallId);
assert.equal(call[0].sessionUpdate, "tool_call");
assert.equal(call.at(-1).status, "completed");
for (const update of seen) {
  if (update.sessionUpdate === "agent_message_chunk") console.log(update.content.text);
}
child.stdin.end();
child.kill();
await ended;
