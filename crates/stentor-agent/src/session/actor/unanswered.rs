//! Calls that a person was asked about when the process ended. They are asked about again when
//! somebody who can answer opens the session, and none is ever run twice: the file says which calls
//! of an answer were permitted, before they begin.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{Message, StopReason, ToolCall};
use stentor_journal::store::{Entry, StoreError};
use stentor_policy::PermissionMode;

use super::Actor;
use super::log::SessionLog;
use super::restore::notes;
use crate::turn::{NEVER_ANSWERED, OpenCalls, RunWork};

/// The note on disk that somebody was asked whether a call may run.
const ASKED: &str = "stentor.asked";

/// The note on disk that a call of the same answer was permitted.
const PERMITTED: &str = "stentor.permitted";

/// Whether a call may run is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedRecord {
    /// A fork copies the notes of another session, whose calls are not its own.
    session: String,
    call_id: String,
    /// The calls of the answer that may have begun before.
    permitted: Vec<String>,
    /// In which mode it was asked. Earlier versions do not say.
    mode: Option<PermissionMode>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermittedRecord {
    session: String,
    call_id: String,
}

/// The calls of the newest answer that have certainly not begun, where somebody was asked about one.
#[derive(Debug)]
pub(super) struct UnansweredCalls {
    pub calls: HashSet<String>,
    /// Those of them that somebody was asked about. They need an answer, whoever opens the session.
    pub asked: HashSet<String>,
    /// In which mode that was. Whether the others may run is decided in none that allows more.
    pub mode: PermissionMode,
}

impl Default for UnansweredCalls {
    fn default() -> Self {
        Self {
            calls: HashSet::new(),
            asked: HashSet::new(),
            mode: PermissionMode::Ask,
        }
    }
}

/// What the file says about the calls of the newest answer.
#[derive(Default)]
pub(super) struct CallRecords {
    /// Calls that were permitted while nobody had been asked.
    permitted: Vec<String>,
    /// Somebody was asked about a call: from here on the file says which are permitted.
    are_kept: bool,
}

impl CallRecords {
    /// Those of an answer about whose calls somebody was asked already.
    pub fn kept() -> Self {
        Self {
            permitted: Vec::new(),
            are_kept: true,
        }
    }

    /// Notes that somebody is asked about a call.
    pub fn asked(&mut self, log: &mut SessionLog, call: &ToolCall, mode: PermissionMode) {
        let note = AskedRecord {
            session: log.header().id.clone(),
            call_id: call.id.clone(),
            permitted: std::mem::take(&mut self.permitted),
            mode: Some(mode),
        };
        match log.note(ASKED, &note, true) {
            Ok(()) => self.are_kept = true,
            Err(error) => {
                self.permitted = note.permitted;
                tracing::warn!(%error, "a question will not be asked again when the session is resumed");
            }
        }
    }

    /// Notes that a call may begin. True when it must not before the note would survive a power cut.
    pub fn permitted(&mut self, log: &mut SessionLog, call: &ToolCall) -> Result<bool, StoreError> {
        if !self.are_kept {
            self.permitted.push(call.id.clone());
            return Ok(false);
        }
        let note = PermittedRecord {
            session: log.header().id.clone(),
            call_id: call.id.clone(),
        };
        log.note(PERMITTED, &note, true)?;
        Ok(true)
    }
}

