//! The way out: what happens in a session, as updates and requests (sections 7 to 9).

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};
use stentor_agent::event::{
    Event, EventKind, Fallback, NoticeLevel, RunEnd, RunOutcome, StateChange,
};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::tool::{Plan, PlanStatus, ToolOutput};
use stentor_journal::message::{Message, ToolCall};
use stentor_journal::usage::Usage;
use stentor_wire::acp::{ChunkFrames, ChunkKind, method};
use stentor_wire::jsonrpc::{Id, encode};
use tokio_util::sync::CancellationToken;

use super::asking::Asking;
use super::calls::{CallViewer, Outcome};
use super::client::Client;
use super::commands;
use super::ending;
use super::explicit::Explicit;
use super::limits;
use super::place::Notes;
use super::settings::Settings;
use super::turns::Turns;
use crate::pump::EventEncoder;

/// Writes the frames of a session's events.
pub(super) struct Encoder {
    pub session_id: Arc<str>,
    pub client: Client,
    pub turns: Turns,
    pub viewer: CallViewer,
    pub notes: Notes,
    pub settings: Settings,
    pub asking: Asking,
    /// Makes the ids of messages unique among all processes that ever opened the session.
    pub message_prefix: String,
    /// US dollars, over the whole session.
    pub cost: f64,
    /// Nothing is said about a session that was loaded until something happens in it
    /// (section 5.2).
    pub is_quiet: bool,
    pub held: Vec<Event>,
    pub message: Option<OpenMessage>,
    /// The calls that have not ended.
    pub calls: HashSet<String>,
    /// True when the answer of this turn that broke off had shown something.
    pub has_shown_text: bool,
    pub compactions: u64,
    pub has_title: bool,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
    /// True once the prompt of the turn has been seen: the client shows that one itself.
    pub knows_prompt: bool,
}

/// The message that is being written.
pub(super) struct OpenMessage {
    number: u64,
    text: ChunkFrames,
    thought: ChunkFrames,
}

impl EventEncoder for Encoder {
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) {
        if self.is_quiet && self.turns.have_begun() {
            self.wake(frames);
        }
        match &event.kind {
            EventKind::RunStarted => self.has_shown_text = false,
            EventKind::RunEnded(end) => self.run_ended(end, event.seq, frames),
            EventKind::AnswerStarted(live) => {
                self.open_message(live.number());
            }
            EventKind::BlockStarted { block, .. } => {
                if let LiveBlockKind::ToolCall { id, name } = &block.kind {
                    self.calls.insert(id.clone());
                    let call = self.viewer.announced(id, name);
                    self.update(frames, acp::SessionUpdate::ToolCall(call));
                }
            }
            EventKind::BlockDelta { live, block, range } => {
                self.delta(live.number(), block, range.clone(), frames);
            }
            EventKind::BlockEnded { call, .. } => {
                if let Some(call) = call {
                    let update = self.viewer.completed_arguments(call);
                    self.update(frames, acp::SessionUpdate::ToolCallUpdate(update));
                }
            }
            EventKind::MessageStarted { number, message } => {
                self.steered(*number, message, frames);
            }
            EventKind::MessageEnded { message, .. } => self.message_ended(message, frames),
            EventKind::ToolStarted { call } => self.must_know(call, frames),
            EventKind::ToolProgress { call, partial } => self.progress(call, partial, frames),
            EventKind::ToolEnded { call, output, .. } => self.tool_ended(call, output, frames),
            EventKind::StateChanged(change) => self.changed(change, event, frames),
            EventKind::CompactionStarted { .. } => {
                self.compactions += 1;
                if self.client.takes_compactions {
                    let status = acp::CompactionStatus::InProgress;
                    self.compaction(
                        acp::CompactionUpdate::new(self.compaction_id(), status),
                        frames,
                    );
                }
            }
            EventKind::CompactionEnded(end) => {
                if self.client.takes_compactions {
                    let update = ending::compaction(self.compaction_id(), end);
                    self.compaction(update, frames);
                }
            }
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => {
                let seconds = delay_ms.div_ceil(1000);
                let text = format!(
                    "{error} Trying again in {seconds} s (attempt {attempt} of {max_attempts})."
                );
                self.retrying(&text, event.seq, frames);
            }
            EventKind::FallbackApplied(fallback) => {
                let Fallback {
                    from, to, reason, ..
                } = &**fallback;
                self.retrying(
                    &format!("{reason} {to} steps in for {from}."),
                    event.seq,
                    frames,
                );
            }
            EventKind::ShutdownAsked => self.shutdown.cancel(),
            EventKind::Settled { .. } => {
                self.message = None;
                self.knows_prompt = false;
                if let Some(turn) = self.turns.settled(event.seq)
                    && turn.claim_answer()
                {
                    ending::answer(frames, &turn);
                }
            }
            EventKind::PlanChanged(plan) => {
                self.update(frames, acp::SessionUpdate::Plan(plan_of(plan)));
            }
            EventKind::PermissionAsked { id, request } => {
                self.must_know(&request.call, frames);
                self.asking
                    .permission(*id, request, &self.viewer, &self.turns, frames);
            }
            EventKind::PermissionAnswered { id, answer } => {
                self.asking.permission_answered(*id, *answer, frames);
            }
            EventKind::Notice { level, message, .. } => {
                if !self.hold(event) {
                    self.notice(*level, message, event.seq, frames);
                }
            }
            EventKind::DialogAsked { id, dialog } => {
                self.asking
                    .dialog(*id, dialog, self.client.has_forms, &self.turns, frames);
            }
            EventKind::DialogClosed { id, close } => self.asking.dialog_closed(*id, close, frames),
            EventKind::CommandsChanged(list) => {
                if !self.hold(event) {
                    self.update(frames, commands::update(list));
                }
            }
            EventKind::SubagentStarted(agent) => {
                self.subagent(
                    &agent.call_id,
                    &format!("{}: {}", agent.name, agent.task),
                    frames,
                );
            }
            EventKind::SubagentProgress { agent, status, .. } => {
                self.subagent(&agent.call_id, &format!("{}: {status}", agent.name), frames);
            }
            EventKind::ExtensionFailed {
                extension,
                event: doing,
                error,
            } => {
                let message = format!("The extension {extension} failed in {doing}: {error}");
                if !self.hold(event) {
                    self.notice(NoticeLevel::Warning, &message, event.seq, frames);
                }
            }
            // The protocol has no words for these, or says the same elsewhere.
            EventKind::TurnStarted
            | EventKind::FallbackSucceeded { .. }
            | EventKind::SummaryRetry(_)
            | EventKind::PlanTidied
            | EventKind::TurnEnded { .. }
            | EventKind::QueueChanged(_)
            | EventKind::EntryAppended { .. }
            | EventKind::RetryEnded { .. }
            | EventKind::BashOutput { .. }
            | EventKind::Status { .. }
            | EventKind::Widget { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::SubagentEnded { .. }
            | EventKind::SubagentEvent { .. }
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. } => {}
        }
    }
}

