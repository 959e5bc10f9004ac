//! Events of a session to frames (section 10).

use std::ops::Range;
use std::sync::Arc;

use stentor_agent::event::{Event, EventKind, NoticeLevel, RunEnd, RunOutcome, StateChange};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::tool::{Plan, PlanStatus};
use stentor_journal::message::{KnownMessage, Message};
use stentor_wire::psi::{ErrorCode, Topic};
use tokio::time::Instant;

use super::feed::{Feed, RunningTool};
use super::live::{RetryWait, Turn, TurnAnswer, TurnState};
use super::payload::{message, tool};
use super::ui::{Question, permission_shape, shape_of};
use super::writer::Wire;

/// The key of the widget that shows the plan.
const PLAN_WIDGET: &str = "plan";

/// Writes what an event means to the client.
pub(super) async fn tell(feed: &mut Feed, wire: &mut Wire, event: &Event) {
    if !is_delta(&event.kind) {
        // Nothing may overtake a text.
        wire.rest_of_texts(feed);
    }
    let live = Arc::clone(&feed.live);
    match &event.kind {
        EventKind::RunStarted => {
            live.change_phase(|phase| {
                phase.running = true;
                phase.retry = None;
            });
            wire.snapshots(&live, &feed.cause).await;
        }
        EventKind::RunEnded(end) => run_ended(feed, wire, end),
        EventKind::MessageStarted { message, .. } => {
            if message.as_user().is_some() {
                // A queued message goes in behind an answer that was complete: it is told now.
                answered_in_between(feed, wire);
            }
        }
        EventKind::AnswerStarted(answer) => {
            live.set_turn(Turn {
                answer: Some(TurnAnswer::Writing(answer.clone())),
                state: TurnState::Text,
            });
            feed.forget_texts();
        }
        EventKind::BlockStarted { block, .. } => block_started(feed, block),
        EventKind::BlockDelta { block, range, .. } => delta(feed, wire, block, range.clone()),
        EventKind::MessageEnded { message, .. } => message_ended(feed, wire, message).await,
        EventKind::ToolStarted { call } => {
            for (topic, with_arguments) in [(Topic::ToolStart, false), (Topic::ToolExecuting, true)]
            {
                wire.session_event(topic, feed, |data| {
                    tool::write_call(data, &live.id, call, with_arguments);
                });
            }
            feed.tools.push(RunningTool::new(Arc::clone(call)));
        }
        // Some tools report that they have begun, which was told.
        EventKind::ToolProgress { partial, .. } if tool::says_nothing(partial) => {}
        EventKind::ToolProgress { call, partial } => {
            wire.session_event(Topic::ToolUpdate, feed, |data| {
                tool::write_output(data, &live.id, call, partial);
            });
            if let Some(running) = feed.tools.iter_mut().find(|tool| tool.call.id == call.id) {
                running.last = Some(Arc::clone(partial));
                running.told(Instant::now());
            }
        }
        EventKind::ToolEnded { call, output, .. } => {
            feed.tools.retain(|tool| tool.call.id != call.id);
            wire.session_event(Topic::ToolResult, feed, |data| {
                tool::write_output(data, &live.id, call, output);
            });
            wire.footer(&live, &feed.cause).await;
        }
        EventKind::QueueChanged(queues) => {
            let waiting = queues.steering.len() + queues.follow_up.len();
            live.change_phase(|phase| phase.waiting = waiting);
            wire.session_updated(&live, &feed.cause).await;
        }
        EventKind::StateChanged(change) => state_changed(feed, wire, change).await,
        EventKind::CompactionStarted { .. } => {
            live.change_phase(|phase| phase.compacting = true);
            wire.session_updated(&live, &feed.cause).await;
        }
        EventKind::CompactionEnded(_) => {
            live.change_phase(|phase| phase.compacting = false);
            wire.snapshots(&live, &feed.cause).await;
        }
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
            wire.snapshots(&live, &feed.cause).await;
        }
        EventKind::RetryEnded { success, .. } => {
            live.change_phase(|phase| phase.retry = None);
            if let Some(failed) = feed.given_up.take().filter(|_| !success) {
                // Nobody waits any more: what failed is how the run ended.
                feed.answer = Some(failed);
                tell_answer(feed, wire);
            }
            wire.session_updated(&live, &feed.cause).await;
        }
        EventKind::Settled { .. } => {
            live.change_phase(|phase| {
                phase.running = false;
                phase.compacting = false;
                phase.retry = None;
                phase.interrupting = false;
            });
            feed.tools.clear();
            wire.snapshots(&live, &feed.cause).await;
            feed.cause = None;
            wire.shared.at_rest();
        }
        EventKind::PlanChanged(plan) => {
            let lines = (!plan.phases.is_empty()).then(|| plan_lines(plan));
            wire.shared
                .ui()
                .set_widget(&live.id, PLAN_WIDGET, lines, Default::default());
            wire.widgets_changed(&live);
        }
        EventKind::PermissionAsked { id, request } => {
            let title = format!("Permission for {}", request.call.name);
            let shape = permission_shape(request);
            ask(feed, wire, Question::Permission(*id), title, shape);
        }
        EventKind::PermissionAnswered { id, .. } => {
            closed(feed, wire, Question::Permission(*id));
        }
        EventKind::DialogAsked { id, dialog } => {
            let shape = shape_of(dialog);
            ask(
                feed,
                wire,
                Question::Dialog(*id),
                dialog.title.clone(),
                shape,
            );
        }
        EventKind::DialogClosed { id, .. } => closed(feed, wire, Question::Dialog(*id)),
        EventKind::Notice { level, message, .. } => {
            let level = match level {
                NoticeLevel::Info => "info",
                NoticeLevel::Warning => "warning",
                NoticeLevel::Error => "error",
            };
            wire.notification(message.clone(), level, None);
        }
        EventKind::ExtensionFailed {
            extension,
            event,
            error,
        } => {
            let text = format!("{event}: {error}");
            wire.notification(text, "error", Some(extension.clone()));
        }
        EventKind::FallbackApplied(fallback) => {
            let text = format!("{} steps in for {}", fallback.to, fallback.from);
            wire.notification(text, "warning", None);
        }
        EventKind::ShutdownAsked => wire.shared.shutdown.cancel(),
        EventKind::RulesTriggered(rules) => {
            let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
            let text = format!("Rules that apply now: {}", names.join(", "));
            wire.notification(text, "info", None);
        }
        EventKind::Status { key, text } => status(feed, wire, key, text.clone()),
        EventKind::SubagentStarted(agent) => {
            let text = format!("{}: started", agent.name);
            status(feed, wire, &subagent_key(agent.id), Some(text));
        }
        EventKind::SubagentProgress {
            agent, status: now, ..
        } => {
            let text = format!("{}: {now}", agent.name);
            status(feed, wire, &subagent_key(agent.id), Some(text));
        }
        EventKind::SubagentEnded { agent, .. } => {
            status(feed, wire, &subagent_key(agent.id), None);
        }
        EventKind::Widget {
            key,
            lines,
            placement,
        } => {
            wire.shared
                .ui()
                .set_widget(&live.id, key, lines.clone(), *placement);
            wire.widgets_changed(&live);
        }
        EventKind::CommandsChanged(_) => wire.session_updated(&live, &None).await,
        EventKind::TurnStarted
        | EventKind::FallbackSucceeded { .. }
        | EventKind::SummaryRetry(_)
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

fn block_started(feed: &mut Feed, block: &LiveBlock) {
    match &block.kind {
        LiveBlockKind::Text => {
            if !feed.text.is_empty() {
                // The blocks of a message are shown one below the other.
                feed.text.append("\n");
            }
        }
        LiveBlockKind::Thinking => feed.thinking.restart(),
        LiveBlockKind::ToolCall { id, .. } => {
            feed.live.set_turn_state(TurnState::Tools);
            feed.arguments.restart();
            feed.arguments_of.clone_from(id);
        }
        LiveBlockKind::Redacted => {}
    }
}

fn delta(feed: &mut Feed, wire: &mut Wire, block: &LiveBlock, range: Range<usize>) {
    let growing = match &block.kind {
        LiveBlockKind::Text => &mut feed.text,
        LiveBlockKind::Thinking => &mut feed.thinking,
        LiveBlockKind::ToolCall { .. } => &mut feed.arguments,
        LiveBlockKind::Redacted => return,
    };
    block.with(range, |text| growing.append(text));
    wire.texts_that_are_due(feed);
}

async fn message_ended(feed: &mut Feed, wire: &mut Wire, message: &Arc<Message>) {
    match &**message {
        Message::Known(KnownMessage::Assistant(answer)) => {
            let failed = answer.error_message.is_some();
            let state = if failed {
                TurnState::Error
            } else {
                TurnState::Done
            };
            feed.live.end_turn(state, message);
            // All of it has been told.
            feed.forget_texts();
            feed.answer = Some(Arc::clone(message));
        }
        Message::Known(KnownMessage::Custom(custom)) if custom.display => {
            let (id, text) = (Arc::clone(&feed.live.id), custom.content.text());
            wire.session_event(Topic::AssistantMessage, feed, |data| {
                let kind = Some(custom.custom_type.as_str());
                message::write_text(data, &id, "assistant", &text, kind);
            });
            wire.snapshots(&feed.live, &None).await;
        }
        Message::Known(_) | Message::Other(_) => {}
    }
}

/// The last answer was complete, though the run goes on.
fn answered_in_between(feed: &mut Feed, wire: &mut Wire) {
    let complete = feed.answer.as_ref().is_some_and(|message| {
        message
            .as_assistant()
            .is_some_and(|answer| answer.tool_calls().next().is_none())
    });
    if complete {
        tell_answer(feed, wire);
    }
}

fn tell_answer(feed: &mut Feed, wire: &mut Wire) {
    let Some(message) = feed.answer.take() else {
        return;
    };
    if let Some(answer) = message.as_assistant() {
        let id = Arc::clone(&feed.live.id);
        wire.session_event(Topic::AssistantMessage, feed, |data| {
            message::write_final(data, &id, answer);
        });
    }
}

fn run_ended(feed: &mut Feed, wire: &mut Wire, end: &RunEnd) {
    if end.will_retry {
        feed.given_up = feed.answer.take();
        return;
    }
    feed.given_up = None;
    tell_answer(feed, wire);
    let why = match &end.outcome {
        RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. } => message,
        RunOutcome::Completed
        | RunOutcome::Refused
        | RunOutcome::OutputLimit
        | RunOutcome::Aborted => return,
    };
    let cause = feed.cause.clone();
    // Without a session id in it, it would not be held back; whose error it is decides.
    if wire.is_focused(&feed.live.id) {
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

async fn state_changed(feed: &mut Feed, wire: &mut Wire, change: &StateChange) {
    let live = Arc::clone(&feed.live);
    match change {
        StateChange::Model(_) | StateChange::ThinkingLevel(_) if live.holds_snapshots() => {}
        StateChange::Model(_) | StateChange::ThinkingLevel(_) | StateChange::AutoCompaction(_) => {
            wire.snapshots(&live, &feed.cause).await;
        }
        StateChange::Name(_) => {
            wire.snapshots(&live, &feed.cause).await;
            wire.context_changed().await;
        }
        StateChange::SteeringMode(_)
        | StateChange::FollowUpMode(_)
        | StateChange::InterruptMode(_)
        | StateChange::AutoRetry(_)
        | StateChange::PermissionMode(_)
        | StateChange::Leaf(_) => {}
    }
}

fn ask(
    feed: &Feed,
    wire: &mut Wire,
    question: Question,
    title: String,
    shape: super::ui::DialogShape,
) {
    let opened = wire.shared.ui().ask(&feed.live, question, title, shape);
    if opened {
        wire.open_dialog();
    }
}

fn closed(feed: &Feed, wire: &mut Wire, question: Question) {
    let another = wire.shared.ui().close(&feed.live.id, question);
    if another {
        wire.open_dialog();
    }
}

fn status(feed: &Feed, wire: &mut Wire, key: &str, text: Option<String>) {
    wire.shared.ui().set_status(&feed.live.id, key, text);
    wire.statuses_changed(&feed.live);
}

fn subagent_key(id: u64) -> String {
    format!("subagent-{id}")
}

fn plan_lines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for phase in &plan.phases {
        if plan.phases.len() > 1 {
            lines.push(phase.name.clone());
        }
        for task in &phase.tasks {
            let sign = match task.status {
                PlanStatus::Pending => "☐",
                PlanStatus::InProgress => "▶",
                PlanStatus::Completed => "☑",
                PlanStatus::Abandoned => "☒",
                PlanStatus::Blocked => "⚠",
            };
            lines.push(format!("{sign} {}", task.content));
        }
    }
    lines
}
