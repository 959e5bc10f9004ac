//! What happens in a session, as pieces of the page.

use std::sync::Arc;
use std::time::Duration;

use stentor_agent::event::{
    CompactionEnd, Event, EventKind, RunEnd, RunOutcome, StateChange, SubagentEnd,
};
use stentor_agent::model::{ModelInfo, ModelRegistry, ThinkingLevel};
use stentor_agent::session::SessionState;
use stentor_journal::export::Html;
use stentor_journal::message::{CompactionSummary, KnownMessage, Message};
use stentor_journal::store::{Entry, EntryKind};
use stentor_policy::PermissionMode;

use super::frames::{Op, PageState};
use super::named_models::NamedModels;
use super::panel;
use super::questions::{self, dialog_id, permission_id};
use super::transcript::PageTranscript;
use crate::pump::EventEncoder;

/// For how long deltas gather: a person sees no more.
const REST: Duration = Duration::from_millis(60);

/// The page of one session.
pub(super) struct PageView {
    models: Arc<dyn ModelRegistry>,
    transcript: PageTranscript,
    state: PageState,
    named: NamedModels,
    model: Option<Arc<ModelInfo>>,
    thinking: ThinkingLevel,
    mode: PermissionMode,
    rests: bool,
}

impl PageView {
    /// The page of a session as it is, and the lines that show it.
    pub fn new(
        models: &Arc<dyn ModelRegistry>,
        state: &SessionState,
        observes: bool,
        entries: &[Entry],
    ) -> (Self, Vec<u8>) {
        let (transcript, html) = PageTranscript::of(entries);
        let shown = PageState {
            session: Some(state.id.to_string()),
            title: state
                .name
                .clone()
                .unwrap_or_else(|| transcript.title.clone()),
            cwd: state.cwd.display().to_string(),
            running: state.is_running,
            observes,
            ..PageState::default()
        };
        let mut view = Self {
            models: Arc::clone(models),
            transcript,
            state: shown,
            named: NamedModels::of(entries),
            model: state.model.clone(),
            thinking: state.thinking,
            mode: state.permission_mode,
            rests: false,
        };
        let mut lines = Vec::new();
        set("transcript", &html, &mut lines);
        set("questions", "", &mut lines);
        set("plan", &panel::plan(&state.plan), &mut lines);
        set("queue", &panel::queues(&state.queues), &mut lines);
        set("forks", "", &mut lines);
        view.write_choices(&mut lines);
        view.write_spending(&mut lines);
        status("", &mut lines);
        (view, lines)
    }

    fn write_choices(&mut self, lines: &mut Vec<u8>) {
        if let Some(model) = &self.model {
            self.named.add(&model.provider, &model.id);
        }
        let model = self.model.as_deref();
        let known = self.named.known(&*self.models);
        let models = panel::models(&self.models.available(), &known, model);
        set("model", &models, lines);
        set("thinking", &panel::levels(model, self.thinking), lines);
        set("mode", &panel::modes(self.mode), lines);
        self.state.model = model.map(ModelInfo::full_name).unwrap_or_default();
        self.state.thinking = self.thinking.as_str().to_owned();
        self.state.mode = self.mode.as_str().to_owned();
        self.write_state(lines);
    }

    fn write_state(&self, lines: &mut Vec<u8>) {
        Op::State(&self.state).write(lines);
    }

    fn write_spending(&self, lines: &mut Vec<u8>) {
        let window = self.model.as_ref().map_or(0, |model| model.context_window);
        set("spending", &self.transcript.spending.html(window), lines);
    }

    fn runs(&mut self, running: bool, lines: &mut Vec<u8>) {
        self.state.running = running;
        self.write_state(lines);
    }

    fn changed(&mut self, change: &StateChange, lines: &mut Vec<u8>) {
        match change {
            StateChange::Model(model) => {
                self.model = Some(Arc::clone(model));
                self.write_choices(lines);
                self.write_spending(lines);
            }
            StateChange::ThinkingLevel(level) => {
                self.thinking = *level;
                self.write_choices(lines);
            }
            StateChange::PermissionMode(mode) => {
                self.mode = *mode;
                self.write_choices(lines);
            }
            StateChange::Name(name) => {
                let title = &self.transcript.title;
                self.state.title = name.as_ref().unwrap_or(title).clone();
                self.write_state(lines);
            }
            StateChange::Leaf(_) => {
                let session = self.state.session.as_deref().unwrap_or_default();
                Op::Reload { session }.write(lines);
            }
            // Nothing of these shows on the page.
            StateChange::SteeringMode(_)
            | StateChange::FollowUpMode(_)
            | StateChange::InterruptMode(_)
            | StateChange::AutoCompaction(_)
            | StateChange::AutoRetry(_) => {}
        }
    }

