// Driving sessions from the page: links, keys, steering, choices, and several clients at once.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { binary, connected, hash, idle, say, served, shows, until } from "./served.mjs";

const session = async (page) => new URLSearchParams((await hash(page)).slice(1)).get("session");
const articles = (page) => page.$$eval("#transcript > article", (all) => all.length);

test("a link to a message names its session: after a reload, in another tab and after a reconnect it is there", () =>
  served(async ({ cwd, drive, open }) => {
    writeFileSync(join(cwd, "go"), "");
    const page = await drive();
    await connected(page);
    await say(page, "stream it");
    await shows(page, "#transcript .md p", "and the second.");
    await idle(page);
    const id = await session(page);
    await page.click("#m1 .anchor");
    await page.waitForSelector("#m1.target");
    assert.equal(await hash(page), `#session=${id}&at=m1`);

    await page.reload();
    await page.waitForSelector("#m1.target");
    await shows(page, "#title", "stream it");
    const link = await page.$eval("#m2 .anchor", (anchor) => {
      anchor.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
      return anchor.getAttribute("href");
    });
    const second = await open(link);
    await second.waitForSelector("#m2.target");
    assert.equal(await session(second), id);

    // Whatever else is put behind the address, the session stays.
    await page.evaluate(() => (location.hash = "#text"));
    await until(page, (id) => location.hash === `#session=${id}`, id);
    await page.evaluate(() => socket.close());
    await shows(page, "#connection", "Not connected");
    await connected(page);
    await say(page, "and again, stream");
    await until(page, () => document.querySelectorAll("#transcript > article.assistant").length === 2);
    await idle(page);
    assert.equal(await session(page), id);
    assert.equal(await articles(page), 4);
    assert.equal(await page.$$eval("#sessions li", (all) => all.length), 1);
  }));

test("Escape stops nothing in a list of choices, in a question's field and in a composition", () =>
  served(async ({ drive }) => {
    const page = await drive();
    await connected(page);
    await say(page, "never stop");
    await shows(page, "#transcript .md", "Working");
    const keys = await page.createCDPSession();
    await page.focus("#text");
    await keys.send("Input.imeSetComposition", { text: "か", selectionStart: 1, selectionEnd: 1 });
    await page.keyboard.press("Escape");
    await page.evaluate(() => (document.querySelector("#text").value = ""));
    for (const id of ["model", "thinking", "mode"]) {
      await page.focus(`#${id}`);
      await page.keyboard.press("Escape");
    }
    await page.evaluate(() => {
      const field = '<section class="question"><form><input id="field"></form></section>';
      document.querySelector("#questions").innerHTML = field;
    });
    await page.focus("#field");
    await page.keyboard.press("Escape");
    await page.evaluate(() => (document.querySelector("#questions").innerHTML = ""));
    // What a page sends is done in its order, so a stop would have happened by now.
    await page.type("#text", "later");
    await page.click("#follow-up");
    await shows(page, "#queue", "later");
    assert.ok(await page.evaluate(() => document.body.classList.contains("running")));
    assert.equal(await page.$("#transcript .trouble"), null);
    await page.focus("#transcript");
    await page.keyboard.press("Escape");
    await shows(page, "#transcript .trouble", "Stopped");
  }));

const COMMAND = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second";

test("a command shows its output while it runs, and a message steers what follows", () =>
  served(
    async ({ cwd, drive }) => {
      const page = await drive();
      await connected(page);
      await say(page, "run it");
      await shows(page, ".question h2", "May bash run?");
      await page.click(".question .allow_once");
      await shows(page, "#transcript .tool.running .output pre", "first");
      await say(page, "turn left");
      await shows(page, "#queue li", "Steering turn left");
      assert.equal(await page.$("#transcript .tool:not(.running)"), null);
      writeFileSync(join(cwd, "go"), "");
      await shows(page, "#transcript .tool:not(.running) .output pre", "second");
      await shows(page, "#transcript article.user", "turn left");
      await shows(page, "#transcript .md", "Going left.");
      await idle(page);
      assert.equal(await page.$eval("#queue", (queue) => queue.textContent), "");
    },
    {
      turns: [
        { when: { last_user_contains: "left" }, text: "Going left." },
        { tool: "bash", arguments: { command: COMMAND } },
      ],
    },
  ));

test("model and thinking are changed, seen in another tab, and changed back", () =>
  served(async ({ cwd, drive, open }) => {
    writeFileSync(join(cwd, "go"), "");
    const page = await drive();
    await connected(page);
    await say(page, "stream it");
    await shows(page, "#transcript .md p", "and the second.");
    await idle(page);
    const second = await open(await hash(page));
    const has = (one, id, value) =>
      until(one, (id, value) => document.getElementById(id).value === value, id, value);
    await has(second, "model", "script/played");
    await page.select("#thinking", "high");
    await has(second, "thinking", "high");
    await page.select("#model", "offline/guide");
    for (const one of [page, second]) await has(one, "model", "offline/guide");
    await second.reload();
    await has(second, "model", "offline/guide");
    await second.select("#model", "script/played");
    for (const one of [page, second]) await has(one, "model", "script/played");
    await say(page, "picture");
    await shows(page, "#transcript .md", "I see it.");
    assert.equal(await page.$eval("#notices", (notices) => notices.textContent), "");
  }));

