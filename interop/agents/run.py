"""Published agents as children, each behind all four dialects: a prompt that runs a tool, the question whether it
may, an abort, and the session resumed. Then `stentor agents check` finds the same. A model on this machine is behind
them (mock.py).

    run.py STENTOR FETCHED RPC_CLIENT [NAME…]

FETCHED is where agents.sh installs them, RPC_CLIENT the file of pi's RpcClient. Only what is not installed is
skipped. What has not been done within DONE_WITHIN seconds, of all of them, has failed."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
STENTOR, FETCHED, RPC_CLIENT = (Path(word).resolve() for word in sys.argv[1:4])
WANTED = sys.argv[4:]
DEADLINE = time.monotonic() + int(os.environ.get("DONE_WITHIN", "240"))
#: Agents that are driven at once: they mostly wait, for their model and for each other.
LANES = 3
BUN = FETCHED / "bun/node_modules" / os.environ.get("BUN", "") / "bin/bun"


#: gemini names the file of a session after the minute it starts in, and overwrites the file of a session that is
#: resumed within that minute: its files are dated back before it starts.
AGED = r"""for file in "$HOME"/.gemini/tmp/*/chats/session-*; do
    aged=$(printf '%s' "$file" | sed 's/session-[0-9]*-/session-2000-/')
    [ "$file" = "$aged" ] || mv "$file" "$aged"
done 2>/dev/null
exec "$@"
"""


def modules(name):
    return FETCHED / name / "node_modules"


def toml(value):
    return json.dumps(value)


def agents(port):
    """Name, program and arguments, dialect, environment, and whether it asks before it runs a command; what takes
    longest stands first."""
    url = f"http://127.0.0.1:{port}"
    goose = {"GOOSE_PROVIDER": "openai", "OPENAI_HOST": url, "OPENAI_API_KEY": "x", "GOOSE_MODEL": "mock",
             "GOOSE_DISABLE_KEYRING": "1", "GOOSE_MODE": "approve", "GOOSE_TELEMETRY_ENABLED": "false"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
                "models": {"mock": {"name": "mock"}}}
    opencode = {"model": "mock/mock", "small_model": "mock/mock", "autoupdate": False, "share": "disabled",
                "permission": {"bash": "ask"}, "provider": {"mock": provider}}
    gemini = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": "gemini-2.5-flash",
              "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
    claude = {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    pi = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    mock = ["--mode", "rpc", "--provider", "mock", "--model", "mock"]
    return [
        ("opencode", [program("opencode", "opencode"), "acp"], "acp",
         {"OPENCODE_CONFIG_CONTENT": json.dumps(opencode), "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
          "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}, True),
        ("omp", [BUN, modules("omp") / "@oh-my-pi/pi-coding-agent/dist/cli.js", "--mode", "rpc", "--model", "mock/mock"],
         "omp", {"PI_OFFLINE": "1", "OMP_NO_UPDATE": "1"}, False),
        ("pi-old", ["node", modules("pi-old") / "@mariozechner/pi-coding-agent/dist/cli.js", *mock], "omp", pi, False),
        ("pi-new", [BUN, modules("pi-new") / "@earendil-works/pi-coding-agent/dist/cli.js", *mock], "omp", pi, False),
        ("gemini", ["sh", "-c", AGED, "sh", "node", modules("gemini") / "@google/gemini-cli/bundle/gemini.js", "--acp"], "acp", gemini, True),
        ("claude", ["node", modules("claude") / "@zed-industries/claude-agent-acp/dist/index.js"], "acp", claude, True),
        ("goose", [program("goose", "goose"), "acp"], "acp", goose, True),
        ("codex", [program("codex", "codex-acp")], "acp", {"MOCK_KEY": "x", "OPENAI_API_KEY": "x"}, True),
    ]


def program(name, file):
    """The program of a package that is a binary for this machine."""
    found = sorted(modules(name).glob(f"**/bin/{file}"))
    return found[0] if found else modules(name) / file


