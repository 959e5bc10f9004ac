//! Subagents, for clients that want to know of them.

use std::sync::Arc;

use stentor_agent::event::{Event, Subagent, SubagentEnd, SubagentWork};
use stentor_wire::omp::command::SubagentLevel;
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;
use crate::omp::framing::AgentFrame;
use crate::omp::subagents;

impl OmpEncoder {
    pub(super) fn subagent_started(
        &self,
        frames: &mut Vec<u8>,
        agent: &Arc<Subagent>,
        time_ms: u64,
    ) {
        self.connection.subagents.started(agent, time_ms);
        let id = subagents::wire_id(agent);
        let payload = subagents::beginning(agent, &id);
        let frame = Frame::SubagentLifecycle { payload };
        self.subagent(frames, "subagent_lifecycle", &frame);
    }

    pub(super) fn subagent_progress(
        &self,
        frames: &mut Vec<u8>,
        agent: &Arc<Subagent>,
        status: &str,
        work: &Arc<SubagentWork>,
        time_ms: u64,
    ) {
        let known = &self.connection.subagents;
        let progress = known.progressed(agent, status, work, time_ms);
        let payload = subagents::progress(agent, &progress);
        let frame = Frame::SubagentProgress { payload };
        self.subagent(frames, "subagent_progress", &frame);
    }

    pub(super) fn subagent_event(&mut self, frames: &mut Vec<u8>, agent: &Subagent, event: &Event) {
        let wanted = self.connection.wants.now();
        if wanted.subagents == SubagentLevel::Events {
            let framing = &self.connection.framing;
            self.rest = self.nested.encode(framing, &wanted, agent, event, frames);
        }
    }

    pub(super) fn subagent_ended(
        &mut self,
        frames: &mut Vec<u8>,
        agent: &Subagent,
        end: &SubagentEnd,
    ) {
        self.connection.subagents.ended(agent);
        self.nested.ended(agent);
        let id = subagents::wire_id(agent);
        let payload = subagents::ending(agent, &id, end);
        let frame = Frame::SubagentLifecycle { payload };
        self.subagent(frames, "subagent_lifecycle", &frame);
    }

    fn subagent(&self, frames: &mut Vec<u8>, name: &'static str, frame: &AgentFrame<'_>) {
        if self.connection.wants.now().subagents != SubagentLevel::Off {
            self.always(frames, name, frame);
        }
    }
}
