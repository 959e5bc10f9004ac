//! Messages and their content (section 11.1), tool events (section 10.8).

use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_agent::tool::ToolOutput;
use stentor_journal::clock::iso_time;
use stentor_journal::message::{
    AssistantMessage, ContentBlock, KnownBlock, KnownMessage, Message, StopReason, ToolCall,
    UserContent, text_of,
};
use stentor_journal::usage::Usage;
use stentor_wire::edn::{EdnWriter, Fields, Keyword, WriteEdn};
use stentor_wire::psi::Topic;

use crate::psi::item::ItemPart;
use crate::psi::live::PsiSession;
use crate::psi::long_text::{LongText, LongTexts};
use crate::psi::text;

/// What an aborted answer says (section 9.3, `abort`).
const ABORTED: &str = "Aborted";

/// A message of the transcript.
pub struct ShownMessage<'a>(pub &'a Message);

/// The messages of a transcript. What no client could show is left out.
pub struct Messages<'a>(pub &'a [Arc<Message>]);

impl WriteEdn for Messages<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let is_shown = |message: &&Arc<Message>| !matches!(***message, Message::Other(_));
        writer.vector(|list| {
            for message in self.0.iter().filter(is_shown) {
                list.value(&ShownMessage(message));
            }
        });
    }
}

impl WriteEdn for ShownMessage<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let timestamp = iso_time(self.0.timestamp());
        writer.map(|map| {
            match self.0 {
                Message::Known(KnownMessage::User(message) | KnownMessage::Developer(message)) => {
                    map.field("role", "user").key("content");
                    write_user_content(map, &message.content);
                }
                Message::Known(KnownMessage::Assistant(message)) => {
                    map.field("role", "assistant").key("content");
                    write_answer(map, message);
                    write_end(map, message);
                }
                Message::Known(KnownMessage::ToolResult(message)) => {
                    map.field("role", "toolResult").key("content");
                    write_blocks(map, &message.content);
                    map.field("tool-call-id", &message.tool_call_id)
                        .field("tool-name", &message.tool_name)
                        .field("is-error", &message.is_error)
                        .field("details", &message.details)
                        .field("result-text", &text_of(&message.content, "\n"));
                }
                Message::Known(KnownMessage::BashExecution(run)) => {
                    let shown = format!("$ {}\n{}", run.command, run.output);
                    map.field("role", "user").field("content", &shown);
                }
                Message::Known(KnownMessage::Custom(message)) => {
                    map.field("role", "assistant").key("content");
                    write_user_content(map, &message.content);
                    map.field("custom-type", &message.custom_type);
                }
                Message::Known(KnownMessage::BranchSummary(branch)) => {
                    map.field("role", "user").field("content", &branch.summary);
                }
                Message::Known(KnownMessage::CompactionSummary(summary)) => {
                    map.field("role", "user").field("content", &summary.summary);
                }
                Message::Other(_) => {
                    map.field("role", "user").field("content", "");
                }
            }
            map.field("timestamp", &timestamp);
        });
    }
}

/// The payload of `assistant/message` for a run's answer (section 10.7). Its texts are left open.
pub fn write_final<'m>(
    writer: &mut EdnWriter<'_>,
    session_id: &str,
    message: &'m AssistantMessage,
    texts: &mut LongTexts<'m>,
) {
    let shown = display_text(message);
    writer.map(|data| {
        data.field("session-id", session_id)
            .field("role", "assistant")
            .key("content")
            .vector(|list| {
                for block in &message.content {
                    let Some(text) = block.as_text() else {
                        write_block(list, block);
                        continue;
                    };
                    list.map(|map| {
                        map.field("type", &Keyword("text")).key("text");
                        texts.leave_open(map, [LongText::Plain(text)]);
                    });
                }
                write_abort(list, message);
            });
        if shown.iter().any(|part| !part.is_empty()) {
            data.key("text");
            texts.leave_open(data, shown.into_iter().map(LongText::Plain));
        }
        write_end(data, message);
    });
}

/// The payload of `assistant/message` for a text of our own.
pub struct TextMessage<'a> {
    pub session_id: &'a str,
    pub role: &'a str,
    pub text: &'a str,
    pub custom_type: Option<&'a str>,
}

impl WriteEdn for TextMessage<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let block = Fields(&[("type", &Keyword("text")), ("text", &self.text)]);
        writer.map(|data| {
            data.field("session-id", self.session_id)
                .field("role", self.role)
                .field("content", &[block][..])
                .field("text", self.text)
                .field_if_some("custom-type", self.custom_type);
        });
    }
}

