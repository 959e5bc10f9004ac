//! What a child costs in dollars, in the budget and the usage of the session it works for.

use serde_json::{Value, json};
use stentor_client::{AgentDialect, AgentEvent, ChildAgent};

use crate::acp_child::{self, Steps, answers, outer};
use crate::behind::agent;
use crate::shown::{Answering, options, turn};
use crate::world::World;

/// A child that costs a dollar a turn.
const DONE: &str = "usage = { input = 60, output = 40 }\n\
                    model = { prices = { input = 10000, output = 10000 } }\n[[turn]]\ntext = \"Done.\"\n";

const DELEGATE: &str = r#"
[[turn]]
tool = "subagent"
arguments = { task = "Do it.", agent = "inner" }
[[turn]]
text = "{{last_tool_result}}"
"#;

/// The dollars that `stentor usage` sums up.
fn used(world: &World) -> f64 {
    let report: Value = serde_json::from_str(&world.asked(&["usage", "--json"])).unwrap();
    let cost = &report["total"]["usage"]["cost"]["total"];
    cost.as_f64().unwrap_or_else(|| panic!("{report}"))
}

#[tokio::test]
async fn what_a_subagent_that_is_an_agent_costs_counts_in_the_budget_and_the_usage_of_its_session()
{
    for inner in [AgentDialect::Acp, AgentDialect::Omp, AgentDialect::Psi] {
        let inner_world = World::new(DONE, "");
        let agent = agent(&inner_world, inner);
        for (limit, expected) in [
            (2.0, "text Done."),
            (
                1.0,
                "end Failed Budget reached: $1.0000 of $1.0000 are spent. 0+0",
            ),
        ] {
            let config = format!("{agent}[budget]\ncost = {limit:?}\n");
            let world = World::new(DELEGATE, &config);
            let started =
                ChildAgent::start(options(&world, AgentDialect::Omp), Answering::default()).await;
            let (agent, mut events) = started.unwrap();
            agent.prompt("Delegate.").await.unwrap();
            let lines = turn(&mut events).await;
            assert!(lines.contains(&expected.to_owned()), "{inner}: {lines:?}");
            agent.stop().await;
            assert_eq!(used(&world), 1.0, "{inner}");
        }
    }
}

fn text(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

/// What the session of a child has cost so far.
fn sum(dollars: f64) -> Value {
    json!({
        "sessionUpdate": "usage_update", "used": 120, "size": 1000,
        "cost": { "amount": dollars, "currency": "USD" },
    })
}

#[tokio::test]
async fn a_turn_that_costs_too_much_ends_at_its_next_call_and_the_child_is_stopped() {
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "execute",
        "status": "in_progress", "rawInput": {},
    });
    let ended = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
    });
    let steps = |_: &str| {
        Steps::default()
            .update(text("I begin."))
            .update(sum(0.25))
            .update(call)
            .update(ended)
            .shell("hear")
    };
    let world = acp_child::world("[budget]\ncost = 0.2\n", steps);
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    let expected = "text Budget reached: $0.2500 of $0.2000 are spent.".to_owned();
    assert!(lines.contains(&expected), "{lines:?}");
    agent.stop().await;
    let stopped = answers(&world);
    assert_eq!(stopped[0]["method"], "session/cancel", "{stopped:?}");
    assert_eq!(used(&world), 0.25);
}

#[tokio::test]
async fn a_child_that_goes_on_with_its_session_is_not_paid_twice() {
    let script = r#"
say() { printf '%s\n' "$1"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')" "$1"; }
spent=0.25
while IFS= read -r line; do
    case "$line" in
    *'"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}';;
    *'"session/load"'*) spent=0.75; answer '{}';;
    *'"session/new"'*) answer '{"sessionId":"s"}';;
    *'"session/prompt"'*)
        say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Yes."}}}}'
        say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1,"size":1000,"cost":{"amount":'$spent',"currency":"USD"}}}}'
        answer '{"stopReason":"end_turn"}';;
    esac
done
"#;
    let world = acp_child::with_script(World::new("", ""), script, "");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("One.").await.unwrap();
    turn(&mut events).await;
    let id = agent.session().await.unwrap().id.unwrap();
    agent.stop().await;
    assert_eq!(used(&world), 0.25);
    // It reports the sum of its whole session.
    let started = ChildAgent::start(outer(&world, &[]), Answering::default()).await;
    let (agent, mut events) = started.unwrap();
    agent.load_session(&id).await.unwrap();
    agent.prompt("Two.").await.unwrap();
    let mut cost = None;
    loop {
        match events.next().await.unwrap() {
            AgentEvent::Context(context) => cost = context.cost_usd,
            AgentEvent::TurnEnded(_) => break,
            _ => {}
        }
    }
    agent.stop().await;
    assert_eq!((cost, used(&world)), (Some(0.75), 0.75));
}
