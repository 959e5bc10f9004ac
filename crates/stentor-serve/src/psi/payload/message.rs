//! Messages and their content (section 11.1), tool events (section 10.8), and what queries find of
//! both.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::session::SessionError;
use stentor_agent::tool::ToolOutput;
use stentor_journal::clock::iso_time;
use stentor_journal::message::{
    AssistantMessage, ContentBlock, KnownBlock, KnownMessage, Message, StopReason, ToolCall,
    ToolResultMessage, UserContent, text_of,
};
use stentor_journal::usage::Usage;
use stentor_wire::edn::{EdnWriter, Fields, Keyword, Value, WriteEdn};
use stentor_wire::psi::Topic;

use crate::psi::eql::graph::OF_SESSION;
use crate::psi::eql::table::{Fact, FactTable, entity, value_of, vector, written};
use crate::psi::item::ItemPart;
use crate::psi::live::{PsiSession, PsiTurn, TurnAnswer, TurnState};
use crate::psi::long_text::{LongText, LongTexts};
use crate::psi::text;

/// What an aborted answer says (section 9.3, `abort`).
const ABORTED: &str = "Aborted";

/// The messages of a transcript. What no client could show is left out.
pub struct Messages<'a>(pub &'a [Arc<Message>]);

impl WriteEdn for Messages<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let messages = self.0.iter().filter_map(|message| match &**message {
            Message::Known(known) => Some(known),
            Message::Other(_) => None,
        });
        writer.maps(messages, write_message);
    }
}

