//! How full a child's context is, what it calls the conversation and what it shows besides text.

use serde_json::{Value, json};
use stentor_client::{AgentContextUse, AgentDialect, AgentEvent, ChildAgent};

use crate::acp_child::{self, Steps};
use crate::behind::agent;
use crate::shown::{Answering, options};
use crate::world::World;

/// A child with a small context, a title and a picture.
fn talkative() -> World {
    acp_child::world("", |_| {
        let picture =
            json!({ "type": "image", "mimeType": "image/png", "data": "aGVsbG8gd29ybGQh" });
        Steps::default()
            .update(json!({ "sessionUpdate": "session_info_update", "title": "About\u{202e} cats\nand dogs" }))
            .update(json!({ "sessionUpdate": "agent_message_chunk", "content": picture }))
            .update(json!({ "sessionUpdate": "usage_update", "used": 500, "size": 4000 }))
    })
}

/// What the last event of each kind said in a turn of a session with that child.
async fn told(
    world: &World,
    dialect: AgentDialect,
    model: &str,
) -> (Option<AgentContextUse>, Option<String>, String) {
    let mut options = options(world, dialect);
    options
        .command
        .extend(["--model".to_owned(), model.to_owned()]);
    let (agent, mut events) = ChildAgent::start(options, Answering::default())
        .await
        .unwrap();
    agent.prompt("Look.").await.unwrap();
    let (mut context, mut title, mut text) = (None, None, String::new());
    loop {
        match events.next().await.unwrap() {
            AgentEvent::Context(told) => context = Some(told),
            AgentEvent::Title(told) => title = Some(told),
            AgentEvent::Text(more) => text.push_str(&more),
            AgentEvent::TurnEnded(_) => break,
            _ => {}
        }
    }
    agent.stop().await;
    (context, title, text)
}

#[tokio::test]
async fn the_context_and_the_title_of_a_child_are_those_of_the_session_in_every_dialect() {
    let context = |used| {
        Some(AgentContextUse {
            used,
            size: 4000,
            cost_usd: None,
        })
    };
    for (dialect, expected) in [
        (AgentDialect::Acp, context(500)),
        (AgentDialect::Omp, context(500)),
        (AgentDialect::Psi, context(0)),
        (AgentDialect::Synaps, None),
    ] {
        let world = talkative();
        let (context, title, text) = told(&world, dialect, "agent/child").await;
        assert_eq!(context, expected, "{dialect}");
        let named = (dialect != AgentDialect::Synaps).then(|| "About\\u{202e} cats".to_owned());
        assert_eq!(title, named, "{dialect}");
        let note = "[The agent showed something that cannot be shown here: image/png, 12 bytes]";
        assert_eq!(text.trim(), note, "{dialect}");
    }
}

#[tokio::test]
async fn the_program_as_a_child_tells_how_much_fits_into_its_context() {
    for inner in [AgentDialect::Acp, AgentDialect::Omp, AgentDialect::Psi] {
        let scenario = "usage = { input = 300, output = 100 }\n[model]\nid = \"small\"\ncontext_window = 32000\n[[turn]]\ntext = \"Yes.\"\n";
        let inner_world = World::new(scenario, "");
        let world = World::new("", &agent(&inner_world, inner));
        let (context, _, _) = told(&world, AgentDialect::Omp, "agent/inner").await;
        let expected = AgentContextUse {
            used: 400,
            size: 32_000,
            cost_usd: None,
        };
        assert_eq!(context, Some(expected), "{inner}");
    }
}

#[tokio::test]
async fn a_full_context_of_a_child_is_not_compacted_here_and_a_name_that_was_given_stays() {
    let world = acp_child::world("", |_| {
        Steps::default()
            .update(json!({ "sessionUpdate": "session_info_update", "title": "Cats" }))
            .update(json!({ "sessionUpdate": "usage_update", "used": 3999, "size": 4000 }))
    });
    let mut omp = world.child(&["--mode", "rpc", "--model", "agent/child", "--name", "Mine"]);
    assert_eq!(omp.json()["type"], "ready");
    for _ in 0..2 {
        omp.send(r#"{"type":"prompt","message":"Look."}"#);
        let frames = omp.until_type("agent_end");
        let compacted = frames
            .iter()
            .any(|frame| frame.to_string().contains("compaction"));
        assert!(!compacted, "{frames:?}");
    }
    omp.send(r#"{"type":"get_state"}"#);
    let state: Value = omp.until_type("response").pop().unwrap();
    assert_eq!(state["data"]["sessionName"], "Mine");
    assert_eq!(state["data"]["contextUsage"]["contextWindow"], 4000);
    omp.end();
}
