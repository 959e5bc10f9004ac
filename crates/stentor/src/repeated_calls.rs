//! A model that makes the same call again and again, with the same result, gets nowhere.
//!
//! Another agent runs its calls itself, and need not tell what they are called with: such a call is the
//! same as no other.

use std::sync::Arc;

use stentor_agent::event::EventKind;
use stentor_agents::PROVIDER;
use stentor_journal::message::{
    AssistantMessage, ContentBlock, KnownMessage, Message, ToolCall, ToolResultMessage,
};

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
    /// Only of a call that ran elsewhere.
    intent: Option<String>,
    result: Vec<ContentBlock>,
    /// Only of a call that ran elsewhere.
    details: Option<serde_json::Value>,
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
        let answer = message.as_assistant()?;
        let calls: Vec<&ToolCall> = answer.tool_calls().collect();
        let results = results.iter().filter_map(|result| match &**result {
            Message::Known(KnownMessage::ToolResult(result)) => Some(result),
            Message::Known(_) | Message::Other(_) => None,
        });
        let called: Vec<PastCall> = calls
            .iter()
            .zip(results)
            .map(|(call, result)| PastCall::new(answer, call, result))
            .collect();
        let is_known = calls.iter().all(|call| is_told(answer, call));
        let is_same = is_known && !called.is_empty() && called == self.last;
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

impl PastCall {
    fn new(answer: &AssistantMessage, call: &ToolCall, result: &ToolResultMessage) -> Self {
        // Those of our own tools may name a file or a time that is another with each call.
        let is_elsewhere = answer.provider == PROVIDER;
        Self {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            intent: call.intent.clone().filter(|_| is_elsewhere),
            result: result.content.clone(),
            details: result.details.clone().filter(|_| is_elsewhere),
        }
    }
}

/// True when it is known what a call was made with.
fn is_told(answer: &AssistantMessage, call: &ToolCall) -> bool {
    answer.provider != PROVIDER || !call.arguments.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn turn(provider: &str, call: &Value, details: &Value) -> EventKind {
        let mut block = json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": {} });
        for (key, value) in call.as_object().unwrap() {
            block[key] = value.clone();
        }
        let message = json!({
            "role": "assistant", "content": [block], "api": "x", "provider": provider,
            "model": "m", "stopReason": "toolUse", "timestamp": 0,
        });
        let result = json!({
            "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [],
            "details": details, "isError": false, "timestamp": 0,
        });
        EventKind::TurnEnded {
            message: Arc::new(serde_json::from_value(message).unwrap()),
            tool_results: vec![Arc::new(serde_json::from_value(result).unwrap())].into(),
        }
    }

    /// What a person is warned of after as many turns as are too many, whose calls and details are
    /// these with their number.
    fn warned(provider: &str, made: impl Fn(usize) -> (Value, Value)) -> Option<String> {
        let mut repeated = RepeatedCalls::default();
        let turns = (0..MOST_REPETITIONS).map(made);
        let mut warned =
            turns.filter_map(|(call, details)| repeated.on_event(&turn(provider, &call, &details)));
        warned.next()
    }

    #[test]
    fn calls_of_another_agent_are_the_same_only_if_all_that_it_tells_of_them_is() {
        let path = json!({ "path": "a" });
        let same = |call: Value| move |_: usize| (call.clone(), Value::Null);
        assert!(warned("agent", same(json!({ "arguments": path }))).is_some());
        // What nothing is known of is not the same, whatever its title.
        assert_eq!(warned("agent", same(json!({}))), None);
        let titled = |n: usize| (json!({ "intent": format!("Reading {n}") }), Value::Null);
        assert_eq!(warned("agent", titled), None);
        assert_eq!(warned("agent", same(json!({ "intent": "Reading" }))), None);
        let placed = |n: usize| {
            let places = json!({ "locations": [{ "path": "a", "line": n }] });
            (json!({ "arguments": { "path": "a" } }), places)
        };
        assert_eq!(warned("agent", placed), None);
        let other_title = |n: usize| {
            let call = json!({ "arguments": { "path": "a" }, "intent": format!("Part {n}") });
            (call, Value::Null)
        };
        assert_eq!(warned("agent", other_title), None);
        // Of a model's own calls everything is known.
        assert!(warned("openai", same(json!({}))).is_some());
        assert!(warned("openai", placed).is_some());
        assert!(warned("openai", titled).is_some());
    }
}
