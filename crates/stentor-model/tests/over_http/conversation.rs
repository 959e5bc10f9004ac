//! One conversation over each wire, and one that changes the wire in the middle.

use serde_json::{Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Finish, Model, ModelEvent};
use stentor_journal::message::{ContentBlock, Message, StopReason};
use stentor_journal::usage::Usage;
use stentor_model::wire::Wire;

use crate::scripts::Script;
use crate::server::Server;
use crate::setup::{WIRES, ask, info, message_of, model, request, tool_result, user};

const PICTURE: &str = "iVBORw0KGgo=";

fn scripts() -> [Script; 3] {
    [
        Script {
            thinking: &["Let me ", "look."],
            text: &["I will ", "check."],
            calls: &[
                ("call_1", "read", &["{\"path\":", "\"a.rs\"}"]),
                ("call_2", "list", &["{\"path\":\".\"}"]),
            ],
        },
        Script {
            text: &["It is ", "a bird."],
            ..Script::default()
        },
        Script {
            thinking: &["Easy."],
            text: &["You are welcome."],
            ..Script::default()
        },
    ]
}

/// The conversation: a picture and a question, two tools of which one returns a picture, thanks.
fn opening() -> Message {
    Message::user(
        vec![
            ContentBlock::text("What is this?"),
            ContentBlock::image(PICTURE, "image/png"),
        ],
        1,
    )
}

fn results() -> [Message; 2] {
    [
        tool_result(
            "call_1",
            "read",
            json!([{"type": "text", "text": "fn main() {}"}]),
        ),
        tool_result(
            "call_2",
            "list",
            json!([{"type": "text", "text": "a.rs"}, {"type": "image", "data": PICTURE, "mimeType": "image/png"}]),
        ),
    ]
}

/// Events as far as they must be the same: adjacent deltas joined, opaque data masked, and
/// intermediate usage left out, which only one wire reports.
fn comparable(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let mut out: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (out.last_mut(), event) {
            (Some(ModelEvent::Delta(before)), ModelEvent::Delta(more)) => before.push_str(more),
            (_, ModelEvent::BlockEnded { .. }) => {
                out.push(ModelEvent::BlockEnded { signature: None });
            }
            (_, ModelEvent::Usage(_)) => {}
            (_, event) => out.push(event.clone()),
        }
    }
    out
}

fn expected_first() -> Vec<ModelEvent> {
    let block = |kind: LiveBlockKind, text: &str| {
        [
            ModelEvent::BlockStarted(kind),
            ModelEvent::Delta(text.to_owned()),
            ModelEvent::BlockEnded { signature: None },
        ]
    };
    let call = |id: &str, name: &str| LiveBlockKind::ToolCall {
        id: id.into(),
        name: name.into(),
    };
    let mut events = vec![ModelEvent::Started {
        response_id: Some("r1".into()),
    }];
    events.extend(block(LiveBlockKind::Thinking, "Let me look."));
    events.extend(block(LiveBlockKind::Text, "I will check."));
    events.extend(block(call("call_1", "read"), "{\"path\":\"a.rs\"}"));
    events.extend(block(call("call_2", "list"), "{\"path\":\".\"}"));
    events.push(ModelEvent::Finished(Finish {
        stop_reason: StopReason::ToolUse,
        refused: false,
        usage: Usage {
            input: 100,
            output: 30,
            cache_read: 20,
            ..Usage::default()
        },
    }));
    events
}

async fn converse(wire: Wire, path: &str) -> (Vec<Vec<ModelEvent>>, Vec<Value>) {
    let answers = scripts()
        .iter()
        .map(|script| script.in_words_of(wire))
        .collect();
    let server = Server::with_events(answers).await;
    let model = model(wire, server.url(path));
    let mut messages = vec![opening()];
    let mut all = Vec::new();
    for round in 0..3 {
        match round {
            1 => messages.extend(results()),
            2 => messages.push(user("Thanks!")),
            _ => {}
        }
        let (events, error) = ask(&model, request(messages.clone())).await;
        assert_eq!(error, None, "{wire:?}");
        messages.push(message_of(&events, model.info()));
        all.push(comparable(&events));
    }
    (
        all,
        server
            .requests()
            .iter()
            .map(|request| request.json())
            .collect(),
    )
}