/// Which of the open calls of an answer have certainly not begun, by the notes behind the answer:
/// none, unless somebody was asked about one of them.
pub(super) fn not_begun(
    context: &[Entry],
    session: &str,
    answer: &ConversationItem,
) -> UnansweredCalls {
    let is_answer = |entry: &Entry| entry.id == answer.entry_id;
    let behind = match context.iter().rposition(is_answer) {
        Some(at) => context.get(at..).unwrap_or_default(),
        None => return UnansweredCalls::default(),
    };
    let calls = answer.message.as_assistant().into_iter();
    let calls: HashSet<&str> = calls
        .flat_map(|answer| answer.tool_calls())
        .map(|call| &*call.id)
        .collect();
    let asked = notes(behind, ASKED).filter_map(|data| AskedRecord::deserialize(data).ok());
    let asked: Vec<AskedRecord> = asked
        .filter(|asked| asked.session == session && calls.contains(&*asked.call_id))
        .collect();
    let permitted =
        notes(behind, PERMITTED).filter_map(|data| PermittedRecord::deserialize(data).ok());
    let permitted = permitted.filter(|note| note.session == session);
    let before = asked
        .iter()
        .flat_map(|asked| asked.permitted.iter().cloned());
    let begun: HashSet<String> = permitted
        .map(|permitted| permitted.call_id)
        .chain(before)
        .collect();
    if asked.iter().all(|asked| begun.contains(&asked.call_id)) {
        return UnansweredCalls::default();
    }
    let calls = calls.into_iter().filter(|id| !begun.contains(*id));
    let calls = calls.map(str::to_owned).collect();
    let modes = asked
        .iter()
        .map(|asked| asked.mode.unwrap_or(PermissionMode::Ask));
    UnansweredCalls {
        calls,
        mode: modes
            .reduce(PermissionMode::more_careful)
            .unwrap_or(PermissionMode::Ask),
        asked: asked.into_iter().map(|asked| asked.call_id).collect(),
    }
}

impl Actor {
    /// The newest answer, if nothing but results is behind it, and its calls that have none.
    pub(super) fn open_calls(&self) -> Option<(ConversationItem, Vec<Arc<ToolCall>>)> {
        let items = self.log.conversation().items();
        let is_result = |item: &ConversationItem| item.message.as_tool_result().is_some();
        let at = items.iter().rposition(|item| !is_result(item))?;
        let item = items.get(at)?;
        let answer = item.message.as_assistant()?;
        let results = items.iter().skip(at + 1);
        let results = results.filter_map(|item| item.message.as_tool_result());
        let answered: HashSet<&str> = results.map(|result| &*result.tool_call_id).collect();
        let calls = answer.tool_calls();
        let open = calls.filter(|call| !answered.contains(&*call.id));
        let open: Vec<_> = open.map(|call| Arc::new(call.clone())).collect();
        Some((item.clone(), open))
    }

    /// Goes on with the calls that somebody was asked about when the process ended, if somebody can
    /// be asked now.
    pub(super) fn ask_again(&mut self) {
        let can_go_on = self.dialogs.can_ask()
            && !self.activities.is_any_running()
            && self.models.must_be_usable().is_ok();
        if can_go_on && let Some((open, unanswered)) = self.take_unanswered() {
            self.permissions.go_on_with(unanswered);
            self.start(RunWork::GoOn(open), None);
        }
    }

    /// Gives the calls that nobody was asked about again a result that says so: something else is
    /// said now, and a result must follow its call.
    pub(super) fn close_unanswered(&mut self) -> Result<(), StoreError> {
        let Some((open, _)) = self.take_unanswered() else {
            return Ok(());
        };
        for call in open.calls {
            self.log_unrun(&call, NEVER_ANSWERED)?;
        }
        Ok(())
    }

    fn take_unanswered(&mut self) -> Option<(OpenCalls, UnansweredCalls)> {
        let waiting = std::mem::take(&mut self.permissions.unanswered);
        if waiting.calls.is_empty() {
            return None;
        }
        // Somebody may have gone to another place of the conversation meanwhile.
        let (answer, mut calls) = self.open_calls()?;
        calls.retain(|call| waiting.calls.contains(&call.id));
        let answer: Arc<Message> = answer.message;
        (!calls.is_empty()).then_some((OpenCalls { answer, calls }, waiting))
    }

    /// Remembers which of the calls of a stored answer are asked about again.
    pub(super) fn keep_unanswered(
        &mut self,
        context: &[Entry],
        answer: &ConversationItem,
        is_own: bool,
    ) {
        let reason = answer.message.as_assistant();
        let reason = reason.map(|answer| answer.stop_reason);
        if matches!(reason, None | Some(StopReason::Error | StopReason::Aborted)) {
            return;
        }
        let mut waiting = not_begun(context, &self.id, answer);
        if !is_own {
            // Whoever wrote the file may say of any call that nobody had to be asked.
            waiting.asked = waiting.calls.clone();
            waiting.mode = waiting.mode.more_careful(PermissionMode::Ask);
        }
        if !waiting.calls.is_empty() {
            self.permissions.restore_unanswered(waiting);
        }
    }
}
