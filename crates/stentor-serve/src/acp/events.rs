//! The way out: what happens in a session, as updates and requests (sections 7 to 9).

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::event::{
    CompactionEnd, Event, EventKind, NoticeLevel, RunEnd, RunOutcome, StateChange,
};
use stentor_agent::hub::Cursor;
use stentor_agent::jobs::JOB_MESSAGE;
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_agent::session::{CostMeter, RunId};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{KnownMessage, Message, ToolCall};
use stentor_policy::PermissionAnswer;
use stentor_wire::acp::{ChunkFrames, ChunkKind};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::calls::{self, CallOutcome, CallViewer};
use super::client::AcpClient;
use super::client_io::CallNotes;
use super::commands;
use super::cursor;
use super::frames::{self as write, update};
use super::limits;
use super::questions::AcpQuestions;
use super::replay::Replay;
use super::settings::SessionSettings;
use super::shells::AcpUserShells;
use super::subagents::AcpSubagents;
use super::turn::{AcpTurn, PromptEnd, TurnStage};
use crate::notice_log;
use crate::pump::EventEncoder;

/// What others are told when somebody went back in a session.
const REWOUND: &str = "The conversation went back to an earlier message in another client. Load the \
                       session again to see what is left of it.";

/// Writes the frames of a session's events, and knows the turn they belong to.
pub(super) struct AcpEncoder {
    pub session_id: Arc<str>,
    pub client: AcpClient,
    /// The prompt that is being answered. Whoever ends it takes it out.
    pub turn: Option<AcpTurn>,
    /// The trace context of the turn that runs, for requests to the client.
    pub trace: watch::Sender<Option<acp::Meta>>,
    pub viewer: CallViewer,
    pub notes: CallNotes,
    pub settings: SessionSettings,
    pub questions: AcpQuestions,
    /// Makes the ids of messages that are in no file unique among all processes that ever opened
    /// the session.
    pub message_prefix: String,
    /// Over the whole session, its subagents included.
    pub cost: CostMeter,
    /// What the client was last told of it.
    pub shown_cost: f64,
    /// How full the context was after the last answer.
    pub context_used: Option<u64>,
    /// Nothing is sent about a session that was loaded until something happens in it
    /// (section 5.2).
    pub is_quiet: bool,
    /// Others may have to do with the session, too.
    pub is_shared: bool,
    /// Where its events begin, if the client wants every update to say where it is.
    pub begin: Option<Cursor>,
    /// Its tools work with this client's files and terminals, which learns of calls from them.
    pub works_here: bool,
    pub held: Vec<Event>,
    pub message: Option<OpenMessage>,
    /// The calls that have not ended.
    pub calls: HashSet<String>,
    /// The commands that a user runs in another client.
    pub shells: AcpUserShells,
    /// The subagents at work, where the client shows them.
    pub subagents: AcpSubagents,
    /// True when the answer of this turn that broke off had shown something.
    pub has_shown_text: bool,
    pub compactions: u64,
    pub has_title: bool,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
    /// True once the prompt of the turn has been seen: the client shows that one itself.
    pub knows_prompt: bool,
    pub has_had_turn: bool,
    /// The number of the newest event with which something of the session ended.
    pub last_settled: u64,
    /// How many messages were sent that are nobody's.
    pub own_messages: u64,
    /// True when a question was answered for good, which is in no file.
    pub has_lasting_answer: bool,
}

/// The message that is being written.
pub(super) struct OpenMessage {
    number: u64,
    text: ChunkFrames,
    thought: ChunkFrames,
}

impl EventEncoder for AcpEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Vec<u8>) {
        let start = frames.len();
        self.encode_event(event, frames);
        if let Some(begin) = &self.begin {
            cursor::stamp(frames, start, begin, event.seq);
        }
    }
}

