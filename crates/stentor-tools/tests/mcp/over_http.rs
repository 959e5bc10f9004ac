//! Servers over HTTP, in the newer form and in the older one.

use serde_json::json;
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_model::script::Scenario;

use crate::http::HttpServer;
use crate::stage::{Stage, asked, calls};

fn secret() -> Vec<(String, String)> {
    vec![("X-Key".to_owned(), "hidden-4711".to_owned())]
}

fn sse(server: &HttpServer) -> ToolServer {
    let transport = ToolServerTransport::Sse {
        url: format!("{}/sse", server.address),
        headers: secret(),
    };
    ToolServer::new("h", transport)
}

fn http(server: &HttpServer, path: &str) -> ToolServer {
    let transport = ToolServerTransport::Http {
        url: format!("{}{path}", server.address),
        headers: secret(),
    };
    let mut server = ToolServer::new("h", transport);
    server.restarts = 0;
    server
}

#[tokio::test]
async fn a_tool_of_a_server_over_streamable_http_runs() {
    let server = HttpServer::start().await;
    let (_, seen) = asked(http(&server, "/mcp"), "mcp__h__say", json!({})).await;
    assert_eq!(seen.answer(), "It said: said");
    let keys = server.header("x-key");
    assert!(keys.iter().all(|key| key.as_deref() == Some("hidden-4711")));
}

#[tokio::test]
async fn a_tool_of_a_server_over_events_runs() {
    let server = HttpServer::start().await;
    let (_, seen) = asked(sse(&server), "mcp__h__say", json!({})).await;
    assert_eq!(seen.answer(), "It said: said");
    let keys = server.header("x-key");
    assert!(keys.iter().all(|key| key.as_deref() == Some("hidden-4711")));
}

#[tokio::test]
async fn a_stream_that_ends_is_opened_again() {
    let scenario = Scenario::new()
        .tool("mcp__h__say", json!({}))
        .text("one")
        .tool("mcp__h__say", json!({}))
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    let server = HttpServer::start().await;
    let mut play = stage.play(vec![sse(&server)]);
    assert_eq!(play.run("go").await.answer(), "one");
    server.end_stream();
    let seen = play.warned("\"h\"").await;
    assert_eq!(
        seen.warnings(),
        ["The MCP server \"h\" failed and is started again: it ended its stream of events"]
    );
    assert_eq!(play.run("again").await.answer(), "said");
    assert_eq!(server.streams(), 2);
}

#[tokio::test]
async fn a_server_that_forgot_its_client_is_greeted_again() {
    let scenario = Scenario::new()
        .tool("mcp__h__say", json!({}))
        .text("{{last_tool_result}}")
        .tool("mcp__h__say", json!({}))
        .text("{{last_tool_result}}");
    let stage = Stage::new(scenario);
    let server = HttpServer::start().await;
    let mut wanted = http(&server, "/mcp");
    wanted.restarts = 1;
    let mut play = stage.play(vec![wanted]);
    // Ready first, so that it is the call that finds out.
    while play.tools().await.is_empty() {
        tokio::task::yield_now().await;
    }
    server.forget();
    let seen = play.run("go").await;
    assert_eq!(
        seen.answer(),
        "The MCP server \"h\" failed: it answered with HTTP 400 Bad Request"
    );
    play.warned_by(
        seen,
        "failed and is started again: it does not answer any more",
    )
    .await;
    assert_eq!(play.run("again").await.answer(), "said");
}

#[tokio::test]
async fn nothing_is_posted_to_another_origin() {
    let server = HttpServer::start().await;
    let other = HttpServer::start().await;
    server.post_to(&format!("{}/messages", other.address));
    let stage = Stage::new(Scenario::new().text("hello"));
    let mut wanted = sse(&server);
    wanted.restarts = 0;
    let mut play = stage.play(vec![wanted]);
    play.prompt("go").await;
    let seen = play.warned("\"h\"").await;
    assert_eq!(
        seen.warnings(),
        [format!(
            "The MCP server \"h\" is given up: it wants messages posted elsewhere, to {}, which \
             could give secrets away",
            other.address
        )]
    );
    assert!(other.header("x-key").is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_server_over_http_is_told() {
    let server = HttpServer::start().await;
    let mut nobody = HttpServer::start().await;
    nobody.address = "http://127.0.0.1:1".to_owned();
    for (wanted, why) in [
        (http(&server, "/nothing"), "405"),
        (http(&server, "/huge"), "more than 8 MiB"),
        (http(&server, "/elsewhere"), "307"),
        (http(&nobody, "/mcp"), "onnect"),
    ] {
        let stage = Stage::new(Scenario::new().text("hello"));
        let mut play = stage.play(vec![wanted]);
        play.prompt("go").await;
        let seen = play.warned("\"h\"").await;
        let warnings = seen.warnings();
        assert!(warnings[0].contains(why), "{why} is not in {warnings:?}");
        assert!(!warnings[0].contains("hidden-4711"), "{warnings:?}");
    }
}

#[tokio::test]
async fn an_answer_without_end_fails_the_call_with_the_reason() {
    let server = HttpServer::start().await;
    let (_, seen) = asked(http(&server, "/flood"), "mcp__h__say", json!({})).await;
    assert_eq!(
        seen.answer(),
        "It said: The MCP server \"h\" failed: it sent more than 8 MiB at once"
    );
}

#[tokio::test]
async fn a_call_that_finds_its_session_forgotten_is_made_again_in_a_new_one() {
    let stage = Stage::new(calls("mcp__h__say", json!({})));
    let server = HttpServer::start().await;
    let mut wanted = http(&server, "/session");
    wanted.restarts = 1;
    let mut play = stage.play(vec![wanted]);
    // Ready first, so that it is the call that finds out.
    while play.tools().await.is_empty() {
        tokio::task::yield_now().await;
    }
    server.forget_session();
    let seen = play.run("go").await;
    assert_eq!(seen.answer(), "It said: said");
    play.warned_by(seen, "it does not know its session any more")
        .await;
    let sessions = server.header("mcp-session-id");
    let last = sessions.iter().rev().find_map(Option::as_deref);
    assert_eq!(last, Some("3"), "{sessions:?}");
    let versions = server.header("mcp-protocol-version");
    assert!(versions.contains(&Some("2025-03-26".to_owned())));
}

#[tokio::test]
async fn an_answer_whose_stream_broke_off_is_asked_for_again() {
    let server = HttpServer::start().await;
    let (_, seen) = asked(http(&server, "/breaks-off"), "mcp__h__say", json!({})).await;
    assert_eq!(seen.answer(), "It said: said");
    assert_eq!(seen.warnings(), Vec::<String>::new());
}
