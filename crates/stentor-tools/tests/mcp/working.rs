//! What servers bring, and how it is used.

use expect_test::expect;
use serde_json::json;
use stentor_agent::event::EventKind;
use stentor_agent::tool_servers::ToolChoice;
use stentor_journal::message::ContentBlock;
use stentor_model::script::Scenario;

use crate::stage::{Seen, Stage, asked, calls, server};

/// The output of the last tool call, as a client is told of it.
fn output(seen: &Seen) -> String {
    let ended = seen.kinds.iter().rev().find_map(|kind| match kind {
        EventKind::ToolEnded { output, .. } => Some(output),
        _ => None,
    });
    serde_json::to_string(&**ended.expect("a call")).unwrap()
}

#[tokio::test]
async fn a_tool_runs_with_its_arguments_and_its_text_is_the_result() {
    let (_, seen) = asked(server("well"), "mcp__s__echo", json!({ "b": 1, "a": "x" })).await;
    assert_eq!(seen.answer(), r#"It said: echo: {"a": "x", "b": 1}"#);
    assert_eq!(seen.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn pictures_and_structured_content_reach_the_session() {
    let (_, seen) = asked(server("well"), "mcp__s__picture", json!({})).await;
    expect![[r#"{"content":[{"type":"text","text":"look"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"details":{"n":1}}"#]]
        .assert_eq(&output(&seen));
}

#[tokio::test]
async fn an_error_of_the_server_is_a_failed_call_with_its_words() {
    let (_, seen) = asked(server("well"), "mcp__s__wrong", json!({})).await;
    assert_eq!(
        seen.answer(),
        "It said: The MCP server \"s\" failed: no luck"
    );
}

#[tokio::test]
async fn the_model_is_told_of_the_tools_that_were_chosen() {
    let stage = Stage::new(Scenario::new().text("hello"));
    let mut choice = server("well");
    let names = ["echo", "slow", "no-such"].map(str::to_owned);
    choice.tools = ToolChoice {
        only: Some(names.into()),
        except: ["slow".to_owned()].into(),
    };
    let mut play = stage.play(vec![choice]);
    let seen = play.run("go").await;
    let seen = play.warned_by(seen, "no-such").await;
    assert_eq!(
        seen.warnings(),
        ["The MCP server \"s\": it has no tool no-such."]
    );
    assert_eq!(
        play.tools().await,
        ["mcp__s__echo", "list_mcp_resources", "read_mcp_resource"]
    );
}

#[tokio::test]
async fn progress_is_shown_while_the_tool_runs() {
    let stage = Stage::new(calls("mcp__s__progress", json!({})));
    let mut play = stage.play(vec![server("well")]);
    play.prompt("go").await;
    let is_report = |kind: &EventKind| matches!(kind, EventKind::ToolProgress { partial, .. } if !partial.content.is_empty());
    let seen = play.until(is_report).await;
    let Some(EventKind::ToolProgress { partial, .. }) = seen.kinds.last() else {
        panic!("{seen:?}")
    };
    let shown: Vec<_> = partial
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect();
    assert_eq!(shown, ["1 of 3: step 1"]);
    std::fs::write(stage.path("seen"), "").unwrap();
    assert_eq!(play.settled().await.answer(), "It said: done");
}

#[tokio::test]
async fn a_call_that_is_aborted_ends_and_the_server_is_told() {
    let stage = Stage::new(calls("mcp__s__slow", json!({})));
    let mut play = stage.play(vec![server("well")]);
    play.prompt("go").await;
    play.until(|kind| matches!(kind, EventKind::ToolStarted { .. }))
        .await;
    // The server has the call in its hands.
    while !stage.path("begun").exists() {
        tokio::task::yield_now().await;
    }
    play.session.abort().await.unwrap();
    let seen = play.settled().await;
    assert!(output(&seen).contains("Command aborted"), "{seen:?}");
    while !stage.path("cancelled").exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn tools_and_prompts_that_come_later_are_followed() {
    let scenario = Scenario::new()
        .tool("mcp__s__more", json!({}))
        .text("more")
        .tool("mcp__s__added", json!({}))
        .text("It said: {{last_tool_result}}");
    let stage = Stage::new(scenario);
    let mut play = stage.play(vec![server("well")]);
    play.prompt("go").await;
    let both = play
        .until(|kind| matches!(kind, EventKind::CommandsChanged(all) if all.len() == 2))
        .await;
    if !both
        .kinds
        .iter()
        .any(|kind| matches!(kind, EventKind::Settled { .. }))
    {
        play.settled().await;
    }
    assert_eq!(play.run("again").await.answer(), "It said: I was added");
}

#[tokio::test]
async fn a_prompt_of_the_server_is_a_command_that_it_fills_in() {
    let scenario = Scenario::new().text("Hello!").text("Never said.");
    let stage = Stage::new(scenario);
    let mut play = stage.play(vec![server("well")]);
    let seen = play
        .run("/mcp__s__greet \"Ada Lovelace\" very warmly")
        .await;
    assert_eq!(
        seen.said(),
        ["Greet Ada Lovelace very warmly.\n<assistant>\nI will.\n</assistant>"]
    );
    assert_eq!(seen.answer(), "Hello!");
    let commands = play.session.slash().list().await;
    expect![[r#"
        [
            CommandInfo {
                name: "mcp__s__greet",
                description: Some(
                    "Greets somebody",
                ),
                hint: Some(
                    "who [how]",
                ),
                source: McpPrompt,
                path: None,
            },
        ]
    "#]]
    .assert_debug_eq(&commands);
    let called = vec![ContentBlock::text("/mcp__s__greet")];
    let missing = play.session.expand(called).await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "/mcp__s__greet failed: who is missing; it takes who [how]"
    );
}

#[tokio::test]
async fn resources_are_listed_and_read_through_two_tools() {
    let scenario = Scenario::new()
        .tool("list_mcp_resources", json!({}))
        .text("{{last_tool_result}}")
        .tool(
            "read_mcp_resource",
            json!({ "server": "s", "uri": "note://7" }),
        )
        .text("{{last_tool_result}}")
        .tool(
            "read_mcp_resource",
            json!({ "server": "other", "uri": "note://7" }),
        )
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    let mut play = stage.play(vec![server("well")]);
    expect![[r#"
        s:
        - note://one (one, text/plain)
        - note://{n} (any): A note [template]"#]]
    .assert_eq(&play.run("list").await.answer());
    assert_eq!(play.run("read").await.answer(), "note://7:\nthe note");
    let refused = play.run("read another").await.answer();
    assert!(refused.contains("server"), "{refused}");
}
