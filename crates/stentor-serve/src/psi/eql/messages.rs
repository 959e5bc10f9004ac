//! What was said and done in a session.

use std::collections::HashMap;
use std::sync::Arc;

use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::session::SessionError;
use stentor_journal::clock::iso_time;
use stentor_journal::message::{AssistantMessage, Message, ToolCall, ToolResultMessage, text_of};
use stentor_wire::edn::Value;

use super::graph::OF_SESSION;
use super::table::{Fact, FactTable, entity, value_of, vector, written};
use crate::psi::live::{PsiSession, PsiTurn, TurnAnswer, TurnState};
use crate::psi::payload::message::Messages;
use crate::psi::payload::message::write_object;

pub(super) static HISTORY: FactTable<Vec<Arc<Message>>> = FactTable {
    symbol: "psi.history/messages",
    domain: "history",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[Fact("message-history", |messages| {
        value_of(&Messages(messages))
    })],
};

pub(super) static TOOL_CALLS: FactTable<Vec<Arc<Message>>> = FactTable {
    symbol: "psi.history/tool-calls",
    domain: "history",
    input: OF_SESSION,
    namespace: "psi.agent-session",
    facts: &[Fact("tool-lifecycle-summaries", |messages| {
        tool_calls(messages)
    })],
};

/// The model call that is going on: how a user who switches to a running session sees it.
pub(super) struct TurnFacts {
    turn: PsiTurn,
    is_streaming: bool,
}

#[rustfmt::skip]
pub(super) static TURN: FactTable<TurnFacts> = FactTable {
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
        summary(answer, call, result)
    });
    Value::Vector(summaries.collect())
}

fn summary(
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
