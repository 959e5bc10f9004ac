#!/usr/bin/env node
// Adds a tool that counts the lines of all files below a folder, and says how far it is.
//
// Try it:  stentor -e examples/extensions/line_count.js -p "use line_count on this folder"

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

const SKIPPED = new Set(['.git', 'node_modules', 'target']);

// Ids of the calls that nobody waits for any more.
const cancelled = new Set();

function send(message) {
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
}

function* filesBelow(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* filesBelow(full);
    else if (entry.isFile()) yield full;
  }
}

function linesOf(file) {
  let lines = 0;
  for (const byte of fs.readFileSync(file)) if (byte === 10) lines += 1;
  return lines;
}

async function lineCount(id, { callId, arguments: given, cwd }) {
  const folder = path.resolve(cwd, given.folder ?? '.');
  const files = [...filesBelow(folder)];
  const byType = new Map();
  let done = 0;
  for (const file of files) {
    // Lets messages in, so that a cancel is seen in the middle of the work.
    await new Promise(setImmediate);
    if (cancelled.delete(id)) return;
    const type = path.extname(file) || '(none)';
    byType.set(type, (byType.get(type) ?? 0) + linesOf(file));
    done += 1;
    send({ method: 'tool/progress', params: { callId, content: `${done} of ${files.length} files` } });
  }
  const sorted = [...byType].sort(([, a], [, b]) => b - a);
  const content = sorted.map(([type, lines]) => `${type}: ${lines} lines`).join('\n') || 'no files';
  send({ id, result: { content, details: { files: files.length, lines: Object.fromEntries(sorted) } } });
}

const TOOL = {
  name: 'line_count',
  description: 'Counts the lines of the files below a folder, for each file extension.',
  effect: 'reads',
  parameters: {
    type: 'object',
    properties: { folder: { type: 'string', description: 'The folder; this one when absent.' } },
  },
};

function handle({ id, method, params }) {
  if (method === 'initialize') {
    send({ id, result: { protocolVersion: 1, tools: [TOOL] } });
  } else if (method === 'tool/run') {
    lineCount(id, params).catch((error) => send({ id, result: { content: String(error), isError: true } }));
  } else if (method === 'cancel') {
    cancelled.add(params.id);
  } else if (method !== undefined && id !== undefined) {
    send({ id, error: { code: -32601, message: 'no such method' } });
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => handle(JSON.parse(line)));
