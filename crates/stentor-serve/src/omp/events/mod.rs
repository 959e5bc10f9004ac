//! The way out: events of the session become frames (sections 8 and 9). Which event is written
//! where is here; the frames are in the modules, by their subject.

mod answer;
mod compaction;
mod panel;
mod plan;
mod questions;
mod retry;
mod run;
mod state;
mod subagent;
mod tool_call;

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::event::{Event, EventKind, Queues};
use stentor_wire::omp::frame::Frame;

use super::connection::OmpConnection;
use super::framing::AgentFrame;
use super::nested::Nested;
use super::prompt_results::RunResult;
use super::updates::Updates;
use crate::pump::EventEncoder;

/// Encodes the events of one session.
pub(super) struct OmpEncoder {
    connection: Arc<OmpConnection>,
    /// Which session of this process it is.
    generation: u32,
    updates: Updates,
    /// How the last run ended, if there was one since the session was idle.
    outcome: Option<RunResult>,
    queues: Arc<Queues>,
    nested: Nested,
    rest: Option<Duration>,
    /// The client only watches.
    observes: bool,
}

impl OmpEncoder {
    /// An encoder for session number `generation` of this process.
    pub fn new(connection: Arc<OmpConnection>, generation: u32) -> Self {
        Self {
            connection,
            generation,
            updates: Updates::default(),
            outcome: None,
            queues: Arc::default(),
            nested: Nested::default(),
            rest: None,
            observes: false,
        }
    }

    /// The same for a client that only watches: it is asked nothing.
    pub fn observing(self, observes: bool) -> Self {
        Self { observes, ..self }
    }

    fn event(&self, frames: &mut Vec<u8>, name: &'static str, frame: &AgentFrame<'_>) {
        if self.connection.wants.now().event(name) {
            self.connection.framing.write(frames, name, frame);
        }
    }

    /// A frame that no filter of a client holds back.
    fn always(&self, frames: &mut Vec<u8>, name: &'static str, frame: &AgentFrame<'_>) {
        if !self.connection.events_only {
            self.connection.framing.write(frames, name, frame);
        }
    }
}

impl EventEncoder for OmpEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) {
        self.rest = None;
        match &event.kind {
            EventKind::BlockDelta { live, block, range } => {
                self.block_grew(frames, live, block, range.clone());
            }
            EventKind::AnswerStarted(live) => self.answer_started(frames, live),
            EventKind::BlockStarted { live, block } => self.block_started(frames, live, block),
            // The originals do not tell the end of a block that was cut.
            EventKind::BlockEnded { cut: true, .. } => {}
            EventKind::BlockEnded {
                live, block, call, ..
            } => self.block_ended(frames, live, block, call.as_deref()),
            EventKind::MessageStarted {
                number,
                entry_id,
                message,
            } => self.message_started(frames, *number, entry_id, message),
            EventKind::MessageEnded { number, message } => {
                self.message_ended(frames, *number, message);
            }
            EventKind::RunStarted => self.run_started(frames),
            EventKind::RunEnded(end) => self.run_ended(frames, end),
            EventKind::TurnStarted => self.event(frames, "turn_start", &Frame::TurnStart),
            EventKind::TurnEnded {
                message,
                tool_results,
            } => self.turn_ended(frames, message, tool_results),
            EventKind::Settled { aborted } => self.settled(frames, event.seq, *aborted),
            EventKind::ToolStarted { call } => self.tool_started(frames, call),
            EventKind::ToolProgress { call, partial } => self.tool_progress(frames, call, partial),
            EventKind::ToolEnded {
                call,
                output,
                duration_ms,
            } => self.tool_ended(frames, call, output, *duration_ms),
            EventKind::BashOutput { id, delta } => self.bash_output(frames, *id, delta),
            EventKind::QueueChanged(queues) => self.queue_changed(frames, queues),
            EventKind::StateChanged(change) => self.state_changed(frames, &event.session, change),
            EventKind::CommandsChanged(commands) => self.commands_changed(frames, commands),
            EventKind::EntryAppended { entry, .. } => self.entry_appended(frames, entry.as_deref()),
            EventKind::CompactionStarted { reason } => self.compaction_started(frames, *reason),
            EventKind::CompactionEnded(end) => self.compaction_ended(frames, end),
            EventKind::SummaryRetry(retry) => self.summary_retry(frames, retry),
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => self.retry_started(frames, *attempt, *max_attempts, *delay_ms, error),
            EventKind::RetryEnded {
                success,
                attempt,
                final_error,
            } => self.retry_ended(frames, *success, *attempt, final_error.as_deref()),
            EventKind::FallbackApplied(fallback) => self.fallback_applied(frames, fallback),
            EventKind::FallbackSucceeded { model, role } => {
                self.fallback_succeeded(frames, model, role);
            }
            // Clients of this dialect read the plan when they want it, and whether something goes on
            // in the background. Of a command that somebody else runs there is only the output.
            EventKind::PlanChanged(_)
            | EventKind::JobsChanged
            | EventKind::BashStarted { .. }
            | EventKind::BashEnded { .. } => {}
            EventKind::PlanTidied => self.event(frames, "todo_auto_clear", &Frame::TodoAutoClear),
            EventKind::PlanReminder {
                plan,
                attempt,
                max_attempts,
            } => self.plan_reminder(frames, plan, *attempt, *max_attempts),
            EventKind::RulesTriggered(rules) => self.rules_triggered(frames, rules),
            EventKind::PermissionAsked { id, request } => self.permission(frames, *id, request),
            EventKind::PermissionAnswered { id, .. } => {
                self.permission_answered(frames, *id);
            }
            EventKind::DialogAsked { id, dialog } => self.dialog_asked(frames, *id, dialog),
            EventKind::DialogClosed { id, .. } => self.dialog_closed(frames, *id),
            EventKind::Notice {
                level,
                message,
                from,
            } => self.notice(frames, *level, message, *from),
            EventKind::ExtensionFailed {
                extension,
                event,
                error,
            } => self.extension_failed(frames, extension, event, error),
            EventKind::Status { key, text } => self.status(frames, key, text.as_deref()),
            EventKind::Widget {
                key,
                lines,
                placement,
            } => self.widget(frames, key, lines.as_deref(), *placement),
            EventKind::Title(title) => self.title(frames, title),
            EventKind::EditorText(text) => self.editor_text(frames, text),
            EventKind::SubagentStarted(agent) => {
                self.subagent_started(frames, agent, event.time_ms)
            }
            EventKind::SubagentProgress {
                agent,
                status,
                work,
            } => self.subagent_progress(frames, agent, status, work, event.time_ms),
            EventKind::SubagentEvent { agent, event } => self.subagent_event(frames, agent, event),
            EventKind::SubagentEnded { agent, end } => self.subagent_ended(frames, agent, end),
            EventKind::ShutdownAsked => self.connection.shutdown.cancel(),
        }
    }

    fn next_part(&mut self, frames: &mut Vec<u8>) -> bool {
        self.updates.next_part(frames)
    }

    fn rest(&mut self) -> Option<Duration> {
        self.rest
    }
}

#[cfg(test)]
mod tests;