    fn came(&mut self, message: &Arc<Message>, lines: &mut Vec<u8>) {
        self.transcript.came(message, lines);
        if self.state.title.is_empty() && !self.transcript.title.is_empty() {
            self.state.title.clone_from(&self.transcript.title);
            self.write_state(lines);
        }
    }

    fn message_ended(&mut self, message: &Message, lines: &mut Vec<u8>) {
        // Others were shown when they came.
        if let Some(answer) = message.as_assistant() {
            self.transcript.answer_ended(answer, lines);
            self.write_spending(lines);
        }
    }

    fn compacted(&mut self, end: &CompactionEnd, time_ms: u64, lines: &mut Vec<u8>) {
        status("", lines);
        if let Some(result) = &end.result {
            let summary = CompactionSummary {
                summary: result.summary.clone(),
                tokens_before: result.tokens_before,
                timestamp: time_ms,
                rest: serde_json::Map::new(),
            };
            let summary = Message::Known(KnownMessage::CompactionSummary(summary));
            self.transcript.came(&Arc::new(summary), lines);
        }
        if let Some(error) = &end.error {
            notice(
                "error",
                &format!("The conversation was not compacted: {error}"),
                lines,
            );
        }
    }

    fn answering(&mut self, kind: &EventKind, lines: &mut Vec<u8>) {
        match kind {
            EventKind::AnswerStarted(live) => self.transcript.answer_started(live, lines),
            EventKind::BlockStarted { block, .. } => {
                self.transcript.block_grew(block, 0..0, lines);
            }
            EventKind::BlockDelta { block, range, .. } => {
                self.rests = true;
                self.transcript.block_grew(block, range.clone(), lines);
            }
            EventKind::BlockEnded {
                block,
                call: Some(call),
                ..
            } => self.transcript.call_ended(block, call, lines),
            _ => {}
        }
    }
}

