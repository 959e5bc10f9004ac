// What people, models, files and programs write runs nowhere on the page.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { connected, here, idle, say, served, shows, until } from "./served.mjs";

const evil = (where) =>
  `${where} <script>document.body.dataset.ran='${where}'</script><img src=x onerror="document.body.dataset.ran='${where}'">`;
const shown = (where) => `document.body.dataset.ran='${where}'`;

/** Nothing ran, and nothing is there that could. */
async function nothingRan(page) {
  assert.equal(await page.evaluate(() => document.body.dataset.ran), undefined);
  const found = await page.$$eval("body script, body img, body iframe, body *", (all) =>
    all
      .filter((one) => one.matches("script, img, iframe") || one.getAttributeNames().some((name) => /^on/i.test(name)))
      .map((one) => one.outerHTML),
  );
  assert.deepEqual(found, []);
}

test("script in plans, diffs, waiting messages, questions of the model and folders runs nowhere", () =>
  served(
    async ({ drive }) => {
      const page = await drive();
      await connected(page);
      await shows(page, "#cwd", "onerror");
      await say(page, "begin");
      for (const where of ["phase", "task"]) await shows(page, "#plan", shown(where));
      await shows(page, ".question .diff .added", shown("added"));
      await shows(page, ".question .diff .removed", "hello");
      await shows(page, ".question .choices", "onerror");
      await say(page, evil("steering"));
      await page.type("#text", evil("follow-up"));
      await page.click("#follow-up");
      for (const where of ["steering", "follow-up"]) await shows(page, "#queue li", shown(where));
      await nothingRan(page);
      await page.click("#unqueue");
      await until(page, () => document.querySelector("#queue").textContent === "");
      await page.evaluate(() => (document.querySelector("#text").value = ""));
      await page.click(".question .allow_once");
      await shows(page, "#transcript .diff .added", shown("added"));
      for (const where of ["question", "label"]) await shows(page, ".question", shown(where));
      await shows(page, ".question", shown("description"));
      await nothingRan(page);
      await page.click("#abort");
      await idle(page);
      await shows(page, "#sessions .facts", "onerror");
      await page.reload();
      await shows(page, "#transcript .diff .added", shown("added"));
      await shows(page, "#plan", shown("task"));
      await nothingRan(page);
    },
    {
      // A name has no slash.
      folder: `<img src=x onerror="document.body.dataset.ran='folder'">`,
      turns: [
        {
          tool: "todo",
          arguments: { phases: [{ name: evil("phase"), tasks: [{ content: evil("task"), status: "in_progress" }] }] },
        },
        {
          tool: "edit",
          arguments: { path: "greeting.txt", edits: [{ oldText: "hello", newText: evil("added") }] },
        },
        {
          tool: "ask",
          arguments: {
            questions: [
              {
                question: evil("question"),
                options: [{ label: evil("label"), description: evil("description") }, { label: "B" }],
              },
            ],
          },
        },
      ],
    },
  ));

test("script in what an extension shows and asks runs nowhere", () =>
  served(
    async ({ drive }) => {
      const page = await drive();
      await connected(page);
      await say(page, "/show");
      await shows(page, "#widgets pre", shown("widget"));
      await shows(page, "#notices", shown("notice"));
      await shows(page, "#transcript .md", shown("answer"));
      await nothingRan(page);
      await idle(page);
      await say(page, "/ask");
      const question = (where) => shows(page, ".question h2", shown(where));
      await question("confirm");
      await shows(page, "#status", shown("status"));
      await shows(page, ".question .reason", shown("message"));
      await nothingRan(page);
      await page.click(".question [data-yes=no]");
      await question("select");
      for (const where of ["label", "description"]) await shows(page, ".question", shown(where));
      await nothingRan(page);
      await page.click(".question [data-value]");
      await question("input");
      const placeholder = await page.$eval(".question input", (field) => field.placeholder);
      assert.ok(placeholder.includes("placeholder"), placeholder);
      await nothingRan(page);
      await page.type(".question input", "x");
      await page.keyboard.press("Enter");
      await question("editor");
      const prefill = await page.$eval(".question textarea", (field) => field.value);
      assert.ok(prefill.startsWith("</textarea>"), prefill);
      await nothingRan(page);
      await page.click(".question form button");
      await idle(page);
      await nothingRan(page);
    },
    { turns: [], extension: join(here, "extension.mjs") },
  ));
