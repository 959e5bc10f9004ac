// What the page looks like, and whether people can use it who do not see it or see less: axe-core
// looks at it in every state, light and dark, wide and narrow.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { binary, connected, hash, idle, picture, say, served, shows, until } from "./served.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };

/** A picture in each form; nothing in it is too wide, and axe-core finds nothing. */
async function looks(page, name) {
  for (const dark of [false, true]) {
    for (const [form, size] of [["desktop", WIDE], ["phone", PHONE]]) {
      await page.bringToFront();
      await picture(page, `${name}-${form}-${dark ? "dark" : "light"}`, { ...size, dark });
      await check(page, `${name}, ${form}, ${dark ? "dark" : "light"}`);
    }
  }
}

async function check(page, where) {
  const wide = await page.evaluate(() =>
    [document.documentElement, document.querySelector("#transcript, main")].map((one) => one.scrollWidth - one.clientWidth),
  );
  assert.deepEqual(wide, [0, 0], `pixels too wide: ${where}`);
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    // The headings of an answer are as deep as the model makes them.
    const rules = { "heading-order": { enabled: false } };
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], rules });
    const told = (node) => `${node.html.slice(0, 200)}: ${node.failureSummary}`;
    return violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 4).map(told) }));
  });
  assert.deepEqual(found, [], where);
}

const TABLE = `## What is slow

| part | before | now | remark |
|---|---:|---:|---|
| reading | 120 ms | 12 ms | one pass |
| sorting | 48 ms | 47 ms | \`sort_unstable\` |

A long line: ${"https://example.org/a/very/long/address/".repeat(6)}

\`\`\`rust
fn main() {
    println!("a line of code that is longer than a phone is wide, to see what becomes of it: {}", 1 + 2); // and on
}
\`\`\`

> Quoted, with a [link](https://example.org) and \`code\`.

1. first
2. second
`;

test("a long conversation with a table, code, a picture, a change, live output and a question", () =>
  served(
    async ({ world, cwd, env, drive }) => {
      const page = await drive();
      await connected(page);
      await looks(page, "empty");
      await page.setViewport(WIDE);
      await page.screenshot({ path: join(cwd, "shot.png"), clip: { x: 0, y: 0, width: 400, height: 120 } });
      await say(page, "What is slow?");
      await shows(page, "#transcript .md h4", "What is slow");
      await page.waitForSelector("#transcript .tool img");
      assert.equal(await page.$eval("#transcript .tool img", (image) => image.alt), "Picture from read shot.png");
      await shows(page, ".question h2", "May edit run?");
      await looks(page, "question");
      await page.click(".question .allow_once");
      await shows(page, "#transcript .diff .added", "good morning");
      await shows(page, ".question h2", "May bash run?");
      await page.click(".question .allow_once");
      await shows(page, "#transcript .tool.running .output pre", "line 30");
      await page.type("#text", "And then?");
      await page.click("#follow-up");
      await shows(page, "#queue", "And then?");
      await looks(page, "running");
      await page.setViewport(WIDE);
      await page.click("#transcript .tool.running summary");
      await page.click("#abort");
      await idle(page);
      await page.evaluate(() => document.querySelector("#m1").scrollIntoView());
      await looks(page, "conversation");
      await page.evaluate(() => document.querySelector("#transcript .tool img").scrollIntoView());
      await looks(page, "picture");
      await page.setViewport(PHONE);
      for (const name of ["sessions", "details"]) {
        await page.click(`#show-${name}`);
        await until(page, (name) => document.body.classList.contains(name), name);
        await check(page, name);
        await picture(page, `${name}-phone-light`, PHONE);
        await page.keyboard.press("Escape");
      }

      const id = new URLSearchParams((await hash(page)).slice(1)).get("session");
      execFileSync(binary, ["export", id, "-o", join(world, "exported.html")], { cwd, env });
      const exported = await page.browserContext().newPage();
      await exported.goto(`file://${join(world, "exported.html")}`);
      await looks(exported, "exported");
    },
    {
      turns: [
        {
          steps: [
            { thinking: "I measure *first*." },
            { text: TABLE },
            { tool: "todo", arguments: { phases: [{ name: "Speed", tasks: [{ content: "Measure", status: "completed" }, { content: "Read in one pass", status: "in_progress" }, { content: "Sort", status: "pending" }] }] } },
            { tool: "read", arguments: { path: "shot.png" } },
          ],
          usage: { input: 30000, output: 900 },
        },
        {
          steps: [
            { text: "I change the greeting." },
            { tool: "edit", arguments: { path: "greeting.txt", edits: [{ oldText: "hello", newText: `good morning ${"and a long line ".repeat(12)}` }] } },
          ],
          usage: { input: 60000, output: 900 },
        },
        {
          tool: "bash",
          arguments: { command: "for i in $(seq 1 30); do echo line $i of what the command prints; done; while [ ! -e go ]; do sleep 0.05; done" },
          usage: { input: 90000, output: 900 },
        },
      ],
    },
  ));

