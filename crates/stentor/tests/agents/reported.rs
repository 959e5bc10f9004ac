//! What a child reports of its turn, for whoever watches and for whoever reads it later.

use std::time::Duration;

use serde_json::{Value, json};
use stentor_client::{AgentEvent, AgentLocation};
use tokio::time::timeout;

use crate::acp_child::{self, Steps, outer};
use crate::shown::{Answering, turn, until};

/// A turn with everything that the dialect has words for.
fn steps(work: &str) -> Steps {
    let text = |kind: &str, text: &str| json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
    let output =
        |text: &str| json!({ "type": "content", "content": { "type": "text", "text": text } });
    let diff = json!({
        "type": "diff", "path": format!("{work}/f"), "oldText": "one\n", "newText": "two\n",
    });
    Steps::default()
        .update(text("agent_thought_chunk", "Let me see."))
        .update(json!({
            "sessionUpdate": "plan",
            "entries": [
                { "content": "Change it", "priority": "high", "status": "in_progress" },
                { "content": "Check it", "priority": "low", "status": "pending" },
            ],
        }))
        .update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Change f", "kind": "edit",
            "status": "in_progress", "rawInput": { "path": format!("{work}/f") },
        }))
        .update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [output("half")],
        }))
        .update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
            "content": [output("changed"), diff],
        }))
        .update(text("agent_message_chunk", "It is two now."))
        .update(json!({
            "sessionUpdate": "usage_update", "used": 120, "size": 1000,
            "cost": { "amount": 0.25, "currency": "USD" },
        }))
}

#[tokio::test]
async fn what_a_child_reports_is_shown_and_is_in_a_replay_and_an_export() {
    let world = acp_child::world("", steps);
    let path = world.path("work/f").display().to_string();
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Change it.").await.unwrap();
    let mut shown = Vec::new();
    let mut cost = None;
    loop {
        match events.next().await.unwrap() {
            AgentEvent::TurnEnded(_) => break,
            AgentEvent::Context(context) => cost = context.cost_usd,
            AgentEvent::Plan(plan) => {
                shown.extend(plan.into_iter().map(|entry| format!("plan {}", entry.text)));
            }
            AgentEvent::ToolProgress { output, .. } => {
                shown.push(format!("so far {}", output.text))
            }
            AgentEvent::ToolEnded { output, .. } => {
                let diff = &output.diffs[0];
                let change = (diff.old.as_deref(), diff.new.as_str());
                shown.push(format!("ended {} {change:?}", output.text));
            }
            AgentEvent::Thinking(text) | AgentEvent::Text(text) => shown.push(text),
            _ => {}
        }
    }
    assert_eq!(
        shown,
        [
            "Let me see.",
            "plan Change it",
            "plan Check it",
            "so far half",
            r#"ended changed (Some("one\n"), "two\n")"#,
            "It is two now.",
        ]
    );
    assert_eq!(cost, Some(0.25));
    let id = agent.session().await.unwrap().id.unwrap();
    agent.stop().await;
    // Another process repeats it.
    let (agent, mut events) =
        stentor_client::ChildAgent::start(outer(&world, &[]), Answering::default())
            .await
            .unwrap();
    agent.load_session(&id).await.unwrap();
    agent.prompt("And now?").await.unwrap();
    let repeated = turn(&mut events).await;
    let expected = [
        "user Change it.".to_owned(),
        "thinking Let me see.".to_owned(),
        format!(r#"call edit {{"path":"{path}"}}"#),
        r#"ended t changed ["two\n"]"#.to_owned(),
        "text It is two now.".to_owned(),
    ];
    for line in expected {
        assert!(repeated.contains(&line), "{line} in {repeated:?}");
    }
    agent.stop().await;
    let page = world.asked(&["export", &id, "-o", "-"]);
    for text in ["Let me see.", "changed", "It is two now."] {
        assert!(page.contains(text), "{text} in {page}");
    }
}

#[tokio::test]
async fn the_title_the_kind_and_the_places_of_a_call_without_arguments_are_the_child_s() {
    let world = acp_child::world("", |work| {
        let place = json!({ "path": format!("{work}/f"), "line": 7 });
        Steps::default()
            .update(json!({
                "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Search for cats",
                "kind": "fetch", "status": "in_progress", "locations": [place],
            }))
            .update(json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
            }))
    });
    let path = world.path("work/f");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Look.").await.unwrap();
    let (mut called, mut places) = (None, None);
    loop {
        match events.next().await.unwrap() {
            AgentEvent::TurnEnded(_) => break,
            AgentEvent::ToolCalled(call) => called = Some((call.title, call.kind)),
            AgentEvent::ToolEnded { output, .. } => places = Some(output.locations),
            _ => {}
        }
    }
    let expected = (Some("Search for cats".to_owned()), Some("fetch".to_owned()));
    assert_eq!(called, Some(expected));
    let line = Some(7);
    assert_eq!(places, Some(vec![AgentLocation { path, line }]));
}

