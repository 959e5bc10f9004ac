#!/usr/bin/env bash
# One session of one server with several published clients at the same time: the ACP SDK, pi's RpcClient,
# psi's frames and the lines of a Synaps bridge.
# Needs node and npm; what npm installs stays below target/interop.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build -p stentor
export STENTOR="${STENTOR:-$PWD/target/debug/stentor}"
interop/pi-rpc-client/fetch.sh
export PI="$PWD/interop/pi-rpc-client/clients/1.5.0"
export STENTOR_MJS="$PWD/interop/pi-rpc-client/stentor.mjs"
place=target/interop/together
rm -rf "$place"
mkdir -p "$place"
cp -r interop/together/. "$place/"
cd "$place"
npm install --no-audit --no-fund --silent
timeout 120 npm test --silent
