//! A child that speaks ACP and does exactly what a test says: requests of its own, whose answers it
//! writes to a file.

use serde_json::{Value, json};
use stentor_client::{AgentDialect, ChildAgent, Events, StartOptions};

use crate::shown::{Answering, options};
use crate::world::World;

/// What the child does in its first turn, as lines of a shell.
#[derive(Default)]
pub struct Steps {
    lines: String,
    asked: u64,
    session: Option<Value>,
}

impl Steps {
    /// What it says of its session.
    pub fn session(mut self, session: Value) -> Self {
        self.session = Some(session);
        self
    }

    /// It asks for something and waits for the answer.
    pub fn ask(mut self, method: &str, params: Value) -> Self {
        self.asked += 1;
        let id = format!("c{}", self.asked);
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.lines.push_str(&format!("ask '{frame}'\n"));
        self
    }

    /// It reports something of its session.
    pub fn update(mut self, update: Value) -> Self {
        let params = json!({ "sessionId": "s", "update": update });
        let frame = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        self.lines.push_str(&format!("say '{frame}'\n"));
        self
    }

    /// A line of its script.
    pub fn shell(mut self, line: &str) -> Self {
        self.lines.push_str(line);
        self.lines.push('\n');
        self
    }
}

/// A world whose `agent/child` does what `steps` make of the working folder. The configuration begins
/// with more keys of the agent.
pub fn world(config: &str, steps: impl FnOnce(&str) -> Steps) -> World {
    let world = World::new("", "");
    let work = world.path("work").display().to_string();
    let steps = steps(&work);
    let session = steps.session.unwrap_or_else(|| json!({ "sessionId": "s" }));
    let steps = steps.lines;
    let script = format!(
        r#"say() {{ printf '%s\n' "$1"; }}
hear() {{ IFS= read -r answer; printf '%s\n' "$answer" >> answers; }}
ask() {{ say "$1"; hear; }}
IFS= read -r line; printf '%s\n' "$line" > hello
say '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{{}}}}}}'
IFS= read -r line
say '{{"jsonrpc":"2.0","id":2,"result":{session}}}'
answered() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
until_prompt() {{
    while IFS= read -r line; do
        id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
        case "$line" in *'"session/prompt"'*) return;; esac
        printf '%s\n' "$line" >> settings
        answered '{{}}'
    done
    exit
}}
until_prompt
prompt=$id
{steps}
id=$prompt answered '{{"stopReason":"end_turn"}}'
while until_prompt; do answered '{{"stopReason":"end_turn"}}'; done
"#
    );
    with_script(world, &script, config)
}

/// A world whose `agent/child` is a script of a shell, after a configuration that begins with more keys
/// of the agent.
pub fn with_script(world: World, script: &str, config: &str) -> World {
    world.file("home/child.sh", script);
    let child = world.path("home/child.sh").display().to_string();
    let agent = format!("[agents.child]\ncommand = [\"sh\", {child:?}]\ndialect = \"acp\"\n");
    world.file(
        "home/.config/stentor/config.toml",
        &format!("{agent}{config}"),
    );
    world
}

/// How a session with that child is started.
pub fn outer(world: &World, words: &[&str]) -> StartOptions {
    let mut options = options(world, AgentDialect::Acp);
    let words = ["--model", "agent/child"].iter().chain(words);
    options.command.extend(words.map(|word| (*word).to_owned()));
    options
}

/// A session with that child.
pub async fn start(world: &World, words: &[&str], host: Answering) -> (ChildAgent, Events) {
    ChildAgent::start(outer(world, words), host).await.unwrap()
}

/// What the child was answered, a frame each.
pub fn answers(world: &World) -> Vec<Value> {
    frames(world, "answers")
}

/// What the child was asked besides prompts, a frame each.
pub fn settings(world: &World) -> Vec<Value> {
    frames(world, "settings")
}

fn frames(world: &World, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.path("work").join(name)).unwrap_or_default();
    let frames = text.lines().map(|line| serde_json::from_str(line).unwrap());
    frames.collect()
}
