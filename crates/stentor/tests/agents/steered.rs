//! Messages for a child that works: they reach it while its calls run, in time for what it does next.

use std::time::Duration;

use stentor_client::{AgentDialect, AgentEvent, ChildAgent, Events};
use tokio::time::timeout;

use crate::acp_child;
use crate::shown::{Answering, options, turn, until};
use crate::world::World;

/// Long enough for a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call that ends when the child is steered; what it says then has the message.
const WAITS: &str = r#"
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
hear() { IFS= read -r line || exit; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
answer() { say '{"jsonrpc":"2.0","id":'"$1"',"result":'"$2"'}'; }
hear; answer "$id" '{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}'
hear; answer "$id" '{"sessionId":"s"}'
hear; first=$id
update '{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"execute","status":"in_progress","rawInput":{}}'
hear; printf '%s\n' "$line" >> steered
answer "$id" '{"outcome":"injected"}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}'
update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Turn left."}}'
update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Left it is."}}'
answer "$first" '{"stopReason":"end_turn"}'
while hear; do printf '%s\n' "$line" >> steered; answer "$id" '{"stopReason":"end_turn"}'; done
"#;

#[tokio::test]
async fn a_message_reaches_a_child_while_its_call_runs_and_only_once() {
    for dialect in [AgentDialect::Acp, AgentDialect::Omp, AgentDialect::Psi] {
        let world = acp_child::with_script(World::new("", ""), WAITS, "");
        let mut options = options(&world, dialect);
        let model = ["--model".to_owned(), "agent/child".to_owned()];
        options.command.extend(model);
        let (agent, mut events) = ChildAgent::start(options, Answering::default())
            .await
            .unwrap();
        agent.prompt("Go on.").await.unwrap();
        let is_started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
        until(&mut events, is_started).await;
        agent.steer("Turn left.").await.unwrap();
        let lines = timeout(PATIENCE, turn(&mut events)).await;
        let lines = lines.expect("the child has not been given the message");
        let place = |wanted: &str| lines.iter().position(|line| line.starts_with(wanted));
        let ended = place("ended t").unwrap();
        let said = place("user Turn left.").unwrap();
        let answered = place("text Left it is.").unwrap();
        assert!(ended < said && said < answered, "{dialect}: {lines:?}");
        let steered = std::fs::read_to_string(world.path("work/steered")).unwrap();
        assert_eq!(steered.lines().count(), 1, "{steered}");
    }
}

/// What every child here begins with.
const HELLO: &str = r#"
say() { printf '%s\n' "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$@"; }
write() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
started() { printf '%s' '{"sessionUpdate":"tool_call","toolCallId":"'"$1"'","title":"T","kind":"execute","status":"in_progress","rawInput":{}}'; }
ended() { printf '%s' '{"sessionUpdate":"tool_call_update","toolCallId":"'"$1"'","status":"completed"}'; }
hear() { IFS= read -r line || exit; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
keep() { hear; printf '%s\n' "$line" >> heard; }
answer() { say '{"jsonrpc":"2.0","id":'"$1"',"result":'"$2"'}'; }
hear; answer "$id" '{"protocolVersion":1,"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}'
hear; answer "$id" '{"sessionId":"s"}'
hear; first=$id
"#;

async fn begin(script: &str) -> (World, ChildAgent, Events) {
    let script = format!("{HELLO}{script}");
    let world = acp_child::with_script(World::new("", ""), &script, "");
    let mut options = options(&world, AgentDialect::Omp);
    let model = ["--model".to_owned(), "agent/child".to_owned()];
    options.command.extend(model);
    let started = ChildAgent::start(options, Answering::default()).await;
    let (agent, events) = started.unwrap();
    agent.prompt("Go on.").await.unwrap();
    (world, agent, events)
}

async fn whole_turn(events: &mut Events) -> Vec<String> {
    let lines = timeout(PATIENCE, turn(events)).await;
    lines.expect("the turn does not end")
}

/// The messages that the child was given after its first prompt.
fn heard(world: &World) -> Vec<String> {
    let heard = std::fs::read_to_string(world.path("work/heard")).unwrap();
    heard.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_message_for_a_call_that_is_over_is_not_given_once_more_to_the_next() {
    let script = r#"
write Begun
while ! [ -e go ]; do sleep 0.05; done
update "$(started one)" "$(ended one)"
keep; answer "$id" '{"outcome":"injected"}'
update "$(started two)"; sleep 1; update "$(ended two)"
answer "$first" '{"stopReason":"end_turn"}'
while keep; do answer "$id" '{"stopReason":"end_turn"}'; done
"#;
    let (world, agent, mut events) = begin(script).await;
    until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
    agent.steer("Turn left.").await.unwrap();
    world.file("work/go", "");
    whole_turn(&mut events).await;
    agent.prompt("Turn right.").await.unwrap();
    whole_turn(&mut events).await;
    let heard = heard(&world);
    let is_left = |line: &&String| line.contains("Turn left.");
    assert_eq!(heard.iter().filter(is_left).count(), 1, "{heard:?}");
    assert!(heard.last().unwrap().contains("Turn right."), "{heard:?}");
}

/// A call during which a message is refused; the turn ends with what is given.
fn refuses(end: &str) -> String {
    format!(
        r#"
update "$(started one)"
hear; answer "$id" '{{"outcome":"failed"}}'
update "$(ended one)"
say '{{"jsonrpc":"2.0","id":'"$first"',{end}}}'
while keep; do
    write Answered
    answer "$id" '{{"stopReason":"end_turn","usage":{{"inputTokens":10,"outputTokens":5}}}}'
done
"#
    )
}

#[tokio::test]
async fn a_message_that_was_refused_in_a_turn_that_fails_is_part_of_the_next_prompt() {
    let (world, agent, mut events) =
        begin(&refuses(r#""error":{"code":-32603,"message":"quota"}"#)).await;
    let is_started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
    until(&mut events, is_started).await;
    agent.steer("Turn left.").await.unwrap();
    let failed = whole_turn(&mut events).await;
    assert!(failed.last().unwrap().contains("quota"), "{failed:?}");
    for text in ["Turn right.", "Stop."] {
        agent.prompt(text).await.unwrap();
        let lines = whole_turn(&mut events).await;
        assert_eq!(lines, ["turn", "text Answered", "end Completed 10+5"]);
    }
    let heard = heard(&world);
    let [both, last] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert!(both.contains(r"Turn left.\n\nTurn right."), "{both}");
    assert!(last.contains(r#""Stop.""#), "{last}");
}

#[tokio::test]
async fn two_turns_of_a_child_in_one_answer_count_both() {
    let end =
        r#""result":{"stopReason":"end_turn","usage":{"inputTokens":1000,"outputTokens":500}}"#;
    let (world, agent, mut events) = begin(&refuses(end)).await;
    let is_started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
    until(&mut events, is_started).await;
    agent.steer("Turn left.").await.unwrap();
    let lines = whole_turn(&mut events).await;
    assert_eq!(lines.last().unwrap(), "end Completed 1010+505");
    assert_eq!(heard(&world).len(), 1);
}