impl AcpEncoder {
    fn encode_event(&mut self, event: &Event, frames: &mut Vec<u8>) {
        if self.is_quiet && self.has_had_turn {
            self.wake(frames);
        }
        let seq = event.seq;
        match &event.kind {
            EventKind::RunStarted => self.has_shown_text = false,
            EventKind::RunEnded(end) => self.run_ended(end, seq, frames),
            EventKind::AnswerStarted(live) => {
                self.open_message(live);
            }
            EventKind::BlockStarted { block, .. } => self.call_announced(block, frames),
            EventKind::BlockDelta { live, block, range } => {
                self.delta(live, block, range.clone(), frames);
            }
            EventKind::BlockEnded { call, .. } => self.arguments_complete(call.as_deref(), frames),
            EventKind::MessageStarted {
                entry_id, message, ..
            } => self.whole_message(entry_id, message, seq, frames),
            EventKind::MessageEnded { message, .. } => self.message_ended(message, frames),
            EventKind::ToolStarted { call } => self.tool_started(call, frames),
            EventKind::ToolProgress { call, partial } => self.progress(call, partial, frames),
            EventKind::ToolEnded { call, output, .. } => self.tool_ended(call, output, frames),
            EventKind::StateChanged(change) => self.changed(change, event, frames),
            EventKind::CompactionStarted { .. } => self.compaction_started(frames),
            EventKind::CompactionEnded(end) => self.compaction_ended(end, frames),
            EventKind::RetryStarted { .. } | EventKind::FallbackApplied(_) => {
                self.model_call_repeated(event, frames);
            }
            EventKind::BashStarted { .. }
            | EventKind::BashOutput { .. }
            | EventKind::BashEnded { .. } => {
                for shown in self.shells.happened(event, &self.viewer) {
                    self.update(frames, shown);
                }
            }
            EventKind::ShutdownAsked => self.shutdown.cancel(),
            EventKind::Settled { .. } => self.settled(seq, frames),
            EventKind::PlanChanged(plan) => self.update(frames, write::plan(plan)),
            EventKind::PermissionAsked { .. }
            | EventKind::PermissionAnswered { .. }
            | EventKind::DialogAsked { .. }
            | EventKind::DialogClosed { .. } => self.question(event, frames),
            EventKind::Notice { level, message, .. } => {
                self.notice(*level, message, event, frames);
            }
            EventKind::ExtensionFailed {
                extension,
                event: doing,
                error,
            } => {
                let message = format!("The extension {extension} failed in {doing}: {error}");
                self.notice(NoticeLevel::Warning, &message, event, frames);
            }
            EventKind::CommandsChanged(list) => {
                if !self.hold(event) {
                    self.update(frames, commands::update(list));
                }
            }
            EventKind::SubagentStarted(agent) => {
                if self.client.shows_subagents {
                    self.subagents.started(&self.session_id, agent, frames);
                }
                let text = format!("{}: {}", agent.name, agent.task);
                self.subagent(&agent.call_id, &text, frames);
            }
            EventKind::SubagentProgress { agent, status, .. } => {
                self.subagent(&agent.call_id, &format!("{}: {status}", agent.name), frames);
            }
            EventKind::SubagentEvent { agent, event } => {
                self.subagents.happened(agent, event, &self.viewer, frames);
            }
            EventKind::SubagentEnded { agent, end } => {
                self.subagents.ended(&self.session_id, agent, end, frames);
                // No answer of the session's own may follow that would say what it cost.
                if self.cost.dollars() > self.shown_cost {
                    self.write_usage(frames);
                }
            }
            // The protocol has no words for these, or has the same elsewhere.
            EventKind::TurnStarted
            | EventKind::FallbackSucceeded { .. }
            | EventKind::SummaryRetry(_)
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::TurnEnded { .. }
            | EventKind::QueueChanged(_)
            | EventKind::EntryAppended { .. }
            | EventKind::RetryEnded { .. }
            | EventKind::Status { .. }
            | EventKind::Widget { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. } => {}
        }
    }
}

/// What begins or goes into a run without anybody saying it: without it the answer has no question.
fn is_job_end(message: &Message) -> bool {
    matches!(message, Message::Known(KnownMessage::Custom(custom)) if custom.custom_type == JOB_MESSAGE)
}

