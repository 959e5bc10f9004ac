#!/usr/bin/env bash
# Clients that others publish, each in the version that is named, at the same piece of work: ask for a
# file, answer the question whether it may be written, show what came of it.
# Needs node, npm, python3 and cargo; what is installed stays below target/interop/clients.
#
#   interop/clients.sh [WORD]     only the lines of the table that contain WORD
#
# To add a client, or another version of one, add a line. Its driver (in interop/clients/) runs in an
# empty folder, with the client's packages to import, and finds in its environment STENTOR (the
# binary), SCENARIO (what the model plays), PACKAGE (the first package's name) and PLACE (where it was
# installed). It says "write a file", allows it, and prints what the client shows.
set -euo pipefail
cd "$(dirname "$0")/.."

# installed by  packages                                      driver
table='
npm             acpx@0.19.1,node@22.23.3                      acpx.sh
npm             pi-acp@0.0.34                                 pi-acp.sh
npm             @mcpc-tech/acp-ai-provider@0.2.9,ai@6.0.326    ai-sdk.mjs
npm             @zed-industries/agent-client-protocol@0.4.5   acp-sdk.mjs
npm             @agentclientprotocol/sdk@0.14.1               acp-sdk.mjs
npm             @agentclientprotocol/sdk@1.9.0                acp-sdk.mjs
pip             agent-client-protocol==0.9.0                  acp_sdk.py
pip             jupyter-ai-acp-client==0.3.3                  jupyter.py
cargo           agent-client-protocol@5.0.0,--example=yolo_one_shot_client,--features=process   rust-sdk.sh
'

cargo build -p stentor
export STENTOR="${STENTOR:-$PWD/target/debug/stentor}"
export SCENARIO="$PWD/interop/acp-scenarios/work.toml"
drivers=$PWD/interop/clients
all=$PWD/target/interop/clients
mkdir -p "$all"

# fetch INSTALLER FOLDER PACKAGE…: once
fetch() {
    local installer=$1 folder=$2
    shift 2
    [ -e "$folder/fetched" ] && return
    rm -rf "$folder"
    mkdir -p "$folder"
    case $installer in
    npm)
        echo '{"private":true}' >"$folder/package.json"
        (cd "$folder" && npm install --silent --no-audit --no-fund "$@")
        ;;
    pip)
        python3 -m venv "$folder/python"
        "$folder/python/bin/pip" install --quiet --disable-pip-version-check "$@"
        ;;
    cargo)
        cargo install --quiet --debug --locked --root "$folder" "$@"
        ;;
    esac
    touch "$folder/fetched"
}

# drive FOLDER DRIVER: in a folder and a home that are empty
drive() {
    local folder=$1 driver=$2 world
    world=$folder/run
    rm -rf "$world"
    mkdir -p "$world/home" "$world/work"
    cp "$drivers"/* "$folder/"
    case $driver in
    *.mjs) set -- node "$folder/$driver" ;;
    *.py) set -- "$folder/python/bin/python" "$folder/$driver" ;;
    *) set -- sh "$folder/$driver" ;;
    esac
    (
        cd "$world/work"
        HOME=$world/home PLACE=$folder PATH=$folder/node_modules/.bin:$PATH \
            timeout 120 "$@" </dev/null >"$world/shown" 2>&1
    ) && grep -q 'Successfully wrote 5 bytes to made.txt' "$world/shown" \
        && [ "$(cat "$world/work/made.txt")" = made ]
}

# each FUNCTION: calls it with installer, packages, driver, the first package and its folder
each() {
    local installer packages driver first
    while read -r installer packages driver; do
        [ -n "$installer" ] || continue
        [[ "$packages $driver" == *"$only"* ]] || continue
        first=${packages%%,*}
        "$1" "$installer" "$packages" "$driver" "$first" "$all/${first//[@\/]/_}"
    done <<<"$table"
}

# Waiting for the network is most of the work, so all of it is done at once.
begin_fetching() {
    fetch "$1" "$5" ${2//,/ } >"$5.log" 2>&1 &
}

use() {
    local installer=$1 driver=$3 first=$4 folder=$5
    case $installer in npm) PACKAGE=${first%@*} ;; *) PACKAGE=${first%%=*} ;; esac
    export PACKAGE
    if [ -e "$folder/fetched" ] && drive "$folder" "$driver"; then
        echo "ok      $first"
        return
    fi
    echo "FAILED  $first"
    cat "$folder.log" "$folder/run/shown" 2>/dev/null | sed 's/^/        /'
    failed=1
}

only=${1:-}
failed=0
each begin_fetching
wait
each use
exit $failed
