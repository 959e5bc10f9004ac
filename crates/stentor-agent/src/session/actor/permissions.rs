//! Permissions: what the policy decides, and what a person is asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use stentor_journal::message::ToolCall;
use stentor_journal::store::StoreError;
use stentor_policy::{AnswerStore, Decision, PermissionAnswer, PermissionMode, Policy, Remembered};

use super::answer;
use super::log::SessionLog;
use crate::event::{EventKind, NoticeLevel, NoticeSource, StateChange};
use crate::hub::Hub;
use crate::permission::PermissionRequest;
use crate::session::command::Reply;
use crate::session::dialogs::Dialogs;
use crate::session::error::SessionError;
use crate::session::options::SessionOptions;
use crate::tasks;
use crate::tool::{ToolSpec, Touches};
use crate::turn::{NOT_RUN_ABORTED, Verdict};

/// The note on disk of the permission mode that was chosen.
pub(super) const PERMISSION_MODE: &str = "stentor.permissionMode";

/// Who may run what, and the questions about it that are open.
pub(super) struct Permissions {
    hub: Hub,
    dialogs: Arc<Dialogs>,
    cwd: Arc<Path>,
    policy: Policy,
    /// The mode that was chosen in this session, where one was.
    chosen_mode: Option<PermissionMode>,
    /// A run may be more careful than its session.
    run_mode: Option<PermissionMode>,
    /// Stores "always" answers for later sessions.
    store: Option<Arc<dyn AnswerStore>>,
    open: BTreeMap<u64, OpenQuestion>,
    next_id: u64,
}

/// A question somebody has yet to answer.
struct OpenQuestion {
    request: Arc<PermissionRequest>,
    reply: Reply<Verdict>,
}

impl Permissions {
    pub fn new(hub: Hub, dialogs: Arc<Dialogs>, cwd: Arc<Path>, options: &SessionOptions) -> Self {
        Self {
            hub,
            dialogs,
            cwd,
            policy: options.policy.clone(),
            chosen_mode: None,
            run_mode: None,
            store: options.answer_store.clone(),
            open: BTreeMap::new(),
            next_id: 1,
        }
    }

    /// The session's stance where no permission rule decides.
    pub fn mode(&self) -> PermissionMode {
        self.policy.mode()
    }

    /// Changes it. A resumed session has it again.
    pub fn set_mode(&mut self, log: &mut SessionLog, mode: PermissionMode) {
        self.restore_mode(mode);
        if let Err(error) = self.note_mode(log) {
            tracing::warn!(%error, "the mode may differ when the session is resumed");
        }
        let change = StateChange::PermissionMode(mode);
        self.hub.publish(EventKind::StateChanged(change));
    }

    /// Takes over the mode that was chosen in a stored session.
    pub fn restore_mode(&mut self, mode: PermissionMode) {
        self.policy.set_mode(mode);
        self.chosen_mode = Some(mode);
    }

    /// Notes the mode on disk, if one was chosen.
    pub fn note_mode(&self, log: &mut SessionLog) -> Result<(), StoreError> {
        match self.chosen_mode {
            Some(mode) => log.note(PERMISSION_MODE, &json!({ "mode": mode }), false),
            None => Ok(()),
        }
    }

    /// Has the next run be more careful than the session, or no run any more.
    pub fn set_for_run(&mut self, mode: Option<PermissionMode>) {
        self.run_mode = mode;
    }

    /// Decides whether a call may run, or asks somebody who can. Of a call that is approved nobody is
    /// asked.
    pub fn permit(
        &mut self,
        call: Arc<ToolCall>,
        spec: &ToolSpec,
        touches: &Touches,
        is_approved: bool,
        reply: Reply<Verdict>,
    ) {
        let mode = self.mode();
        let mode = self.run_mode.map_or(mode, |run| mode.more_careful(run));
        let decision = self
            .policy
            .decide_in(mode, &spec.name, spec.effect, touches, &self.cwd);
        match decision {
            Decision::Allow => answer(reply, Verdict::Allowed),
            Decision::Deny(why) => answer(reply, Verdict::Denied(why)),
            Decision::Ask(_) if is_approved => answer(reply, Verdict::Allowed),
            Decision::Ask(why) if !self.dialogs.can_ask() => {
                let text = format!(
                    "Not permitted: {why} Nobody can be asked; do without it, or finish with a \
                     note of what you need and why."
                );
                answer(reply, Verdict::Denied(text));
            }
            Decision::Ask(reason) => self.ask(call, spec, touches, reason, reply),
        }
    }

