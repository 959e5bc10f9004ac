//! One server for several sessions, and its end.

use serde_json::json;
use stentor_model::script::Scenario;

use crate::stage::{Stage, asked, calls, server};

#[tokio::test]
async fn sessions_that_want_the_same_server_share_one_process() {
    let stage = Stage::new(calls("mcp__s__echo", json!({})));
    let mut plays: Vec<_> = (0..3).map(|_| stage.play(vec![server("well")])).collect();
    for play in &mut plays {
        assert_eq!(play.run("go").await.answer(), "It said: echo: {}");
    }
    assert_eq!(stage.starts(), 1);
    let mut other = server("well");
    other.name = "other".to_owned();
    let mut other = stage.play(vec![other]);
    other.run("go").await;
    assert_eq!(
        stage.starts(),
        2,
        "one that is wanted differently is another"
    );
}

#[tokio::test]
async fn a_server_ends_with_the_last_session_that_uses_it() {
    let stage = Stage::new(calls("mcp__s__echo", json!({})));
    let (mut one, mut two) = (
        stage.play(vec![server("well")]),
        stage.play(vec![server("well")]),
    );
    one.run("go").await;
    two.run("go").await;
    one.session.close().await;
    let started = std::fs::read_to_string(stage.path("started")).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", started.trim()));
    assert!(process.exists(), "the other session uses it");
    two.session.close().await;
    while process.exists() {
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        if status.contains("State:\tZ") {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut again = stage.play(vec![server("well")]);
    again.run("go").await;
    assert_eq!(stage.starts(), 2);
}

#[tokio::test]
async fn it_works_where_the_session_does_with_the_variables_it_is_given() {
    let mut with = server("well");
    if let stentor_agent::tool_servers::ToolServerTransport::Stdio { env, .. } = &mut with.transport
    {
        env.push(("WORD".to_owned(), "given".to_owned()));
    }
    let (stage, seen) = asked(with, "mcp__s__where", json!({})).await;
    let name = stage.folder.path().file_name().unwrap().to_string_lossy();
    assert_eq!(seen.answer(), format!("It said: {name} given"));
}

#[tokio::test]
async fn a_session_without_a_prompt_has_its_servers_a_moment_later() {
    let stage = Stage::new(Scenario::new().text("hello"));
    let mut play = stage.play(vec![server("well")]);
    play.until(|kind| {
        matches!(
            kind,
            stentor_agent::event::EventKind::CommandsChanged(all) if all.len() == 1
        )
    })
    .await;
    assert_eq!(stage.starts(), 1);
}
