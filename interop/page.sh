#!/usr/bin/env bash
# The page in a real browser, Chromium, driven by Puppeteer.
# Needs node, npm and chromium; what npm installs stays below target/interop. With PICTURES=FOLDER the
# screenshots go there.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build -p stentor
export STENTOR="${STENTOR:-$PWD/target/debug/stentor}"
place=target/interop/page
rm -rf "$place"
mkdir -p "$place"
cp -r interop/page/. "$place/"
export PICTURES="${PICTURES:-$PWD/$place/pictures}"
mkdir -p "$PICTURES"
cd "$place"
npm install --no-audit --no-fund --silent
npm test --silent
