//! Frames as text, whole, but without saying again what a frame before has said.
//!
//! Most of what a run tells is said several times: an update has the message twice, the end of a
//! turn and the end of the run have it again. What is exactly what was said before, times
//! included, is written as a reference to it; anything else is written out. So a transcript holds
//! everything the frames hold, and can be read.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::child::{Folder, Ids, normalised};

/// The frames as text, one a line.
///
/// - `"partial":"=message"`, `"usage":"=message.usage"`: what stands in the same frame.
/// - `"message":{"…":"as it began","content":[…]}`: all but the content is that of `message_start`.
/// - `"message":"as it began"`: the message is that of its `message_start`.
/// - `"msg-2"`: the message that ended under this id.
/// - `"ID1"`: the id, or a reference to the id, of the first entry or session that is told of.
/// - `"usage":"nothing"`: every number in it is 0.
///
/// Deltas that follow each other are one, those of a command too: which of them go out together
/// depends on time.
pub fn told(frames: &[Value], folder: &Folder) -> String {
    let mut said = Said::default();
    let frames: Vec<Value> = merged(frames)
        .into_iter()
        .map(|mut frame| {
            said.refer(&mut frame);
            without_zeros(&mut frame, None);
            without_long_facts(&mut frame);
            frame
        })
        .collect();
    normalised(&frames, folder, &mut Ids::Numbered(Vec::new()))
}

/// The lines of a session file in the same form.
pub fn lines_of(file: &str, folder: &Folder) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    told(&lines, folder)
}

/// The answers, and everything else: an answer may fall between any two events that do not depend
/// on its command (section 5).
pub fn answers_and_events(frames: Vec<Value>) -> (Vec<Value>, Vec<Value>) {
    frames
        .into_iter()
        .partition(|frame| frame["type"] == "response")
}

/// The reports of calls that run are left out: how many of them there are depends on time.
pub fn without_reports(frames: Vec<Value>) -> Vec<Value> {
    let is_report = |frame: &Value| {
        let event = frame["payload"].get("event").unwrap_or(frame);
        event["type"] == "tool_execution_update"
    };
    frames
        .into_iter()
        .filter(|frame| !is_report(frame))
        .collect()
}

/// One delta in place of those that follow each other in one block.
fn merged(frames: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for frame in frames {
        let goes_on = merged.last().is_some_and(|last| continues(last, frame));
        match merged.last_mut() {
            Some(last) if goes_on => {
                let before = delta(last).unwrap_or_default().to_owned();
                let both = before + delta(frame).unwrap_or_default();
                *last = frame.clone();
                let event = event_mut(last);
                let place = if event["type"] == OUTPUT {
                    event
                } else {
                    &mut event["assistantMessageEvent"]
                };
                place["delta"] = json!(both);
            }
            _ => merged.push(frame.clone()),
        }
    }
    merged
}

/// The event in a frame about a subagent, or the frame itself.
fn event_mut(frame: &mut Value) -> &mut Value {
    if frame["type"] == "subagent_event" {
        &mut frame["payload"]["event"]
    } else {
        frame
    }
}

fn event(frame: &Value) -> &Value {
    if frame["type"] == "subagent_event" {
        &frame["payload"]["event"]
    } else {
        frame
    }
}

/// What a command of the user writes.
const OUTPUT: &str = "bash_execution_update";

fn delta(frame: &Value) -> Option<&str> {
    let event = event(frame);
    let place = if event["type"] == OUTPUT {
        event
    } else {
        &event["assistantMessageEvent"]
    };
    place["delta"].as_str()
}

fn continues(last: &Value, frame: &Value) -> bool {
    let of = |frame: &Value| {
        let update = &event(frame)["assistantMessageEvent"];
        (
            (frame["payload"]["id"].clone(), frame["id"].clone()),
            (
                event(frame)["type"].clone(),
                event(frame)["messageId"].clone(),
            ),
            update["type"].clone(),
            update["contentIndex"].clone(),
        )
    };
    delta(last).is_some() && delta(frame).is_some() && of(last) == of(frame)
}

/// What was said so far.
#[derive(Default)]
struct Said {
    /// Messages by whose they are and their ids, as they began and as they ended.
    began: HashMap<(String, String), Value>,
    ended: Vec<(String, String, Value)>,
    /// By whose it is: how many had ended when the run, and when the turn, began.
    before_run: HashMap<String, usize>,
    before_turn: HashMap<String, usize>,
}

