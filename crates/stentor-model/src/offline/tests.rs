use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Model, ModelEvent, ModelRequest, Purpose, ThinkingLevel};
use stentor_agent::tool::{ToolEffect, ToolSpec};
use stentor_journal::message::{Message, StopReason};

use super::*;

/// What the guide said: thinking, text, calls (id, name, arguments) and why it stopped.
#[derive(Debug, Default, PartialEq)]
struct Said {
    thinking: String,
    text: String,
    calls: Vec<(String, String, Value)>,
    stop: StopReason,
}

fn message(value: Value) -> Arc<Message> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn user(text: &str) -> Arc<Message> {
    message(json!({"role": "user", "content": text, "timestamp": 255}))
}

fn answered(said: &Said) -> Arc<Message> {
    let mut content = vec![json!({"type": "text", "text": said.text})];
    for (id, name, arguments) in &said.calls {
        content.push(json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments}));
    }
    message(
        json!({"role": "assistant", "content": content, "api": "offline",
        "provider": "offline", "model": "guide", "stopReason": "stop", "timestamp": 1}),
    )
}

fn result(said: &Said, nth: usize, text: &str, is_error: bool) -> Arc<Message> {
    let (id, name, _) = &said.calls[nth];
    message(
        json!({"role": "toolResult", "toolCallId": id, "toolName": name,
        "isError": is_error, "content": [{"type": "text", "text": text}], "timestamp": 1}),
    )
}

fn request(messages: &[Arc<Message>], purpose: Purpose) -> ModelRequest {
    let names = [
        "read", "bash", "edit", "write", "grep", "find", "ls", "todo",
    ];
    let tools: Vec<ToolSpec> = names
        .into_iter()
        .map(|name| ToolSpec {
            name: name.into(),
            label: String::new(),
            description: String::new(),
            parameters: json!({}).into(),
            effect: ToolEffect::Reads,
        })
        .collect();
    ModelRequest {
        system: "".into(),
        messages: messages.to_vec(),
        tools: tools.into(),
        thinking: ThinkingLevel::Off,
        max_output_tokens: None,
        session_id: "s".into(),
        purpose,
        host: None,
    }
}

async fn say(request: ModelRequest) -> Said {
    let mut said = Said::default();
    let mut open = None;
    let mut arguments = String::new();
    let events: Vec<_> = GuideModel::new().stream(request).collect().await;
    for event in events {
        match event.unwrap() {
            ModelEvent::BlockStarted(kind) => open = Some(kind),
            ModelEvent::Delta(delta) => match open.as_ref().unwrap() {
                LiveBlockKind::Thinking => said.thinking.push_str(&delta),
                LiveBlockKind::Text => said.text.push_str(&delta),
                _ => arguments.push_str(&delta),
            },
            ModelEvent::BlockEnded { .. } => {
                if let Some(LiveBlockKind::ToolCall { id, name }) = open.take() {
                    let value = serde_json::from_str(&std::mem::take(&mut arguments)).unwrap();
                    said.calls.push((id, name, value));
                }
            }
            ModelEvent::Finished(finish) => {
                said.stop = finish.stop_reason;
                assert!(finish.usage.output > 0);
            }
            ModelEvent::Started { .. } | ModelEvent::Usage(_) | ModelEvent::Nothing => {}
        }
    }
    said
}

async fn turn(messages: &[Arc<Message>]) -> Said {
    say(request(messages, Purpose::Turn)).await
}

#[tokio::test]
async fn a_request_is_thought_about_announced_called_and_reported() {
    let prompt = user("find TODO in this folder");
    let first = turn(&[Arc::clone(&prompt)]).await;
    assert_eq!(
        first,
        Said {
            thinking: "Rule: search for text. Tools: grep.".into(),
            text: format!(
                "{}\n\nI search this folder for `TODO`.",
                super::fixed_replies::WHO_I_AM
            ),
            calls: vec![(
                "guide_ff_1".into(),
                "grep".into(),
                json!({"pattern": "TODO", "limit": 500})
            )],
            stop: StopReason::ToolUse,
        }
    );
    let found = result(&first, 0, "a.rs:1: // TODO", false);
    let second = turn(&[prompt, answered(&first), found]).await;
    assert_eq!(
        second,
        Said {
            thinking: "The results are there. I report what came back.".into(),
            text: "Found 1 match for `TODO` in 1 file:\n\n- `a.rs:1` `// TODO`".into(),
            calls: vec![],
            stop: StopReason::Stop,
        }
    );
}