impl Encoder {
    fn update(&self, frames: &mut Vec<u8>, update_: acp::SessionUpdate) {
        update(frames, &self.session_id, update_);
    }

    /// The first thing happens in a session that was loaded: what was held back is said.
    fn wake(&mut self, frames: &mut Vec<u8>) {
        self.is_quiet = false;
        for event in std::mem::take(&mut self.held) {
            self.encode(&event, frames);
        }
    }

    fn hold(&mut self, event: &Event) -> bool {
        if self.is_quiet {
            if self.held.len() >= limits::MAX_HELD {
                self.held.remove(0);
            }
            self.held.push(event.clone());
        }
        self.is_quiet
    }

    fn message_id(&self, number: u64) -> String {
        format!("{}-{number}", self.message_prefix)
    }

    fn open_message(&mut self, number: u64) -> &OpenMessage {
        let id = self.message_id(number);
        let frames = |kind, id: &str| ChunkFrames::new(kind, &self.session_id, id);
        let thought = format!("{id}-thought");
        let message = OpenMessage {
            number,
            text: frames(ChunkKind::Agent, &id),
            thought: frames(ChunkKind::Thought, &thought),
        };
        self.message.insert(message)
    }

    /// The hot path: written straight into the buffer.
    fn delta(&mut self, number: u64, block: &LiveBlock, range: Range<usize>, out: &mut Vec<u8>) {
        let is_open = self
            .message
            .as_ref()
            .is_some_and(|open| open.number == number);
        let message = match &self.message {
            Some(message) if is_open => message,
            _ => self.open_message(number),
        };
        let chunks = match &block.kind {
            LiveBlockKind::Text => &message.text,
            LiveBlockKind::Thinking => &message.thought,
            LiveBlockKind::ToolCall { .. } | LiveBlockKind::Redacted => return,
        };
        block.with(range, |text| chunks.write(out, text));
        self.has_shown_text = true;
    }

    /// A message of nobody's: why something failed, or what a command did.
    fn say(&self, kind: ChunkKind, id: &str, text: &str, frames: &mut Vec<u8>) {
        ChunkFrames::new(kind, &self.session_id, id).write(frames, text);
    }