fn write_message(map: &mut EdnWriter<'_>, message: &KnownMessage) {
    match message {
        KnownMessage::User(message) | KnownMessage::Developer(message) => {
            map.field("role", "user").key("content");
            write_user_content(map, &message.content);
        }
        KnownMessage::Assistant(message) => {
            map.field("role", "assistant")
                .key("content")
                .vector(|list| {
                    message
                        .content
                        .iter()
                        .for_each(|block| write_block(list, block));
                    write_abort(list, message);
                });
            write_end(map, message);
        }
        KnownMessage::ToolResult(message) => {
            map.field("role", "toolResult").key("content");
            write_blocks(map, &message.content);
            map.field("tool-call-id", &message.tool_call_id)
                .field("tool-name", &message.tool_name)
                .field("is-error", &message.is_error)
                .field("details", &message.details)
                .field("result-text", &text_of(&message.content, "\n"));
        }
        KnownMessage::BashExecution(run) => {
            let shown = format!("$ {}\n{}", run.command, run.output);
            map.field("role", "user").field("content", &shown);
        }
        KnownMessage::Custom(message) => {
            map.field("role", "assistant").key("content");
            write_user_content(map, &message.content);
            map.field("custom-type", &message.custom_type);
        }
        KnownMessage::BranchSummary(branch) => {
            map.field("role", "user").field("content", &branch.summary);
        }
        KnownMessage::CompactionSummary(summary) => {
            map.field("role", "user").field("content", &summary.summary);
        }
    }
    map.field("timestamp", &iso_time(message.timestamp()));
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
pub fn text_message(id: &str, role: &str, text: &str, custom_type: Option<&str>) -> Vec<u8> {
    let block = Fields(&[("type", &Keyword("text")), ("text", &text)]);
    super::map(|data| {
        data.field("session-id", id)
            .field("role", role)
            .field("content", &[block][..])
            .field("text", text)
            .field_if_some("custom-type", custom_type);
    })
}

/// A text in the transcript of a session.
pub fn transcript_text(live: &PsiSession, text: &str) -> ItemPart {
    ItemPart::Event {
        topic: Topic::AssistantMessage,
        session: Some(Arc::clone(&live.id)),
        data: text_message(&live.id, "assistant", text, None),
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
fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop | StopReason::Unknown => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool-use",
        StopReason::Error => "error",
        StopReason::Aborted => "aborted",
    }
}

fn write_abort(list: &mut EdnWriter<'_>, message: &AssistantMessage) {
    if message.stop_reason == StopReason::Aborted {
        list.value(&Fields(&[("type", &Keyword("error")), ("text", &ABORTED)]));
    }
}

fn write_end(writer: &mut EdnWriter<'_>, message: &AssistantMessage) {
    let error = match message.stop_reason {
        StopReason::Aborted => Some(ABORTED),
        _ => message.error_message.as_deref(),
    };
    writer
        .field("stop-reason", &Keyword(stop_reason(message.stop_reason)))
        .field_if_some("error-message", error);
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
pub fn write_object(writer: &mut EdnWriter<'_>, object: &Map<String, Json>) {
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
    let text = |name: &str| call.arguments.get(name).and_then(Json::as_str);
    let number = |name: &str| call.arguments.get(name).and_then(Json::as_u64);
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

pub static HISTORY: FactTable<Vec<Arc<Message>>> = FactTable {
    symbol: "psi.history/messages",
    domain: "history",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[Fact("message-history", |messages| {
        value_of(&Messages(messages))
    })],
};

pub static TOOL_CALLS: FactTable<Vec<Arc<Message>>> = FactTable {
    symbol: "psi.history/tool-calls",
    domain: "history",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[Fact("tool-lifecycle-summaries", |messages| {
        tool_calls(messages)
    })],
};

/// The model call that is going on: how a user who switches to a running session sees it.
pub struct TurnFacts {
    turn: PsiTurn,
    is_streaming: bool,
}

#[rustfmt::skip]
pub static TURN: FactTable<TurnFacts> = FactTable {
    symbol: "psi.agent-session/turn",
    domain: "agent-session",
    input: OF_SESSION,
    namespace: "psi.turn",
    facts: &[
        Fact("phase", |f| match f.turn.state {
            TurnState::None => Value::Nil,
            TurnState::Text => Value::keyword("text-accumulating"),
            TurnState::Tools => Value::keyword("tool-accumulating"),
            TurnState::Done => Value::keyword("done"),
            TurnState::Error => Value::keyword("error"),
        }),
        Fact("is-streaming", |f| f.is_streaming.into()),
        Fact("text", |f| f.turn.answer.as_ref().and_then(TurnAnswer::text).into()),
        Fact("tool-calls", |f| vector(&f.calls(), |block| written_call(block))),
        Fact("tool-call-count", |f| f.calls().len().into()),
    ],
};

impl TurnFacts {
    pub async fn of(live: &PsiSession) -> Result<Self, SessionError> {
        let state = live.session.state().await?;
        Ok(Self {
            turn: live.locked().turn.clone(),
            is_streaming: state.is_running && !state.is_compacting,
        })
    }

    fn calls(&self) -> Vec<Arc<LiveBlock>> {
        let answer = self.turn.answer.as_ref();
        answer.map(TurnAnswer::calls).unwrap_or_default()
    }
}

fn written_call(block: &LiveBlock) -> Value<'static> {
    match &block.kind {
        LiveBlockKind::ToolCall { id, name } => Value::map([
            ("id", id.clone().into()),
            ("name", name.clone().into()),
            ("arguments", block.with_all(str::to_owned).into()),
        ]),
        LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::Redacted => Value::Nil,
    }
}

/// Every call with what became of it, in the order the calls were made (section 12.2).
fn tool_calls(messages: &[Arc<Message>]) -> Value<'static> {
    let results: HashMap<&str, &ToolResultMessage> = messages
        .iter()
        .filter_map(|message| message.as_tool_result())
        .map(|result| (result.tool_call_id.as_str(), result))
        .collect();
    let answers = messages.iter().filter_map(|message| message.as_assistant());
    let calls = answers.flat_map(|answer| answer.tool_calls().map(move |call| (answer, call)));
    let summaries = calls.map(|(answer, call)| {
        let result = results.get(call.id.as_str()).copied();
        lifecycle_summary(answer, call, result)
    });
    Value::Vector(summaries.collect())
}

fn lifecycle_summary(
    answer: &AssistantMessage,
    call: &ToolCall,
    result: Option<&ToolResultMessage>,
) -> Value<'static> {
    let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
    let updated = result.map_or(answer.timestamp, |result| result.timestamp);
    let (events, last) = match result {
        Some(_) => (3, "tool-result"),
        None => (2, "tool-executing"),
    };
    let text = result.map(|result| text_of(&result.content, "\n"));
    let is_error = result.is_some_and(|result| result.is_error);
    let parsed = written(|writer| write_object(writer, &call.arguments));
    entity(
        "psi.tool-lifecycle.summary",
        [
            ("tool-id", call.id.clone().into()),
            ("tool-name", call.name.clone().into()),
            ("arguments", arguments.into()),
            ("parsed-args", parsed),
            ("result-text", text.into()),
            ("is-error", is_error.into()),
            ("completed?", result.is_some().into()),
            ("event-count", Value::Int(events)),
            ("last-event-kind", Value::keyword(last)),
            ("started-at", iso_time(answer.timestamp).into()),
            ("last-updated-at", iso_time(updated).into()),
        ],
    )
}
