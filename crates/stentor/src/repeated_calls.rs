//! A model that makes the same call again and again, with the same result, gets nowhere.

use stentor_agent::event::EventKind;
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ToolCall;

use crate::print::call_line::call_summary;

/// As often as this the same call with the same result says nothing new.
const MOST_REPETITIONS: usize = 6;

/// Counts calls that repeat the one before.
#[derive(Debug, Default)]
pub struct RepeatedCalls {
    last: Option<(ToolCall, ToolOutput)>,
    count: usize,
}

impl RepeatedCalls {
    /// Looks at an event. Says what to tell a person when it is time to stop the run.
    pub fn on_event(&mut self, kind: &EventKind) -> Option<String> {
        match kind {
            EventKind::RunStarted => *self = Self::default(),
            EventKind::ToolEnded { call, output, .. } => return self.ended(call, output),
            _ => {}
        }
        None
    }

    fn ended(&mut self, call: &ToolCall, output: &ToolOutput) -> Option<String> {
        let is_same = self.last.as_ref().is_some_and(|(last, result)| {
            last.name == call.name && last.arguments == call.arguments && result == output
        });
        self.count = if is_same { self.count + 1 } else { 1 };
        self.last = Some((call.clone(), output.clone()));
        (self.count == MOST_REPETITIONS).then(|| {
            format!(
                "stopped: the model made the same call {MOST_REPETITIONS} times in a row, with the \
                 same result: {} {}",
                call.name,
                call_summary(call)
            )
        })
    }
}
