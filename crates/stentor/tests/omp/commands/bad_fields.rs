//! Commands with a field that is missing or of the wrong type (section 4): each is refused with
//! its id and its name, and nothing is done.

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::child::{Folder, shown};

/// Every command that has fields, with one good value for each of them.
fn commands() -> Vec<Value> {
    let image = json!([{"data": "aGk=", "mimeType": "image/png"}]);
    vec![
        json!({"type": "prompt", "message": "m", "images": image, "streamingBehavior": "steer"}),
        json!({"type": "steer", "message": "m", "images": image}),
        json!({"type": "follow_up", "message": "m", "images": image}),
        json!({"type": "abort_and_prompt", "message": "m", "images": image}),
        json!({"type": "new_session", "parentSession": "x"}),
        json!({"type": "set_model", "provider": "p", "modelId": "m"}),
        json!({"type": "set_thinking_level", "level": "low"}),
        json!({"type": "set_steering_mode", "mode": "all"}),
        json!({"type": "set_follow_up_mode", "mode": "all"}),
        json!({"type": "set_interrupt_mode", "mode": "wait"}),
        json!({"type": "compact", "customInstructions": "x"}),
        json!({"type": "set_auto_compaction", "enabled": true}),
        json!({"type": "set_auto_retry", "enabled": true}),
        json!({"type": "bash", "command": "true", "excludeFromContext": true}),
        json!({"type": "export_html", "outputPath": "x.html"}),
        json!({"type": "switch_session", "sessionPath": "x"}),
        json!({"type": "branch", "entryId": "x"}),
        json!({"type": "fork", "entryId": "x"}),
        json!({"type": "set_session_name", "name": "x"}),
        json!({"type": "get_entries", "since": "x"}),
        json!({"type": "remove_queued_message", "message": "m", "queue": "steering"}),
        json!({"type": "promote_queued_message", "message": "m"}),
        json!({"type": "set_event_filter", "events": ["x"], "messageUpdates": "full"}),
        json!({"type": "get_messages_page", "cursor": "x", "limit": 1}),
        json!({"type": "set_todos", "phases": [{"name": "x", "tasks": [{"content": "x", "status": "pending"}]}]}),
        json!({"type": "set_subagent_subscription", "level": "off"}),
        json!({"type": "get_subagent_messages", "subagentId": "x", "sessionFile": "x", "fromByte": 1}),
        json!({"type": "cancel_subagent", "subagentId": "x"}),
        json!({"type": "steer_subagent", "subagentId": "x", "message": "m"}),
        json!({"type": "set_host_tools", "tools": [{"name": "x", "label": "x", "description": "x", "parameters": {}, "hidden": true}]}),
        json!({"type": "set_host_uri_schemes", "schemes": [{"scheme": "x", "description": "x", "writable": true, "immutable": true}]}),
        json!({"type": "login", "providerId": "x"}),
        json!({"type": "negotiate_protocol", "protocolVersion": 2}),
    ]
}

/// Fields that may be left out, or be null.
const OPTIONAL: [&str; 19] = [
    "images",
    "streamingBehavior",
    "parentSession",
    "customInstructions",
    "excludeFromContext",
    "outputPath",
    "since",
    "events",
    "messageUpdates",
    "cursor",
    "limit",
    "subagentId",
    "sessionFile",
    "fromByte",
    "label",
    "hidden",
    "writable",
    "immutable",
    "description",
];

/// Of those that have an optional namesake, the ones that must be there.
fn is_optional(command: &str, field: &str) -> bool {
    let must = matches!(
        (command, field),
        ("cancel_subagent" | "steer_subagent", "subagentId") | ("set_host_tools", "description")
    );
    !must && OPTIONAL.contains(&field)
}

/// Fields that take one of a few words.
const WORDS: [&str; 6] = [
    "streamingBehavior",
    "queue",
    "messageUpdates",
    "mode",
    "status",
    "level",
];

/// The paths of all fields, those in fields and in the first of a list included.
fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (format!("{at}/{name}"), value))
            .collect(),
        Value::Array(items) => items
            .first()
            .map(|item| (format!("{at}/0"), item))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    for (path, value) in inner {
        if path != "/type" {
            found.push(path.clone());
            paths(value, &path, found);
        }
    }
}

/// What is wrong for a field with that good value.
fn wrong(good: &Value, field: &str, optional: bool) -> Vec<Value> {
    let kind = |value: &Value| std::mem::discriminant(value);
    let mut wrong: Vec<Value> = [
        json!(null),
        json!(true),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
    ]
    .into_iter()
    .filter(|value| kind(value) != kind(good) && !(optional && value.is_null()))
    .collect();
    if good.is_number() {
        wrong.extend([json!(-1), json!(1.5)]);
    }
    if WORDS.contains(&field) {
        wrong.push(json!("no such word"));
    }
    wrong
}

#[test]
fn every_field_that_is_missing_or_of_the_wrong_type_is_refused_with_id_and_command() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut child = folder.child(&["--no-session"]);
    let before = child.data(json!({"type": "get_state"}));
    let mut told = String::new();
    for command in commands() {
        let name = command["type"].as_str().unwrap();
        let mut fields = Vec::new();
        paths(&command, "", &mut fields);
        for path in fields {
            let (parent, field) = path.rsplit_once('/').unwrap();
            let optional = is_optional(name, field);
            let mut bad = Vec::new();
            if field != "0" && !optional {
                let mut without = command.clone();
                let object = without.pointer_mut(parent).unwrap();
                object.as_object_mut().unwrap().remove(field);
                bad.push(("nothing".to_owned(), without));
            }
            let good = command.pointer(&path).unwrap();
            for value in wrong(good, field, optional) {
                let mut other = command.clone();
                *other.pointer_mut(&path).unwrap() = value.clone();
                bad.push((value.to_string(), other));
            }
            for (what, command) in bad {
                let answer = child.ask(command);
                let is_refusal = answer["success"] == false && answer["command"] == name;
                assert!(is_refusal, "{path} = {what}: {answer}");
                told.push_str(&format!("{path} = {what}\n"));
                told.push_str(&shown(&[answer], &folder));
            }
        }
    }
    expect_file!["bad_fields.txt"].assert_eq(&told);
    // Nothing of it was done.
    assert_eq!(child.data(json!({"type": "get_state"})), before);
}
