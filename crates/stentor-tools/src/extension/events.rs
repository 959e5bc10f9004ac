//! The names of events, by which an extension says what it wants to hear of.

use serde_json::Value;
use stentor_agent::event::{Event, EventKind};

/// Writes an event as JSON: an object with `type`, `seq`, `time` and what belongs to the type.
pub type EventToJson = fn(&Event) -> Value;

/// The `type` of an event.
pub fn event_name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::RunStarted => "run_started",
        EventKind::RunEnded(_) => "run_ended",
        EventKind::TurnStarted => "turn_started",
        EventKind::TurnEnded { .. } => "turn_ended",
        EventKind::MessageStarted { .. } => "message_started",
        EventKind::AnswerStarted(_) => "answer_started",
        EventKind::BlockStarted { .. } => "block_started",
        EventKind::BlockDelta { .. } => "block_delta",
        EventKind::BlockEnded { .. } => "block_ended",
        EventKind::MessageEnded { .. } => "message_ended",
        EventKind::ToolStarted { .. } => "tool_started",
        EventKind::ToolProgress { .. } => "tool_progress",
        EventKind::ToolEnded { .. } => "tool_ended",
        EventKind::QueueChanged(_) => "queue_changed",
        EventKind::StateChanged(_) => "state_changed",
        EventKind::EntryAppended { .. } => "entry_appended",
        EventKind::CompactionStarted { .. } => "compaction_started",
        EventKind::CompactionEnded(_) => "compaction_ended",
        EventKind::RetryStarted { .. } => "retry_started",
        EventKind::RetryEnded { .. } => "retry_ended",
        EventKind::SummaryRetry(_) => "summary_retry",
        EventKind::FallbackApplied(_) => "fallback_applied",
        EventKind::FallbackSucceeded { .. } => "fallback_succeeded",
        EventKind::Settled { .. } => "settled",
        EventKind::PlanChanged(_) => "plan_changed",
        EventKind::PlanTidied => "plan_tidied",
        EventKind::BashStarted { .. } => "bash_started",
        EventKind::BashOutput { .. } => "bash_output",
        EventKind::BashEnded { .. } => "bash_ended",
        EventKind::PermissionAsked { .. } => "permission_asked",
        EventKind::PermissionAnswered { .. } => "permission_answered",
        EventKind::Notice { .. } => "notice",
        EventKind::DialogAsked { .. } => "dialog_asked",
        EventKind::DialogClosed { .. } => "dialog_closed",
        EventKind::Status { .. } => "status",
        EventKind::Widget { .. } => "widget",
        EventKind::Title(_) => "title",
        EventKind::EditorText(_) => "editor_text",
        EventKind::CommandsChanged(_) => "commands_changed",
        EventKind::SubagentStarted(_) => "subagent_started",
        EventKind::SubagentProgress { .. } => "subagent_progress",
        EventKind::SubagentEnded { .. } => "subagent_ended",
        EventKind::SubagentEvent { .. } => "subagent_event",
        EventKind::JobsChanged => "jobs_changed",
        EventKind::RulesTriggered(_) => "rules_triggered",
        EventKind::PlanReminder { .. } => "plan_reminder",
        EventKind::ShutdownAsked => "shutdown_asked",
        EventKind::ExtensionFailed { .. } => "extension_failed",
    }
}
