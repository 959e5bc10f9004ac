//! The Rust client of this project against the child.

use stentor_client::{
    AgentDialect, AgentEvent, ChildAgent, ChildAgentError, DenyAll, InitialSession, StartOptions,
    TurnEndReason,
};

use crate::child::Home;

fn options(home: &Home) -> StartOptions {
    let program = env!("CARGO_BIN_EXE_stentor");
    let command = [program, "rpc", "--model", "script/play.toml"];
    let mut options = StartOptions::new(AgentDialect::Synaps, command);
    options.cwd = Some(home.path(""));
    let base = home.path("base").display().to_string();
    options.env = vec![("SYNAPS_BASE_DIR".to_owned(), base)];
    options
}

#[tokio::test]
async fn commands_and_events_are_typed() {
    let home = Home::new("usage = { input = 3, output = 1 }\n[[turn]]\ntext = \"hello\"\n");
    let (agent, mut events) = ChildAgent::start(options(&home), DenyAll).await.unwrap();
    assert_eq!(agent.opened().model.as_deref(), Some("script/play.toml"));
    agent.prompt("hi").await.unwrap();
    let mut text = String::new();
    loop {
        match events.next().await.unwrap() {
            AgentEvent::TurnStarted(_) => {}
            AgentEvent::Text(more) => text.push_str(&more),
            AgentEvent::TurnEnded(end) => {
                assert_eq!(end.reason, TurnEndReason::Completed);
                break assert_eq!(end.usage.unwrap().input_tokens, 3);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "hello");
    assert!(!agent.models().await.unwrap().is_empty());
    let refused = agent.set_model("nobody").await;
    assert!(
        matches!(refused, Err(ChildAgentError::Refused(_))),
        "{refused:?}"
    );
    let old = agent.opened().id.clone();
    assert_ne!(agent.new_session().await.unwrap().id, old);
    agent.stop().await;
    let Some(AgentEvent::Exited(exit)) = events.next().await else {
        panic!("it has not ended");
    };
    assert_eq!(exit.status.as_deref(), Some("exit status: 0"));
    let gone = agent.session().await;
    assert!(matches!(gone, Err(ChildAgentError::Ended(_))), "{gone:?}");
}

#[tokio::test]
async fn an_abort_comes_from_beside_the_prompt() {
    let home = Home::new("[[turn]]\nsteps = [{ text = \"I\" }, { hang = true }]\n");
    let (agent, mut events) = ChildAgent::start(options(&home), DenyAll).await.unwrap();
    agent.prompt("hi").await.unwrap();
    while !matches!(events.next().await.unwrap(), AgentEvent::Text(_)) {}
    agent.abort().await.unwrap();
    let end = loop {
        if let AgentEvent::TurnEnded(end) = events.next().await.unwrap() {
            break end;
        }
    };
    assert_eq!(end.reason, TurnEndReason::Aborted);
}

#[tokio::test]
async fn a_child_that_cannot_begin_and_a_frame_that_is_too_long_are_told() {
    let home = Home::new("");
    let mut gone = options(&home);
    gone.session = InitialSession::Resume("no-such-session".to_owned());
    let failed = ChildAgent::start(gone, DenyAll).await.map(drop);
    assert!(
        matches!(failed, Err(ChildAgentError::NotReady(_))),
        "{failed:?}"
    );
    let (agent, _events) = ChildAgent::start(options(&home), DenyAll).await.unwrap();
    let long = agent.prompt("x".repeat(1_048_576)).await;
    assert!(
        matches!(long, Err(ChildAgentError::TooLong { .. })),
        "{long:?}"
    );
}
