//! Messages for a child that works: they reach it while its calls run, in time for what it does next.

use std::time::Duration;

use stentor_client::{AgentDialect, AgentEvent, ChildAgent};
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