test("two tabs answer one question at once: one answer counts, and both show which", () =>
  served(async ({ cwd, drive, open }) => {
    const page = await drive();
    await connected(page);
    await say(page, "a command");
    await shows(page, ".question h2", "May bash run?");
    const second = await open(await hash(page));
    await shows(second, ".question h2", "May bash run?");
    const buttons = [await page.$(".question .allow_once"), await second.$(".question .reject_once")];
    await Promise.all(buttons.map((button) => button.evaluate((button) => button.click())));
    for (const one of [page, second]) {
      await until(one, () => !document.querySelector(".question"));
      await shows(one, "#transcript .md", "Nothing more to say.");
      await idle(one);
    }
    const told = (one) => one.$eval("#transcript .tool", (tool) => tool.className);
    const expected = existsSync(join(cwd, "made.txt")) ? "tool" : "tool failed";
    assert.deepEqual([await told(page), await told(second)], [expected, expected]);
  }));

/** Presses Tab until an element has the focus, as somebody without a mouse does. */
async function tabTo(page, selector, { back = false } = {}) {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await page.evaluate((selector) => document.activeElement.matches(selector), selector)) return;
    if (back) await page.keyboard.down("Shift");
    await page.keyboard.press("Tab");
    if (back) await page.keyboard.up("Shift");
  }
  assert.fail(`${selector} is not reached by Tab`);
}

test("everything is done by keyboard alone", () =>
  served(async ({ cwd, drive }) => {
    const page = await drive();
    await connected(page);
    await page.bringToFront();
    await tabTo(page, ".skip");
    await page.keyboard.press("Enter");
    await until(page, () => document.activeElement.id === "text");
    await page.keyboard.type("a command");
    await page.keyboard.press("Enter");
    await shows(page, ".question h2", "May bash run?");
    // Who is writing goes on writing.
    assert.equal(await page.evaluate(() => document.activeElement.id), "text");
    await tabTo(page, ".question .allow_once", { back: true });
    await page.keyboard.press("Enter");
    await until(page, () => document.activeElement.id === "text");
    await shows(page, "#transcript .md", "Nothing more to say.");
    await idle(page);
    assert.ok(existsSync(join(cwd, "made.txt")));

    await tabTo(page, "#thinking");
    await page.keyboard.type("high");
    await until(page, () => state.thinking === "high");
    await tabTo(page, "[data-do=forks]");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#forks button[data-entry]");
    await tabTo(page, "#forks button[data-entry]");
    const first = await session(page);
    await page.keyboard.press("Enter");
    await until(page, (first) => state.session !== first, first);
    await until(page, () => document.querySelector("#text").value === "a command");

    // The list is drawn anew while somebody is in it.
    await shows(page, "#sessions", "a command");
    await tabTo(page, `#sessions button[data-session="${first}"]`, { back: true });
    await page.evaluate(() => {
      document.querySelector("#sessions").firstElementChild.dataset.old = "yes";
      send({ do: "list" });
    });
    await until(page, () => !document.querySelector("#sessions [data-old]"));
    assert.equal(await page.evaluate(() => document.activeElement.dataset.session), first);
    await page.keyboard.press("Enter");
    await shows(page, "#transcript .md", "Nothing more to say.");
    assert.equal(await session(page), first);
  }));

test("a question that comes while nobody writes has the focus, and no key meant for something else answers it", () =>
  served(async ({ cwd, drive }) => {
    const page = await drive();
    await connected(page);
    await page.evaluate(() => send({ do: "prompt", text: "a command" }));
    await shows(page, ".question h2", "May bash run?");
    await until(page, () => document.activeElement.matches(".question"));
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    assert.ok(await page.$(".question"));
    await tabTo(page, ".question .allow_once");
    await page.keyboard.press("Space");
    await idle(page);
    assert.ok(existsSync(join(cwd, "made.txt")));
  }));

test("on a phone the lists cover the page, by keyboard too", () =>
  served(async ({ drive }) => {
    const page = await drive((page) => page.setViewport({ width: 390, height: 780 }));
    await connected(page);
    for (const [name, panel] of [["sessions", "session-list"], ["details", "details"]]) {
      const button = `#show-${name}`;
      await page.focus(button);
      await page.keyboard.press("Enter");
      await until(page, (panel) => document.activeElement.id === panel, panel);
      assert.equal(await page.$eval(button, (one) => one.ariaExpanded), "true");
      await page.keyboard.press("Escape");
      await until(page, (button) => document.activeElement.matches(button), button);
      assert.equal(await page.$eval(button, (one) => one.ariaExpanded), "false");
    }
    await page.click("#show-sessions");
    await page.click("#new");
    await until(page, () => state.session && document.activeElement.id === "text");
    assert.equal(await page.$eval("#show-sessions", (one) => one.ariaExpanded), "false");
  }));

test("a command that the user runs in another client and a rewind there show at once", () =>
  served(async ({ cwd, env, socket, drive }) => {
    writeFileSync(join(cwd, "go"), "");
    const page = await drive();
    await connected(page);
    await say(page, "stream it");
    await shows(page, "#transcript .md p", "and the second.");
    await idle(page);
    const words = ["--mode", "rpc", "--session", await session(page), `--attach=${socket}`];
    const omp = spawn(binary, words, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    try {
      const lines = createInterface({ input: omp.stdout });
      const answered = (id) =>
        new Promise((done) => lines.on("line", (line) => JSON.parse(line).id === id && done(JSON.parse(line))));
      const ask = (command) => {
        const answer = answered(command.id);
        omp.stdin.write(JSON.stringify(command) + "\n");
        return answer;
      };
      await ask({ id: "1", type: "bash", command: "echo made elsewhere" });
      await shows(page, "#transcript article.shell", "made elsewhere");
      assert.equal(await articles(page), 3);
      await ask({ id: "2", type: "prompt", message: "/rewind 1" });
      await until(page, () => document.querySelectorAll("#transcript > article").length === 0);
    } finally {
      omp.stdin.end();
      await new Promise((done) => omp.on("exit", done));
    }
  }));
