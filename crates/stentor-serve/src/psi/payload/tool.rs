//! Tool events (section 10.8).

use serde_json::{Map, Value};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ToolCall, text_of};
use stentor_wire::edn::{EdnWriter, WriteEdn};

use super::message::write_blocks;
use crate::psi::text;

/// How long a line about a call may be.
const SUMMARY_CHARS: usize = 160;

/// A call of a session, which has this id.
pub struct CallPayload<'a>(pub &'a str, pub &'a ToolCall, pub CallDetail<'a>);

/// What is shown of a call besides what it is.
pub enum CallDetail<'a> {
    Nothing,
    Arguments,
    /// What it has said so far, or in the end.
    Output(&'a ToolOutput),
}

impl WriteEdn for CallPayload<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let Self(session_id, call, detail) = self;
        writer.map(|data| {
            data.field("session-id", session_id)
                .field("tool-id", &call.id)
                .field("tool-name", &call.name)
                .field("call-summary", &summary(call));
            match detail {
                CallDetail::Nothing => {}
                CallDetail::Arguments => {
                    let json = serde_json::to_string(&call.arguments).unwrap_or_default();
                    data.field("arguments", &json).key("parsed-args");
                    write_object(data, &call.arguments);
                }
                CallDetail::Output(output) => {
                    data.key("content");
                    write_blocks(data, &output.content);
                    data.field("result-text", &text_of(&output.content, "\n"))
                        .field("details", &output.details)
                        .field("is-error", &output.is_error);
                }
            }
        });
    }
}

/// Whether there is nothing in it to show.
pub fn is_blank(output: &ToolOutput) -> bool {
    output.content.is_empty() && output.details.is_none()
}

/// A JSON object with string keys.
pub fn write_object(writer: &mut EdnWriter<'_>, object: &Map<String, Value>) {
    writer.map(|map| {
        for (name, value) in object {
            map.str(name).value(value);
        }
    });
}

/// What a line about a call names: the first of these arguments that it has.
const SUBJECTS: [&str; 7] = [
    "path",
    "file_path",
    "pattern",
    "url",
    "query",
    "action",
    "task",
];

/// One line about a call: `$ ls`, `read src/main.rs:1:40`.
pub fn summary(call: &ToolCall) -> String {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64);
    let name = call.name.as_str();
    let mut line = match (name, SUBJECTS.into_iter().find_map(text)) {
        ("bash", _) => format!("$ {}", text("command").unwrap_or_default()),
        (_, Some(subject)) => format!("{name} {subject}"),
        (_, None) => name.to_owned(),
    };
    if let (Some(offset), "read") = (number("offset"), name) {
        line.push_str(&format!(":{offset}"));
        if let Some(limit) = number("limit") {
            let last = offset.saturating_add(limit.saturating_sub(1));
            line.push_str(&format!(":{last}"));
        }
    }
    text::one_line(&line, SUMMARY_CHARS)
}