/// A text in the transcript of a session.
pub fn transcript_text(live: &PsiSession, text: &str) -> ItemPart {
    let message = TextMessage {
        session_id: &live.id,
        role: "assistant",
        text,
        custom_type: None,
    };
    ItemPart::Event {
        topic: Topic::AssistantMessage,
        session: Some(Arc::clone(&live.id)),
        data: super::form(&message),
    }
}

/// Content blocks.
pub fn write_blocks(writer: &mut EdnWriter<'_>, blocks: &[ContentBlock]) {
    writer.vector(|list| {
        for block in blocks {
            write_block(list, block);
        }
    });
}

/// Why a model stopped.
pub fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop | StopReason::Unknown => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool-use",
        StopReason::Error => "error",
        StopReason::Aborted => "aborted",
    }
}

fn error_text(message: &AssistantMessage) -> Option<&str> {
    match message.stop_reason {
        StopReason::Aborted => Some(ABORTED),
        _ => message.error_message.as_deref(),
    }
}

fn write_answer(writer: &mut EdnWriter<'_>, message: &AssistantMessage) {
    writer.vector(|list| {
        for block in &message.content {
            write_block(list, block);
        }
        write_abort(list, message);
    });
}

fn write_abort(list: &mut EdnWriter<'_>, message: &AssistantMessage) {
    if message.stop_reason == StopReason::Aborted {
        list.map(|block| {
            block
                .field("type", &Keyword("error"))
                .field("text", ABORTED);
        });
    }
}

fn write_end(writer: &mut EdnWriter<'_>, message: &AssistantMessage) {
    writer
        .field("stop-reason", &Keyword(stop_reason(message.stop_reason)))
        .field_if_some("error-message", error_text(message));
    if !message.usage.is_zero() {
        writer.key("usage");
        write_usage(writer, &message.usage);
    }
}

/// What is shown of an answer: its texts, one below the other, and that it was aborted.
fn display_text(message: &AssistantMessage) -> Vec<&str> {
    let mut shown = Vec::new();
    for text in message.content.iter().filter_map(ContentBlock::as_text) {
        if !shown.is_empty() {
            shown.push("\n");
        }
        shown.push(text);
    }
    if message.stop_reason == StopReason::Aborted {
        if shown.iter().any(|part| !part.is_empty()) {
            shown.push("\n");
        }
        shown.extend(["[error] ", ABORTED]);
    }
    shown
}

fn write_user_content(writer: &mut EdnWriter<'_>, content: &UserContent) {
    match content {
        UserContent::Text(text) => {
            writer.str(text);
        }
        UserContent::Blocks(blocks) => write_blocks(writer, blocks),
    }
}

fn write_block(writer: &mut EdnWriter<'_>, block: &ContentBlock) {
    let ContentBlock::Known(block) = block else {
        return;
    };
    match block {
        KnownBlock::Text(block) => writer.map(|map| {
            map.field("type", &Keyword("text"))
                .field("text", &block.text);
        }),
        KnownBlock::Thinking(block) => writer.map(|map| {
            map.field("type", &Keyword("thinking"))
                .field("text", &block.thinking)
                .field_if_some("signature", block.thinking_signature.as_ref());
        }),
        // Nobody is shown what the provider keeps to itself.
        KnownBlock::RedactedThinking(_) => writer,
        KnownBlock::ToolCall(call) => writer.map(|map| {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            map.field("type", &Keyword("tool-call"))
                .field("id", &call.id)
                .field("name", &call.name)
                .field("arguments", &arguments);
        }),
        KnownBlock::Image(image) => writer.map(|map| {
            map.field("type", &Keyword("image"))
                .field("mime-type", &image.mime_type)
                .field("data", &*image.data);
        }),
        KnownBlock::Document(document) => writer.map(|map| {
            let name = document.name.as_deref().unwrap_or("document");
            let shown = format!("[{name}, {}]", document.mime_type);
            map.field("type", &Keyword("text")).field("text", &shown);
        }),
    };
}

fn write_usage(writer: &mut EdnWriter<'_>, usage: &Usage) {
    writer.map(|map| {
        map.field("input-tokens", &usage.input)
            .field("output-tokens", &usage.output)
            .field("cache-read-tokens", &usage.cache_read)
            .field("cache-write-tokens", &usage.cache_write)
            .field("total-tokens", &usage.total_tokens)
            .key("cost")
            .map(|cost| {
                cost.field("input", &usage.cost.input)
                    .field("output", &usage.cost.output)
                    .field("cache-read", &usage.cost.cache_read)
                    .field("cache-write", &usage.cost.cache_write)
                    .field("total", &usage.cost.total);
            });
    });
}

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
                .field("call-summary", &call_summary(call));
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
pub fn call_summary(call: &ToolCall) -> String {
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