    /// A message that was put into the running turn is shown where it went in.
    fn steered(&mut self, number: u64, message: &Message, frames: &mut Vec<u8>) {
        let Some(user) = message.as_user() else {
            return;
        };
        if std::mem::replace(&mut self.knows_prompt, true) {
            let id = self.message_id(number);
            self.say(ChunkKind::User, &id, &user.content.text(), frames);
        }
        if !self.has_title {
            self.has_title = true;
            let title = super::content::title_of(&user.content.text());
            if !title.is_empty() {
                let info = acp::SessionInfoUpdate::new().title(title);
                self.update(frames, acp::SessionUpdate::SessionInfoUpdate(info));
            }
        }
    }

    fn message_ended(&mut self, message: &Message, frames: &mut Vec<u8>) {
        let Some(answer) = message.as_assistant() else {
            return;
        };
        self.message = None;
        if !answer.usage.is_zero() {
            self.cost += answer.usage.cost.total;
            let used = answer.usage.context_tokens();
            if let Some(update) = usage(&self.settings, used, self.cost) {
                self.update(frames, update);
            }
        }
    }

    /// A call that nobody announced is announced now.
    fn must_know(&mut self, call: &ToolCall, frames: &mut Vec<u8>) {
        if self.calls.insert(call.id.clone()) {
            let made = self.viewer.made(call);
            self.update(frames, acp::SessionUpdate::ToolCall(made));
        }
    }

    fn progress(&mut self, call: &ToolCall, partial: &ToolOutput, frames: &mut Vec<u8>) {
        self.must_know(call, frames);
        // A terminal shows its own output; that the call runs has been said when it began.
        if !self.notes.has_terminal(&call.id)
            && let Some(update) = self.viewer.progress(&call.id, &partial.content)
        {
            self.update(frames, acp::SessionUpdate::ToolCallUpdate(update));
        }
    }

    fn tool_ended(&mut self, call: &ToolCall, output: &ToolOutput, frames: &mut Vec<u8>) {
        self.must_know(call, frames);
        self.calls.remove(&call.id);
        let terminal = self.notes.take_terminal(&call.id);
        let before = self
            .viewer
            .path(call)
            .map(|path| self.notes.take_before(&path));
        let ended = self.viewer.ended(
            call,
            &Outcome {
                content: &output.content,
                details: output.details.as_ref(),
                is_error: output.is_error,
                terminal: terminal.as_deref(),
                before: before.unwrap_or_default(),
            },
        );
        self.update(frames, acp::SessionUpdate::ToolCallUpdate(ended));
    }

    fn subagent(&mut self, call_id: &str, text: &str, frames: &mut Vec<u8>) {
        // Without its call there is nowhere to show it.
        let content = [stentor_journal::message::ContentBlock::text(text)];
        if self.calls.contains(call_id)
            && let Some(update) = self.viewer.progress(call_id, &content)
        {
            self.update(frames, acp::SessionUpdate::ToolCallUpdate(update));
        }
    }

    /// A mode change is told both ways (section 10.3).
    fn changed(&mut self, change: &StateChange, event: &Event, frames: &mut Vec<u8>) {
        match change {
            StateChange::Model(model) => self.settings.model = Some(Arc::clone(model)),
            StateChange::ThinkingLevel(level) => self.settings.thinking = *level,
            StateChange::PermissionMode(mode) => {
                self.settings.mode = *mode;
                let update = acp::CurrentModeUpdate::new(mode.as_str());
                self.update(frames, acp::SessionUpdate::CurrentModeUpdate(update));
            }
            StateChange::Name(name) => {
                self.has_title = name.is_some();
                if !self.hold(event) {
                    let info = acp::SessionInfoUpdate::new().title(name.clone());
                    self.update(frames, acp::SessionUpdate::SessionInfoUpdate(info));
                }
                return;
            }
            StateChange::SteeringMode(_)
            | StateChange::FollowUpMode(_)
            | StateChange::InterruptMode(_)
            | StateChange::AutoCompaction(_)
            | StateChange::AutoRetry(_)
            | StateChange::Leaf(_) => return,
        }
        let update = acp::ConfigOptionUpdate::new(self.settings.options());
        self.update(frames, acp::SessionUpdate::ConfigOptionUpdate(update));
    }

    fn compaction_id(&self) -> String {
        format!("{}-compaction-{}", self.message_prefix, self.compactions)
    }

    fn compaction(&self, update: acp::CompactionUpdate, frames: &mut Vec<u8>) {
        self.update(frames, acp::SessionUpdate::CompactionUpdate(update));
    }

