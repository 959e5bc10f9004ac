//! Reading frames by the rules, and a child all of whose frames are read.

use serde_json::{Value, json};

use super::shapes::{self, Field, Is};
use super::{answers, frames};
use crate::child::Child;

/// What a strict client has to say against a frame.
pub fn complaints(frame: &Value) -> Vec<String> {
    let mut found = Vec::new();
    of_frame(frame, "", &mut found);
    found
}

fn of_frame(frame: &Value, at: &str, found: &mut Vec<String>) {
    let kind = frame["type"].as_str().unwrap_or_default();
    match frames::frame(kind) {
        Some(fields) => of_fields(frame, fields, at, found),
        None => found.push(format!("{at}/type: nobody knows {kind:?}")),
    }
    if kind == "response" && frame["success"] == true && !frame["data"].is_null() {
        let fields = answers::data(frame["command"].as_str().unwrap_or_default());
        of_fields(&frame["data"], fields, &format!("{at}/data"), found);
    }
}

fn of_fields(value: &Value, fields: &[Field], at: &str, found: &mut Vec<String>) {
    for field in fields {
        let (Field::Must(name, is) | Field::May(name, is)) = field;
        let at = format!("{at}/{name}");
        match (&value[*name], field) {
            (Value::Null, Field::Must(..)) => found.push(format!("{at} is missing")),
            (Value::Null, Field::May(..)) => {}
            (inner, _) => of_value(inner, is, &at, found),
        }
    }
}

fn of_value(value: &Value, is: &Is, at: &str, found: &mut Vec<String>) {
    let text = value.as_str();
    let fits = match is {
        Is::Text => text.is_some(),
        Is::Flag => value.is_boolean(),
        Is::Number => value.is_number(),
        Is::Count => value.is_u64(),
        Is::Whole => value.is_i64() || value.is_u64(),
        Is::Object => value.is_object(),
        Is::Anything => true,
        Is::Word(words) => text.is_some_and(|text| words.contains(&text)),
        Is::Each(_) => value.is_array(),
        Is::Content(_) => value.is_array() || value.is_string(),
        Is::With(_) | Is::Update | Is::Event => value.is_object(),
        Is::Message(roles) => value["role"]
            .as_str()
            .is_some_and(|role| roles.contains(&role)),
    };
    if !fits {
        found.push(format!("{at} is {value}"));
        return;
    }
    let kind = value["type"].as_str().unwrap_or_default();
    match is {
        Is::With(fields) => of_fields(value, fields, at, found),
        Is::Event => of_frame(value, at, found),
        Is::Message(_) => {
            let role = value["role"].as_str().unwrap_or_default();
            of_fields(value, shapes::message(role), at, found);
        }
        Is::Update => match shapes::update(kind) {
            Some(fields) => of_fields(value, fields, at, found),
            None => found.push(format!("{at}/type: nobody knows {kind:?}")),
        },
        Is::Each(each) => {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                of_value(item, each, &format!("{at}/{index}"), found);
            }
        }
        Is::Content(kinds) => {
            for (index, block) in value.as_array().into_iter().flatten().enumerate() {
                let kind = block["type"].as_str().unwrap_or_default();
                let at = format!("{at}/{index}");
                if !kinds.contains(&kind) {
                    found.push(format!("{at} is {block}"));
                }
                of_fields(block, shapes::block(kind), &at, found);
            }
        }
        _ => {}
    }
}

/// A child every frame of which is read by the rules.
pub struct Strict {
    pub child: Child,
    read: Vec<Value>,
}

impl Strict {
    pub fn of(child: Child) -> Self {
        let read = Vec::new();
        Self { child, read }
    }

    /// Reads up to and with the first frame that fits, and returns that.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.child.next();
            let found = complaints(&frame);
            assert!(found.is_empty(), "{found:#?} in {frame}");
            self.read.push(frame.clone());
            if fits(&frame) {
                return frame;
            }
        }
    }

    /// Sends a command. Returns its answer.
    pub fn ask(&mut self, mut command: Value) -> Value {
        command["id"] = json!("asked");
        self.child.send(command);
        self.until(|frame| frame["id"] == "asked" && frame["type"] == "response")
    }

    /// The data of a successful answer.
    pub fn data(&mut self, command: Value) -> Value {
        let mut answer = self.ask(command);
        assert_eq!(answer["success"], true, "{answer}");
        answer["data"].take()
    }

    /// Says something without waiting for anything.
    pub fn say(&mut self, text: &str) {
        self.child
            .send(json!({"id": "prompt", "type": "prompt", "message": text}));
    }

    /// Says something and reads until nothing follows.
    pub fn prompt(&mut self, text: &str) {
        self.say(text);
        self.until(|frame| frame["type"] == "agent_settled");
    }

    /// Reads until all of these were among it: a run that shows nothing proves nothing.
    pub fn has_read(&mut self, kinds: &[&str]) {
        let is = |frame: &Value, kind: &str| {
            frame["type"] == kind
                || frame["assistantMessageEvent"]["type"] == kind
                || frame["message"]["role"] == kind
                || frame["method"] == kind
        };
        for kind in kinds {
            if !self.read.iter().any(|frame| is(frame, kind)) {
                self.until(|frame| is(frame, kind));
            }
        }
    }
}
