//! The way out: events of the session become frames (sections 8 and 9).

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::dialog::DialogClose;
use stentor_agent::event::{
    CompactionEnd, CompactionReason, Event, EventKind, NoticeLevel, NoticeSource, Queues, RunEnd,
    StateChange, SummaryRetry,
};
use stentor_agent::tool::PlanStatus;
use stentor_journal::message::ToolCall;
use stentor_policy::PermissionAnswer;
use stentor_wire::omp::command::SubagentLevel;
use stentor_wire::omp::frame::{Frame, ReminderItem, Rule, RuleSource, UiMethod, UiRequest};

use super::connection::{Connection, available_commands};
use super::framing::AgentFrame;
use super::limits;
use super::nested::Nested;
use super::settling::{Outcome, unspoken_failure, write_results, write_settled};
use super::shapes::compaction_result;
use super::subagents;
use super::ui::{self, UiKind};
use super::updates::Updates;
use crate::pump::EventEncoder;

/// Encodes the events of one session.
pub(super) struct Encoder {
    connection: Arc<Connection>,
    /// Which session of this process it is.
    generation: u32,
    updates: Updates,
    /// How the last run ended, if there was one since the session was idle.
    outcome: Option<Outcome>,
    queues: Arc<Queues>,
    nested: Nested,
    rest: Option<Duration>,
}

impl Encoder {
    /// An encoder for session number `generation` of this process.
    pub fn new(connection: Arc<Connection>, generation: u32) -> Self {
        Self {
            connection,
            generation,
            updates: Updates::default(),
            outcome: None,
            queues: Arc::default(),
            nested: Nested::default(),
            rest: None,
        }
    }

    fn event(&self, frames: &mut Vec<u8>, name: &'static str, frame: &AgentFrame<'_>) {
        if self.connection.wants.now().event(name) {
            self.connection.framing.write(frames, name, frame);
        }
    }

    /// A frame that no filter of a client holds back.
    fn always(&self, frames: &mut Vec<u8>, name: &'static str, frame: &AgentFrame<'_>) {
        if !self.connection.events_only {
            self.connection.framing.write(frames, name, frame);
        }
    }

    fn ask(&self, frames: &mut Vec<u8>, id: &str, method: UiMethod<'_>) {
        let frame = Frame::ExtensionUiRequest(UiRequest { id, method });
        self.always(frames, "extension_ui_request", &frame);
    }

    fn show(&self, frames: &mut Vec<u8>, method: UiMethod<'_>) {
        let number = self.connection.next_shown();
        let id = ui::request_id(UiKind::Shown, self.generation, number);
        self.ask(frames, &id, method);
    }

    fn withdraw(&self, frames: &mut Vec<u8>, kind: UiKind, number: u64) {
        let target = ui::request_id(kind, self.generation, number);
        self.show(frames, UiMethod::Cancel { target_id: &target });
    }

