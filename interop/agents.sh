#!/usr/bin/env bash
# Published agents as children of the built binary, each behind all four dialects; see agents/run.py.
# Needs node, npm and python3; what is installed stays below target/interop/agents.
#
#   interop/agents.sh fetch           installs them; what cannot be had is left out
#   interop/agents.sh [NAME…]         drives them, or only those of these names
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/target/interop/agents
mkdir -p "$place"
case $(uname -m) in
aarch64 | arm64) machine=arm64 bun=aarch64 ;;
*) machine=x64 bun=x64 ;;
esac
# Seconds for each of them.
FETCHED_WITHIN=${FETCHED_WITHIN:-300}
system=$(uname -s | tr '[:upper:]' '[:lower:]')

# name, packages
table="
sdk       @agentclientprotocol/sdk@2.4.0
goose     @aaif/goose-binary-$system-$machine@1.52.0
codex     @zed-industries/codex-acp@0.16.0
opencode  opencode-$system-$machine@1.18.33
gemini    @google/gemini-cli@0.61.0
claude    @zed-industries/claude-agent-acp@0.23.1
bun       @oven/bun-$system-$bun@1.4.4
pi-old    @mariozechner/pi-coding-agent@0.73.1
pi-new    @earendil-works/pi-coding-agent@0.87.1
omp       @oh-my-pi/pi-coding-agent@18.2.3 @oh-my-pi/pi-natives-$system-$machine@18.2.3
"

fetch() {
    local name=$1 folder
    folder=$place/$name
    shift
    [ -e "$folder/fetched" ] && return
    rm -rf "$folder"
    mkdir -p "$folder"
    echo '{"private":true}' >"$folder/package.json"
    # The binary for this machine is an optional dependency of codex. What else omp and gemini have of these is large
    # and not needed.
    local omit=() limit=()
    case $name in omp | gemini) omit=(--omit=optional) ;; esac
    # One that hangs does not cost the others their time.
    command -v timeout >/dev/null && limit=(timeout "$FETCHED_WITHIN")
    if (cd "$folder" && "${limit[@]}" npm install --silent --no-audit --no-fund --ignore-scripts "${omit[@]}" "$@" >/dev/null 2>&1); then
        touch "$folder/fetched"
    else
        echo "SKIPPED: $name cannot be installed here ($*)" >&2
    fi
}

fetch_all() {
    while read -r name packages; do
        # One word each.
        # shellcheck disable=SC2086
        if [ -n "$name" ]; then fetch "$name" $packages; fi
    done <<<"$table"
}

(
    # Whoever comes second waits for the first, but not for ever: what is there by then is driven.
    if command -v flock >/dev/null && ! flock -w 120 9; then
        echo "SKIPPED: other agents than those that are installed by now" >&2
        exit 0
    fi
    fetch_all
) 9>"$place/lock"
[ "${1:-}" = fetch ] && exit

interop/pi-rpc-client/fetch.sh
export BUN=@oven/bun-$system-$bun
python3 interop/agents/run.py "${STENTOR:-target/debug/stentor}" "$place" \
    interop/pi-rpc-client/clients/0.87.1/dist/modes/rpc/rpc-client.js "$@"