#[tokio::test]
async fn one_conversation_gives_the_same_events_over_each_wire() {
    let (first, _) = converse(WIRES[0].0, WIRES[0].1).await;
    assert_eq!(first[0], expected_first());
    for (wire, path) in &WIRES[1..] {
        let (events, _) = converse(*wire, path).await;
        assert_eq!(events, first, "{wire:?}");
    }
}

/// What the third request of the conversation must contain in the words of each wire: the
/// reasoning with its seal, both calls with their results, and both pictures.
#[tokio::test]
async fn what_a_model_sealed_goes_back_to_it_with_calls_results_and_pictures() {
    for (wire, path) in WIRES {
        let (_, requests) = converse(wire, path).await;
        let body = &requests[2];
        let text = body.to_string();
        assert_eq!(text.matches(PICTURE).count(), 2, "{wire:?}: {text}");
        let found = match wire {
            Wire::AnthropicMessages => json!([
                body["messages"][1]["content"][0],
                body["messages"][1]["content"][2]["input"],
                body["messages"][2]["content"][1]["tool_use_id"],
            ]),
            Wire::OpenAiChat => json!([
                body["messages"][2]["reasoning_content"],
                body["messages"][2]["tool_calls"][0]["function"]["arguments"],
                body["messages"][4]["tool_call_id"],
            ]),
            Wire::OpenAiResponses | Wire::CodexResponses => json!([
                body["input"][1]["encrypted_content"],
                body["input"][3]["arguments"],
                body["input"][6]["call_id"],
            ]),
            Wire::Gemini => json!([
                body["contents"][1]["parts"][0],
                body["contents"][1]["parts"][2],
                body["contents"][2]["parts"][1]["functionResponse"]["name"],
            ]),
        };
        let expected = match wire {
            Wire::AnthropicMessages => json!([
                {"type": "thinking", "thinking": "Let me look.", "signature": "signed-by-anthropic"},
                {"path": "a.rs"},
                "call_2",
            ]),
            Wire::OpenAiChat => json!(["Let me look.", "{\"path\":\"a.rs\"}", "call_2"]),
            Wire::OpenAiResponses | Wire::CodexResponses => {
                json!(["sealed-by-openai", "{\"path\":\"a.rs\"}", "call_2"])
            }
            Wire::Gemini => json!([
                {"text": "Let me look.", "thought": true, "thoughtSignature": "c2lnbmVk"},
                {"functionCall": {"name": "read", "args": {"path": "a.rs"}}, "thoughtSignature": "Y2FsbA=="},
                "list",
            ]),
        };
        assert_eq!(found, expected, "{wire:?}: {text}");
    }
}

#[tokio::test]
async fn the_model_can_change_between_any_two_wires_in_the_middle_of_a_round_of_tools() {
    for (from, from_path) in WIRES {
        for (to, to_path) in WIRES {
            let server = Server::with_events(vec![
                scripts()[0].in_words_of(from),
                scripts()[1].in_words_of(to),
            ])
            .await;
            let first = model(from, server.url(from_path));
            let (events, _) = ask(&first, request(vec![opening()])).await;
            let mut messages = vec![opening(), message_of(&events, first.info())];
            messages.extend(results());
            let mut other = info(to, server.url(to_path));
            other.provider = "other".into();
            let second = crate::setup::model_at(crate::setup::endpoint(other, to));
            let (events, error) = ask(&second, request(messages)).await;
            assert_eq!(error, None);
            assert_eq!(crate::setup::text_of(&events), "It is a bird.");
            let text = server.requests()[1].json().to_string();
            for seal in [
                "signed-by-anthropic",
                "sealed-by-openai",
                "c2lnbmVk",
                "Y2FsbA==",
                // What another model thought.
                "Let me look.",
            ] {
                assert!(!text.contains(seal), "{from:?} to {to:?}: {text}");
            }
            for word in ["I will check.", "a.rs", "fn main() {}", PICTURE] {
                assert!(
                    text.contains(word),
                    "{from:?} to {to:?}: {word} is lost: {text}"
                );
            }
        }
    }
}