test("a question with choices, a plan to accept, and a page without a token", () =>
  served(
    async ({ drive, open }) => {
      const stranger = await open("");
      await until(stranger, () => document.querySelector("#login").open);
      await looks(stranger, "token");
      const page = await drive();
      await connected(page);
      await say(page, "ask me");
      await shows(page, ".question h2", "Which ones?");
      await looks(page, "choices");
      await page.click(".question input[value=A]");
      await page.click(".question form button");
      await shows(page, ".question h2", "Which one?");
      await looks(page, "choice");
      await page.click(".question button");
      await idle(page);
      await page.setViewport(WIDE);
      await page.click("[data-do=forks]");
      await page.waitForSelector("#forks button[data-entry]");
      await looks(page, "forks");
    },
    {
      turns: [
        {
          tool: "ask",
          arguments: {
            questions: [
              { question: "Which ones?", multi: true, options: [{ label: "A", description: "fast" }, { label: "B" }] },
              { question: "Which one?", options: [{ label: "This", description: "the better one" }, { label: "That" }] },
            ],
          },
        },
      ],
    },
  ));

test("the pictures of the documentation", () =>
  served(
    async ({ cwd, drive }) => {
      writeFileSync(join(cwd, "words.py"), 'def count(text):\n    return len(text.split(" "))\n');
      const page = await drive();
      await connected(page);
      await say(page, "The word count is wrong for texts with two spaces. Fix it.");
      await shows(page, ".question h2", "May edit run?");
      await page.click(".question .allow_once");
      await shows(page, ".question h2", "May bash run?");
      await until(page, () => document.querySelector("#sessions .asking"));
      await picture(page, "docs-desktop-light", { width: 1280, height: 1000 });
      await picture(page, "docs-phone-dark", { width: 390, height: 860, dark: true });
    },
    {
      folder: "words",
      turns: [
        {
          steps: [
            { text: "I look at the code." },
            { tool: "todo", arguments: { phases: [{ name: "Word count", tasks: [{ content: "Find the mistake", status: "in_progress" }, { content: "Fix it", status: "pending" }, { content: "Run the tests", status: "pending" }] }] } },
            { tool: "read", arguments: { path: "words.py" } },
          ],
          usage: { input: 5200, output: 180 },
        },
        {
          steps: [
            { text: '`split(" ")` counts the gap between two spaces as a word; `split()` does not.' },
            { tool: "todo", arguments: { phases: [{ name: "Word count", tasks: [{ content: "Find the mistake", status: "completed" }, { content: "Fix it", status: "completed" }, { content: "Run the tests", status: "in_progress" }] }] } },
            { tool: "edit", arguments: { path: "words.py", edits: [{ oldText: 'text.split(" ")', newText: "text.split()" }] } },
          ],
          usage: { input: 14900, output: 220 },
        },
        {
          steps: [{ text: "Now the tests." }, { tool: "bash", arguments: { command: "python3 -m unittest" } }],
          usage: { input: 26700, output: 420 },
        },
      ],
    },
  ));
