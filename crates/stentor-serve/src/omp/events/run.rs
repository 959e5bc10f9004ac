//! Runs and their turns, from the first frame to the one that nothing follows.

use std::sync::Arc;

use stentor_agent::event::{NoticeLevel, NoticeSource, RunEnd};
use stentor_journal::message::Message;
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;
use crate::omp::framing::AgentFrame;
use crate::omp::prompt_results::{RunResult, unspoken_failure, write_results, write_settled};

impl OmpEncoder {
    pub(super) fn run_started(&mut self, frames: &mut Vec<u8>) {
        self.outcome = Some(RunResult::default());
        self.event(frames, "agent_start", &Frame::AgentStart);
    }

    pub(super) fn run_ended(&mut self, frames: &mut Vec<u8>, end: &RunEnd) {
        const NAME: &str = "agent_end";
        self.outcome = Some(RunResult::of(end));
        if let Some(why) = unspoken_failure(end) {
            self.notice(frames, NoticeLevel::Error, why, NoticeSource::Agent);
        }
        if !self.connection.wants.now().event(NAME) {
            return;
        }
        // Clients wait for it, so it comes however long the run was: the first messages, which
        // have been told as they ended, are left out until it is short enough (section 20).
        let mut messages = end.messages.as_slice();
        loop {
            let frame: AgentFrame<'_> = Frame::AgentEnd {
                messages,
                will_retry: end.will_retry,
                is_terminal: !end.will_retry,
                yielded: !end.will_retry,
                message_count: end.messages.len(),
            };
            let written = self.connection.framing.try_write(frames, NAME, &frame);
            let fewer = messages.get(messages.len().div_ceil(2)..);
            match fewer {
                Some(fewer) if written.is_err() && !messages.is_empty() => messages = fewer,
                _ => return,
            }
        }
    }

    pub(super) fn turn_ended(
        &self,
        frames: &mut Vec<u8>,
        message: &Arc<Message>,
        tool_results: &[Arc<Message>],
    ) {
        let frame = Frame::TurnEnd {
            message,
            tool_results,
        };
        self.event(frames, "turn_end", &frame);
    }

    /// Nothing automatic follows. After a compaction by hand there was no run, and nothing ends.
    pub(super) fn settled(&mut self, frames: &mut Vec<u8>, seq: u64, aborted: bool) {
        let Some(outcome) = self.outcome.take() else {
            return;
        };
        let finished = self.connection.prompts.finished(seq, &self.queues);
        let framing = &self.connection.framing;
        if !self.connection.events_only {
            write_results(framing, frames, &outcome, &finished, aborted);
        }
        write_settled(framing, frames, aborted);
    }
}
