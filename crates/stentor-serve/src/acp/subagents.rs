//! Subagents, for clients that show them: each is a session of its own, which belongs to the one that
//! delegates to it (unstable; the request for comments calls them subagents, too).
//!
//! The child is announced in the session it works for before anything is sent of it, and its state is
//! reported there. What it says and does is sent under its own id. Its client can read and no more:
//! nothing is advertised that would change it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::event::{Event, EventKind, Subagent, SubagentEnd};
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_journal::message::ToolCall;
use stentor_wire::acp::{ChunkFrames, ChunkKind};

use super::calls::{self, CallOutcome, CallViewer};
use super::changes::FileBefore;
use super::frames::update;
use super::turn::consumed;

/// The subagents that are at work for a session.
#[derive(Default)]
pub(super) struct AcpSubagents {
    children: HashMap<u64, ShownSubagent>,
}

/// What was sent of one.
struct ShownSubagent {
    session_id: Arc<str>,
    /// The calls that were announced and have not ended.
    calls: HashSet<String>,
}

impl AcpSubagents {
    /// One begins: it is announced, and given its task.
    pub fn started(&mut self, parent: &Arc<str>, agent: &Subagent, frames: &mut Vec<u8>) {
        let child = ShownSubagent {
            session_id: Arc::clone(&agent.session_id),
            calls: HashSet::new(),
        };
        let running = acp::StateUpdate::Running(acp::RunningStateUpdate::new());
        let announced = acp::SubagentUpdate::new(Arc::clone(&child.session_id))
            .title(calls::one_line(&agent.name))
            .description(calls::one_line(&agent.task))
            .state(running);
        update(
            frames,
            parent,
            acp::SessionUpdate::SubagentUpdate(announced),
        );
        // The same message in both transcripts.
        let (sent, received) = (message_id(agent, "sent"), message_id(agent, "received"));
        let task = || {
            let message = acp::SessionMessage::new(sent.clone());
            let message = message.content(vec![acp::ContentBlock::from(agent.task.clone())]);
            message
                .sender_session_id(acp::SessionId::new(Arc::clone(parent)))
                .recipient_session_id(acp::SessionId::new(Arc::clone(&child.session_id)))
        };
        let outgoing = task().recipient_message_id(acp::MessageId::new(received.clone()));
        update(frames, parent, acp::SessionUpdate::SessionMessage(outgoing));
        let mut incoming = task().sender_message_id(acp::MessageId::new(sent.clone()));
        incoming.message_id = acp::MessageId::new(received);
        let incoming = acp::SessionUpdate::SessionMessage(incoming);
        update(frames, &child.session_id, incoming);
        self.children.insert(agent.id, child);
    }

    /// Something happened in one.
    pub fn happened(
        &mut self,
        agent: &Subagent,
        event: &Event,
        viewer: &CallViewer,
        frames: &mut Vec<u8>,
    ) {
        if let Some(child) = self.children.get_mut(&agent.id) {
            child.encode(event, viewer, frames);
        }
    }

    /// One ends: it is idle, and why.
    pub fn ended(
        &mut self,
        parent: &Arc<str>,
        agent: &Subagent,
        end: &SubagentEnd,
        frames: &mut Vec<u8>,
    ) {
        let Some(child) = self.children.remove(&agent.id) else {
            return;
        };
        child.close_calls(frames);
        let stop_reason = match (end.failed, end.cancelled) {
            (false, _) => acp::IdleStopReason::EndTurn,
            (true, true) => acp::IdleStopReason::Cancelled,
            (true, false) => {
                let mut error = acp::Error::internal_error();
                error.message = calls::one_line(&end.result);
                acp::IdleStopReason::Error(acp::ErrorStopReason::new().error(error))
            }
        };
        let usage = (!end.usage.is_zero()).then(|| consumed(&end.usage));
        let idle = acp::IdleStateUpdate::new()
            .stop_reason(stop_reason)
            .usage(usage);
        let ended = acp::SubagentUpdate::new(Arc::clone(&child.session_id))
            .state(acp::StateUpdate::Idle(idle));
        update(frames, parent, acp::SessionUpdate::SubagentUpdate(ended));
    }
}

impl ShownSubagent {
    fn encode(&mut self, event: &Event, viewer: &CallViewer, frames: &mut Vec<u8>) {
        match &event.kind {
            EventKind::BlockDelta { live, block, range } => {
                self.delta(live, block, range.clone(), frames);
            }
            EventKind::ToolStarted { call } => self.tool_started(call, viewer, frames),
            EventKind::ToolProgress { call, partial } if self.calls.contains(&call.id) => {
                if let Some(progress) = viewer.progress(&call.id, &partial.content) {
                    self.update(acp::SessionUpdate::ToolCallUpdate(progress), frames);
                }
            }
            EventKind::ToolEnded { call, output, .. } if self.calls.remove(&call.id) => {
                let ended = viewer.ended(
                    call,
                    &CallOutcome {
                        content: &output.content,
                        details: output.details.as_ref(),
                        is_error: output.is_error,
                        terminal: None,
                        before: FileBefore::Unknown,
                    },
                );
                self.update(acp::SessionUpdate::ToolCallUpdate(ended), frames);
            }
            // The session it works for has the rest: its questions, what it costs, how it ends.
            _ => {}
        }
    }

    fn delta(
        &self,
        live: &LiveMessage,
        block: &LiveBlock,
        range: Range<usize>,
        frames: &mut Vec<u8>,
    ) {
        let id = live.entry_id();
        let chunks = match &block.kind {
            LiveBlockKind::Text => ChunkFrames::new(ChunkKind::Agent, &self.session_id, id),
            LiveBlockKind::Thinking => {
                let id = format!("{id}-thought");
                ChunkFrames::new(ChunkKind::Thought, &self.session_id, &id)
            }
            LiveBlockKind::ToolCall { .. } | LiveBlockKind::Redacted => return,
        };
        block.with(range, |text| chunks.write(frames, text));
    }

    fn tool_started(&mut self, call: &ToolCall, viewer: &CallViewer, frames: &mut Vec<u8>) {
        if self.calls.insert(call.id.clone()) {
            let made = viewer.made(call).status(acp::ToolCallStatus::InProgress);
            self.update(acp::SessionUpdate::ToolCall(made), frames);
        }
    }

    /// Every call ends, also one whose end was not heard.
    fn close_calls(&self, frames: &mut Vec<u8>) {
        for id in &self.calls {
            let failed = acp::ToolCallUpdateFields::new().status(acp::ToolCallStatus::Failed);
            let failed = acp::ToolCallUpdate::new(id.clone(), failed);
            self.update(acp::SessionUpdate::ToolCallUpdate(failed), frames);
        }
    }

    fn update(&self, what: acp::SessionUpdate, frames: &mut Vec<u8>) {
        update(frames, &self.session_id, what);
    }
}

/// The id of the message with which a subagent is given its task.
fn message_id(agent: &Subagent, view: &str) -> String {
    format!("{}-task-{view}", agent.session_id)
}
