//! What a model says, and how a run ends.

use std::ops::Range;
use std::sync::Arc;

use stentor_agent::event::{EventKind, RunEnd, RunOutcome};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_journal::message::{KnownMessage, Message};
use stentor_wire::psi::{ErrorCode, Topic};

use crate::psi::encoder::SessionEncoder;
use crate::psi::live::{Turn, TurnAnswer, TurnState};
use crate::psi::payload::message;
use crate::psi::wire::Wire;

pub(super) async fn publish(encoder: &mut SessionEncoder, wire: &mut Wire, kind: &EventKind) {
    match kind {
        EventKind::RunEnded(end) => run_ended(encoder, wire, end).await,
        // A queued message goes in behind an answer that was complete: that one goes out now.
        EventKind::MessageStarted { message, .. } if message.as_user().is_some() => {
            answered_in_between(encoder, wire).await;
            if encoder.cause.is_none() && encoder.live.session.is_shared() {
                prompted_elsewhere(encoder, wire, message);
            }
        }
        EventKind::AnswerStarted(answer) => {
            encoder.live.set_turn(Turn {
                answer: Some(TurnAnswer::Writing(answer.clone())),
                state: TurnState::Text,
            });
            encoder.forget_texts();
        }
        EventKind::BlockStarted { block, .. } => block_started(encoder, block),
        EventKind::BlockDelta { block, range, .. } => {
            delta(encoder, wire, block, range.clone()).await;
        }
        EventKind::MessageEnded { message, .. } => message_ended(encoder, wire, message).await,
        _ => {}
    }
}

/// Nobody waits for another try any more: if it did not succeed, what failed is how the run ended.
pub(super) async fn retry_ended(encoder: &mut SessionEncoder, wire: &mut Wire, success: bool) {
    if let Some(failed) = encoder.given_up.take().filter(|_| !success) {
        encoder.answer = Some(failed);
        publish_answer(encoder, wire).await;
    }
}

fn block_started(encoder: &mut SessionEncoder, block: &LiveBlock) {
    match &block.kind {
        LiveBlockKind::Text => {
            if !encoder.text.is_empty() {
                // The blocks of a message are shown one below the other.
                encoder.text.append("\n");
            }
        }
        LiveBlockKind::Thinking => encoder.thinking.restart(),
        LiveBlockKind::ToolCall { id, .. } => {
            encoder.live.set_turn_state(TurnState::Tools);
            encoder.arguments.restart();
            encoder.arguments_of.clone_from(id);
        }
        LiveBlockKind::Redacted => {}
    }
}

async fn delta(
    encoder: &mut SessionEncoder,
    wire: &mut Wire,
    block: &LiveBlock,
    range: Range<usize>,
) {
    let growing = match &block.kind {
        LiveBlockKind::Text => &mut encoder.text,
        LiveBlockKind::Thinking => &mut encoder.thinking,
        LiveBlockKind::ToolCall { .. } => &mut encoder.arguments,
        LiveBlockKind::Redacted => return,
    };
    block.with(range, |text| growing.append(text));
    wire.texts_that_are_due(encoder).await;
}

async fn message_ended(encoder: &mut SessionEncoder, wire: &mut Wire, message: &Arc<Message>) {
    match &**message {
        Message::Known(KnownMessage::Assistant(answer)) => {
            let failed = answer.error_message.is_some();
            let state = if failed {
                TurnState::Error
            } else {
                TurnState::Done
            };
            encoder.live.end_turn(state, message);
            // All of it has been published.
            encoder.forget_texts();
            encoder.answer = Some(Arc::clone(message));
        }
        Message::Known(KnownMessage::Custom(custom)) if custom.display => {
            let (id, text) = (Arc::clone(&encoder.live.id), custom.content.text());
            wire.session_event(Topic::AssistantMessage, encoder, |data| {
                let kind = Some(custom.custom_type.as_str());
                message::write_text(data, &id, "assistant", &text, kind);
            });
            let live = Arc::clone(&encoder.live);
            wire.snapshots(&live, &None).await;
        }
        Message::Known(_) | Message::Other(_) => {}
    }
}

/// Another client of the session said something, which nobody has shown here.
fn prompted_elsewhere(encoder: &SessionEncoder, wire: &mut Wire, message: &Message) {
    let Some(user) = message.as_user() else {
        return;
    };
    let (id, text) = (Arc::clone(&encoder.live.id), user.content.text());
    wire.session_event(Topic::AssistantMessage, encoder, |data| {
        message::write_text(data, &id, "user", &text, None);
    });
}

/// The last answer was complete, though the run goes on.
async fn answered_in_between(encoder: &mut SessionEncoder, wire: &mut Wire) {
    let complete = encoder.answer.as_ref().is_some_and(|message| {
        message
            .as_assistant()
            .is_some_and(|answer| answer.tool_calls().next().is_none())
    });
    if complete {
        publish_answer(encoder, wire).await;
    }
}

async fn publish_answer(encoder: &mut SessionEncoder, wire: &mut Wire) {
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

async fn run_ended(encoder: &mut SessionEncoder, wire: &mut Wire, end: &RunEnd) {
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
    let cause = encoder.cause.clone();
    // Without a session id in it, it would not be held back; whose error it is decides.
    if wire.is_focused(&encoder.live.id) {
        wire.event(Topic::Error, None, cause.as_deref(), |data| {
            data.map(|data| {
                data.field("error-code", ErrorCode::Failed.as_str())
                    .field("error-message", why)
                    .field_if_some("id", cause.as_deref())
                    .field("op", "prompt");
            });
        });
    }
}
