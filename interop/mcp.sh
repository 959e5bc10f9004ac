#!/usr/bin/env bash
# Published MCP servers, over stdio, streamable HTTP and SSE, at work in sessions of the built binary, and
# published MCP clients that use it as a server.
# Needs node, npm and python3; what they install stays below target/interop.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build -p stentor
export STENTOR="${STENTOR:-$PWD/target/debug/stentor}"
place=target/interop/mcp
mkdir -p "$place"
cp -r interop/mcp/. "$place/"
if [ ! -e "$place/python/fetched" ]; then
    python3 -m venv "$place/python"
    "$place/python/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
    touch "$place/python/fetched"
fi
export PYTHON="$PWD/$place/python/bin/python"
(cd "$place" && npm install --no-audit --no-fund --silent && npm test --silent)
