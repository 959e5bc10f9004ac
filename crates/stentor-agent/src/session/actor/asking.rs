//! Permissions: what the policy decides, and what a person is asked.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_journal::message::ToolCall;
use stentor_policy::{Decision, PermissionAnswer, Remembered};

use super::{Actor, answer};
use crate::event::{EventKind, NoticeLevel, NoticeSource};
use crate::permission::PermissionRequest;
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::tool::{ToolSpec, Touches};
use crate::turn::{NOT_RUN_ABORTED, Verdict};

/// A question somebody has yet to answer.
pub(super) struct OpenQuestion {
    request: Arc<PermissionRequest>,
    reply: Reply<Verdict>,
}

impl Actor {
    /// Says openly what of the sandbox does not hold.
    pub(super) fn tell_sandbox_gaps(&self) {
        for gap in &self.sandbox.gaps {
            self.hub.publish(EventKind::Notice {
                level: NoticeLevel::Warning,
                message: format!("sandbox: {gap}"),
                from: NoticeSource::Agent,
            });
        }
    }

    pub(super) fn permit(
        &mut self,
        call: Arc<ToolCall>,
        spec: &ToolSpec,
        touches: &Touches,
        reply: Reply<Verdict>,
    ) {
        if self.is_stopping() {
            // Nobody would answer a question now, and it would stay open for ever.
            return answer(reply, Verdict::Denied(NOT_RUN_ABORTED.to_owned()));
        }
        let mode = self.mode_of_now();
        let decision = self
            .policy
            .decide_in(mode, &spec.name, spec.effect, touches, &self.cwd);
        match decision {
            Decision::Allow => answer(reply, Verdict::Allowed),
            Decision::Deny(why) => answer(reply, Verdict::Denied(why)),
            Decision::Ask(why) if !self.dialogs.can_ask() => {
                let text = format!(
                    "Not permitted: {why} Nobody is there to be asked; do without it, or end \
                     with a note of what is needed and why."
                );
                answer(reply, Verdict::Denied(text));
            }
            Decision::Ask(reason) => {
                let paths = self.really_touched(touches);
                let command = touches.command.clone();
                let (tool, effect) = (&spec.name, spec.effect);
                let policy = &self.policy;
                let always = policy.always(tool, effect, command.as_deref(), &paths, &self.cwd);
                let request = Arc::new(PermissionRequest {
                    call,
                    effect: spec.effect,
                    paths,
                    command,
                    reason,
                    always,
                });
                let id = self.next_question;
                self.next_question += 1;
                let asked = Arc::clone(&request);
                self.questions.insert(id, OpenQuestion { request, reply });
                self.hub
                    .publish(EventKind::PermissionAsked { id, request: asked });
            }
        }
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

    pub(super) async fn answer_question(
        &mut self,
        id: u64,
        given: PermissionAnswer,
    ) -> Result<(), SessionError> {
        let question = self
            .questions
            .remove(&id)
            .ok_or(SessionError::NoSuchQuestion(id))?;
        let remembered = self.policy.remember(&question.request.always, given);
        if let Some(answer) = remembered {
            self.keep_answer(answer).await;
        }
        let verdict = verdict(given, &question.request.call.name);
        self.close_question(id, question, given, verdict);
        Ok(())
    }

    /// Has an "always" kept for later sessions. In this one it holds whether that succeeds or not.
    async fn keep_answer(&mut self, answer: Remembered) {
        let Some(keeper) = self.answer_keeper.clone() else {
            return;
        };
        let kept = tokio::task::spawn_blocking(move || keeper.keep(&answer)).await;
        let problem = match kept {
            Ok(Ok(())) => return,
            Ok(Err(problem)) => problem,
            Err(panicked) => panicked.to_string(),
        };
        self.hub.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message: format!("the answer holds for this session only: {problem}"),
            from: NoticeSource::Agent,
        });
    }

    fn close_question(
        &self,
        id: u64,
        question: OpenQuestion,
        given: PermissionAnswer,
        verdict: Verdict,
    ) {
        self.hub
            .publish(EventKind::PermissionAnswered { id, answer: given });
        answer(question.reply, verdict);
    }

    /// Cancels all open questions because the run is stopped. Before the run hears of that, so that
    /// the end of each question is told before the end of its call.
    pub(super) fn cancel_questions(&mut self) {
        let mut open: Vec<(u64, OpenQuestion)> = self.questions.drain().collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        for (id, question) in open {
            let verdict = Verdict::Denied(NOT_RUN_ABORTED.to_owned());
            self.close_question(id, question, PermissionAnswer::Cancelled, verdict);
        }
    }
}

/// What an answer means for the call.
fn verdict(given: PermissionAnswer, name: &str) -> Verdict {
    match given {
        PermissionAnswer::AllowOnce | PermissionAnswer::AllowAlways => Verdict::Allowed,
        PermissionAnswer::RejectOnce | PermissionAnswer::RejectAlways => Verdict::Denied(format!(
            "The user rejected this call of {name}. Do not repeat it; ask or go on without it."
        )),
        PermissionAnswer::Cancelled => Verdict::Denied(format!(
            "The question whether {name} may run was cancelled."
        )),
    }
}
