//! What providers cache by: the requests of a conversation as they are on the wire. Each must begin
//! with all of the one before, in the same process and in the next one.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use stentor_test_support::http::{self, Request, listen};

use crate::world::World;

/// A wire: its name in the configuration, what an answer with a call and what one with text looks
/// like, and where in a request the parts of the conversation are.
struct Wire {
    api: &'static str,
    call: fn(n: usize) -> Vec<Value>,
    text: fn() -> Vec<Value>,
    messages: &'static str,
    /// What comes before the conversation.
    before: &'static [&'static str],
}

const ARGUMENTS: &str = r#"{"path":"notes.txt"}"#;

const ANTHROPIC: Wire = Wire {
    api: "anthropic-messages",
    call: |n| {
        let id = format!("toolu_{n}");
        messages_events(
            json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
            json!({"type": "input_json_delta", "partial_json": ARGUMENTS}),
            "tool_use",
        )
    },
    text: || {
        messages_events(
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "done"}),
            "end_turn",
        )
    },
    messages: "messages",
    before: &["tools", "system"],
};

const RESPONSES: Wire = Wire {
    api: "openai-responses",
    call: |n| {
        let item = |arguments: &str| {
            json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"),
                "name": "read", "arguments": arguments})
        };
        vec![
            json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item(ARGUMENTS)}),
            json!({"type": "response.completed", "response": {"id": "r", "status": "completed"}}),
        ]
    },
    text: || {
        let item = |content: Value| json!({"type": "message", "id": "msg_1", "content": content});
        let text = json!([{"type": "output_text", "text": "done"}]);
        vec![
            json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]))}),
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "done"}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item(text)}),
            json!({"type": "response.completed", "response": {"id": "r", "status": "completed"}}),
        ]
    },
    messages: "input",
    before: &["tools", "instructions"],
};

const CHAT: Wire = Wire {
    api: "openai-completions",
    call: |n| {
        let function = json!({"name": "read", "arguments": ARGUMENTS});
        let call = json!({"index": 0, "id": format!("call_{n}"), "type": "function", "function": function});
        vec![
            json!({"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
            json!({"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ]
    },
    text: || {
        vec![
            json!({"id": "r", "choices": [{"index": 0, "delta": {"content": "done"}}]}),
            json!({"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ]
    },
    messages: "messages",
    before: &["tools"],
};

const GEMINI: Wire = Wire {
    api: "google-generative-ai",
    call: |n| {
        let arguments: Value = serde_json::from_str(ARGUMENTS).unwrap();
        let call = json!({"id": format!("call_{n}"), "name": "read", "args": arguments});
        gemini_event(json!([{"functionCall": call}]))
    },
    text: || gemini_event(json!([{"text": "done"}])),
    messages: "contents",
    before: &["tools", "systemInstruction"],
};

fn messages_events(block: Value, delta: Value, reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

fn gemini_event(parts: Value) -> Vec<Value> {
    let content = json!({"role": "model", "parts": parts});
    vec![json!({"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}]})]
}

/// The requests of two prompts in two processes, each answered with two calls and a text.
fn requests(wire: &'static Wire) -> Vec<Value> {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let address = listen(move |mut connection| {
        let request = Request::of(&connection).unwrap().unwrap();
        // What else the program asks a provider for, there is not.
        let Ok(body) = serde_json::from_str::<Value>(&request.body) else {
            let none = http::json("404 Not Found", "{}");
            return connection.write_all(none.as_bytes()).unwrap();
        };
        let mut seen = seen.lock().unwrap();
        seen.push(body);
        let events = match seen.len() % 3 {
            0 => (wire.text)(),
            _ => (wire.call)(seen.len()),
        };
        let mut answer = http::EVENTS.to_owned();
        for event in events {
            if let Some(name) = event["type"].as_str() {
                answer.push_str(&format!("event: {name}\n"));
            }
            answer.push_str(&format!("data: {event}\n\n"));
        }
        connection.write_all(answer.as_bytes()).unwrap();
    });
    let world = World::new();
    world.file("work/notes.txt", "remember\n");
    world.file("work/AGENTS.md", "Be brief.\n");
    world.file(
        "home/.config/stentor/config.toml",
        &format!(
            "model = \"acme/m1\"\nuse_local_servers = false\n\
             [providers.acme]\nbase_url = \"http://{address}\"\napi = \"{}\"\napi_key = \"k\"\n\
             [[providers.acme.models]]\nid = \"m1\"\n",
            wire.api
        ),
    );
    for words in [&["-p", "first"][..], &["-p", "second", "--continue"]] {
        let ran = world.run(words);
        assert_eq!(
            (ran.status, ran.out.as_str()),
            (Some(0), "done\n"),
            "{}",
            ran.err
        );
    }
    let bodies = std::mem::take(&mut *bodies.lock().unwrap());
    assert_eq!(bodies.len(), 6);
    bodies
}

/// The value without break points, which are no part of what is cached.
fn without_break_points(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| *key != "cache_control");
            let kept = kept.map(|(key, value)| (key.clone(), without_break_points(value)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(without_break_points).collect(),
        plain => plain.clone(),
    }
}

#[test]
fn every_request_begins_with_all_of_the_request_before_on_every_wire() {
    for wire in [&ANTHROPIC, &RESPONSES, &CHAT, &GEMINI] {
        let requests = requests(wire);
        for pair in requests.windows(2) {
            let text = |value: &Value| without_break_points(value).to_string();
            for part in wire.before {
                assert!(!pair[0][part].is_null(), "{}: {part}", wire.api);
                assert_eq!(
                    text(&pair[0][part]),
                    text(&pair[1][part]),
                    "{}: {part}",
                    wire.api
                );
            }
            let [before, after] = [&pair[0], &pair[1]].map(|request| {
                let messages = request[wire.messages].as_array().unwrap();
                messages.iter().map(text).collect::<Vec<_>>()
            });
            assert!(after.len() > before.len(), "{}", wire.api);
            assert_eq!(after[..before.len()], before, "{}", wire.api);
        }
    }
}

#[test]
fn the_messages_api_gets_break_points_at_the_tools_the_system_prompt_and_the_two_newest_user_turns()
{
    for (n, request) in requests(&ANTHROPIC).iter().enumerate() {
        let mark = json!({"type": "ephemeral"});
        let mut expected = vec![
            format!("/tools/{}", request["tools"].as_array().unwrap().len() - 1),
            "/system/0".to_owned(),
        ];
        let messages = request["messages"].as_array().unwrap();
        let users = messages
            .iter()
            .enumerate()
            .filter(|(_, message)| message["role"] == "user");
        let mut newest: Vec<String> = users
            .map(|(at, message)| {
                let last = message["content"].as_array().unwrap().len() - 1;
                format!("/messages/{at}/content/{last}")
            })
            .collect();
        newest.drain(..newest.len().saturating_sub(2));
        expected.extend(newest);
        assert_eq!(expected.len(), if n == 0 { 3 } else { 4 });
        for place in &expected {
            let block = request.pointer(place).unwrap();
            assert_eq!(block["cache_control"], mark, "request {n}: {place}");
        }
        let all = request.to_string().matches("\"cache_control\"").count();
        assert_eq!(all, expected.len(), "request {n}");
    }
}
