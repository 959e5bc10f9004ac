//! The way out: what happens in the session, in the words of the wire.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use stentor_agent::event::{Event, EventKind, NoticeLevel, Subagent, SubagentEnd};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ToolCall, text_of};
use stentor_journal::usage::Usage;
use stentor_wire::synaps::{self, AssistantEvent, MAX_FRAME_BYTES, ascii, truncated};

use tokio_util::sync::CancellationToken;

use super::closing;
use super::cursor::FrameNumbering;
use super::limits;
use super::turn::{Turns, turn_usage};
use crate::pump::EventEncoder;

/// Writes the frames of a session's events.
pub(super) struct SynapsEncoder {
    pub turns: Turns,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
    /// Others may have to do with the session, too.
    pub is_shared: bool,
    /// What the turn of somebody else has consumed, while there is one.
    pub foreign: Option<Usage>,
    /// Where the parent wants every frame to say where it is.
    pub numbering: Option<FrameNumbering>,
    /// The calls that the parent has seen begin, if it came while a turn was under way. Others of that
    /// turn are announced when they show.
    pub seen_calls: Option<HashSet<String>>,
}

impl EventEncoder for SynapsEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) {
        let start = frames.len();
        self.announce_calls(&event.kind, frames);
        self.encode_event(event, frames);
        if let Some(numbering) = &mut self.numbering {
            numbering.number(event, frames, start);
        }
    }
}

impl SynapsEncoder {
    /// A call that was written before the parent came begins for it when it runs, or when somebody is
    /// asked about it.
    fn announce_calls(&mut self, kind: &EventKind, frames: &mut Vec<u8>) {
        let Some(seen) = &mut self.seen_calls else {
            return;
        };
        let shows = match kind {
            EventKind::BlockStarted { block, .. } => {
                if let LiveBlockKind::ToolCall { id, .. } = &block.kind {
                    seen.insert(id.clone());
                }
                return;
            }
            EventKind::TurnEnded { .. } | EventKind::RunEnded(_) => {
                self.seen_calls = None;
                return;
            }
            EventKind::ToolStarted { call } | EventKind::ToolEnded { call, .. } => call,
            EventKind::PermissionAsked { request, .. } => &request.call,
            _ => return,
        };
        if seen.insert(shows.id.clone()) {
            call(frames, shows);
        }
    }

