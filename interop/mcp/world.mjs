// A home and a folder of their own, and servers on ports of this machine.

import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const STENTOR = process.env.STENTOR;
const packages = join(import.meta.dirname, "node_modules/@modelcontextprotocol");
export const everything = join(packages, "server-everything/dist/index.js");
export const filesystem = join(packages, "server-filesystem/dist/index.js");
export const examples = join(packages, "sdk/dist/esm/examples/server");

export class World {
  constructor() {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "stentor-mcp-")));
    this.home = join(this.root, "home");
    this.work = join(this.root, "work");
    this.env = { PATH: process.env.PATH, HOME: this.home };
    this.running = [];
    mkdirSync(join(this.home, ".config/stentor"), { recursive: true });
    mkdirSync(this.work);
  }

  configure(text) {
    writeFileSync(join(this.home, ".config/stentor/config.toml"), text);
  }

  file(name, text) {
    writeFileSync(join(this.work, name), text);
  }

  /** The program, running. */
  start(...words) {
    const child = spawn(STENTOR, words, { cwd: this.work, env: this.env, stdio: ["pipe", "pipe", "inherit"] });
    this.running.push(child);
    return child;
  }

  /** Runs the program to its end. */
  stentor(...words) {
    return new Promise((resolve) => {
      execFile(STENTOR, words, { cwd: this.work, env: this.env }, (error, out, err) => {
        resolve({ status: error ? error.code : 0, out, err });
      });
    });
  }

  /** Starts a server and returns when it says that it listens. */
  async listening(script, words, env) {
    const child = spawn(process.execPath, [script, ...words], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.running.push(child);
    await new Promise((resolve, reject) => {
      child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on("line", (line) => {
          if (/listening|running|port/i.test(line)) resolve();
        });
      }
    });
  }

  end() {
    for (const child of this.running) child.kill("SIGKILL");
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A port nobody listens on. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export function calls(tool, given) {
  return `
[[turn]]
tool = "${tool}"
arguments = ${given}

[[turn]]
text = "{{last_tool_result}}"
`;
}