def home_of(folder, port, name, command, dialect, env):
    """A home in which the agent is set up, for itself and for us."""
    home = folder / "home"
    model = {"id": "mock", "name": "mock", "reasoning": False, "input": ["text"], "contextWindow": 100000, "maxTokens": 4000,
             "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": f"http://127.0.0.1:{port}/v1", "api": "openai-completions", "apiKey": "x", "models": [model]}
    codex = f"""model = "mock"
model_provider = "mock"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
"""
    variables = "".join(f"{key} = {toml(value)}\n" for key, value in env.items())
    words = ", ".join(toml(str(word)) for word in command)
    entry = f"[agents.{name}]\ncommand = [{words}]\ndialect = {toml(dialect)}\n[agents.{name}.env]\n{variables}"
    gemini = json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                         "general": {"enableAutoUpdate": False}})
    # JSON is YAML.
    models = json.dumps({"providers": {"mock": provider}})
    for path, text in [(".pi/agent/models.json", models), (".omp/agent/models.yml", models), (".codex/config.toml", codex),
                       (".gemini/settings.json", gemini), (".config/stentor/config.toml", entry)]:
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"HOME": str(home), "PATH": os.environ["PATH"], "STENTOR": str(STENTOR), "AGENT": name, "CLIENT": str(RPC_CLIENT)}


class TooSlow(Exception):
    pass


def time_left():
    return max(1, DEADLINE - time.monotonic())


