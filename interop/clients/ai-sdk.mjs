// Vercel's AI SDK with an ACP agent as its model. The provider answers the question whether the file
// may be written by itself, with the first option.
import assert from "node:assert/strict";
import { streamText } from "ai";

const { createACPProvider } = await import(process.env.PACKAGE);
const { STENTOR, SCENARIO } = process.env;
const provider = createACPProvider({
  command: STENTOR,
  args: ["acp", "--model", `script/${SCENARIO}`],
  session: { cwd: process.cwd(), mcpServers: [] },
});
const { fullStream } = streamText({
  model: provider.languageModel(),
  prompt: "write a file",
  tools: provider.tools,
});
const parts = [];
for await (const part of fullStream) {
  parts.push(part);
  if (part.type === "text-delta") console.log(part.text);
}
const call = parts.find((part) => part.type === "tool-call");
assert.equal(call.toolCallId, "write-1");
assert.equal(call.input.args.content, "made\n");
assert.ok(parts.some((part) => part.type === "tool-result" && part.toolCallId === "write-1"));
assert.equal(parts.at(-1).type, "finish");
assert.equal(parts.at(-1).finishReason, "stop");
provider.cleanup();
