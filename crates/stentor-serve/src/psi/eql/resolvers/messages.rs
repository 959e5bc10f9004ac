//! What was said and done in a session.

use std::collections::HashMap;
use std::sync::Arc;

use stentor_agent::live::LiveBlockKind;
use stentor_journal::clock::iso_time;
use stentor_journal::message::{Message, ToolResultMessage, text_of};
use stentor_wire::edn::Value;

use super::{attributes, entity, written};
use crate::psi::eql::{EqlError, Known};
use crate::psi::live::{Live, TurnAnswer, TurnState};
use crate::psi::payload::message::write_messages;
use crate::psi::payload::tool::write_object;

pub(in crate::psi::eql) async fn history(live: &Arc<Live>) -> Result<Known, EqlError> {
    let messages = live.session.messages().await?;
    Ok(attributes(
        "psi.agent-session",
        [(
            "message-history",
            written(|writer| write_messages(writer, &messages)),
        )],
    ))
}

/// Every call with what became of it, in the order the calls were made (section 12.2).
pub(in crate::psi::eql) async fn tool_calls(live: &Arc<Live>) -> Result<Known, EqlError> {
    let messages = live.session.messages().await?;
    let results: HashMap<&str, &ToolResultMessage> = messages
        .iter()
        .filter_map(|message| message.as_tool_result())
        .map(|result| (result.tool_call_id.as_str(), result))
        .collect();
    let mut summaries = Vec::new();
    for answer in messages
        .iter()
        .filter_map(|message: &Arc<Message>| message.as_assistant())
    {
        for call in answer.tool_calls() {
            let result = results.get(call.id.as_str());
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            let updated = result.map_or(answer.timestamp, |result| result.timestamp);
            let last = if result.is_some() {
                "tool-result"
            } else {
                "tool-executing"
            };
            summaries.push(entity(
                "psi.tool-lifecycle.summary",
                [
                    ("tool-id", call.id.clone().into()),
                    ("tool-name", call.name.clone().into()),
                    ("arguments", arguments.into()),
                    (
                        "parsed-args",
                        written(|writer| write_object(writer, &call.arguments)),
                    ),
                    (
                        "result-text",
                        result.map(|result| text_of(&result.content, "\n")).into(),
                    ),
                    (
                        "is-error",
                        result.is_some_and(|result| result.is_error).into(),
                    ),
                    ("completed?", result.is_some().into()),
                    (
                        "event-count",
                        Value::Int(if result.is_some() { 3 } else { 2 }),
                    ),
                    ("last-event-kind", Value::keyword(last)),
                    ("started-at", iso_time(answer.timestamp).into()),
                    ("last-updated-at", iso_time(updated).into()),
                ],
            ));
        }
    }
    Ok(attributes(
        "psi.agent-session",
        [("tool-lifecycle-summaries", Value::Vector(summaries))],
    ))
}

/// The model call that is going on: how a user who switches to a running session sees it.
pub(in crate::psi::eql) async fn turn(live: &Arc<Live>) -> Result<Known, EqlError> {
    let state = live.session.state().await?;
    let turn = live.turn();
    let phase = match turn.state {
        TurnState::None => Value::Nil,
        TurnState::Text => Value::keyword("text-accumulating"),
        TurnState::Tools => Value::keyword("tool-accumulating"),
        TurnState::Done => Value::keyword("done"),
        TurnState::Error => Value::keyword("error"),
    };
    let answer = turn.answer.as_ref();
    let blocks = answer.map(TurnAnswer::calls).unwrap_or_default();
    let calls = blocks.iter().filter_map(|block| match &block.kind {
        LiveBlockKind::ToolCall { id, name } => Some(Value::map([
            ("id", id.clone().into()),
            ("name", name.clone().into()),
            ("arguments", block.with_all(str::to_owned).into()),
        ])),
        LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::Redacted => None,
    });
    let calls: Vec<Value> = calls.collect();
    Ok(attributes(
        "psi.turn",
        [
            ("phase", phase),
            (
                "is-streaming",
                (state.is_running && !state.is_compacting).into(),
            ),
            ("text", answer.and_then(TurnAnswer::text).into()),
            ("tool-call-count", calls.len().into()),
            ("tool-calls", Value::Vector(calls)),
        ],
    ))
}
