//! Commands that the user runs beside the conversation, in a client that can: shown as calls of
//! `bash`, with the id of the entry they become. So a session that is loaded shows the same.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::event::{BashEnd, Event, EventKind};
use stentor_journal::message::{BashExecution, ContentBlock, KnownMessage, Message, ToolCall};

use super::calls::{self, CallOutcome, CallViewer};
use super::changes::FileBefore;
use super::limits;

/// The commands that run, by their numbers.
#[derive(Default)]
pub(super) struct AcpUserShells {
    running: HashMap<u64, RunningShell>,
}

struct RunningShell {
    call: ToolCall,
    /// The end of its output.
    tail: String,
    /// When that was last shown.
    shown_ms: u64,
}

impl AcpUserShells {
    /// What is to be shown of an event of such a command.
    pub fn happened(&mut self, event: &Event, viewer: &CallViewer) -> Vec<acp::SessionUpdate> {
        match &event.kind {
            EventKind::BashStarted {
                id,
                entry_id,
                command,
            } => {
                let call = call(entry_id, command);
                let made = viewer.made(&call);
                let runs = calls::in_progress(&call.id);
                let running = RunningShell {
                    call,
                    tail: String::new(),
                    shown_ms: 0,
                };
                self.running.insert(*id, running);
                vec![
                    acp::SessionUpdate::ToolCall(made),
                    acp::SessionUpdate::ToolCallUpdate(runs),
                ]
            }
            EventKind::BashOutput { id, delta } => {
                let shown = self.output(*id, delta, event.time_ms, viewer);
                let update = shown.map(acp::SessionUpdate::ToolCallUpdate);
                update.into_iter().collect()
            }
            EventKind::BashEnded { id, entry_id, end } => self.ended(*id, entry_id, end, viewer),
            _ => Vec::new(),
        }
    }

    /// Each update has all that is shown, so there are only so many of them.
    fn output(
        &mut self,
        id: u64,
        delta: &str,
        now_ms: u64,
        viewer: &CallViewer,
    ) -> Option<acp::ToolCallUpdate> {
        let shell = self.running.get_mut(&id)?;
        shell.tail.push_str(delta);
        let too_much = shell.tail.len().saturating_sub(limits::SHELL_TAIL_BYTES);
        let cut = shell.tail.ceil_char_boundary(too_much);
        shell.tail.drain(..cut);
        if now_ms < shell.shown_ms + limits::SHELL_SHOWN_EVERY_MS {
            return None;
        }
        shell.shown_ms = now_ms;
        let content = [ContentBlock::text(shell.tail.clone())];
        viewer.progress(&shell.call.id, &content)
    }

    fn ended(
        &mut self,
        id: u64,
        entry_id: &Arc<str>,
        end: &BashEnd,
        viewer: &CallViewer,
    ) -> Vec<acp::SessionUpdate> {
        let known = self.running.remove(&id).map(|shell| shell.call);
        match (end, known) {
            (BashEnd::Ran(message), known) => match &**message {
                Message::Known(KnownMessage::BashExecution(ran)) => {
                    let [made, ended] = whole(entry_id, ran, viewer);
                    match known {
                        Some(_) => vec![ended],
                        None => vec![made, ended],
                    }
                }
                _ => Vec::new(),
            },
            (BashEnd::Failed(why), Some(call)) => {
                let content = [ContentBlock::text(why.clone())];
                vec![update_of_end(&call, &content, true, viewer)]
            }
            (BashEnd::Failed(_), None) => Vec::new(),
        }
    }
}

/// A command that has ended, which is the entry `id`: the call, and its end.
pub(super) fn whole(id: &str, ran: &BashExecution, viewer: &CallViewer) -> [acp::SessionUpdate; 2] {
    let call = call(id, &ran.command);
    let made = acp::SessionUpdate::ToolCall(viewer.made(&call));
    let content = [ContentBlock::text(ran.output.clone())];
    let is_error = ran.exit_code != Some(0);
    [made, update_of_end(&call, &content, is_error, viewer)]
}

fn call(id: &str, command: &str) -> ToolCall {
    let arguments = [("command".to_owned(), command.to_owned().into())];
    ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        arguments: arguments.into_iter().collect(),
        thought_signature: None,
        intent: None,
    }
}

fn update_of_end(
    call: &ToolCall,
    content: &[ContentBlock],
    is_error: bool,
    viewer: &CallViewer,
) -> acp::SessionUpdate {
    let outcome = CallOutcome {
        content,
        details: None,
        is_error,
        terminal: None,
        before: FileBefore::Unknown,
    };
    acp::SessionUpdate::ToolCallUpdate(viewer.ended(call, &outcome))
}
