//! Servers that misbehave: nothing else is disturbed, and somebody is told.

use std::time::Duration;

use serde_json::json;
use stentor_agent::tool_servers::ToolServer;
use stentor_model::script::Scenario;
use stentor_tools::mcp::probe;

use crate::stage::{Seen, Stage, asked, calls, program, server};

/// A server that is tried once.
fn once(mode: &str) -> ToolServer {
    let mut server = server(mode);
    server.restarts = 0;
    server
}

/// A session whose one server fails: our own tools work all the same.
async fn with_fault(server: ToolServer) -> Seen {
    let stage = Stage::new(calls("bash", json!({ "command": "echo fine" })));
    let mut play = stage.play(vec![server]);
    let seen = play.run("go").await;
    assert_eq!(seen.answer(), "It said: fine\n");
    play.warned_by(seen, "\"s\"").await
}

#[track_caller]
fn assert_warned(seen: &Seen, text: &str) {
    let warnings = seen.warnings();
    assert!(
        warnings.iter().any(|warning| warning.contains(text)),
        "{warnings:#?}"
    );
}

#[tokio::test]
async fn one_that_is_not_there_is_told_by_its_name_and_not_tried_again() {
    let seen = with_fault(program("s", "/no/such/program", [])).await;
    assert_eq!(
        seen.warnings(),
        [
            "The MCP server \"s\" is given up: /no/such/program cannot be run: No such file or \
             directory (os error 2)"
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_that_does_not_start_is_told_once_and_before_the_first_answer() {
    for _ in 0..100 {
        let stage = Stage::new(Scenario::new().text("hello").text("again"));
        let mut play = stage.play(vec![program("s", "/no/such/program", [])]);
        let told = play.run("go").await.warnings().len();
        let told_later = play.run("go on").await.warnings().len();
        assert_eq!((told, told_later), (1, 0));
    }
}

#[tokio::test]
async fn one_that_dies_at_start_is_told_with_its_last_words() {
    let seen = with_fault(once("dies-at-start")).await;
    assert_eq!(
        seen.warnings(),
        [
            "The MCP server \"s\" is given up: its program ended (exit status: 3); it said: the \
             reason is on stderr"
        ]
    );
}

#[tokio::test]
async fn one_that_dies_after_the_greeting_is_told() {
    let seen = with_fault(once("dies-after-greeting")).await;
    assert_warned(&seen, "its program ended (exit status: 4)");
}

#[tokio::test]
async fn one_that_hangs_at_start_is_given_up_in_time() {
    let mut server = once("hangs-at-start");
    server.start_limit = Duration::from_millis(500);
    let seen = with_fault(server).await;
    assert_warned(&seen, "it did not start within 0.5 s");
}

#[tokio::test]
async fn a_first_prompt_goes_on_without_servers_that_take_longer_than_it_waits() {
    let stage = Stage::new(Scenario::new().text("one").text("two"));
    let servers = (0..2).map(|number| {
        let mut server = server("hangs-at-start");
        server.name = format!("s{number}");
        server
    });
    let mut play = stage.play_with(servers.collect(), Duration::from_millis(200));
    let seen = play.run("go").await;
    assert_eq!(seen.answer(), "one");
    assert_eq!(
        seen.warnings(),
        ["The MCP servers \"s0\", \"s1\" are still starting; the answer begins without."]
    );
    let seen = play.run("again").await;
    assert_eq!((seen.answer().as_str(), seen.warnings().len()), ("two", 0));
}

#[tokio::test]
async fn an_abort_ends_the_waiting_for_servers() {
    let stage = Stage::new(Scenario::new().text("never"));
    let mut play = stage.play(vec![server("hangs-at-start")]);
    play.prompt("go").await;
    while stage.starts() == 0 {
        tokio::task::yield_now().await;
    }
    play.session.abort().await.unwrap();
    let seen = play.settled().await;
    assert!(!seen.answer().contains("never"), "{seen:?}");
}

#[tokio::test]
async fn one_that_hangs_in_a_call_fails_that_call_in_time_and_works_on() {
    let mut server = server("well");
    // Long enough for the second call on a slow machine.
    server.call_limit = Duration::from_secs(3);
    let scenario = Scenario::new()
        .tool("mcp__s__slow", json!({}))
        .text("{{last_tool_result}}")
        .tool("mcp__s__echo", json!({}))
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    let mut play = stage.play(vec![server]);
    assert_eq!(
        play.run("go").await.answer(),
        "The MCP server \"s\" failed: no answer within 3 s"
    );
    assert_eq!(play.run("again").await.answer(), "echo: {}");
}

#[tokio::test]
async fn one_that_dies_in_a_call_fails_it_clearly_and_is_started_again() {
    let scenario = Scenario::new()
        .tool("mcp__s__die", json!({}))
        .text("{{last_tool_result}}")
        .tool("mcp__s__die", json!({}))
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    let mut play = stage.play(vec![server("dies-once")]);
    let seen = play.run("go").await;
    assert_eq!(
        seen.answer(),
        "The MCP server \"s\" failed: it ended before it answered: its program ended (exit status: \
         3); it said: I leave"
    );
    let seen = play.warned_by(seen, "\"s\"").await;
    assert_warned(
        &seen,
        "The MCP server \"s\" failed and is started again: its program ended (exit status: 3); \
         it said: I leave",
    );
    // The call waits until it is there again.
    assert_eq!(play.run("again").await.answer(), "I live");
    assert_eq!(stage.starts(), 2);
}

#[tokio::test]
async fn a_call_right_after_its_end_waits_until_it_is_back() {
    let scenario = Scenario::new()
        .tool("mcp__s__die", json!({}))
        .tool("mcp__s__die", json!({}))
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    // Its program goes on, so that it takes a while until all is known about its end.
    let mut play = stage.play(vec![server("hangs-up-once")]);
    assert_eq!(play.run("go").await.answer(), "I live");
    assert_eq!(stage.starts(), 2);
}

#[tokio::test]
async fn one_that_dies_again_and_again_is_given_up() {
    let mut server = server("dies-at-start");
    server.restarts = 2;
    let stage = Stage::new(Scenario::new().text("hello").text("still here"));
    let mut play = stage.play(vec![server]);
    let seen = play.run("go").await;
    assert_eq!(seen.answer(), "hello");
    let seen = play.warned_by(seen, "given up").await;
    assert_warned(&seen, "(it failed 3 times in a row)");
    assert_eq!(stage.starts(), 3);
    assert_eq!(play.run("again").await.answer(), "still here");
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped() {
    let (_, seen) = asked(server("garbage"), "mcp__s__echo", json!({})).await;
    assert_eq!(seen.answer(), "It said: echo: {}");
    assert_eq!(seen.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_writes_nothing_but_garbage_is_given_up() {
    let seen = with_fault(once("only-garbage")).await;
    assert_warned(&seen, "it writes lines that are not MCP messages");
}

#[tokio::test]
async fn second_answers_and_answers_to_nobody_change_nothing() {
    let scenario = Scenario::new()
        .tool("mcp__s__echo", json!({ "n": 1 }))
        .tool("mcp__s__echo", json!({ "n": 2 }))
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    let mut play = stage.play(vec![server("answers-twice")]);
    let seen = play.run("go").await;
    assert_eq!(seen.answer(), "echo: {\"n\": 2}");
    assert_eq!(seen.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let (_, seen) = asked(server("well"), "mcp__s__unreadable", json!({})).await;
    assert!(
        seen.answer()
            .starts_with("It said: The MCP server \"s\" failed: "),
        "{}",
        seen.answer()
    );
}

#[tokio::test]
async fn a_line_that_is_too_long_ends_the_server_and_the_call_fails() {
    let stage = Stage::new(calls("mcp__s__huge", json!({})));
    let mut play = stage.play(vec![once("well")]);
    let seen = play.run("go").await;
    let answer = seen.answer();
    let expected = "It said: The MCP server \"s\" failed: it ended before it answered: it wrote a line \
                    of more than 8 MiB";
    // It may have complained by then that nobody reads any more.
    assert!(answer.starts_with(expected), "{answer}");
    let seen = play.warned_by(seen, "\"s\"").await;
    assert_warned(&seen, "it wrote a line of more than 8 MiB");
}

#[tokio::test]
async fn a_line_without_end_is_dropped_as_it_comes() {
    let seen = with_fault(once("line-without-end")).await;
    assert_warned(&seen, "it wrote a line of more than 8 MiB");
}

#[tokio::test]
async fn endless_notifications_keep_nobody_from_working() {
    let (_, seen) = asked(server("floods"), "mcp__s__echo", json!({})).await;
    assert_eq!(seen.answer(), "It said: echo: {}");
}

#[tokio::test]
async fn one_that_asks_without_end_and_reads_no_answer_is_given_up_in_time() {
    let mut server = once("asks-without-end");
    server.start_limit = Duration::from_millis(1_500);
    let seen = with_fault(server).await;
    assert_warned(&seen, "it did not start within 1.5 s");
}

#[tokio::test]
async fn of_a_million_tools_the_first_are_offered_and_the_rest_is_told() {
    let stage = Stage::new(Scenario::new().text("hello"));
    let mut play = stage.play(vec![server("million-tools")]);
    let seen = play.run("go").await;
    let seen = play.warned_by(seen, "\"s\"").await;
    assert_eq!(
        seen.warnings(),
        ["The MCP server \"s\": it has more than 500 tools; the rest is left out."]
    );
    assert_eq!(play.tools().await.len(), 502);
}

#[tokio::test]
async fn a_million_tools_in_one_line_are_too_many() {
    let seen = with_fault(once("million-tools-at-once")).await;
    assert_warned(&seen, "it wrote a line of more than 8 MiB");
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_does_not_cost_the_others() {
    let (_, seen) = asked(once("odd-tools"), "mcp__s__echo", json!({})).await;
    assert_eq!(seen.answer(), "It said: echo: {}");
    assert_eq!(
        seen.warnings(),
        [
            "The MCP server \"s\": tools are left out that are not described as tools must be: \
             \"odd\"."
        ]
    );
}

#[tokio::test]
async fn pages_without_end_are_told_as_such_and_a_tool_is_offered_once() {
    let stage = Stage::new(calls("mcp__s__echo", json!({})));
    let mut play = stage.play(vec![once("endless-pages")]);
    let seen = play.run("go").await;
    assert_eq!(seen.answer(), "It said: echo: {}");
    assert_eq!(
        seen.warnings(),
        [
            "The MCP server \"s\": it spreads its tools over more than 100 pages; the rest is left \
             out.",
            "The MCP server \"s\": tools are left out that it lists more than once: \"echo\"."
        ]
    );
    assert_eq!(
        play.tools().await,
        ["mcp__s__echo", "list_mcp_resources", "read_mcp_resource"]
    );
}

#[tokio::test]
async fn trying_one_out_tells_that_its_list_was_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let tried = probe(
        &server("million-tools-at-once"),
        folder.path(),
        &Default::default(),
    )
    .await;
    assert_eq!(
        tried.result.unwrap_err(),
        "it cannot list its tools: it wrote a line of more than 8 MiB"
    );
}

#[tokio::test]
async fn a_resource_that_is_too_long_is_told_as_such() {
    let wanted = json!({ "server": "s", "uri": "note://huge" });
    let (_, seen) = asked(once("well"), "read_mcp_resource", wanted).await;
    let answer = seen.answer();
    let expected = "It said: The MCP server \"s\" failed: it ended before it answered: it wrote a line \
                    of more than 8 MiB";
    // It may have complained by then that nobody reads any more.
    assert!(answer.starts_with(expected), "{answer}");
}
