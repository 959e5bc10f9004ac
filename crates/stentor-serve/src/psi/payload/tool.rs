//! Tool events (section 10.8).

use serde_json::{Map, Value};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ToolCall, text_of};
use stentor_wire::edn::EdnWriter;

use super::message::write_blocks;
use crate::psi::text;

/// How long a line about a call may be.
const SUMMARY_CHARS: usize = 160;

/// A call about to run: with its arguments, or without.
pub(in crate::psi) fn write_call(
    writer: &mut EdnWriter<'_>,
    session_id: &str,
    call: &ToolCall,
    with_arguments: bool,
) {
    writer.map(|data| {
        write_head(data, session_id, call);
        if with_arguments {
            let json = serde_json::to_string(&call.arguments).unwrap_or_default();
            data.field("arguments", &json).key("parsed-args");
            write_object(data, &call.arguments);
        }
    });
}

/// What a call has said so far, or in the end.
pub(in crate::psi) fn write_output(
    writer: &mut EdnWriter<'_>,
    session_id: &str,
    call: &ToolCall,
    output: &ToolOutput,
) {
    writer.map(|data| {
        write_head(data, session_id, call);
        data.key("content");
        write_blocks(data, &output.content);
        data.field("result-text", &text_of(&output.content, "\n"))
            .field("details", &output.details)
            .field("is-error", &output.is_error);
    });
}

/// Whether there is nothing in it to show.
pub(in crate::psi) fn is_blank(output: &ToolOutput) -> bool {
    output.content.is_empty() && output.details.is_none()
}

/// A JSON object with string keys.
pub(in crate::psi) fn write_object(writer: &mut EdnWriter<'_>, object: &Map<String, Value>) {
    writer.map(|map| {
        for (name, value) in object {
            map.str(name).value(value);
        }
    });
}

/// One line about a call: `$ ls`, `read src/main.rs:1:40`.
pub(in crate::psi) fn summary(call: &ToolCall) -> String {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64);
    let line = match call.name.as_str() {
        "bash" => format!("$ {}", text("command").unwrap_or_default()),
        name => {
            let subject = [
                "path",
                "file_path",
                "pattern",
                "url",
                "query",
                "action",
                "task",
            ]
            .into_iter()
            .find_map(text);
            let mut line = name.to_owned();
            if let Some(subject) = subject {
                line.push(' ');
                line.push_str(subject);
            }
            if let (Some(offset), "read") = (number("offset"), name) {
                line.push_str(&format!(":{offset}"));
                if let Some(limit) = number("limit") {
                    line.push_str(&format!(
                        ":{}",
                        offset.saturating_add(limit.saturating_sub(1))
                    ));
                }
            }
            line
        }
    };
    text::one_line(&line, SUMMARY_CHARS)
}

fn write_head(data: &mut EdnWriter<'_>, session_id: &str, call: &ToolCall) {
    data.field("session-id", session_id)
        .field("tool-id", &call.id)
        .field("tool-name", &call.name)
        .field("call-summary", &summary(call));
}