/// The turn.
impl AcpEncoder {
    /// A prompt begins to be answered. There is no other turn.
    pub fn begin(&mut self, turn: AcpTurn) {
        self.turn = Some(turn);
        self.has_had_turn = true;
    }

    /// The turn is at something else now.
    pub fn set_stage(&mut self, stage: TurnStage) {
        if let Some(turn) = &mut self.turn {
            turn.stage = stage;
        }
    }

    /// The session has accepted the prompt as `run`. False when that has ended already: its end
    /// was not known to be the turn's.
    pub fn accepted(&mut self, run: RunId, after: u64) -> bool {
        self.set_stage(TurnStage::Running { run, after });
        let trace = self.turn.as_ref().map(|turn| turn.request.trace.clone());
        self.trace.send_replace(trace.flatten());
        self.last_settled <= after
    }

    /// Ends the turn, if there is one: the one place where a turn's prompt is answered.
    pub fn end_turn(&mut self, end: PromptEnd, frames: &mut Vec<u8>) {
        if let Some(turn) = self.turn.take() {
            self.trace.send_replace(None);
            turn.answer(end, frames);
        }
    }

    fn settled(&mut self, seq: u64, frames: &mut Vec<u8>) {
        self.message = None;
        self.knows_prompt = false;
        self.last_settled = seq;
        if self.turn.as_ref().is_some_and(|turn| turn.runs_before(seq)) {
            self.end_turn(PromptEnd::Over, frames);
        }
    }

    /// A model call that failed is never a silent end of a turn (section 6.5).
    fn run_ended(&mut self, end: &RunEnd, seq: u64, frames: &mut Vec<u8>) {
        if let Some(turn) = &mut self.turn {
            turn.ran(&end.outcome, &end.usage);
        }
        if end.will_retry {
            return;
        }
        if let RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. } =
            &end.outcome
        {
            let id = format!("{}-end-{seq}", self.message_prefix);
            self.write_message(ChunkKind::Agent, &id, message, frames);
        }
    }

    /// Appends a message that no event stands for: what a command did, or why nothing can be done.
    pub fn own_message(&mut self, text: &str, frames: &mut Vec<u8>) {
        let id = format!("{}-said-{}", self.message_prefix, self.own_messages);
        self.own_messages += 1;
        self.write_message(ChunkKind::Agent, &id, text, frames);
    }
}

impl AcpEncoder {
    fn update(&self, frames: &mut Vec<u8>, what: acp::SessionUpdate) {
        update(frames, &self.session_id, what);
    }