    fn run_ended(&mut self, frames: &mut Vec<u8>, end: &RunEnd) {
        const NAME: &str = "agent_end";
        self.outcome = Some(Outcome::of(end));
        if let Some(why) = unspoken_failure(end) {
            self.notice(frames, NoticeLevel::Error, why, NoticeSource::Agent);
        }
        if !self.connection.wants.now().event(NAME) {
            return;
        }
        // Clients wait for it, so it comes however long the run was: the first messages, which
        // have been told as they ended, are left out until it is short enough (section 20).
        let mut messages = end.messages.as_slice();
        loop {
            let frame: AgentFrame<'_> = Frame::AgentEnd {
                messages,
                will_retry: end.will_retry,
                is_terminal: !end.will_retry,
                yielded: !end.will_retry,
                message_count: end.messages.len(),
            };
            let written = self.connection.framing.try_write(frames, NAME, &frame);
            let fewer = messages.get(messages.len().div_ceil(2)..);
            match fewer {
                Some(fewer) if written.is_err() && !messages.is_empty() => messages = fewer,
                _ => return,
            }
        }
    }

    fn notice(&self, frames: &mut Vec<u8>, level: NoticeLevel, message: &str, from: NoticeSource) {
        let notify_type = match level {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        // omp has a word of its own for what the agent says, pi only that of extensions.
        if from == NoticeSource::Agent {
            let level = notify_type;
            self.event(frames, "notice", &Frame::Notice { level, message });
        }
        let method = UiMethod::Notify {
            message,
            notify_type,
        };
        self.show(frames, method);
    }

    fn changed(&self, frames: &mut Vec<u8>, session: &str, change: &StateChange) {
        match change {
            StateChange::ThinkingLevel(level) => {
                let level = level.as_str();
                let frame = Frame::ThinkingLevelChanged {
                    level,
                    thinking_level: level,
                };
                self.event(frames, "thinking_level_changed", &frame);
            }
            StateChange::Name(name) => {
                let name = name.as_deref();
                let frame = Frame::SessionInfoChanged { name };
                self.event(frames, "session_info_changed", &frame);
                let frame = Frame::SessionInfoUpdate {
                    title: name,
                    session_id: session,
                };
                self.event(frames, "session_info_update", &frame);
            }
            StateChange::Model(_) => self.event(frames, "model_changed", &Frame::ModelChanged),
            StateChange::SteeringMode(_)
            | StateChange::FollowUpMode(_)
            | StateChange::InterruptMode(_)
            | StateChange::AutoCompaction(_)
            | StateChange::AutoRetry(_)
            | StateChange::PermissionMode(_)
            | StateChange::Leaf(_) => {}
        }
    }

    /// omp tells only of compactions that began by themselves, pi of all, in other words.
    fn compaction_started(&self, frames: &mut Vec<u8>, reason: CompactionReason) {
        let word = reason_word(reason);
        if !reason.is_asked_for() {
            let frame = Frame::AutoCompactionStart {
                reason: word,
                action: ACTION,
            };
            self.event(frames, "auto_compaction_start", &frame);
        }
        let frame = Frame::CompactionStart { reason: word };
        self.event(frames, "compaction_start", &frame);
    }

    fn compaction_ended(&self, frames: &mut Vec<u8>, end: &CompactionEnd) {
        let result = end.result.as_ref().map(compaction_result);
        let error_message = end.error.as_deref();
        if !end.reason.is_asked_for() {
            let frame = Frame::AutoCompactionEnd {
                action: ACTION,
                result,
                aborted: end.aborted,
                will_retry: end.will_retry,
                error_message,
            };
            self.event(frames, "auto_compaction_end", &frame);
        }
        let frame = Frame::CompactionEnd {
            reason: reason_word(end.reason),
            result,
            aborted: end.aborted,
            will_retry: end.will_retry,
            error_message,
        };
        self.event(frames, "compaction_end", &frame);
    }

    fn summary_retry(&self, frames: &mut Vec<u8>, retry: &SummaryRetry) {
        match retry {
            SummaryRetry::Scheduled {
                attempt,
                max_attempts,
                delay_ms,
                error,
            } => {
                let frame = Frame::SummarizationRetryScheduled {
                    attempt: *attempt,
                    max_attempts: *max_attempts,
                    delay_ms: *delay_ms,
                    error_message: error,
                };
                self.event(frames, "summarization_retry_scheduled", &frame);
            }
            SummaryRetry::Started { reason } => {
                let frame = Frame::SummarizationRetryAttemptStart {
                    source: "compaction",
                    reason: reason_word(*reason),
                };
                self.event(frames, "summarization_retry_attempt_start", &frame);
            }
            SummaryRetry::Ended => {
                let frame = Frame::SummarizationRetryFinished;
                self.event(frames, "summarization_retry_finished", &frame);
            }
        }
    }

    fn tool_started(&self, frames: &mut Vec<u8>, call: &ToolCall) {
        let frame = Frame::ToolExecutionStart {
            tool_call_id: &call.id,
            tool_name: &call.name,
            args: &call.arguments,
            intent: call.intent.as_deref(),
        };
        self.event(frames, "tool_execution_start", &frame);
    }

    fn subagent(&self, frames: &mut Vec<u8>, name: &'static str, frame: &AgentFrame<'_>) {
        if self.connection.wants.now().subagents != SubagentLevel::Off {
            self.always(frames, name, frame);
        }
    }
}