    fn encode_event(&mut self, event: &Event, frames: &mut Vec<u8>) {
        match &event.kind {
            EventKind::BlockDelta { block, range, .. } => delta(frames, block, range.clone()),
            EventKind::BlockStarted { block, .. } => block_started(frames, block),
            EventKind::BlockEnded { call, .. } => {
                if let Some(call) = call {
                    input(frames, call);
                }
            }
            EventKind::ToolEnded { call, output, .. } => result(frames, call, output),
            EventKind::RunEnded(end) => {
                self.turns.ran(event.seq, &end.usage, &end.outcome);
                if self.is_shared {
                    self.foreign.get_or_insert_default().add(&end.usage);
                }
            }
            EventKind::Settled { aborted } => {
                let foreign = self.foreign.take();
                if let Some(turn) = self.turns.settled(event.seq, *aborted) {
                    closing::write_end(frames, turn);
                } else if let Some(consumed) = foreign {
                    // The end of a turn that another client began: there is no command to answer.
                    let usage = turn_usage(&consumed, None);
                    write(frames, &synaps::Event::AgentEnd { usage });
                }
            }
            EventKind::SubagentStarted(agent) => subagent_started(frames, agent),
            EventKind::SubagentProgress { agent, status, .. } => {
                subagent_progress(frames, agent, status);
            }
            EventKind::SubagentEnded { agent, end } => subagent_ended(frames, agent, end),
            // The protocol has no words for these. A background problem above all must never
            // become an `error` frame: a parent that cannot attribute one gives up (16.3).
            EventKind::RunStarted
            | EventKind::TurnStarted
            | EventKind::TurnEnded { .. }
            | EventKind::MessageStarted { .. }
            | EventKind::AnswerStarted(_)
            | EventKind::MessageEnded { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolProgress { .. }
            | EventKind::QueueChanged(_)
            | EventKind::StateChanged(_)
            | EventKind::EntryAppended { .. }
            | EventKind::CompactionStarted { .. }
            | EventKind::CompactionEnded(_)
            | EventKind::RetryStarted { .. }
            | EventKind::RetryEnded { .. }
            | EventKind::FallbackSucceeded { .. }
            | EventKind::SummaryRetry(_)
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::PlanChanged(_)
            | EventKind::BashStarted { .. }
            | EventKind::BashOutput { .. }
            | EventKind::BashEnded { .. }
            | EventKind::PermissionAsked { .. }
            | EventKind::PermissionAnswered { .. }
            | EventKind::Notice {
                level: NoticeLevel::Info,
                ..
            }
            | EventKind::DialogAsked { .. }
            | EventKind::DialogClosed { .. }
            | EventKind::Status { .. }
            | EventKind::Widget { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::CommandsChanged(_)
            | EventKind::SubagentEvent { .. }
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. } => {}
            EventKind::ShutdownAsked => self.shutdown.cancel(),
            // The protocol has no frame for these; parents show what is on stderr as a warning.
            EventKind::Notice { message, .. } => tracing::error!("{message}"),
            EventKind::FallbackApplied(fallback) => {
                tracing::error!("{} steps in for {}", fallback.to, fallback.from);
            }
            EventKind::ExtensionFailed {
                extension,
                event: doing,
                error,
            } => tracing::error!("the extension {extension} failed in {doing}: {error}"),
        }
    }
}

/// Appends one frame.
pub(super) fn write(frames: &mut Vec<u8>, event: &synaps::Event) {
    if let Err(error) = ascii::write_line(frames, event) {
        tracing::error!(%error, "a frame could not be written");
    }
}

fn update(frames: &mut Vec<u8>, event: AssistantEvent) {
    write(frames, &synaps::Event::MessageUpdate { event });
}

/// A text that does not come in deltas.
pub(super) fn text(frames: &mut Vec<u8>, text: &str) {
    for piece in pieces(text) {
        let delta = piece.to_owned();
        update(frames, AssistantEvent::TextDelta { delta });
    }
}

/// Thinking that does not come in deltas.
pub(super) fn thinking(frames: &mut Vec<u8>, text: &str) {
    for piece in pieces(text) {
        let delta = piece.to_owned();
        update(frames, AssistantEvent::ThinkingDelta { delta });
    }
}

/// A call whose input does not come in deltas.
pub(super) fn call(frames: &mut Vec<u8>, call: &ToolCall) {
    let (tool_id, tool_name) = (call.id.clone(), call.name.clone());
    update(frames, AssistantEvent::ToolCallStart { tool_id, tool_name });
    input(frames, call);
}

/// The hot path: written straight into the buffer, in pieces that fit a frame.
fn delta(frames: &mut Vec<u8>, block: &Arc<LiveBlock>, range: Range<usize>) {
    let kind = match &block.kind {
        LiveBlockKind::Text => "text_delta",
        LiveBlockKind::Thinking => "thinking_delta",
        LiveBlockKind::ToolCall { .. } => "toolcall_input_delta",
        LiveBlockKind::Redacted => return,
    };
    block.with(range, |text| {
        for piece in pieces(text) {
            frames.extend_from_slice(b"{\"type\":\"message_update\",\"event\":{\"type\":\"");
            frames.extend_from_slice(kind.as_bytes());
            frames.extend_from_slice(b"\",");
            if let LiveBlockKind::ToolCall { id, .. } = &block.kind {
                frames.extend_from_slice(b"\"tool_id\":\"");
                ascii::escape_into(frames, id);
                frames.extend_from_slice(b"\",");
            }
            frames.extend_from_slice(b"\"delta\":\"");
            ascii::escape_into(frames, piece);
            frames.extend_from_slice(b"\"}}\n");
        }
    });
}

/// `text` in pieces of at most so many bytes that each fits a frame.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.floor_char_boundary(limits::DELTA_CHARS.min(rest.len()));
        let (piece, later) = rest.split_at(end);
        rest = later;
        Some(piece)
    })
}

fn block_started(frames: &mut Vec<u8>, block: &LiveBlock) {
    if let LiveBlockKind::ToolCall { id, name } = &block.kind {
        let (tool_id, tool_name) = (id.clone(), name.clone());
        update(frames, AssistantEvent::ToolCallStart { tool_id, tool_name });
    }
}

fn input(frames: &mut Vec<u8>, call: &ToolCall) {
    let input = synaps::fit(
        call.arguments.clone(),
        MAX_FRAME_BYTES - limits::DELTA_CHARS,
    );
    let tool_id = call.id.clone();
    update(
        frames,
        AssistantEvent::ToolCallInput {
            tool_id,
            input: input.into(),
        },
    );
}

fn result(frames: &mut Vec<u8>, call: &ToolCall, output: &ToolOutput) {
    let result = truncated(&text_of(&output.content, "\n"), limits::RESULT_BYTES);
    update(
        frames,
        AssistantEvent::ToolCallResult {
            tool_id: call.id.clone(),
            result,
        },
    );
}

fn subagent_started(frames: &mut Vec<u8>, agent: &Subagent) {
    write(
        frames,
        &synaps::Event::SubagentStart {
            subagent_id: agent.id,
            agent_name: agent.name.clone(),
            task_preview: preview(&agent.task, limits::TASK_PREVIEW_CHARS),
        },
    );
}

fn subagent_progress(frames: &mut Vec<u8>, agent: &Subagent, status: &str) {
    write(
        frames,
        &synaps::Event::SubagentUpdate {
            subagent_id: agent.id,
            agent_name: agent.name.clone(),
            status: preview(status, limits::RESULT_PREVIEW_CHARS),
        },
    );
}

fn subagent_ended(frames: &mut Vec<u8>, agent: &Subagent, end: &SubagentEnd) {
    let result = preview(&end.result, limits::RESULT_PREVIEW_CHARS);
    let result_preview = if end.failed {
        format!("ERROR: {result}")
    } else {
        result
    };
    write(
        frames,
        &synaps::Event::SubagentDone {
            subagent_id: agent.id,
            agent_name: agent.name.clone(),
            result_preview,
            duration_secs: end.duration_ms as f64 / 1000.0,
        },
    );
}

fn preview(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}
