//! Events of a session to frames (section 10), by their subject: runs are here, what a model says is
//! in [`answer`], what is shown beside the transcript in [`panel`].

mod answer;
mod panel;

use std::sync::Arc;

use stentor_agent::event::{Event, EventKind, StateChange};
use stentor_wire::psi::Topic;
use tokio::time::Instant;

use super::encoder::{RunningTool, SessionEncoder};
use super::live::{RetryWait, SessionPhase};
use super::payload::message::{self, CallDetail};
use super::wire::PsiWire;

/// Writes what an event means to the client.
pub(super) async fn publish(encoder: &mut SessionEncoder, wire: &mut PsiWire, event: &Event) {
    if !is_delta(&event.kind) {
        // Nothing may overtake a text.
        wire.rest_of_texts(encoder).await;
    }
    match &event.kind {
        EventKind::RunStarted
        | EventKind::RetryStarted { .. }
        | EventKind::RetryEnded { .. }
        | EventKind::CompactionStarted { .. }
        | EventKind::CompactionEnded(_)
        | EventKind::QueueChanged(_)
        | EventKind::Settled { .. } => phase(encoder, wire, event).await,
        EventKind::StateChanged(change) => setting(encoder, wire, change).await,
        EventKind::CommandsChanged(_) => wire.session_updated(&encoder.live, &None).await,
        EventKind::RunEnded(end) => answer::run_ended(encoder, wire, end).await,
        EventKind::MessageStarted { message, .. } => {
            answer::message_started(encoder, wire, message).await;
        }
        EventKind::AnswerStarted(live) => answer::started(encoder, live),
        EventKind::BlockStarted { block, .. } => answer::block_started(encoder, block),
        EventKind::BlockDelta { block, range, .. } => {
            answer::delta(encoder, wire, block, range.clone()).await;
        }
        EventKind::MessageEnded { message, .. } => {
            answer::message_ended(encoder, wire, message).await;
        }
        EventKind::ToolStarted { call } => {
            wire.call_event(encoder, Topic::ToolStart, call, CallDetail::Nothing);
            wire.call_event(encoder, Topic::ToolExecuting, call, CallDetail::Arguments);
            encoder.tools.push(RunningTool::new(Arc::clone(call)));
        }
        // Some tools report that they have begun, which is known.
        EventKind::ToolProgress { partial, .. } if message::is_blank(partial) => {}
        EventKind::ToolProgress { call, partial } => {
            wire.call_event(
                encoder,
                Topic::ToolUpdate,
                call,
                CallDetail::Output(partial),
            );
            let mut tools = encoder.tools.iter_mut();
            if let Some(running) = tools.find(|tool| tool.call.id == call.id) {
                running.last = Some(Arc::clone(partial));
                running.shown = Instant::now();
            }
        }
        EventKind::ToolEnded { call, output, .. } => {
            encoder.tools.retain(|tool| tool.call.id != call.id);
            wire.call_event(encoder, Topic::ToolResult, call, CallDetail::Output(output));
            wire.footer(&encoder.live, &encoder.cause).await;
        }
        EventKind::PlanChanged(_)
        | EventKind::Widget { .. }
        | EventKind::PermissionAsked { .. }
        | EventKind::PermissionAnswered { .. }
        | EventKind::DialogAsked { .. }
        | EventKind::DialogClosed { .. }
        | EventKind::Status { .. }
        | EventKind::SubagentStarted(_)
        | EventKind::SubagentProgress { .. }
        | EventKind::SubagentEnded { .. }
        | EventKind::Notice { .. }
        | EventKind::ExtensionFailed { .. }
        | EventKind::FallbackApplied(_)
        | EventKind::RulesTriggered(_) => panel::publish(encoder, wire, &event.kind),
        EventKind::ShutdownAsked => wire.shared.shutdown.cancel(),
        EventKind::TurnStarted
        | EventKind::FallbackSucceeded { .. }
        | EventKind::SummaryRetry(_)
        | EventKind::JobsChanged
        | EventKind::PlanTidied
        | EventKind::TurnEnded { .. }
        | EventKind::BlockEnded { .. }
        | EventKind::EntryAppended { .. }
        | EventKind::BashStarted { .. }
        | EventKind::BashOutput { .. }
        | EventKind::BashEnded { .. }
        | EventKind::SubagentEvent { .. }
        | EventKind::Title(_)
        | EventKind::EditorText(_)
        | EventKind::PlanReminder { .. } => {}
    }
}

fn is_delta(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::BlockDelta { .. }
            | EventKind::BlockEnded { .. }
            | EventKind::EntryAppended { .. }
    )
}

/// What the session is doing.
async fn phase(encoder: &mut SessionEncoder, wire: &mut PsiWire, event: &Event) {
    let mut phase = encoder.live.phase();
    let mut with_footer = false;
    match &event.kind {
        EventKind::RunStarted => {
            (phase.running, phase.retry) = (true, None);
            with_footer = true;
        }
        EventKind::RetryStarted {
            attempt,
            delay_ms,
            asked_for,
            rate_limit,
            ..
        } => {
            phase.retry = Some(RetryWait {
                attempt: *attempt,
                delay_ms: *delay_ms,
                asked_for: *asked_for,
                resume_at_ms: event.time_ms.saturating_add(*delay_ms),
                rate_limit: *rate_limit,
            });
            with_footer = true;
        }
        EventKind::RetryEnded { success, .. } => {
            phase.retry = None;
            answer::retry_ended(encoder, wire, *success).await;
        }
        EventKind::CompactionStarted { .. } => phase.compacting = true,
        EventKind::CompactionEnded(_) => {
            phase.compacting = false;
            with_footer = true;
        }
        EventKind::QueueChanged(queues) => {
            phase.waiting = queues.steering.len() + queues.follow_up.len();
        }
        EventKind::Settled { .. } => {
            phase = SessionPhase {
                waiting: phase.waiting,
                ..SessionPhase::default()
            };
            encoder.tools.clear();
            with_footer = true;
        }
        _ => {}
    }
    encoder.live.locked().phase = phase;
    match with_footer {
        true => wire.snapshots(&encoder.live, &encoder.cause).await,
        false => wire.session_updated(&encoder.live, &encoder.cause).await,
    }
    if matches!(event.kind, EventKind::Settled { .. }) {
        encoder.cause = None;
        wire.shared.at_rest();
    }
}

/// A setting was changed.
async fn setting(encoder: &SessionEncoder, wire: &mut PsiWire, change: &StateChange) {
    let (live, cause) = (&encoder.live, &encoder.cause);
    match change {
        StateChange::Model(_) | StateChange::ThinkingLevel(_)
            if live.locked().holding_snapshots > 0 => {}
        StateChange::Model(_) | StateChange::ThinkingLevel(_) | StateChange::AutoCompaction(_) => {
            wire.snapshots(live, cause).await;
        }
        StateChange::Name(_) => {
            wire.snapshots(live, cause).await;
            wire.context_changed().await;
        }
        StateChange::Leaf(_) => {
            wire.rehydration(live, cause).await;
            wire.snapshots(live, cause).await;
        }
        StateChange::SteeringMode(_)
        | StateChange::FollowUpMode(_)
        | StateChange::InterruptMode(_)
        | StateChange::AutoRetry(_)
        | StateChange::PermissionMode(_) => {}
    }
}