    /// The first thing happens in a session that was loaded: what was held back is sent.
    fn wake(&mut self, frames: &mut Vec<u8>) {
        self.is_quiet = false;
        for event in std::mem::take(&mut self.held) {
            self.encode_event(&event, frames);
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

    fn open_message(&mut self, live: &LiveMessage) -> &OpenMessage {
        let (number, id) = (live.number(), live.entry_id());
        let frames = |kind, id: &str| ChunkFrames::new(kind, &self.session_id, id);
        let thought = format!("{id}-thought");
        let message = OpenMessage {
            number,
            text: frames(ChunkKind::Agent, id),
            thought: frames(ChunkKind::Thought, &thought),
        };
        self.message.insert(message)
    }

    /// The hot path: written straight into the buffer.
    fn delta(
        &mut self,
        live: &LiveMessage,
        block: &LiveBlock,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) {
        let number = live.number();
        let is_open = self
            .message
            .as_ref()
            .is_some_and(|open| open.number == number);
        let message = match &self.message {
            Some(message) if is_open => message,
            _ => self.open_message(live),
        };
        let chunks = match &block.kind {
            LiveBlockKind::Text => &message.text,
            LiveBlockKind::Thinking => &message.thought,
            LiveBlockKind::ToolCall { .. } | LiveBlockKind::Redacted => return,
        };
        block.with(range, |text| chunks.write(out, text));
        self.has_shown_text = true;
    }

    /// A whole message.
    fn write_message(&self, kind: ChunkKind, id: &str, text: &str, frames: &mut Vec<u8>) {
        ChunkFrames::new(kind, &self.session_id, id).write(frames, text);
    }

    /// A message that was put into the running turn is shown where it went in, and so is a prompt
    /// of somebody else. An answer comes whole when the client was away while it was written.
    fn whole_message(&mut self, id: &str, message: &Message, seq: u64, frames: &mut Vec<u8>) {
        let is_shown = match message.as_user() {
            Some(_) => {
                let is_own = self.turn.as_ref().is_some_and(|turn| turn.runs_before(seq));
                let is_foreign = self.is_shared && !is_own;
                std::mem::replace(&mut self.knows_prompt, true) || is_foreign
            }
            None => message.as_assistant().is_some() || is_job_end(message),
        };
        if is_shown {
            let mut replay = Replay::new(Arc::clone(&self.session_id), self.viewer.clone());
            replay.message(id, message, frames);
            self.calls.extend(replay.open_calls());
        }
        if let Some(user) = message.as_user().filter(|_| !self.has_title) {
            self.has_title = true;
            let title = super::content::title_of(&user.content.text());
            if !title.is_empty() {
                self.update(frames, write::title(Some(title)));
            }
        }
    }

    fn message_ended(&mut self, message: &Message, frames: &mut Vec<u8>) {
        let Some(answer) = message.as_assistant() else {
            return;
        };
        self.message = None;
        // Another agent may report what it cost, or how full its context is, and not what it consumed.
        if !answer.usage.is_zero() || answer.usage.context.is_some() {
            self.context_used = Some(answer.usage.context_tokens());
            self.write_usage(frames);
        }
    }

    fn write_usage(&mut self, frames: &mut Vec<u8>) {
        let cost = self.cost.dollars();
        let used = self.context_used;
        if let Some(update) = used.and_then(|used| write::usage(&self.settings, used, cost)) {
            self.shown_cost = cost;
            self.update(frames, update);
        }
    }

    fn call_announced(&mut self, block: &LiveBlock, frames: &mut Vec<u8>) {
        if let LiveBlockKind::ToolCall { id, name } = &block.kind {
            self.calls.insert(id.clone());
            let call = self.viewer.announced(id, name);
            self.update(frames, acp::SessionUpdate::ToolCall(call));
        }
    }

    fn arguments_complete(&self, call: Option<&ToolCall>, frames: &mut Vec<u8>) {
        if let Some(call) = call {
            let update = self.viewer.completed_arguments(call);
            self.update(frames, acp::SessionUpdate::ToolCallUpdate(update));
        }
    }

    fn tool_started(&mut self, call: &ToolCall, frames: &mut Vec<u8>) {
        self.must_know(call, frames);
        if !self.works_here {
            let update = calls::in_progress(&call.id);
            self.update(frames, acp::SessionUpdate::ToolCallUpdate(update));
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
        // A terminal shows its own output; that the call runs was sent when it began.
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
        let ended = self.viewer.ended(
            call,
            &CallOutcome {
                content: &output.content,
                details: output.details.as_ref(),
                is_error: output.is_error,
                terminal: terminal.as_deref(),
                before: self.notes.take_before(&call.id),
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

    /// A mode change is sent both ways (section 10.3).
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
                    self.update(frames, write::title(name.clone()));
                }
                return;
            }
            StateChange::SteeringMode(_)
            | StateChange::FollowUpMode(_)
            | StateChange::InterruptMode(_)
            | StateChange::AutoCompaction(_)
            | StateChange::AutoRetry(_) => return,
            StateChange::Leaf(_) => {
                // The protocol cannot take messages back. Who did it has a turn, which says so.
                if self.turn.is_none() {
                    self.show_notice(NoticeLevel::Warning, REWOUND, event.seq, frames);
                }
                return;
            }
        }
        let update = acp::ConfigOptionUpdate::new(self.settings.options());
        self.update(frames, acp::SessionUpdate::ConfigOptionUpdate(update));
    }

    fn compaction_started(&mut self, frames: &mut Vec<u8>) {
        self.compactions += 1;
        if self.client.takes_compactions {
            let status = acp::CompactionStatus::InProgress;
            let update = acp::CompactionUpdate::new(self.compaction_id(), status);
            self.update(frames, acp::SessionUpdate::CompactionUpdate(update));
        }
    }

    fn compaction_ended(&self, end: &CompactionEnd, frames: &mut Vec<u8>) {
        if !self.client.takes_compactions {
            return;
        }
        let status = match (&end.result, end.aborted) {
            (Some(_), _) => acp::CompactionStatus::Completed,
            (None, true) => acp::CompactionStatus::Cancelled,
            (None, false) => acp::CompactionStatus::Failed,
        };
        let update = acp::CompactionUpdate::new(self.compaction_id(), status);
        let update = match (&end.result, &end.error) {
            (Some(done), _) => update.summary(vec![acp::ContentBlock::from(done.summary.clone())]),
            (None, Some(error)) => update.error(error.clone()),
            (None, None) => update,
        };
        self.update(frames, acp::SessionUpdate::CompactionUpdate(update));
    }

    fn compaction_id(&self) -> String {
        format!("{}-compaction-{}", self.message_prefix, self.compactions)
    }

    /// A question to the person at the client, or the end of one.
    fn question(&mut self, event: &Event, frames: &mut Vec<u8>) {
        let trace = self.trace.borrow().clone();
        match &event.kind {
            EventKind::PermissionAsked { id, request } => {
                self.must_know(&request.call, frames);
                let questions = &mut self.questions;
                questions.permission(*id, request, &self.viewer, trace, frames);
            }
            EventKind::PermissionAnswered { id, answer } => {
                self.has_lasting_answer |= matches!(
                    answer,
                    PermissionAnswer::AllowAlways | PermissionAnswer::RejectAlways
                );
                self.questions.permission_answered(*id, frames);
            }
            EventKind::DialogAsked { id, dialog } => {
                let has_forms = self.client.has_forms;
                self.questions.dialog(*id, dialog, has_forms, trace, frames);
            }
            EventKind::DialogClosed { id, close } => {
                self.questions.dialog_closed(*id, close, frames);
            }
            _ => {}
        }
    }

    /// A model call that failed is made again, or by another model.
    fn model_call_repeated(&mut self, event: &Event, frames: &mut Vec<u8>) {
        let text = match &event.kind {
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => {
                let seconds = delay_ms.div_ceil(1000);
                format!(
                    "{error} Trying again in {seconds} s (attempt {attempt} of {max_attempts})."
                )
            }
            EventKind::FallbackApplied(fallback) => {
                let (from, to) = (&fallback.from, &fallback.to);
                format!("{} {to} steps in for {from}.", fallback.reason)
            }
            _ => return,
        };
        self.retrying(&text, event.seq, frames);
    }

    /// Text that was shown cannot be taken back, so the person learns why it begins again.
    fn retrying(&mut self, text: &str, seq: u64, frames: &mut Vec<u8>) {
        if self.client.takes_notices {
            self.send_notice(NoticeLevel::Warning, text, frames);
        } else if std::mem::take(&mut self.has_shown_text) {
            let id = format!("{}-retry-{seq}", self.message_prefix);
            self.write_message(ChunkKind::Thought, &id, text, frames);
        }
    }

    fn notice(&mut self, level: NoticeLevel, text: &str, event: &Event, frames: &mut Vec<u8>) {
        if !self.hold(event) {
            self.show_notice(level, text, event.seq, frames);
        }
    }

    fn show_notice(&self, level: NoticeLevel, text: &str, seq: u64, frames: &mut Vec<u8>) {
        if self.client.takes_notices {
            return self.send_notice(level, text, frames);
        }
        match level {
            NoticeLevel::Warning | NoticeLevel::Error => {
                let id = format!("{}-notice-{seq}", self.message_prefix);
                self.write_message(ChunkKind::Agent, &id, &format!("{text}\n\n"), frames);
            }
            NoticeLevel::Info => notice_log::log(level, text),
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
}
