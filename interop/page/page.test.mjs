// The page in a real browser: what it shows and what can be done with it.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { POLLING, connected, idle, picture, say, served, shows } from "./served.mjs";

test("a prompt is sent, its answer streams, a second tab and a reload see it in the middle", () =>
  served(async ({ cwd, drive, open }) => {
    const page = await drive();
    await connected(page);
    assert.ok(!(await page.evaluate(() => location.href)).includes("token"));
    await say(page, "stream it");
    await shows(page, "#transcript article.user", "stream it");
    await shows(page, "#transcript .thinking", "Two parts");
    await shows(page, "#transcript .md h4", "First");
    await shows(page, "#send", "Steer");

    const address = await page.evaluate(() => location.hash);
    const second = await open(address);
    await shows(second, "#transcript article.user", "stream it");
    await shows(second, "#transcript .md em", "first");
    await page.reload();
    await shows(page, "#transcript .md em", "first");

    writeFileSync(join(cwd, "go"), "");
    for (const one of [page, second]) {
      await shows(one, "#transcript .md p", "and the second.");
      await idle(one);
      assert.equal(await one.$$eval("#transcript article", (all) => all.length), 2);
      await shows(one, "#spending figcaption", "tokens");
    }
    await shows(page, "#sessions button[aria-current] .name", "stream it");
    await shows(page, "#sessions .facts", "$");
  }));

test("a change is approved in one tab and seen in both", () =>
  served(async ({ cwd, drive, open }) => {
    const page = await drive();
    await connected(page);
    await say(page, "change the greeting");
    await shows(page, ".question h2", "May edit run?");
    const second = await open(await page.evaluate(() => location.hash));
    await shows(second, ".question h2", "May edit run?");
    await picture(page, "question-desktop-light", { width: 1280, height: 800 });
    await second.click(".question .allow_once");
    await shows(page, "#transcript .diff .added", "good morning");
    await page.waitForFunction(() => !document.querySelector(".question"), POLLING);
    await idle(page);
    assert.equal(readFileSync(join(cwd, "greeting.txt"), "utf8"), "good morning\nworld\n");
    await say(page, "a command");
    await shows(page, ".question h2", "May bash run?");
    await page.click(".question .reject_once");
    await idle(page);
    assert.ok(!existsSync(join(cwd, "made.txt")));
  }));

test("what runs is stopped by Escape, and messages wait and are taken back", () =>
  served(async ({ drive }) => {
    const page = await drive();
    await connected(page);
    await say(page, "never stop");
    await shows(page, "#transcript .md", "Working");
    await page.type("#text", "later");
    await page.click("#follow-up");
    await shows(page, "#queue", "later");
    await page.click("#unqueue");
    await page.waitForFunction(() => document.querySelector("#queue").textContent === "", POLLING);
    await page.waitForFunction(() => document.querySelector("#text").value === "later", POLLING);
    await page.keyboard.press("Escape");
    await idle(page);
    await shows(page, "#transcript .trouble", "Stopped");
  }));

test("a wrong token shows nothing, and the right one can be typed", () =>
  served(async ({ open, token }) => {
    const page = await open(`#token=${"x".repeat(43)}`);
    await shows(page, "#login-why", "The token is wrong.");
    assert.equal(await page.$eval("#sessions", (list) => list.childElementCount), 0);
    await page.type("#token", token("drive"));
    await page.keyboard.press("Enter");
    await connected(page);
  }));

test("a token to observe sees and changes nothing", () =>
  served(async ({ drive, open, token, cwd }) => {
    const page = await drive();
    await connected(page);
    await say(page, "stream it");
    await shows(page, "#transcript .md em", "first");
    const session = new URLSearchParams((await page.evaluate(() => location.hash)).slice(1)).get("session");
    const watching = await open(`#token=${token("observe")}&session=${session}`);
    await shows(watching, "#transcript .md em", "first");
    await watching.waitForFunction(() => document.body.classList.contains("observes"), POLLING);
    assert.equal(await watching.$eval("#prompt", (form) => getComputedStyle(form).display), "none");
    await watching.evaluate(() => send({ do: "abort" }));
    await shows(watching, "#notices", "this page only watches");
    writeFileSync(join(cwd, "go"), "");
    await shows(watching, "#transcript .md p", "and the second.");
  }));

