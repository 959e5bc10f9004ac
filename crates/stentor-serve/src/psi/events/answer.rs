//! What a model says, and how a run ends.

use std::ops::Range;
use std::sync::Arc;

use stentor_agent::event::{RunEnd, RunOutcome};
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_journal::message::{KnownMessage, Message};
use stentor_wire::psi::{ErrorCode, Topic};

use crate::psi::encoder::SessionEncoder;
use crate::psi::live::{PsiTurn, TurnAnswer, TurnState};
use crate::psi::payload::{self, Written, message};
use crate::psi::wire::PsiWire;

/// A message is announced. A queued one goes in behind an answer that was complete: that one goes
/// out now.
pub(super) async fn message_started(
    encoder: &mut SessionEncoder,
    wire: &mut PsiWire,
    message: &Message,
) {
    let Some(user) = message.as_user() else {
        return;
    };
    let answer = encoder.answer.as_ref().and_then(|last| last.as_assistant());
    if answer.is_some_and(|answer| answer.tool_calls().next().is_none()) {
        publish_answer(encoder, wire).await;
    }
    if encoder.cause.is_none() && encoder.live.session.is_shared() {
        // Another client of the session said it, and nobody has shown it here.
        text_event(encoder, wire, "user", &user.content.text(), None);
    }
}

pub(super) fn started(encoder: &mut SessionEncoder, answer: &LiveMessage) {
    encoder.live.locked().turn = PsiTurn {
        answer: Some(TurnAnswer::Writing(answer.clone())),
        state: TurnState::Text,
    };
    encoder.forget_texts();
}

/// Nobody waits for another try any more: if it did not succeed, what failed is how the run ended.
pub(super) async fn retry_ended(encoder: &mut SessionEncoder, wire: &mut PsiWire, success: bool) {
    if let Some(failed) = encoder.given_up.take().filter(|_| !success) {
        encoder.answer = Some(failed);
        publish_answer(encoder, wire).await;
    }
}

pub(super) fn block_started(encoder: &mut SessionEncoder, block: &LiveBlock) {
    match &block.kind {
        LiveBlockKind::Text => {
            if !encoder.text.is_empty() {
                // The blocks of a message are shown one below the other.
                encoder.text.append("\n");
            }
        }
        LiveBlockKind::Thinking => encoder.thinking.restart(),
        LiveBlockKind::ToolCall { id, .. } => {
            encoder.live.locked().turn.state = TurnState::Tools;
            encoder.arguments.restart();
            encoder.arguments_of.clone_from(id);
        }
        LiveBlockKind::Redacted => {}
    }
}

pub(super) async fn delta(
    encoder: &mut SessionEncoder,
    wire: &mut PsiWire,
    block: &LiveBlock,
    range: Range<usize>,
) {
    let growing = match &block.kind {
        LiveBlockKind::Text => &mut encoder.text,
        LiveBlockKind::Thinking => &mut encoder.thinking,
        LiveBlockKind::ToolCall { .. } => &mut encoder.arguments,
        LiveBlockKind::Redacted => return,
    };
    // Each event has all of the text, also for who goes on in the midst of it.
    let begin = if growing.is_empty() { 0 } else { range.start };
    block.with(begin..range.end, |text| growing.append(text));
    wire.texts_that_are_due(encoder).await;
}

pub(super) async fn message_ended(
    encoder: &mut SessionEncoder,
    wire: &mut PsiWire,
    message: &Arc<Message>,
) {
    match &**message {
        Message::Known(KnownMessage::Assistant(answer)) => {
            let state = match answer.error_message {
                Some(_) => TurnState::Error,
                None => TurnState::Done,
            };
            encoder.live.locked().turn.end(state, message);
            // All of it has been published.
            encoder.forget_texts();
            encoder.answer = Some(Arc::clone(message));
        }
        Message::Known(KnownMessage::Custom(custom)) if custom.display => {
            let (text, kind) = (custom.content.text(), Some(custom.custom_type.as_str()));
            text_event(encoder, wire, "assistant", &text, kind);
            wire.snapshots(&encoder.live, &None).await;
        }
        Message::Known(_) | Message::Other(_) => {}
    }
}

fn text_event(
    encoder: &SessionEncoder,
    wire: &mut PsiWire,
    role: &str,
    text: &str,
    custom_type: Option<&str>,
) {
    let data = message::text_message(&encoder.live.id, role, text, custom_type);
    wire.session_event(Topic::AssistantMessage, encoder, &Written(&data));
}

async fn publish_answer(encoder: &mut SessionEncoder, wire: &mut PsiWire) {
    let Some(message) = encoder.answer.take() else {
        return;
    };
    if let Some(answer) = message.as_assistant() {
        let (id, cause) = (&*encoder.live.id, encoder.cause.as_deref());
        wire.event_with_texts(Topic::AssistantMessage, id, cause, |data, texts| {
            message::write_final(data, id, answer, texts);
        })
        .await;
    }
}

pub(super) async fn run_ended(encoder: &mut SessionEncoder, wire: &mut PsiWire, end: &RunEnd) {
    if end.will_retry {
        encoder.given_up = encoder.answer.take();
        return;
    }
    encoder.given_up = None;
    publish_answer(encoder, wire).await;
    let why = match &end.outcome {
        RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. } => message,
        RunOutcome::Completed
        | RunOutcome::Refused
        | RunOutcome::OutputLimit
        | RunOutcome::Aborted => return,
    };
    let cause = encoder.cause.as_deref();
    // Without a session id in it, it would not be held back; whose error it is decides.
    if wire.is_focused(&encoder.live.id) {
        let data = payload::map(|data| {
            data.field("error-code", ErrorCode::Failed.as_str())
                .field("error-message", why)
                .field_if_some("id", cause)
                .field("op", "prompt");
        });
        wire.event(Topic::Error, None, cause, &Written(&data));
    }
}