#[tokio::test]
async fn places_outside_the_folders_of_a_session_and_those_that_deceive_are_left_out() {
    let world = acp_child::world("", |work| {
        let place = |path: &str| json!({ "path": path });
        Steps::default()
            .update(json!({
                "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look", "kind": "read",
                "status": "in_progress", "locations": [
                    place("/etc/passwd"),
                    place(&format!("{work}/../home/secret")),
                    place("../home/secret"),
                    place("src/./a.rs"),
                    place(&format!("{work}/b\u{202e}sr.exe")),
                    place(&format!("{work}/two\nlines")),
                    place(&format!("{work}/{}", "x".repeat(5000))),
                    place(""),
                    { "path": 3 },
                    { "path": format!("{work}/c.rs"), "line": 9_999_999_999_u64 },
                ],
            }))
            .update(json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
            }))
    });
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Look.").await.unwrap();
    let mut places = Vec::new();
    loop {
        match events.next().await.unwrap() {
            AgentEvent::TurnEnded(_) => break,
            AgentEvent::ToolEnded { output, .. } => places = output.locations,
            _ => {}
        }
    }
    let expected = ["work/src/a.rs", "work/c.rs"].map(|path| AgentLocation {
        path: world.path(path),
        line: None,
    });
    assert_eq!(places, expected);
}

/// Long enough for a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call that runs.
fn runs(id: &str) -> Value {
    json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "T", "kind": "execute",
        "status": "in_progress", "rawInput": {},
    })
}

/// The end of a call, with this content.
fn ends(id: &str, content: Value) -> Value {
    json!({
        "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
        "content": content,
    })
}

fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

#[tokio::test]
async fn that_a_call_runs_and_what_the_plan_is_are_shown_while_it_runs() {
    let world = acp_child::world("", |_| {
        let entry = json!({ "content": "Wait", "priority": "high", "status": "in_progress" });
        Steps::default()
            .shell("mkfifo go")
            .update(runs("t"))
            .update(json!({ "sessionUpdate": "plan", "entries": [entry] }))
            .shell("read go < go")
            .update(ends("t", json!([text("done")])))
    });
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let shown = async {
        let is_started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
        until(&mut events, is_started).await;
        until(&mut events, |event| matches!(event, AgentEvent::Plan(_))).await;
    };
    timeout(PATIENCE, shown).await.expect("it is not shown");
    let go = world.path("work/go");
    let written = tokio::task::spawn_blocking(move || std::fs::write(go, "go\n"));
    written.await.unwrap().unwrap();
    let lines = turn(&mut events).await;
    assert_eq!(lines, ["ended t done", "end Completed 0+0"]);
}

#[tokio::test]
async fn a_call_ends_as_its_child_reports_however_much_else_it_says_meanwhile() {
    let world = acp_child::world("", |_| {
        let chunk = |kind: &str| {
            let content = json!({ "type": "text", "text": "x" });
            let update = json!({ "sessionUpdate": kind, "content": content });
            let params = json!({ "sessionId": "s", "update": update });
            json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
        };
        let (said, thought) = (chunk("agent_message_chunk"), chunk("agent_thought_chunk"));
        Steps::default()
            .update(runs("t"))
            .shell(&format!(
                "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); say '{said}'; say '{thought}'; done"
            ))
            .update(ends("t", json!([text("done")])))
    });
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    assert!(lines.contains(&"ended t done".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn the_output_of_a_terminal_is_in_a_result_once() {
    let world = acp_child::world("", |_| {
        let terminal = json!({ "sessionId": "s", "terminalId": "term_1" });
        let mut end = ends("t", json!([{ "type": "terminal", "terminalId": "term_1" }]));
        end["rawOutput"] = json!({ "output": "out\n" });
        Steps::default()
            .update(runs("t"))
            .ask(
                "terminal/create",
                json!({ "sessionId": "s", "command": "echo out" }),
            )
            .ask("terminal/wait_for_exit", terminal)
            .update(end)
    });
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    assert!(lines.contains(&"ended t out".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn a_terminal_without_a_call_has_all_of_its_output_though_text_comes_before_its_end() {
    let world = acp_child::world("", |_| {
        let terminal = json!({ "sessionId": "s", "terminalId": "term_1" });
        let content = json!({ "type": "text", "text": "It runs." });
        Steps::default()
            .shell("mkfifo go")
            .ask(
                "terminal/create",
                json!({ "sessionId": "s", "command": "cat go" }),
            )
            .update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }))
            .shell("echo late > go")
            .ask("terminal/wait_for_exit", terminal)
    });
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    let ended = "ended client_request_1 late".to_owned();
    assert!(lines.contains(&ended), "{lines:?}");
    assert!(lines.contains(&"text It runs.".to_owned()), "{lines:?}");
}
