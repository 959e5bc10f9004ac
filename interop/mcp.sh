#!/usr/bin/env bash
# Published MCP servers, over stdio, streamable HTTP and SSE, at work in sessions of the built binary.
# Needs node and npm; what they install stays below target/interop.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build -p stentor
export STENTOR="${STENTOR:-$PWD/target/debug/stentor}"
place=target/interop/mcp
mkdir -p "$place"
cp -r interop/mcp/. "$place/"
(cd "$place" && npm install --no-audit --no-fund --silent && npm test --silent)
