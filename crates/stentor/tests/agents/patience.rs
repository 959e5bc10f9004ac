//! Children that say nothing, refuse something, or are set up in another folder.

use serde_json::Value;
use stentor_client::{AgentDialect, AgentEvent, ChildAgent, DenyAll, StartOptions};
use stentor_test_support::when_written;

use crate::acp_child;
use crate::shown::{Answering, options, turn, until};
use crate::world::World;

#[tokio::test]
async fn a_child_that_says_nothing_for_too_long_ends_the_run_and_is_told_to_stop() {
    let script = r#"
say() { printf '%s\n' "$1"; }
read a; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read a; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read a
read cancel; printf '%s\n' "$cancel" > cancelled
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}'
read a
"#;
    let world = acp_child::with_script(World::new("", ""), script, "idle_timeout = 1\n");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    let why = "agent/child: it has said nothing for 1 s (`idle_timeout`)";
    assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    let cancelled = world.path("work/cancelled");
    let cancelled = tokio::task::spawn_blocking(move || when_written(&cancelled));
    assert!(cancelled.await.unwrap().contains("session/cancel"));
}

/// A child that never ends its turn, and does this in it, with more keys in its entry.
fn endless(steps: &str, config: &str) -> World {
    let script = format!(
        r#"
say() {{ printf '%s\n' "$1"; }}
hear() {{ IFS= read -r line; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }}
hear; say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"protocolVersion":1,"agentCapabilities":{{}}}}}}'
hear; say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"sessionId":"s"}}}}'
hear
write() {{ say '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"'"$1"'"}}}}}}}}'; }}
{steps}
while read -r line; do :; done
"#
    );
    acp_child::with_script(World::new("", ""), &script, config)
}

/// What a check prints whose prompt was not answered.
fn failed_check(world: &World, flags: &[&str]) -> String {
    let words = ["agents", "check", "child", "--prompt", "Hi."];
    let mut command = world.command(&words);
    let out = command.args(flags).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_check_gives_up_a_prompt_that_is_not_answered_to_the_end() {
    let world = endless("", "idle_timeout = 1\n");
    let report = failed_check(&world, &[]);
    let line = "prompt    it has said nothing for 1 s (`idle_timeout`)\n";
    assert!(report.contains(line), "{report}");
}

#[test]
fn a_check_reads_only_so_much_of_an_answer() {
    let world = endless(
        "long=$(printf '%065536d' 0); while write \"$long\"; do :; done",
        "",
    );
    let report = failed_check(&world, &["--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let why = "its answer is longer than 1048576 bytes";
    assert_eq!(report["turn"]["error"], why);
    assert_eq!(report["turn"]["text"].as_str().map(str::len), Some(1 << 20));
}

#[tokio::test]
async fn a_psi_child_that_is_idle_again_without_an_answer_has_ended_its_turn() {
    let script = r#"
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*:id "\([a-z0-9]*\)".*/\1/')
    op=$(printf '%s' "$line" | sed 's/.*:op "\([a-z_]*\)".*/\1/')
    echo "{:id \"$id\" :kind :response :op \"$op\" :ok true :data {:server-info {:session-id \"s\"}}}"
    case "$op" in prompt)
        echo '{:kind :event :event "session/updated" :data {:session-id "s" :phase "streaming" :is-streaming true}}'
        echo '{:kind :event :event "session/updated" :data {:session-id "s" :phase :idle :is-streaming false}}';;
    esac
done
"#;
    let options = StartOptions::new(AgentDialect::Psi, ["sh", "-c", script]);
    let (agent, mut events) = ChildAgent::start(options, DenyAll).await.unwrap();
    for _ in 0..2 {
        agent.prompt("Go on.").await.unwrap();
        assert_eq!(turn(&mut events).await, ["turn", "end Completed 0+0"]);
    }
}

#[tokio::test]
async fn a_message_that_a_child_refuses_to_be_steered_with_is_its_next_prompt() {
    let script = r#"
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
hear() { IFS= read -r line; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
answer() { say '{"jsonrpc":"2.0","id":'"$1"',"result":'"$2"'}'; }
mkfifo go
hear; answer "$id" '{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}'
hear; answer "$id" '{"sessionId":"s"}'
hear; first=$id
update '{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"execute","status":"in_progress","rawInput":{}}'
read go < go
update '{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}'
hear; printf '%s\n' "$line" > steered
answer "$id" '{"outcome":"failed"}'
answer "$first" '{"stopReason":"end_turn"}'
hear; printf '%s\n' "$line" > prompted
update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Left it is."}}'
answer "$id" '{"stopReason":"end_turn"}'
read a
"#;
    let world = acp_child::with_script(World::new("", ""), script, "");
    let mut options = options(&world, AgentDialect::Omp);
    let model = ["--model".to_owned(), "agent/child".to_owned()];
    options.command.extend(model);
    let (agent, mut events) = ChildAgent::start(options, Answering::default())
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    let is_started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
    until(&mut events, is_started).await;
    agent.steer("Turn left.").await.unwrap();
    let go = world.path("work/go");
    let written = tokio::task::spawn_blocking(move || std::fs::write(go, "go\n"));
    written.await.unwrap().unwrap();
    let lines = turn(&mut events).await;
    assert!(lines.contains(&"text Left it is.".to_owned()), "{lines:?}");
    for (file, method) in [
        ("steered", "_session/steering"),
        ("prompted", "session/prompt"),
    ] {
        let frame = std::fs::read_to_string(world.path("work").join(file)).unwrap();
        let frame: Value = serde_json::from_str(&frame).unwrap();
        assert_eq!(frame["method"], method);
        assert_eq!(frame["params"]["prompt"][0]["text"], "Turn left.");
    }
}

#[tokio::test]
async fn a_relative_folder_of_a_child_begins_at_the_configuration() {
    let script = r#"
say() { printf '%s\n' "$1"; }
pwd > here
read a; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read a; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read a; say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
read a
"#;
    let world = acp_child::with_script(World::new("", ""), script, "cwd = \"sub\"\n");
    let folder = world.path("home/.config/stentor/sub");
    std::fs::create_dir(&folder).unwrap();
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    assert_eq!(turn(&mut events).await, ["turn", "end Completed 0+0"]);
    let here = std::fs::read_to_string(folder.join("here")).unwrap();
    assert_eq!(
        here.trim_end(),
        folder.canonicalize().unwrap().display().to_string()
    );
}

#[tokio::test]
async fn a_child_that_ends_instead_of_stopping_is_started_again_by_the_next_prompt() {
    let script = r#"
say() { printf '%s\n' "$1"; }
write() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
read a; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read a; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read a
if mkdir lived; then write Once; read cancel; exit 3; fi
write Again; say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
read a
"#;
    let world = acp_child::with_script(World::new("", ""), script, "");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
    agent.abort().await.unwrap();
    turn(&mut events).await;
    agent.prompt("And now?").await.unwrap();
    let lines = turn(&mut events).await;
    assert!(lines.contains(&"text Again".to_owned()), "{lines:?}");
    assert!(lines.contains(&"end Completed 0+0".to_owned()), "{lines:?}");
}