test("script in every field runs nowhere", () =>
  served(async ({ drive, world, cwd }) => {
    const evil = `<script>document.body.dataset.ran='prompt'</script><img src=x onerror="document.body.dataset.ran='prompt'">`;
    const page = await drive();
    await connected(page);
    await say(page, `evil ${evil}`);
    await shows(page, ".question h2", "May bash run?");
    await page.click(".question .allow_once");
    await idle(page);
    await page.evaluate((value) => send({ do: "rename", value }), evil);
    await shows(page, "#title", "<script>");
    await page.evaluate(() => send({ do: "forks" }));
    await shows(page, "#forks button", "evil");
    await page.evaluate((value) => send({ do: "model", value }), evil);
    await shows(page, "#notices", "there is no model <script>");
    await page.reload();
    await shows(page, "#transcript", "document.body.dataset.ran='output'");
    await shows(page, "#sessions .name", "<script>");
    assert.equal(await page.evaluate(() => document.body.dataset.ran), undefined);
    assert.equal(await page.$$eval("#transcript script, #transcript img, nav script", (all) => all.length), 0);
    const links = await page.$$eval("a", (all) => all.map((link) => link.href));
    assert.ok(links.every((link) => !link.startsWith("javascript:")), links.join("\n"));
    assert.ok(world && cwd);
  }));

test("pictures are sent, a session is forked, and all of it fits a phone", () =>
  served(async ({ drive, cwd }) => {
    const page = await drive();
    await connected(page);
    const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    writeFileSync(join(cwd, "dot.png"), Buffer.from(dot, "base64"));
    const input = await page.$("#picture");
    await input.uploadFile(join(cwd, "dot.png"));
    await page.waitForSelector("#pictures img");
    await say(page, "picture of what?");
    await page.waitForSelector("#transcript article.user img[src^='data:image/png']");
    await shows(page, "#transcript .md", "I see it.");
    await idle(page);
    writeFileSync(join(cwd, "go"), "");
    await say(page, "stream it");
    await shows(page, "#transcript .md p", "and the second.");
    await idle(page);
    await say(page, "make a plan");
    await shows(page, "#plan li", "Write the notes");
    await idle(page);
    const before = await page.evaluate(() => location.hash);
    await page.evaluate(() => send({ do: "forks" }));
    await shows(page, "#forks button", "Before: stream it");
    const [fork] = await page.$$("#forks button[data-entry]");
    assert.ok(fork);
    await page.evaluate(() =>
      [...document.querySelectorAll("#forks button")].find((one) => one.textContent.includes("stream it")).click(),
    );
    await page.waitForFunction((before) => location.hash !== before, POLLING, before);
    await page.waitForFunction(() => document.querySelector("#text").value === "stream it", POLLING);
    assert.equal(await page.$$eval("#transcript article.user", (all) => all.length), 1);
    await page.evaluate((hash) => (location.hash = hash), before);
    await shows(page, "#plan li", "Write the notes");

    for (const dark of [false, true]) {
      const name = dark ? "dark" : "light";
      await picture(page, `page-desktop-${name}`, { width: 1280, height: 800, dark });
      await picture(page, `page-phone-${name}`, { width: 390, height: 780, dark });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} pixels too wide`);
    }
    await page.click("#show-sessions");
    await page.waitForFunction(() => getComputedStyle(document.querySelector("#session-list")).display === "block", POLLING);
    await picture(page, "sessions-phone-dark", { width: 390, height: 780, dark: true });
    const labelled = await page.$$eval("button, input, select, textarea", (all) =>
      all.filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).map((one) => one.outerHTML),
    );
    assert.deepEqual(labelled, []);
  }));