    fn ask(
        &mut self,
        call: Arc<ToolCall>,
        spec: &ToolSpec,
        touches: &Touches,
        reason: String,
        reply: Reply<Verdict>,
    ) {
        let paths = self.really_touched(touches);
        let command = touches.command.clone();
        let (tool, effect) = (&spec.name, spec.effect);
        let always = self
            .policy
            .always(tool, effect, command.as_deref(), &paths, &self.cwd);
        let request = Arc::new(PermissionRequest {
            call,
            effect,
            paths,
            command,
            reason,
            always,
        });
        let id = self.next_id;
        self.next_id += 1;
        let asked = Arc::clone(&request);
        self.open.insert(id, OpenQuestion { request, reply });
        self.hub
            .publish(EventKind::PermissionAsked { id, request: asked });
    }

    /// Where the paths of a call really are. One whose links go in circles is shown as it is given.
    fn really_touched(&self, touches: &Touches) -> Vec<PathBuf> {
        let settled = touches.settled.as_deref().unwrap_or_default();
        let really = |(index, path): (usize, &PathBuf)| {
            let path = self.cwd.join(path);
            match settled.get(index) {
                Some(settled) => settled.clone().unwrap_or(path),
                None => stentor_policy::resolve(&path).unwrap_or(path),
            }
        };
        touches.paths.iter().enumerate().map(really).collect()
    }

    /// Somebody answered. The actor waits until an "always" is stored: the next call of the tool
    /// must find it.
    pub async fn answer(&mut self, id: u64, given: PermissionAnswer) -> Result<(), SessionError> {
        let question = self
            .open
            .remove(&id)
            .ok_or(SessionError::NoSuchQuestion(id))?;
        let remembered = self.policy.remember(&question.request.always, given);
        if let Some(always) = remembered {
            self.store(always).await;
        }
        let verdict = verdict(given, &question.request.call.name);
        self.close(id, question, given, verdict);
        Ok(())
    }

    /// Stores an "always" for later sessions. In this one it holds whether that succeeds or not.
    async fn store(&mut self, always: Remembered) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let stored = tasks::spawn_blocking(move || store.store(&always)).await;
        let problem = match stored {
            Ok(Ok(())) => return,
            Ok(Err(problem)) => problem,
            Err(panicked) => panicked.into(),
        };
        self.hub.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message: format!("the answer applies to this session only: {problem}"),
            from: NoticeSource::Agent,
        });
    }

    /// Cancels all open questions because the run is stopped. Before the run learns of that, so
    /// that the end of each question is published before the end of its call.
    pub fn cancel_questions(&mut self) {
        for (id, question) in std::mem::take(&mut self.open) {
            let verdict = Verdict::Denied(NOT_RUN_ABORTED.to_owned());
            self.close(id, question, PermissionAnswer::Cancelled, verdict);
        }
    }

    fn close(&self, id: u64, question: OpenQuestion, given: PermissionAnswer, verdict: Verdict) {
        self.hub
            .publish(EventKind::PermissionAnswered { id, answer: given });
        answer(question.reply, verdict);
    }
}

/// What an answer means for the call.
fn verdict(given: PermissionAnswer, name: &str) -> Verdict {
    match given {
        PermissionAnswer::AllowOnce | PermissionAnswer::AllowAlways => Verdict::Allowed,
        PermissionAnswer::RejectOnce | PermissionAnswer::RejectAlways => Verdict::Denied(format!(
            "The user rejected this call of {name}. Do not repeat it; ask or continue without it."
        )),
        PermissionAnswer::Cancelled => Verdict::Denied(format!(
            "The question whether {name} may run was cancelled."
        )),
    }
}