impl EventEncoder for Encoder {
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) {
        self.rest = None;
        match &event.kind {
            EventKind::RunStarted => {
                self.outcome = Some(Outcome::default());
                self.event(frames, "agent_start", &Frame::AgentStart);
            }
            EventKind::RunEnded(end) => self.run_ended(frames, end),
            EventKind::TurnStarted => self.event(frames, "turn_start", &Frame::TurnStart),
            EventKind::TurnEnded {
                message,
                tool_results,
            } => {
                let frame = Frame::TurnEnd {
                    message,
                    tool_results,
                };
                self.event(frames, "turn_end", &frame);
            }
            EventKind::MessageStarted { number, message } => {
                let message_id = &message_id(*number);
                let frame = Frame::MessageStart {
                    message_id,
                    message,
                };
                self.event(frames, "message_start", &frame);
            }
            EventKind::AnswerStarted(live) => {
                self.updates.begin(&self.connection, live, frames);
            }
            EventKind::BlockStarted { live, block } => {
                self.updates.opened(&self.connection, live, block, frames);
            }
            EventKind::BlockDelta { live, block, range } => {
                let bytes =
                    self.updates
                        .grown(&self.connection, live, block, range.clone(), frames);
                self.rest = limits::rest_after(bytes);
            }
            // The originals do not tell the end of a block that was cut.
            EventKind::BlockEnded { cut: true, .. } => {}
            EventKind::BlockEnded {
                live, block, call, ..
            } => {
                let call = call.as_deref();
                self.updates
                    .closed(&self.connection, live, block, call, frames);
            }
            EventKind::MessageEnded { number, message } => {
                if message.as_assistant().is_some() {
                    self.updates.end();
                }
                let message_id = &message_id(*number);
                let frame = Frame::MessageEnd {
                    message_id,
                    message,
                };
                self.event(frames, "message_end", &frame);
            }
            EventKind::ToolStarted { call } => self.tool_started(frames, call),
            EventKind::ToolProgress { call, partial } => {
                let frame = Frame::ToolExecutionUpdate {
                    tool_call_id: &call.id,
                    tool_name: &call.name,
                    args: &call.arguments,
                    partial_result: &**partial,
                };
                self.event(frames, "tool_execution_update", &frame);
            }
            EventKind::ToolEnded {
                call,
                output,
                duration_ms,
            } => {
                let frame = Frame::ToolExecutionEnd {
                    tool_call_id: &call.id,
                    tool_name: &call.name,
                    result: &**output,
                    is_error: output.is_error,
                    duration_ms: *duration_ms,
                };
                self.event(frames, "tool_execution_end", &frame);
            }
            EventKind::QueueChanged(queues) => {
                self.queues = Arc::clone(queues);
                self.connection.told_queues.tell(self.generation, queues);
                let frame = Frame::QueueUpdate {
                    steering: &queues.steering,
                    follow_up: &queues.follow_up,
                };
                self.event(frames, "queue_update", &frame);
            }
            EventKind::StateChanged(change) => self.changed(frames, &event.session, change),
            EventKind::CompactionStarted { reason } => self.compaction_started(frames, *reason),
            EventKind::CompactionEnded(end) => self.compaction_ended(frames, end),
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => {
                let frame = Frame::AutoRetryStart {
                    attempt: *attempt,
                    max_attempts: *max_attempts,
                    delay_ms: *delay_ms,
                    error_message: error,
                };
                self.event(frames, "auto_retry_start", &frame);
            }
            EventKind::RetryEnded {
                success,
                attempt,
                final_error,
            } => {
                let frame = Frame::AutoRetryEnd {
                    success: *success,
                    attempt: *attempt,
                    final_error: final_error.as_deref(),
                };
                self.event(frames, "auto_retry_end", &frame);
            }
            EventKind::SummaryRetry(retry) => self.summary_retry(frames, retry),
            EventKind::FallbackApplied(fallback) => {
                let frame = Frame::RetryFallbackApplied {
                    from: &fallback.from,
                    to: &fallback.to,
                    role: &fallback.role,
                    reason: &fallback.reason,
                };
                self.event(frames, "retry_fallback_applied", &frame);
            }
            EventKind::FallbackSucceeded { model, role } => {
                let frame = Frame::RetryFallbackSucceeded { model, role };
                self.event(frames, "retry_fallback_succeeded", &frame);
            }
            EventKind::PlanTidied => self.event(frames, "todo_auto_clear", &Frame::TodoAutoClear),
            EventKind::ShutdownAsked => self.connection.shutdown.cancel(),
            EventKind::Settled { aborted } => {
                // After a compaction by hand there was no run, and nothing to settle.
                if let Some(outcome) = self.outcome.take() {
                    let finished = self.connection.prompts.finished(event.seq, &self.queues);
                    let framing = &self.connection.framing;
                    if !self.connection.events_only {
                        write_results(framing, frames, &outcome, &finished, *aborted);
                    }
                    write_settled(framing, frames, *aborted);
                }
            }
            EventKind::BashOutput { id, delta } => {
                let id = self.connection.bash.id(*id);
                let frame = Frame::BashExecutionUpdate {
                    id: id.as_deref(),
                    delta,
                };
                self.event(frames, "bash_execution_update", &frame);
            }
            EventKind::PermissionAsked { id, request } => {
                let question = ui::PermissionQuestion::of(request);
                let id = ui::request_id(UiKind::Permission, self.generation, *id);
                self.ask(frames, &id, question.method());
            }
            EventKind::PermissionAnswered { id, answer } => {
                if *answer == PermissionAnswer::Cancelled {
                    self.withdraw(frames, UiKind::Permission, *id);
                }
            }
            EventKind::Notice {
                level,
                message,
                from,
            } => self.notice(frames, *level, message, *from),
            EventKind::DialogAsked { id, dialog } => {
                let id = ui::request_id(UiKind::Dialog, self.generation, *id);
                self.ask(frames, &id, ui::dialog(dialog));
            }
            EventKind::DialogClosed { id, close } => match close {
                DialogClose::Answered(_) => {}
                DialogClose::TimedOut | DialogClose::Withdrawn => {
                    self.withdraw(frames, UiKind::Dialog, *id);
                }
            },
            EventKind::Status { key, text } => {
                let method = UiMethod::SetStatus {
                    status_key: key,
                    status_text: text.as_deref(),
                };
                self.show(frames, method);
            }
            EventKind::Widget {
                key,
                lines,
                placement,
            } => {
                let method = UiMethod::SetWidget {
                    widget_key: key,
                    widget_lines: lines.as_deref(),
                    widget_placement: ui::placement(*placement),
                };
                self.show(frames, method);
            }
            EventKind::Title(title) => self.show(frames, UiMethod::SetTitle { title }),
            EventKind::EditorText(text) => self.show(frames, UiMethod::SetEditorText { text }),
            EventKind::CommandsChanged(commands) => {
                let commands = &available_commands(commands);
                let frame = Frame::AvailableCommandsUpdate { commands };
                self.event(frames, "available_commands_update", &frame);
            }
            EventKind::SubagentStarted(agent) => {
                self.connection.subagents.started(agent, event.time_ms);
                let id = subagents::wire_id(agent);
                let payload = subagents::beginning(agent, &id);
                let frame = Frame::SubagentLifecycle { payload };
                self.subagent(frames, "subagent_lifecycle", &frame);
            }
            EventKind::SubagentProgress {
                agent,
                status,
                work,
            } => {
                let known = &self.connection.subagents;
                let progress = known.progressed(agent, status, work, event.time_ms);
                let payload = subagents::progress(agent, &progress);
                let frame = Frame::SubagentProgress { payload };
                self.subagent(frames, "subagent_progress", &frame);
            }
            EventKind::SubagentEvent { agent, event } => {
                let wanted = self.connection.wants.now();
                if wanted.subagents == SubagentLevel::Events {
                    let framing = &self.connection.framing;
                    self.rest = self.nested.encode(framing, &wanted, agent, event, frames);
                }
            }
            EventKind::SubagentEnded { agent, end } => {
                self.connection.subagents.ended(agent);
                self.nested.ended(agent);
                let id = subagents::wire_id(agent);
                let payload = subagents::ending(agent, &id, end);
                let frame = Frame::SubagentLifecycle { payload };
                self.subagent(frames, "subagent_lifecycle", &frame);
            }
            EventKind::RulesTriggered(rules) => {
                let paths: Vec<String> = rules
                    .iter()
                    .map(|rule| rule.path.to_string_lossy().into_owned())
                    .collect();
                let rules = rules.iter().zip(&paths).map(|(rule, path)| Rule {
                    name: &rule.name,
                    path,
                    content: &rule.content,
                    description: rule.description.as_deref(),
                    condition: &rule.condition,
                    source: RuleSource {
                        provider: "stentor",
                        provider_name: "Stentor",
                        path,
                        level: "project",
                    },
                });
                let rules = rules.collect();
                self.event(frames, "ttsr_triggered", &Frame::TtsrTriggered { rules });
            }
            EventKind::PlanReminder {
                plan,
                attempt,
                max_attempts,
            } => {
                let open = plan.tasks().zip(1..).map(|(task, number)| ReminderItem {
                    id: format!("task-{number}"),
                    content: &task.content,
                    status: status_word(task.status),
                });
                let frame = Frame::TodoReminder {
                    todos: open.filter(|item| is_open(item.status)).collect(),
                    attempt: *attempt,
                    max_attempts: *max_attempts,
                };
                self.event(frames, "todo_reminder", &frame);
            }
            EventKind::ExtensionFailed {
                extension,
                event,
                error,
            } => {
                // A command that failed is named instead of its extension (section 8).
                let command = event.strip_prefix("command/run ");
                let command = command.map(|name| format!("command:{name}"));
                let frame = Frame::ExtensionError {
                    extension_path: command.as_deref().unwrap_or(extension),
                    event: if command.is_some() { "command" } else { event },
                    error,
                };
                self.always(frames, "extension_error", &frame);
            }
            EventKind::EntryAppended {
                entry: Some(entry), ..
            } => match serde_json::value::to_raw_value(&**entry) {
                Ok(entry) => {
                    let frame = Frame::EntryAppended { entry: &entry };
                    self.event(frames, "entry_appended", &frame);
                }
                Err(error) => tracing::error!(%error, "an entry could not be written"),
            },
            // Clients of this dialect read other entries and plans when they want them.
            EventKind::EntryAppended { entry: None, .. } | EventKind::PlanChanged(_) => {}
        }
    }

    fn rest(&mut self) -> Option<Duration> {
        self.rest
    }
}

/// What the agent does to compact: it always asks a model for a summary.
const ACTION: &str = "context-full";

fn message_id(number: u64) -> String {
    format!("msg-{number}")
}

fn reason_word(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual | CompactionReason::Handoff => "manual",
        CompactionReason::Threshold => "threshold",
        CompactionReason::Overflow => "overflow",
    }
}

/// The word for how far a thing to do is.
pub(super) fn status_word(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "completed",
        PlanStatus::Abandoned => "abandoned",
        PlanStatus::Blocked => "blocked",
    }
}

fn is_open(status: &str) -> bool {
    status == "pending" || status == "in_progress"
}

#[cfg(test)]
mod tests;
