//! Permissions: what the policy decides, and what a person is asked.

use std::sync::Arc;

use super::{Actor, answer};
use crate::event::EventKind;
use crate::message::ToolCall;
use crate::permission::{Decision, PermissionAnswer, PermissionRequest};
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
        match self
            .policy
            .decide(&spec.name, spec.effect, touches, &self.cwd)
        {
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
                let request = Arc::new(PermissionRequest {
                    call,
                    effect: spec.effect,
                    paths: touches.paths.clone(),
                    command: touches.command.clone(),
                    reason,
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

    pub(super) fn answer_question(
        &mut self,
        id: u64,
        given: PermissionAnswer,
    ) -> Result<(), SessionError> {
        let question = self
            .questions
            .remove(&id)
            .ok_or(SessionError::NoSuchQuestion(id))?;
        self.policy.remember(&question.request, given, &self.cwd);
        let name = &question.request.call.name;
        let verdict = match given {
            PermissionAnswer::AllowOnce | PermissionAnswer::AllowAlways => Verdict::Allowed,
            PermissionAnswer::RejectOnce | PermissionAnswer::RejectAlways => {
                Verdict::Denied(format!(
                    "The user rejected this call of {name}. Do not repeat it; ask or go on without it."
                ))
            }
            PermissionAnswer::Cancelled => Verdict::Denied(format!(
                "The question whether {name} may run was cancelled."
            )),
        };
        self.hub
            .publish(EventKind::PermissionAnswered { id, answer: given });
        answer(question.reply, verdict);
        Ok(())
    }

    pub(super) fn answer_all_questions(&mut self, given: PermissionAnswer) {
        let mut open: Vec<u64> = self.questions.keys().copied().collect();
        open.sort_unstable();
        for id in open {
            // The question is open: its id was just listed.
            self.answer_question(id, given).ok();
        }
    }
}