impl Said {
    fn refer(&mut self, frame: &mut Value) {
        let whose = frame["payload"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let event = event_mut(frame);
        let id = event["messageId"].as_str().unwrap_or_default().to_owned();
        let key = (whose.clone(), id.clone());
        match event["type"].as_str().unwrap_or_default() {
            "agent_start" => {
                self.before_run.insert(whose, self.ended.len());
            }
            "turn_start" => {
                self.before_turn.insert(whose, self.ended.len());
            }
            "message_start" => {
                self.began.insert(key, event["message"].clone());
            }
            "message_update" => self.refer_in_update(&key, event),
            "message_end" => {
                let message = event["message"].clone();
                if self.began.get(&key) == Some(&message) {
                    event["message"] = json!("as it began");
                }
                self.ended.push((whose, id, message));
            }
            "turn_end" => {
                let mut from = self.before_turn.get(&whose).copied().unwrap_or(0);
                self.refer_to_ended(&whose, &mut event["message"], &mut from);
                self.refer_to_each(&whose, &mut event["toolResults"], from);
            }
            "agent_end" => {
                let from = self.before_run.get(&whose).copied().unwrap_or(0);
                self.refer_to_each(&whose, &mut event["messages"], from);
            }
            _ => {}
        }
    }

    fn refer_in_update(&self, key: &(String, String), event: &mut Value) {
        let message = event["message"].clone();
        if event["assistantMessageEvent"].get("partial") == Some(&message) {
            event["assistantMessageEvent"]["partial"] = json!("=message");
        }
        if event.get("usage").is_some() && event["usage"] == message["usage"] {
            event["usage"] = json!("=message.usage");
        }
        let Some(began) = self.began.get(key) else {
            return;
        };
        let without_content = |message: &Value| {
            let mut fields = message.as_object().cloned().unwrap_or_default();
            fields.remove("content");
            fields
        };
        if message.get("content").is_some() && without_content(began) == without_content(&message) {
            event["message"] = json!({"…": "as it began", "content": message["content"]});
        }
    }

    fn refer_to_each(&self, whose: &str, messages: &mut Value, mut from: usize) {
        for message in messages.as_array_mut().into_iter().flatten() {
            self.refer_to_ended(whose, message, &mut from);
        }
    }

    /// Two messages may be alike to the millisecond: each is looked for behind the one before it.
    fn refer_to_ended(&self, whose: &str, message: &mut Value, from: &mut usize) {
        let is_it = |one: &(String, String, Value)| one.0 == whose && one.2 == *message;
        if let Some(place) = self.ended.iter().skip(*from).position(is_it) {
            *from += place + 1;
            *message = json!(self.ended[*from - 1].1);
        }
    }
}

/// A usage of nothing in one word.
fn without_zeros(value: &mut Value, key: Option<&str>) {
    let zero = json!({
        "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    });
    match value {
        value if key == Some("usage") && *value == zero => *value = json!("nothing"),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                without_zeros(value, Some(key));
            }
        }
        Value::Array(items) => {
            for item in items {
                without_zeros(item, None);
            }
        }
        _ => {}
    }
}

/// The instructions and the tools of a session in short: each has a test of its own that compares
/// all of it.
fn without_long_facts(frame: &mut Value) {
    let Some(data) = frame.get_mut("data").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(prompt) = data.get_mut("systemPrompt") {
        let texts = prompt.as_array().unwrap().iter();
        assert!(
            texts.clone().all(Value::is_string) && texts.len() == 1,
            "{prompt}"
        );
        *prompt = json!("…");
    }
    if let Some(tools) = data.get_mut("dumpTools") {
        let names = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone());
        *tools = names.collect();
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn message(text: &str, timestamp: u64) -> Value {
        json!({"role": "user", "content": text, "timestamp": timestamp})
    }

    fn ended(id: &str, message: &Value) -> Value {
        json!({"type": "message_end", "messageId": id, "message": message})
    }

    #[test]
    fn only_what_is_exactly_what_was_said_is_referred_to() {
        let folder = Folder::with("");
        let (one, later) = (message("a", 1), message("a", 2));
        let frames = [
            json!({"type": "message_start", "messageId": "msg-1", "message": one}),
            ended("msg-1", &one),
            json!({"type": "message_start", "messageId": "msg-2", "message": one}),
            ended("msg-2", &later),
            json!({"type": "turn_end", "message": later, "toolResults": [one]}),
            json!({"type": "agent_end", "messages": [one, later, message("b", 1)]}),
        ];
        expect![[r#"
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":"a","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"user","content":"a","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-2","message":{"role":"user","content":"a","timestamp":"TIME"}}
            {"type":"turn_end","message":"msg-2","toolResults":[{"role":"user","content":"a","timestamp":"TIME"}]}
            {"type":"agent_end","messages":["msg-1","msg-2",{"role":"user","content":"b","timestamp":"TIME"}]}
        "#]].assert_eq(&told(&frames, &folder));
    }

    #[test]
    fn deltas_of_one_block_are_one_and_those_of_two_are_two() {
        let folder = Folder::with("");
        let delta = |id: &str, index: u8, delta: &str, so_far: &str| {
            json!({
                "type": "message_update", "messageId": id, "message": {"content": so_far},
                "assistantMessageEvent": {
                    "type": "text_delta", "contentIndex": index, "delta": delta,
                    "partial": {"content": so_far},
                },
            })
        };
        let output = |id: u8, delta: &str| json!({"type": OUTPUT, "id": id, "delta": delta});
        let frames = [
            delta("msg-1", 0, "a", "a"),
            delta("msg-1", 0, "b", "ab"),
            delta("msg-1", 1, "c", "abc"),
            delta("msg-2", 1, "d", "d"),
            output(1, "x"),
            output(1, "y"),
            output(2, "z"),
        ];
        expect![[r#"
            {"type":"message_update","messageId":"msg-1","message":{"content":"ab"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"ab","partial":"=message"}}
            {"type":"message_update","messageId":"msg-1","message":{"content":"abc"},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"c","partial":"=message"}}
            {"type":"message_update","messageId":"msg-2","message":{"content":"d"},"assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"d","partial":"=message"}}
            {"type":"bash_execution_update","id":1,"delta":"xy"}
            {"type":"bash_execution_update","id":2,"delta":"z"}
        "#]].assert_eq(&told(&frames, &folder));
    }
}
