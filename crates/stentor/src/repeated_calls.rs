//! A model that makes the same call again and again, with the same result, gets nowhere.

use std::sync::Arc;

use stentor_agent::event::EventKind;
use stentor_journal::message::{ContentBlock, KnownMessage, Message, ToolCall};

use crate::print::call_line::call_summary;

/// As often as this the same calls with the same results say nothing new.
const MOST_REPETITIONS: usize = 6;

/// Counts turns whose calls repeat those of the turn before. Calls of one answer are no repetition.
#[derive(Debug, Default)]
pub struct RepeatedCalls {
    last: Vec<PastCall>,
    count: usize,
}

/// A call and what it gave.
#[derive(Debug, Clone, PartialEq)]
struct PastCall {
    name: String,
    arguments: serde_json::Map<String, serde_json::Value>,
    result: Vec<ContentBlock>,
}

impl RepeatedCalls {
    /// Looks at an event. Returns what to warn a person of when it is time to stop the run.
    pub fn on_event(&mut self, kind: &EventKind) -> Option<String> {
        match kind {
            EventKind::RunStarted => *self = Self::default(),
            EventKind::TurnEnded {
                message,
                tool_results,
            } => return self.turn_ended(message, tool_results),
            _ => {}
        }
        None
    }

    fn turn_ended(&mut self, message: &Message, results: &[Arc<Message>]) -> Option<String> {
        let calls: Vec<&ToolCall> = message.as_assistant()?.tool_calls().collect();
        let results = results.iter().filter_map(|result| match &**result {
            Message::Known(KnownMessage::ToolResult(result)) => Some(result.content.clone()),
            Message::Known(_) | Message::Other(_) => None,
        });
        let called: Vec<PastCall> = calls
            .iter()
            .zip(results)
            .map(|(call, result)| PastCall {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                result,
            })
            .collect();
        let is_same = !called.is_empty() && called == self.last;
        self.count = if is_same { self.count + 1 } else { 1 };
        self.last = called;
        let call = calls.first()?;
        (self.count == MOST_REPETITIONS).then(|| {
            let what = format!("{} {}", call.name, call_summary(call));
            format!(
                "stopped: the model made the same call {MOST_REPETITIONS} times in a row, with the \
                 same result: {}",
                what.trim_end()
            )
        })
    }
}