#[tokio::test]
async fn several_requests_are_done_one_after_the_other() {
    let mut messages = vec![user(
        "write hi to a.txt, then run `cat a.txt` and then help",
    )];
    let first = turn(&messages).await;
    assert_eq!(first.calls[0].1, "write");
    messages.extend([
        answered(&first),
        result(&first, 0, "Successfully wrote 3 bytes to a.txt", false),
    ]);
    let second = turn(&messages).await;
    assert_eq!(
        second.text,
        "Successfully wrote 3 bytes to a.txt.\n\nI run `cat a.txt`."
    );
    assert_eq!(
        second.calls,
        [(
            "guide_ff_2".into(),
            "bash".into(),
            json!({"command": "cat a.txt"})
        )]
    );
    messages.extend([answered(&second), result(&second, 0, "hi\n", false)]);
    let third = turn(&messages).await;
    assert!(
        third
            .text
            .starts_with("`cat a.txt` succeeded and printed 1 line:")
    );
    assert!(third.text.contains("You can ask me to"));
    assert_eq!(third.calls, []);
}

#[tokio::test]
async fn a_failure_ends_the_work_and_says_what_was_left() {
    let mut messages = vec![user("read a.txt then run `ls`")];
    let first = turn(&messages).await;
    messages.extend([answered(&first), result(&first, 0, "File not found", true)]);
    let second = turn(&messages).await;
    assert_eq!(second.calls, []);
    assert!(
        second.text.contains("find files named a.txt"),
        "{}",
        second.text
    );
    assert!(
        second
            .text
            .ends_with("I therefore skipped the 1 request after it.")
    );
}

#[tokio::test]
async fn it_says_once_that_it_is_no_language_model() {
    let hello = user("hello");
    let first = turn(&[Arc::clone(&hello)]).await;
    assert!(first.text.starts_with(super::fixed_replies::WHO_I_AM));
    let second = turn(&[hello, answered(&first), user("thanks")]).await;
    assert_eq!(second.text, "You are welcome.");
    let help = turn(&[user("help")]).await;
    assert_eq!(help.text.matches(super::fixed_replies::WHO_I_AM).count(), 1);
}

#[tokio::test]
async fn reminders_of_the_agent_are_not_requests() {
    let reminder = message(
        json!({"role": "user", "content": "run `rm x`", "synthetic": true, "timestamp": 1}),
    );
    let said = turn(&[user("thanks"), reminder]).await;
    assert_eq!(said.calls, []);
    assert_eq!(turn(&[]).await.stop, StopReason::Stop);
}

#[tokio::test]
async fn a_new_prompt_in_the_middle_replaces_the_old_one() {
    let first = turn(&[user("list")]).await;
    let messages = [
        user("list"),
        answered(&first),
        result(&first, 0, "Skipped", true),
        user("pwd"),
    ];
    let second = turn(&messages).await;
    assert_eq!(second.calls[0].2, json!({"command": "pwd"}));
    assert_eq!(second.text, "I run `pwd`.");
}

#[tokio::test]
async fn a_summary_tells_goals_files_commands_and_results() {
    let mut messages = vec![user("write hi to a.txt then run `cat a.txt`")];
    for text in ["Successfully wrote 3 bytes to a.txt", "hi"] {
        let said = turn(&messages).await;
        messages.extend([answered(&said), result(&said, 0, text, false)]);
    }
    let said = say(request(&messages, Purpose::Compaction)).await;
    assert_eq!(
        said.text,
        "Summary of 5 earlier messages.\n\n## What the user asked for\n- write hi to a.txt then run `cat a.txt`\n\n## Files changed\n- a.txt\n\n## Commands run\n- cat a.txt\n\n## Last results\n- write: Successfully wrote 3 bytes to a.txt\n- bash: hi\n\n## Last answer\n- Successfully wrote 3 bytes to a.txt.\n"
    );
}
