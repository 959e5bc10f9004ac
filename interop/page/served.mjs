// A server with a world of its own, and Chromium to look at it. STENTOR names the binary, CHROMIUM the
// browser, PICTURES a folder for screenshots.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import puppeteer from "puppeteer-core";

export const here = dirname(fileURLToPath(import.meta.url));
export const binary = process.env.STENTOR ?? resolve(here, "../../target/debug/stentor");
const pictures = process.env.PICTURES;
const SLOW = 60_000;
// Frames are drawn only in the tab in front.
export const POLLING = { polling: 50 };

let browser;
before(async () => {
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-quic",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    protocolTimeout: 120_000,
    defaultViewport: { width: 1280, height: 800 },
  });
});
after(() => browser?.close());

/**
 * Runs `body` with a server of its own. `turns` are what its model plays besides `scenario.toml`;
 * `folder` is the name of the working folder; `extension` the file of one that all sessions have.
 */
export async function served(body, { turns, folder = "work", extension } = {}) {
  const world = realpathSync(mkdtempSync(join(tmpdir(), "stentor-page-")));
  const cwd = join(world, folder);
  const home = join(world, "home");
  mkdirSync(cwd);
  mkdirSync(join(home, ".config/stentor"), { recursive: true });
  writeFileSync(join(cwd, "greeting.txt"), "hello\nworld\n");
  let scenario = join(here, "scenario.toml");
  if (turns) {
    scenario = join(world, "scenario.json");
    const model = { id: "played", context_window: 200000, prices: { input: 3, output: 15 } };
    const usage = { input: 12000, output: 400 };
    writeFileSync(scenario, JSON.stringify({ model, usage, on_exhausted: { text: "Nothing more to say." }, turn: turns }));
  }
  const config = extension ? `[extensions.played]\nfile = ${JSON.stringify(extension)}\n` : "";
  writeFileSync(join(home, ".config/stentor/config.toml"), config);
  const env = { PATH: process.env.PATH, HOME: home, STENTOR_MODEL: `script/${scenario}` };
  const socket = join(world, "s");
  const server = spawn(binary, ["serve", "--socket", socket, "--http", "0"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((done) => server.on("exit", done));
  const context = await browser.createBrowserContext();
  try {
    const line = await new Promise((done) =>
      createInterface({ input: server.stdout }).once("line", done),
    );
    const ready = JSON.parse(line);
    const tokens = readFileSync(ready.token_file, "utf8");
    const token = (name) => new RegExp(`^${name} (.*)$`, "m").exec(tokens)[1];
    const errors = [];
    const open = async (tail, prepare = async () => {}) => {
      const page = await context.newPage();
      page.setDefaultTimeout(SLOW);
      page.on("pageerror", (error) => errors.push(String(error)));
      await prepare(page);
      await page.goto(`${ready.http}/${tail}`);
      return page;
    };
    const drive = (prepare) => open(`#token=${token("drive")}`, prepare);
    await body({ world, cwd, env, socket, ready, token, open, drive, errors });
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    server.kill("SIGTERM");
    await ended;
  }
}

export const shows = (page, selector, text) =>
  page.waitForFunction(
    (selector, text) =>
      [...document.querySelectorAll(selector)].some((found) => found.textContent.includes(text)),
    POLLING,
    selector,
    text,
  );
export const until = (page, condition, ...given) => page.waitForFunction(condition, POLLING, ...given);
export const idle = (page) => until(page, () => !document.body.classList.contains("running"));
export const connected = (page) => shows(page, "#connection", "Connected");
export const hash = (page) => page.evaluate(() => location.hash);

export async function say(page, text) {
  await page.bringToFront();
  await page.focus("#text");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

export async function picture(page, name, { width, height, dark }) {
  await page.setViewport({ width, height });
  const value = dark ? "dark" : "light";
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}
