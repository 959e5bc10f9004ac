#!/bin/sh
# Uses published agents as models: pi in two generations. Each gets one prompt that runs a tool, through
# `stentor -p`, with a model on this machine behind it; then its session is resumed.
# Needs node, npm and python3; the npm packages are fetched once.
#
#   interop/agents.sh [PATH OF stentor]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stentor=${1:-$here/../target/debug/stentor}
fetched=$here/agents/fetched
for package in @mariozechner/pi-coding-agent@0.73.1 @earendil-works/pi-coding-agent@0.87.1; do
  folder=$fetched/${package##*@}
  [ -e "$folder/node_modules" ] && continue
  mkdir -p "$folder"
  echo '{"private":true}' > "$folder/package.json"
  (cd "$folder" && npm install --silent --no-audit --no-fund --ignore-scripts "$package")
done

work=$(mktemp -d)
python3 "$here/agents/mock.py" > "$work/port" &
mock=$!
trap 'kill $mock; rm -rf "$work"' EXIT
until [ -s "$work/port" ]; do sleep 0.1; done
port=$(cat "$work/port")
mkdir -p "$work/home/.config/stentor" "$work/home/.pi/agent" "$work/folder"
cat > "$work/home/.pi/agent/models.json" << EOF
{"providers": {"mock": {"baseUrl": "http://127.0.0.1:$port/v1", "api": "openai-completions", "apiKey": "none",
  "models": [{"id": "mock", "name": "Mock", "reasoning": false, "input": ["text"], "contextWindow": 100000, "maxTokens": 4000}]}}}
EOF

# NAME DIALECT COMMAND…
try() {
  name=$1 dialect=$2
  shift 2
  command=$(printf '"%s", ' "$@")
  cat > "$work/home/.config/stentor/config.toml" << EOF
[agents.$name]
command = [${command%, }]
dialect = "$dialect"
env = { PI_OFFLINE = "1", PI_SKIP_VERSION_CHECK = "1" }
EOF
  run() { (cd "$work/folder" && env -i HOME="$work/home" PATH="$PATH" "$stentor" "$@"); }
  run agents check "$name" > "$work/check" || { echo "$name: the check failed"; exit 1; }
  run -p "Run something." --model "agent/$name" --json > "$work/events"
  for wanted in '"tool_ended"' 'from the tool' 'The model has answered.' '"outcome":"completed"'; do
    grep -q "$wanted" "$work/events" || { echo "$name: no $wanted"; cat "$work/events"; exit 1; }
  done
  run -p "And again." --model "agent/$name" --continue --json > "$work/events" 2> "$work/warnings"
  grep -q '"outcome":"completed"' "$work/events" || { echo "$name: not resumed"; exit 1; }
  if grep -q 'as text' "$work/warnings" "$work/events"; then
    echo "$name: ok, but its own session was not resumed"
  else
    echo "$name: ok"
  fi
}

node_major=$(node -p 'process.versions.node.split(".")[0]')
for version in 0.73.1 0.87.1; do
  if [ "$version" = 0.87.1 ] && [ "$node_major" -lt 22 ]; then
    echo "skipped: pi $version needs node 22"
    continue
  fi
  try "pi-$(echo $version | tr . -)" omp "$fetched/$version/node_modules/.bin/pi" --mode rpc --provider mock --model mock
done
