//! Events of a session to frames (section 10), by their subject: runs are here, what a model says is
//! in [`answer`], what is shown beside the transcript in [`panel`].

mod answer;
mod panel;

use std::sync::Arc;

use stentor_agent::event::{Event, EventKind, StateChange};
use stentor_wire::psi::Topic;
use tokio::time::Instant;

use super::encoder::{RunningTool, SessionEncoder};
use super::live::{Phase, RetryWait};
use super::payload::tool;
use super::wire::Wire;

/// Writes what an event means to the client.
pub(super) async fn publish(encoder: &mut SessionEncoder, wire: &mut Wire, event: &Event) {
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
        EventKind::CommandsChanged(_) => {
            let live = Arc::clone(&encoder.live);
            wire.session_updated(&live, &None).await;
        }
        EventKind::RunEnded(_)
        | EventKind::MessageStarted { .. }
        | EventKind::AnswerStarted(_)
        | EventKind::BlockStarted { .. }
        | EventKind::BlockDelta { .. }
        | EventKind::MessageEnded { .. } => answer::publish(encoder, wire, &event.kind).await,
        EventKind::ToolStarted { .. }
        | EventKind::ToolProgress { .. }
        | EventKind::ToolEnded { .. } => tool_call(encoder, wire, &event.kind).await,
        EventKind::PlanChanged(_)
        | EventKind::PermissionAsked { .. }
        | EventKind::PermissionAnswered { .. }
        | EventKind::DialogAsked { .. }
        | EventKind::DialogClosed { .. }
        | EventKind::Notice { .. }
        | EventKind::ExtensionFailed { .. }
        | EventKind::FallbackApplied(_)
        | EventKind::RulesTriggered(_)
        | EventKind::Status { .. }
        | EventKind::SubagentStarted(_)
        | EventKind::SubagentProgress { .. }
        | EventKind::SubagentEnded { .. }
        | EventKind::Widget { .. } => panel::publish(encoder, wire, &event.kind),
        EventKind::ShutdownAsked => wire.shared.shutdown.cancel(),
        EventKind::TurnStarted
        | EventKind::FallbackSucceeded { .. }
        | EventKind::SummaryRetry(_)
        | EventKind::JobsChanged
        | EventKind::PlanTidied
        | EventKind::TurnEnded { .. }
        | EventKind::BlockEnded { .. }
        | EventKind::EntryAppended { .. }
        | EventKind::BashOutput { .. }
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
async fn phase(encoder: &mut SessionEncoder, wire: &mut Wire, event: &Event) {
    let live = Arc::clone(&encoder.live);
    let mut with_footer = true;
    match &event.kind {
        EventKind::RunStarted => live.change_phase(|phase| {
            phase.running = true;
            phase.retry = None;
        }),
        EventKind::RetryStarted {
            attempt,
            delay_ms,
            asked_for,
            rate_limit,
            ..
        } => {
            let retry = RetryWait {
                attempt: *attempt,
                delay_ms: *delay_ms,
                asked_for: *asked_for,
                resume_at_ms: event.time_ms.saturating_add(*delay_ms),
                rate_limit: *rate_limit,
            };
            live.change_phase(|phase| phase.retry = Some(retry));
        }
        EventKind::RetryEnded { success, .. } => {
            live.change_phase(|phase| phase.retry = None);
            answer::retry_ended(encoder, wire, *success).await;
            with_footer = false;
        }
        EventKind::CompactionStarted { .. } => {
            live.change_phase(|phase| phase.compacting = true);
            with_footer = false;
        }
        EventKind::CompactionEnded(_) => live.change_phase(|phase| phase.compacting = false),
        EventKind::QueueChanged(queues) => {
            let waiting = queues.steering.len() + queues.follow_up.len();
            live.change_phase(|phase| phase.waiting = waiting);
            with_footer = false;
        }
        EventKind::Settled { .. } => {
            live.change_phase(|phase| {
                let waiting = phase.waiting;
                *phase = Phase {
                    waiting,
                    ..Phase::default()
                };
            });
            encoder.tools.clear();
        }
        _ => {}
    }
    if with_footer {
        wire.snapshots(&live, &encoder.cause).await;
    } else {
        wire.session_updated(&live, &encoder.cause).await;
    }
    if matches!(event.kind, EventKind::Settled { .. }) {
        encoder.cause = None;
        wire.shared.at_rest();
    }
}

/// A setting was changed.
async fn setting(encoder: &mut SessionEncoder, wire: &mut Wire, change: &StateChange) {
    let live = Arc::clone(&encoder.live);
    match change {
        StateChange::Model(_) | StateChange::ThinkingLevel(_) if live.holds_snapshots() => {}
        StateChange::Model(_) | StateChange::ThinkingLevel(_) | StateChange::AutoCompaction(_) => {
            wire.snapshots(&live, &encoder.cause).await;
        }
        StateChange::Name(_) => {
            wire.snapshots(&live, &encoder.cause).await;
            wire.context_changed().await;
        }
        StateChange::Leaf(_) => {
            wire.rehydration(&live, &encoder.cause).await;
            wire.snapshots(&live, &encoder.cause).await;
        }
        StateChange::SteeringMode(_)
        | StateChange::FollowUpMode(_)
        | StateChange::InterruptMode(_)
        | StateChange::AutoRetry(_)
        | StateChange::PermissionMode(_) => {}
    }
}

/// A call of a tool.
async fn tool_call(encoder: &mut SessionEncoder, wire: &mut Wire, kind: &EventKind) {
    let live = Arc::clone(&encoder.live);
    match kind {
        EventKind::ToolStarted { call } => {
            for (topic, with_arguments) in [(Topic::ToolStart, false), (Topic::ToolExecuting, true)]
            {
                wire.session_event(topic, encoder, |data| {
                    tool::write_call(data, &live.id, call, with_arguments);
                });
            }
            encoder.tools.push(RunningTool::new(Arc::clone(call)));
        }
        // Some tools report that they have begun, which is known.
        EventKind::ToolProgress { partial, .. } if tool::is_blank(partial) => {}
        EventKind::ToolProgress { call, partial } => {
            wire.session_event(Topic::ToolUpdate, encoder, |data| {
                tool::write_output(data, &live.id, call, partial);
            });
            let mut tools = encoder.tools.iter_mut();
            if let Some(running) = tools.find(|tool| tool.call.id == call.id) {
                running.last = Some(Arc::clone(partial));
                running.shown(Instant::now());
            }
        }
        EventKind::ToolEnded { call, output, .. } => {
            encoder.tools.retain(|tool| tool.call.id != call.id);
            wire.session_event(Topic::ToolResult, encoder, |data| {
                tool::write_output(data, &live.id, call, output);
            });
            wire.footer(&live, &encoder.cause).await;
        }
        _ => {}
    }
}