impl EventEncoder for PageView {
    fn encode(&mut self, event: &Event, lines: &mut Vec<u8>) {
        self.rests = false;
        match &event.kind {
            EventKind::RunStarted => self.runs(true, lines),
            EventKind::RunEnded(end) => run_ended(end, lines),
            EventKind::Settled { aborted } => {
                self.runs(false, lines);
                status(if *aborted { "Stopped" } else { "" }, lines);
            }
            EventKind::MessageStarted { message, .. } => self.came(message, lines),
            EventKind::MessageEnded { message, .. } => self.message_ended(message, lines),
            EventKind::AnswerStarted(_)
            | EventKind::BlockStarted { .. }
            | EventKind::BlockDelta { .. }
            | EventKind::BlockEnded { .. } => self.answering(&event.kind, lines),
            // A command of the user, which enters the conversation without a run.
            EventKind::EntryAppended {
                entry: Some(entry), ..
            } => {
                if let EntryKind::Message { message } = &entry.kind {
                    self.came(message, lines);
                }
            }
            EventKind::ToolProgress { call, partial } => {
                self.transcript.call_shows(call, partial, lines);
            }
            EventKind::ToolEnded { call, output, .. } => {
                self.transcript.call_shows(call, output, lines);
            }
            EventKind::QueueChanged(queues) => set("queue", &panel::queues(queues), lines),
            EventKind::PlanChanged(plan) => set("plan", &panel::plan(plan), lines),
            EventKind::StateChanged(change) => self.changed(change, lines),
            EventKind::CompactionStarted { .. } => status("Compacting the conversation", lines),
            EventKind::CompactionEnded(end) => self.compacted(end, event.time_ms, lines),
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => {
                let seconds = delay_ms.div_ceil(1000);
                let text =
                    format!("{error} Trying again in {seconds} s ({attempt} of {max_attempts})");
                status(&text, lines);
            }
            EventKind::RetryEnded { .. } => status("", lines),
            EventKind::FallbackApplied(fallback) => {
                let (from, to, why) = (&fallback.from, &fallback.to, &fallback.reason);
                notice(
                    "warning",
                    &format!("{to} steps in for {from}: {why}"),
                    lines,
                );
            }
            EventKind::PermissionAsked { id, request } => {
                let html = questions::permission(*id, request);
                ask(&permission_id(*id), &html, lines);
            }
            EventKind::PermissionAnswered { id, .. } => remove(&permission_id(*id), lines),
            EventKind::DialogAsked { id, dialog } => {
                ask(&dialog_id(*id), &questions::dialog(*id, dialog), lines);
            }
            EventKind::DialogClosed { id, .. } => remove(&dialog_id(*id), lines),
            EventKind::Notice { level, message, .. } => notice(level.as_str(), message, lines),
            EventKind::Status { text, .. } => status(text.as_deref().unwrap_or_default(), lines),
            EventKind::Widget {
                key, lines: shown, ..
            } => widget(key, shown.as_deref(), lines),
            EventKind::EditorText(text) => Op::Editor { text }.write(lines),
            EventKind::SubagentStarted(agent) => {
                status(&format!("{}: {}", agent.name, agent.task), lines);
            }
            EventKind::SubagentProgress {
                agent, status: at, ..
            } => {
                status(&format!("{}: {at}", agent.name), lines);
            }
            EventKind::SubagentEnded { agent, end } => subagent_ended(&agent.name, end, lines),
            EventKind::RulesTriggered(rules) => {
                let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
                notice("info", &format!("Rules: {}", names.join(", ")), lines);
            }
            EventKind::ExtensionFailed {
                extension, error, ..
            } => notice("error", &format!("{extension}: {error}"), lines),
            // What these say shows by other events, or is for other kinds of client.
            EventKind::TurnStarted
            | EventKind::TurnEnded { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::EntryAppended { entry: None, .. }
            | EventKind::BashStarted { .. }
            | EventKind::BashOutput { .. }
            | EventKind::BashEnded { .. }
            | EventKind::SummaryRetry(_)
            | EventKind::FallbackSucceeded { .. }
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::PlanReminder { .. }
            | EventKind::Title(_)
            | EventKind::CommandsChanged(_)
            | EventKind::SubagentEvent { .. }
            | EventKind::ShutdownAsked => {}
        }
    }

    fn rest(&mut self) -> Option<Duration> {
        self.rests.then_some(REST)
    }
}

fn run_ended(end: &RunEnd, lines: &mut Vec<u8>) {
    match &end.outcome {
        RunOutcome::Failed { message, .. } if !end.will_retry => notice("error", message, lines),
        RunOutcome::BudgetReached { message, .. } => notice("warning", message, lines),
        RunOutcome::Completed
        | RunOutcome::Refused
        | RunOutcome::OutputLimit
        | RunOutcome::Aborted
        | RunOutcome::Failed { .. } => {}
    }
}

fn subagent_ended(name: &str, end: &SubagentEnd, lines: &mut Vec<u8>) {
    status("", lines);
    if end.failed {
        notice("warning", &format!("{name}: {}", end.result), lines);
    }
}

fn widget(key: &str, shown: Option<&[String]>, lines: &mut Vec<u8>) {
    // Keys are of extensions: they are no ids.
    let id: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let id = format!("widget{id}");
    let Some(shown) = shown else {
        return remove(&id, lines);
    };
    let mut html = Html::new();
    html.raw(&format!("<pre id=\"{id}\">"))
        .text(&shown.join("\n"))
        .raw("</pre>");
    let (within, html) = ("widgets", html.finish());
    Op::Replace {
        id: &id,
        within,
        html: &html,
    }
    .write(lines);
}

fn ask(id: &str, html: &str, lines: &mut Vec<u8>) {
    let within = "questions";
    Op::Replace { id, within, html }.write(lines);
}

fn set(id: &str, html: &str, lines: &mut Vec<u8>) {
    Op::Set { id, html }.write(lines);
}

fn remove(id: &str, lines: &mut Vec<u8>) {
    Op::Remove { id }.write(lines);
}

fn notice(level: &str, text: &str, lines: &mut Vec<u8>) {
    Op::Notice { level, text }.write(lines);
}

fn status(text: &str, lines: &mut Vec<u8>) {
    Op::Status { text }.write(lines);
}
