#!/usr/bin/env bash
# The official ACP SDKs, TypeScript and Python, as clients of the built binary.
# Needs node, npm and python3; what they install stays below target/interop.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build -p stentor
export STENTOR="${STENTOR:-$PWD/target/debug/stentor}"
place=target/interop
mkdir -p "$place"

echo "== TypeScript"
rm -rf "$place/acp-typescript"
mkdir -p "$place/acp-typescript"
cp -r interop/acp-typescript/. "$place/acp-typescript/"
rm -rf "$place/acp-scenarios"
cp -r interop/acp-scenarios "$place/"
(cd "$place/acp-typescript" && npm install --no-audit --no-fund --silent && npm test --silent)

echo "== Python"
[ -d "$place/python" ] || python3 -m venv "$place/python"
"$place/python/bin/pip" install --quiet -r interop/acp-python/requirements.txt
"$place/python/bin/python" interop/acp-python/test_interop.py -v