class Lines:
    """Stentor, spoken to line by line."""

    def __init__(self, env, *words):
        folder = env["FOLDER"]
        self.process = subprocess.Popen([STENTOR, *words], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.is_late = False
        self.timer = threading.Timer(time_left(), self.give_up)
        self.timer.start()
        self.heard = []

    def give_up(self):
        self.is_late = True
        self.process.kill()

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def until(self, pattern, meanwhile=lambda line: None):
        for line in self.process.stdout:
            self.heard.append(line)
            meanwhile(line)
            if re.search(pattern, line):
                return line
        self.timer.cancel()
        self.process.kill()
        raise TooSlow if self.is_late else AssertionError(f"no {pattern} in {self.heard[-8:]}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()
        self.timer.cancel()


def synaps(env, name):
    """synaps has no questions: what the agent asks is answered by the policy, which allows everything there."""

    def prompts(child, text, number, expected):
        child.send(json.dumps({"type": "prompt", "id": f"p{number}", "message": text}))
        child.until(expected)
        child.until(f'"id":"p{number}"')

    child = Lines(env, "rpc", "--model", f"agent/{name}")
    session = json.loads(child.until('"type":"ready"'))["session_id"]
    prompts(child, "Run something.", 1, "from the tool")
    assert "answered 1 prompts" in "".join(child.heard)
    child.send(json.dumps({"type": "prompt", "id": "p2", "message": "Hang."}))
    child.until("I begin")
    child.send(json.dumps({"type": "abort", "id": "a"}))
    child.until('"id":"p2"')
    child.end()
    again = Lines(env, "rpc", "--model", f"agent/{name}", "--continue", session)
    again.until('"type":"ready"')
    prompts(again, "How many?", 3, "prompts")
    assert re.search("answered [23] prompts", "".join(again.heard)), again.heard[-8:]
    again.end()


def psi(env, name):
    idle = ':event "session/updated".*:phase "idle"|:phase "idle".*:event "session/updated"'
    questions = []

    def ask(child, op, params):
        child.send(f'{{:id "{op}" :kind :request :op "{op}" :params {params}}}')

    def started():
        child = Lines(env, "--rpc-edn", "--model", f"agent/{name}", "--permission-mode", "ask")
        ask(child, "handshake", '{:client-info {:name "interop" :version "1" :protocol-version "1.0" :features []}}')
        child.until(':id "handshake"')
        topics = "assistant/delta assistant/message tool/result session/updated ui/dialog-requested error"
        ask(child, "subscribe", '{:topics ["' + '" "'.join(topics.split()) + '"]}')
        child.until(':id "subscribe"')
        return child

    def allow(line):
        dialog = re.search(':dialog-id "([^"]*)"', line) if ':event "ui/dialog-requested"' in line else None
        if dialog:
            questions.append(line)
            ask(child, "resolve_dialog", f'{{:dialog-id "{dialog[1]}" :result "allow-once"}}')

    child = started()
    ask(child, "prompt", '{:message "Run something."}')
    child.until(':event "tool/result".*from the tool', allow)
    child.until(':event "assistant/message".*answered 1 prompts')
    child.until(idle)
    assert len(questions) == (1 if env["ASKS"] == "1" else 0), questions
    ask(child, "prompt", '{:message "Hang."}')
    child.until(':event "assistant/delta".*I begin')
    ask(child, "abort", "{}")
    child.until(idle)
    ask(child, "get_state", "{}")
    file = re.search(':session-file ("[^"]*")', child.until(':id "get_state"'))[1]
    child.end()
    child = started()
    ask(child, "switch_session", f"{{:session-path {file}}}")
    child.until(':id "switch_session"')
    ask(child, "prompt", '{:message "How many?"}')
    child.until(':event "assistant/message".*answered [23] prompts')
    child.end()


def script(file):
    def run(env, name):
        try:
            done = subprocess.run(["node", file], cwd=env["FOLDER"], env=env, capture_output=True, text=True, timeout=time_left())
        except subprocess.TimeoutExpired as late:
            raise TooSlow from late
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    return run


def check(env, name):
    """What is found out about it without a client."""
    words = [STENTOR, "agents", "check", name, "--prompt", "Run something.", "--json"]
    try:
        done = subprocess.run(words, cwd=env["FOLDER"], env=env, capture_output=True, text=True, timeout=time_left())
    except subprocess.TimeoutExpired as late:
        raise TooSlow from late
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    report = json.loads(done.stdout)
    tried = {row["feature"] for row in report["features"] if row["known_by"] == "tried" and not row["error"]}
    wanted = {"abort", "new session in the same process", *(["permission questions"] if env["ASKS"] == "1" else [])}
    assert report["works"] and wanted <= tried, (wanted - tried, report)


FRONTENDS = {"acp": script(FETCHED / "sdk/acp.mjs"), "omp": script(HERE / "omp.mjs"), "psi": psi, "synaps": synaps,
             "check": check}


def main():
    mock = subprocess.Popen([sys.executable, HERE / "mock.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = mock.stdout.readline().strip()
    shutil.copy(HERE / "acp.mjs", FETCHED / "sdk/acp.mjs")

    def drive(row):
        """What came of an agent, and whether that is a failure."""
        name, command, dialect, env, asks = row
        missing = [word for word in command if isinstance(word, Path) and not word.exists()]
        if missing:
            return f"SKIPPED: {name}: {missing[0].name} could not be installed here", False
        times = []
        # One home for all of them: the first time in one is long with some.
        with tempfile.TemporaryDirectory(prefix="stentor-agents-", ignore_cleanup_errors=True) as folder:
            folder = Path(folder).resolve()
            world = home_of(folder, port, name, command, dialect, env)
            for frontend, run in FRONTENDS.items():
                begun = time.monotonic()
                work = folder / frontend
                work.mkdir()
                try:
                    run({**world, "FOLDER": str(work), "ASKS": "1" if asks else "0"}, name)
                except TooSlow:
                    return f"FAILED: {name} behind {frontend}: not done after {time.monotonic() - begun:.0f} s", True
                except (AssertionError, OSError) as error:
                    return f"FAILED: {name} behind {frontend}: {error}", True
                times.append(f"{frontend} {time.monotonic() - begun:.1f} s")
        done = "prompt, tool, permission (synaps: by the policy), abort, resume" if asks else \
            f"prompt, tool, abort, resume; {name} asks for no permissions"
        return f"ok: {name} behind {', '.join(times)}: {done}", False

    try:
        rows = [row for row in agents(port) if not WANTED or row[0] in WANTED]
        with ThreadPoolExecutor(LANES) as lanes:
            results = list(lanes.map(drive, rows))
    finally:
        mock.kill()
    for result, _ in results:
        print(result)
    sys.exit(any(failed for _, failed in results))


main()
