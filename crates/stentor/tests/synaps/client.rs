//! The Rust client of this project against the child.

use std::time::Duration;

use stentor_client::synaps::{Client, ClientError, StartOptions};
use stentor_wire::synaps::{AssistantEvent, Event};

use crate::child::Home;

fn options(home: &Home) -> StartOptions {
    let mut options = StartOptions::new(env!("CARGO_BIN_EXE_stentor"));
    options.model = Some("script/play.toml".to_owned());
    options.cwd = Some(home.path(""));
    let base = home.path("base").display().to_string();
    options.environment = vec![("SYNAPS_BASE_DIR".to_owned(), base)];
    options
}

#[tokio::test]
async fn commands_and_events_are_typed() {
    let home = Home::new("usage = { input = 3, output = 1 }\n[[turn]]\ntext = \"hello\"\n");
    let (client, mut events) = Client::start(&options(&home)).await.unwrap();
    assert_eq!(client.ready().model, "script/play.toml");
    let end = client.prompt("hi", Vec::new()).await.unwrap();
    assert!(end.ok && !end.cancelled);
    let mut text = String::new();
    loop {
        match events.next().await.unwrap() {
            Event::MessageUpdate {
                event: AssistantEvent::TextDelta { delta },
            } => text.push_str(&delta),
            Event::AgentEnd { usage } => break assert_eq!(usage.input_tokens, 3),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "hello");
    assert_eq!(client.messages().await.unwrap().len(), 2);
    assert_eq!(client.state().await.unwrap().message_count, 2);
    assert_eq!(client.stats().await.unwrap().input_tokens, 3);
    assert_eq!(client.tools().await.unwrap().len(), 9);
    assert!(!client.available_models().await.unwrap().is_empty());
    let refused = client.set_model("nobody").await;
    assert!(
        matches!(refused, Err(ClientError::Refused(_))),
        "{refused:?}"
    );
    let old = client.ready().session_id.clone();
    assert_ne!(client.new_session().await.unwrap(), old);
    assert_eq!(client.compact().await.unwrap(), "");
    let status = client.stop(Duration::from_secs(60)).await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(matches!(client.state().await, Err(ClientError::Gone)));
}

#[tokio::test]
async fn an_abort_comes_from_beside_the_prompt() {
    let home = Home::new("[[turn]]\nsteps = [{ text = \"I\" }, { hang = true }]\n");
    let (client, mut events) = Client::start(&options(&home)).await.unwrap();
    let prompting = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hi", Vec::new()).await }
    });
    events.next().await.unwrap();
    client.abort().await.unwrap();
    assert!(prompting.await.unwrap().unwrap().cancelled);
}

#[tokio::test]
async fn a_child_that_cannot_begin_and_a_frame_that_is_too_long_are_told() {
    let home = Home::new("");
    let mut gone = options(&home);
    gone.resume = Some("no-such-session".to_owned());
    let failed = Client::start(&gone).await.map(drop);
    assert!(
        matches!(failed, Err(ClientError::NotReady(_))),
        "{failed:?}"
    );
    let (client, _events) = Client::start(&options(&home)).await.unwrap();
    let long = client.prompt(&"x".repeat(1_048_576), Vec::new()).await;
    assert!(matches!(long, Err(ClientError::TooLong { .. })), "{long:?}");
}