    /// Text that was shown cannot be taken back, so the person is told why it begins again.
    fn retrying(&mut self, text: &str, seq: u64, frames: &mut Vec<u8>) {
        if self.client.takes_notices {
            self.send_notice(NoticeLevel::Warning, text, frames);
        } else if std::mem::take(&mut self.has_shown_text) {
            let id = format!("{}-retry-{seq}", self.message_prefix);
            self.say(ChunkKind::Thought, &id, text, frames);
        }
    }

    fn notice(&self, level: NoticeLevel, message: &str, seq: u64, frames: &mut Vec<u8>) {
        if self.client.takes_notices {
            return self.send_notice(level, message, frames);
        }
        match level {
            NoticeLevel::Warning | NoticeLevel::Error => {
                let id = format!("{}-notice-{seq}", self.message_prefix);
                self.say(ChunkKind::Agent, &id, &format!("{message}\n\n"), frames);
            }
            NoticeLevel::Info => tracing::info!("{message}"),
        }
    }

    fn send_notice(&self, level: NoticeLevel, message: &str, frames: &mut Vec<u8>) {
        let severity = match level {
            NoticeLevel::Info => acp::NoticeSeverity::Info,
            NoticeLevel::Warning => acp::NoticeSeverity::Warning,
            NoticeLevel::Error => acp::NoticeSeverity::Error,
        };
        let title = super::calls::one_line(message);
        let description = (title != message).then(|| message.to_owned());
        let notice = acp::Notice::new(severity, title).description(description);
        self.update(frames, acp::SessionUpdate::Notice(notice));
    }

    /// A model call that failed is never a silent end of a turn (section 6.5).
    fn run_ended(&mut self, end: &RunEnd, seq: u64, frames: &mut Vec<u8>) {
        self.turns.ran(&end.outcome, &end.usage);
        if end.will_retry {
            return;
        }
        if let RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. } =
            &end.outcome
        {
            let id = format!("{}-end-{seq}", self.message_prefix);
            self.say(ChunkKind::Agent, &id, message, frames);
        }
    }
}

/// How full the context is (section 7).
pub(super) fn usage(settings: &Settings, used: u64, cost: f64) -> Option<acp::SessionUpdate> {
    let size = settings.model.as_ref()?.context_window;
    let cost = (cost > 0.0).then(|| acp::Cost::new(cost, "USD"));
    let usage = acp::UsageUpdate::new(used, size).cost(cost);
    Some(acp::SessionUpdate::UsageUpdate(usage))
}

/// Appends one update.
pub(super) fn update(frames: &mut Vec<u8>, session_id: &Arc<str>, update: acp::SessionUpdate) {
    let params = acp::SessionNotification::new(Arc::clone(session_id), update);
    match encode::notification(frames, method::SESSION_UPDATE, &Explicit(&params)) {
        Ok(()) => frames.push(b'\n'),
        Err(error) => tracing::error!(%error, "an update could not be written"),
    }
}

/// Appends the answer to a request.
pub(super) fn result(frames: &mut Vec<u8>, id: &Id, result: &impl serde::Serialize) {
    match encode::result(frames, id, result) {
        Ok(()) => frames.push(b'\n'),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            super::error::Refusal::internal("The answer could not be written.").write(frames, id);
        }
    }
}

/// The plan in the protocol's words, which know fewer states.
pub(super) fn plan_of(plan: &Plan) -> acp::Plan {
    let entries = plan.tasks().map(|task| {
        let (status, content) = match task.status {
            PlanStatus::Pending => (acp::PlanEntryStatus::Pending, task.content.clone()),
            PlanStatus::InProgress => (acp::PlanEntryStatus::InProgress, task.content.clone()),
            PlanStatus::Completed => (acp::PlanEntryStatus::Completed, task.content.clone()),
            PlanStatus::Abandoned => (
                acp::PlanEntryStatus::Completed,
                format!("{} (abandoned)", task.content),
            ),
            PlanStatus::Blocked => (
                acp::PlanEntryStatus::Pending,
                format!("{} (blocked)", task.content),
            ),
        };
        acp::PlanEntry::new(content, acp::PlanEntryPriority::Medium, status)
    });
    acp::Plan::new(entries.collect())
}

/// What was consumed, for `_meta`.
pub(super) fn usage_json(usage: &Usage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cachedReadTokens": usage.cache_read,
        "cachedWriteTokens": usage.cache_write,
        "costUsd": (!usage.cost.is_unknown).then_some(usage.cost.total),
    })
}
