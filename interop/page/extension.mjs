// An extension that shows and asks things with script in them.

import { createInterface } from "node:readline";

const evil = (where) =>
  `${where} <script>document.body.dataset.ran='${where}'</script><img src=x onerror="document.body.dataset.ran='${where}'">`;
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const waiting = new Map();
let last = 0;
const ask = (method, params) =>
  new Promise((answered) => {
    last += 1;
    waiting.set(last, answered);
    write({ id: last, method, params });
  });

const commands = {
  show: () => {
    write({ method: "ui/widget", params: { key: evil("key"), lines: [evil("widget")] } });
    write({ method: "ui/notify", params: { message: evil("notice"), level: "warning" } });
  },
  ask: async () => {
    write({ method: "ui/status", params: { key: "played", text: evil("status") } });
    await ask("ui/confirm", { title: evil("confirm"), message: evil("message") });
    const option = { value: evil("value"), label: evil("label"), description: evil("description") };
    await ask("ui/select", { title: evil("select"), options: [option] });
    await ask("ui/input", { title: evil("input"), placeholder: evil('" autofocus onfocus="placeholder') });
    await ask("ui/editor", { title: evil("editor"), prefill: `</textarea>${evil("prefill")}` });
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    const offered = Object.keys(commands).map((name) => ({ name, description: evil("about") }));
    write({ id, result: { protocolVersion: 1, commands: offered } });
  } else if (method === "command/run") {
    await commands[params.name]();
    write({ id, result: { text: evil("answer") } });
  } else if (method === undefined) {
    waiting.get(id)?.();
  }
});
