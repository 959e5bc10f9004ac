//! What happens in subagents, for clients that want all of it: `subagent_event` (section 19).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use stentor_agent::event::{Event, EventKind, Subagent};
use stentor_wire::omp::escape_into;

use super::connection::OmpConnection;
use super::events::OmpEncoder;
use super::filter::WantedFrames;
use super::framing::Framing;
use super::subagents::wire_id;
use crate::pump::EventEncoder;

const NAME: &str = "subagent_event";

/// The encoders of the subagents at work, each for its own session.
#[derive(Default)]
pub(super) struct Nested {
    encoders: HashMap<u64, NestedEncoder>,
    /// Which subscription they were made for. What happened between two was not heard.
    subscription: u64,
}

struct NestedEncoder {
    connection: Arc<OmpConnection>,
    encoder: Box<OmpEncoder>,
    /// True between the beginning and the end of an answer whose beginning was heard.
    in_answer: bool,
}

impl Nested {
    /// Writes what an event of a subagent's session is in this dialect. Returns for how long its
    /// deltas may gather.
    pub fn encode(
        &mut self,
        framing: &Framing,
        wanted: &WantedFrames,
        agent: &Subagent,
        event: &Event,
        frames: &mut Vec<u8>,
    ) -> Option<Duration> {
        if self.subscription != wanted.subscription {
            self.encoders.clear();
            self.subscription = wanted.subscription;
        }
        let inner = self
            .encoders
            .entry(agent.id)
            .or_insert_with(NestedEncoder::new);
        if !inner.is_shown(&event.kind) {
            return None;
        }
        inner.connection.wants.mirror(wanted.updates);
        let mut lines = Vec::new();
        inner.encoder.encode(event, &mut lines);
        // Each frame goes into one of ours, whole.
        while inner.encoder.next_part(&mut lines) {}
        let id = wire_id(agent);
        for line in lines.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            let start = frames.len();
            frames.extend_from_slice(b"{\"type\":\"subagent_event\",\"payload\":{\"id\":\"");
            escape_into(&id, frames);
            frames.extend_from_slice(b"\",\"event\":");
            frames.extend_from_slice(line);
            frames.extend_from_slice(b"}}");
            framing.finish_event(frames, start, NAME);
        }
        inner.encoder.rest()
    }

    /// A subagent is gone.
    pub fn ended(&mut self, agent: &Subagent) {
        self.encoders.remove(&agent.id);
    }
}

impl NestedEncoder {
    fn new() -> Self {
        let connection: Arc<OmpConnection> = Arc::default();
        Self {
            encoder: Box::new(OmpEncoder::new(Arc::clone(&connection), 0)),
            connection,
            in_answer: false,
        }
    }

    /// True for what belongs to a conversation. Questions and notices are the session's own, and
    /// of an answer whose beginning was not heard only its end is told.
    fn is_shown(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::AnswerStarted(_) => {
                self.in_answer = true;
                true
            }
            EventKind::BlockStarted { .. }
            | EventKind::BlockDelta { .. }
            | EventKind::BlockEnded { .. } => self.in_answer,
            EventKind::MessageEnded { message, .. } => {
                if message.as_assistant().is_some() {
                    self.in_answer = false;
                }
                true
            }
            EventKind::RunStarted
            | EventKind::RunEnded(_)
            | EventKind::TurnStarted
            | EventKind::TurnEnded { .. }
            | EventKind::MessageStarted { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolProgress { .. }
            | EventKind::ToolEnded { .. }
            | EventKind::QueueChanged(_)
            | EventKind::CompactionStarted { .. }
            | EventKind::CompactionEnded(_)
            | EventKind::RetryStarted { .. }
            | EventKind::RetryEnded { .. }
            | EventKind::FallbackApplied(_)
            | EventKind::SummaryRetry(_)
            | EventKind::FallbackSucceeded { .. }
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. } => true,
            EventKind::StateChanged(_)
            | EventKind::EntryAppended { .. }
            | EventKind::Settled { .. }
            | EventKind::PlanChanged(_)
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::ShutdownAsked
            | EventKind::BashStarted { .. }
            | EventKind::BashOutput { .. }
            | EventKind::BashEnded { .. }
            | EventKind::PermissionAsked { .. }
            | EventKind::PermissionAnswered { .. }
            | EventKind::Notice { .. }
            | EventKind::DialogAsked { .. }
            | EventKind::DialogClosed { .. }
            | EventKind::Status { .. }
            | EventKind::Widget { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::CommandsChanged(_)
            | EventKind::SubagentStarted(_)
            | EventKind::SubagentProgress { .. }
            | EventKind::SubagentEvent { .. }
            | EventKind::SubagentEnded { .. }
            | EventKind::ExtensionFailed { .. } => false,
        }
    }
}
