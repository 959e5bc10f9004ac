//! What happens in a session, as rows: those that stay, and those that show what goes on.

use std::collections::BTreeMap;
use std::time::Instant;

use stentor_agent::event::{
    CompactionEnd, EventKind, NoticeLevel, Queues, RunEnd, RunOutcome, StateChange, Subagent,
    SubagentEnd, SummaryRetry,
};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_journal::message::{KnownMessage, Message, ToolCall};

use super::calls::RunningCalls;
use super::markdown::Markdown;
use super::styled::{Colour, Row, StyledSpan, TextStyle, wrap};
use crate::print::call_line::{one_line, seconds};
use crate::run_ending;

/// Rows of what the model is writing that are shown before they are complete.
const UNFINISHED_ROWS: usize = 6;
/// Lines of a message that are repeated when it is delivered.
const REPEATED_LINES: usize = 10;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long a picture of the spinner is shown.
const SPINNER_MS: u128 = 100;

/// What the rows before were about: what is about something else is set apart by a blank row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowSubject {
    Nothing,
    User,
    Answer,
    Thinking,
    Calls,
    Notes,
}

/// Turns events into rows.
pub struct TerminalTranscript {
    columns: usize,
    last: RowSubject,
    text: Option<Markdown>,
    thinking: Option<Markdown>,
    calls: RunningCalls,
    running_since: Option<Instant>,
    /// What the model does, in a word or two.
    doing: String,
    queues: Queues,
    statuses: BTreeMap<String, String>,
    widgets: BTreeMap<String, Vec<String>>,
    /// Prompts that are on the screen already, as they were typed.
    shown_prompts: usize,
    /// Why the program itself stops the run.
    stopped_because: Option<String>,
    session_name: Option<String>,
}

impl TerminalTranscript {
    /// A transcript for a terminal of so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            last: RowSubject::Nothing,
            text: None,
            thinking: None,
            calls: RunningCalls::default(),
            running_since: None,
            doing: String::new(),
            queues: Queues::default(),
            statuses: BTreeMap::new(),
            widgets: BTreeMap::new(),
            shown_prompts: 0,
            stopped_because: None,
            session_name: None,
        }
    }

    pub fn resize(&mut self, columns: usize) {
        self.columns = columns;
        let writing = [&mut self.text, &mut self.thinking];
        for markdown in writing.into_iter().flatten() {
            markdown.resize(columns);
        }
    }

    pub fn is_running(&self) -> bool {
        self.running_since.is_some()
    }

    /// A prompt is on the screen before its run begins; its message is not repeated.
    pub fn prompt(&mut self, text: &str) -> Vec<Row> {
        self.shown_prompts += 1;
        self.user(text, usize::MAX)
    }

    /// The prompt was not accepted.
    pub fn prompt_failed(&mut self) {
        self.shown_prompts = self.shown_prompts.saturating_sub(1);
    }

    /// Rows that somebody asked for, or that something went wrong with.
    pub fn notes(&mut self, rows: Vec<Row>) -> Vec<Row> {
        self.about(RowSubject::Notes, rows)
    }

    /// A whole message of the past.
    pub fn past(&mut self, message: &Message) -> Vec<Row> {
        match message {
            Message::Known(KnownMessage::User(user)) => {
                self.user(&user.content.text(), REPEATED_LINES)
            }
            Message::Known(KnownMessage::Assistant(answer)) => {
                let text = answer.text();
                if text.trim().is_empty() {
                    return Vec::new();
                }
                let mut markdown = Markdown::new(self.columns, TextStyle::PLAIN);
                let mut rows = markdown.push(&text);
                rows.extend(markdown.finish());
                self.about(RowSubject::Answer, rows)
            }
            Message::Known(_) | Message::Other(_) => Vec::new(),
        }
    }

    /// What stays on the screen of an event.
    pub fn on_event(&mut self, kind: &EventKind, now: Instant) -> Vec<Row> {
        match kind {
            EventKind::RunStarted => self.run_started(now),
            EventKind::TurnStarted => self.does("waiting for the model"),
            EventKind::BlockStarted { block, .. } => self.block_started(block),
            EventKind::BlockDelta { block, range, .. } => {
                block.with(range.clone(), |text| self.delta(block, text))
            }
            EventKind::BlockEnded { block, .. } => self.block_ended(block),
            EventKind::MessageStarted { message, .. } => self.message(message),
            EventKind::ToolStarted { call } => self.call_started(call, now),
            EventKind::ToolProgress { call, partial } => {
                self.calls.progressed(call, partial);
                Vec::new()
            }
            EventKind::ToolEnded {
                call,
                output,
                duration_ms,
            } => {
                let rows = self.calls.ended(call, output, *duration_ms);
                self.about(RowSubject::Calls, rows)
            }
            EventKind::QueueChanged(queues) => {
                self.queues = (**queues).clone();
                Vec::new()
            }
            EventKind::StateChanged(change) => self.state_changed(change),
            EventKind::CompactionStarted { .. } => {
                self.running_since.get_or_insert(now);
                self.does("summarising the conversation")
            }
            EventKind::CompactionEnded(end) => self.compacted(end),
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => self.retried(*attempt, *max_attempts, *delay_ms, error),
            EventKind::SummaryRetry(SummaryRetry::Scheduled {
                delay_ms, error, ..
            }) => {
                let text = format!("{error}; summarising again in {}", seconds(*delay_ms));
                self.note(NoticeLevel::Warning, &text)
            }
            EventKind::FallbackApplied(fallback) => {
                let text = format!("{} steps in for {}", fallback.to, fallback.from);
                self.note(NoticeLevel::Warning, &text)
            }
            EventKind::Notice { level, message, .. } => self.note(*level, message),
            EventKind::ExtensionFailed {
                extension,
                event,
                error,
            } => {
                let text = format!("extension {extension} failed at {event}: {error}");
                self.note(NoticeLevel::Warning, &text)
            }
            EventKind::SubagentStarted(agent) => {
                let text = format!("{} begins: {}", agent.name, one_line(&agent.task));
                self.note(NoticeLevel::Info, &text)
            }
            EventKind::SubagentProgress { agent, status, .. } => {
                self.does(&format!("{}: {}", agent.name, one_line(status)))
            }
            EventKind::SubagentEnded { agent, end } => self.subagent_ended(agent, end),
            EventKind::BashOutput { delta, .. } => self.shell_output(delta),
            EventKind::Status { key, text } => self.status(key, text.as_deref()),
            EventKind::Widget { key, lines, .. } => self.widget(key, lines.as_deref()),
            EventKind::PermissionAsked { request, .. } => {
                self.calls.asked(&request.call);
                self.does("waiting for your answer")
            }
            EventKind::PermissionAnswered { .. } => {
                self.calls.answered(now);
                self.does("going on")
            }
            EventKind::RunEnded(end) => self.run_ended(end),
            EventKind::Settled { .. } => {
                self.running_since = None;
                self.calls.clear();
                Vec::new()
            }
            // What these say is on the screen already, is asked elsewhere, or concerns no reader.
            EventKind::TurnEnded { .. }
            | EventKind::AnswerStarted(_)
            | EventKind::MessageEnded { .. }
            | EventKind::EntryAppended { .. }
            | EventKind::BashStarted { .. }
            | EventKind::BashEnded { .. }
            | EventKind::SummaryRetry(SummaryRetry::Started { .. } | SummaryRetry::Ended)
            | EventKind::RetryEnded { .. }
            | EventKind::FallbackSucceeded { .. }
            | EventKind::PlanChanged(_)
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::DialogAsked { .. }
            | EventKind::DialogClosed { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::CommandsChanged(_)
            | EventKind::SubagentEvent { .. }
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. }
            | EventKind::ShutdownAsked => Vec::new(),
        }
    }

    fn subagent_ended(&mut self, agent: &Subagent, end: &SubagentEnd) -> Vec<Row> {
        let how = if end.failed { "failed" } else { "is done" };
        let text = format!("{} {how} after {}", agent.name, seconds(end.duration_ms));
        self.note(NoticeLevel::Info, &text)
    }

    /// What goes on: the unfinished rows of an answer, running calls, what waits, the spinner.
    pub fn live(&self, now: Instant) -> Vec<Row> {
        let mut rows = Vec::new();
        let writing = self.text.as_ref().or(self.thinking.as_ref());
        if let Some(unfinished) = writing.map(Markdown::unfinished) {
            let hidden = unfinished.len().saturating_sub(UNFINISHED_ROWS);
            rows.extend(unfinished.into_iter().skip(hidden));
        }
        rows.extend(self.calls.rows(now));
        let queued = self.queues.steering.iter().chain(&self.queues.follow_up);
        rows.extend(queued.map(|text| {
            let text = one_line(text);
            Row::of("  waits: ", TextStyle::DIM).with(&text, TextStyle::DIM)
        }));
        let widgets = self.widgets.values().flatten();
        rows.extend(widgets.map(|line| Row::of(line, TextStyle::PLAIN)));
        rows.extend(
            self.statuses
                .values()
                .map(|text| Row::of(text, TextStyle::DIM)),
        );
        if let Some(since) = self.running_since {
            rows.push(self.spinner(now.saturating_duration_since(since).as_millis()));
        }
        rows
    }

    /// What goes on, in a word or two. Nothing of that stays.
    fn does(&mut self, what: &str) -> Vec<Row> {
        what.clone_into(&mut self.doing);
        Vec::new()
    }

    fn run_started(&mut self, now: Instant) -> Vec<Row> {
        self.running_since.get_or_insert(now);
        self.does("waiting for the model")
    }

    fn call_started(&mut self, call: &ToolCall, now: Instant) -> Vec<Row> {
        self.calls.started(call, now);
        Vec::new()
    }

    fn retried(&mut self, attempt: u32, most: u32, delay_ms: u64, error: &str) -> Vec<Row> {
        let wait = seconds(delay_ms);
        self.doing = format!("trying again in {wait}");
        let text = format!("{error}; trying again in {wait} ({attempt} of {most})");
        self.note(NoticeLevel::Warning, &text)
    }

    fn shell_output(&mut self, text: &str) -> Vec<Row> {
        let rows = text
            .lines()
            .map(|line| Row::of("  │ ", TextStyle::DIM).with(line, TextStyle::PLAIN));
        self.about(RowSubject::Calls, rows.collect())
    }

    fn status(&mut self, key: &str, text: Option<&str>) -> Vec<Row> {
        match text {
            Some(text) => self.statuses.insert(key.to_owned(), text.to_owned()),
            None => self.statuses.remove(key),
        };
        Vec::new()
    }

    fn widget(&mut self, key: &str, lines: Option<&[String]>) -> Vec<Row> {
        match lines {
            Some(lines) => self.widgets.insert(key.to_owned(), lines.to_vec()),
            None => self.widgets.remove(key),
        };
        Vec::new()
    }

    /// That something goes on, for a terminal that shows nothing but lines.
    pub fn sign_of_life(&mut self, now: Instant) -> Vec<Row> {
        let Some(since) = self.running_since else {
            return Vec::new();
        };
        let took = seconds_only(now.saturating_duration_since(since).as_millis() / 1000);
        let row = Row::of(&format!("... {}, {took}", self.does_now()), TextStyle::DIM);
        self.notes(vec![row])
    }

    fn does_now(&self) -> String {
        match self.calls.current() {
            Some(tool) => format!("running {tool}"),
            None => self.doing.clone(),
        }
    }

    fn spinner(&self, elapsed_ms: u128) -> Row {
        let place = (elapsed_ms / SPINNER_MS) % SPINNER.len() as u128;
        let place = usize::try_from(place).unwrap_or(0);
        let picture = SPINNER.get(place).copied().unwrap_or("…");
        let doing = self.does_now();
        let took = seconds_only(elapsed_ms / 1000);
        Row::of(picture, TextStyle::colour(Colour::Cyan))
            .with(&format!(" {doing}"), TextStyle::PLAIN)
            .with(&format!(" · {took} · Ctrl-C stops"), TextStyle::DIM)
    }

    fn about(&mut self, about: RowSubject, rows: Vec<Row>) -> Vec<Row> {
        if rows.is_empty() {
            return rows;
        }
        let apart = self.last != about && self.last != RowSubject::Nothing;
        self.last = about;
        let blank = apart.then(Row::new);
        blank.into_iter().chain(rows).collect()
    }

    fn user(&mut self, text: &str, most_lines: usize) -> Vec<Row> {
        let prompt = Row::of("› ", TextStyle::colour(Colour::Blue));
        let next = Row::of("  ", TextStyle::PLAIN);
        let mut rows = Vec::new();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        for (n, line) in lines.iter().take(most_lines).enumerate() {
            let first = if n == 0 { &prompt } else { &next };
            let span = StyledSpan::new(line, TextStyle::BOLD);
            rows.extend(wrap(&[span], self.columns, first, &next));
        }
        let more = lines.len().saturating_sub(most_lines);
        if more > 0 {
            rows.push(Row::of(&format!("  … {more} more lines"), TextStyle::DIM));
        }
        if self.last == RowSubject::User {
            self.last = RowSubject::Notes;
        }
        self.about(RowSubject::User, rows)
    }

    /// A message that was said is shown when it is delivered, unless it is on the screen.
    fn message(&mut self, message: &Message) -> Vec<Row> {
        let Message::Known(KnownMessage::User(user)) = message else {
            return Vec::new();
        };
        if self.shown_prompts > 0 {
            self.shown_prompts -= 1;
            return Vec::new();
        }
        self.user(&user.content.text(), REPEATED_LINES)
    }

    fn block_started(&mut self, block: &LiveBlock) -> Vec<Row> {
        match &block.kind {
            LiveBlockKind::Text => {
                self.doing = "answering".to_owned();
                self.text = Some(Markdown::new(self.columns, TextStyle::PLAIN));
            }
            LiveBlockKind::Thinking => {
                self.doing = "thinking".to_owned();
                self.thinking = Some(Markdown::new(self.columns, TextStyle::DIM));
            }
            LiveBlockKind::Redacted => self.doing = "thinking".to_owned(),
            LiveBlockKind::ToolCall { name, .. } => {
                self.doing = format!("writing a call of {name}")
            }
        }
        Vec::new()
    }

    fn delta(&mut self, block: &LiveBlock, text: &str) -> Vec<Row> {
        let (about, markdown) = match block.kind {
            LiveBlockKind::Text => (RowSubject::Answer, &mut self.text),
            LiveBlockKind::Thinking => (RowSubject::Thinking, &mut self.thinking),
            LiveBlockKind::Redacted | LiveBlockKind::ToolCall { .. } => return Vec::new(),
        };
        let rows = markdown.as_mut().map(|markdown| markdown.push(text));
        self.about(about, rows.unwrap_or_default())
    }

    fn block_ended(&mut self, block: &LiveBlock) -> Vec<Row> {
        let (about, markdown) = match block.kind {
            LiveBlockKind::Text => (RowSubject::Answer, self.text.take()),
            LiveBlockKind::Thinking => (RowSubject::Thinking, self.thinking.take()),
            LiveBlockKind::Redacted | LiveBlockKind::ToolCall { .. } => return Vec::new(),
        };
        let rows = markdown.map(|mut markdown| markdown.finish());
        self.about(about, rows.unwrap_or_default())
    }

    fn state_changed(&mut self, change: &StateChange) -> Vec<Row> {
        let text = match change {
            StateChange::Model(info) => format!("model: {}", info.full_name()),
            StateChange::ThinkingLevel(level) => format!("thinking: {level}"),
            StateChange::Name(name) if *name != self.session_name => {
                self.session_name.clone_from(name);
                format!("name: {}", name.as_deref().unwrap_or("none"))
            }
            StateChange::PermissionMode(mode) => format!("permission mode: {mode}"),
            StateChange::Name(_)
            | StateChange::SteeringMode(_)
            | StateChange::FollowUpMode(_)
            | StateChange::InterruptMode(_)
            | StateChange::AutoCompaction(_)
            | StateChange::AutoRetry(_)
            | StateChange::Leaf(_) => return Vec::new(),
        };
        self.notes(vec![Row::of(&text, TextStyle::DIM)])
    }

    fn compacted(&mut self, end: &CompactionEnd) -> Vec<Row> {
        let text = match (&end.result, &end.error) {
            (Some(result), _) => format!(
                "summarised: {} tokens became {}",
                result.tokens_before, result.tokens_after
            ),
            (None, Some(error)) => return self.note(NoticeLevel::Error, error),
            (None, None) => "not summarised".to_owned(),
        };
        self.note(NoticeLevel::Info, &text)
    }

    fn run_ended(&mut self, end: &RunEnd) -> Vec<Row> {
        let stopped_because = self.stopped_because.take();
        // Who stopped it themselves is told nothing new.
        let by_person = end.outcome == RunOutcome::Aborted && stopped_because.is_none();
        match run_ending::notice(end, stopped_because.as_deref()) {
            Some((_, text)) if by_person => self.note(NoticeLevel::Warning, text),
            Some((level, text)) => self.note(level, text),
            None => Vec::new(),
        }
    }

    /// Takes note why the run is being stopped; that is shown when it has ended.
    pub fn on_stop(&mut self, why: String) {
        self.stopped_because = Some(why);
    }

    fn note(&mut self, level: NoticeLevel, text: &str) -> Vec<Row> {
        let rows = note_rows(level, text, self.columns);
        self.notes(rows)
    }
}

/// One thing that a person should know.
pub fn note_rows(level: NoticeLevel, text: &str, columns: usize) -> Vec<Row> {
    let label = match level {
        NoticeLevel::Info => Row::of("· ", TextStyle::DIM),
        NoticeLevel::Warning => Row::of("! ", TextStyle::colour(Colour::Yellow)),
        NoticeLevel::Error => Row::of("✗ ", TextStyle::colour(Colour::Red)),
    };
    let next = Row::of("  ", TextStyle::PLAIN);
    let mut rows = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let first = if n == 0 { &label } else { &next };
        rows.extend(wrap(&[StyledSpan::plain(line)], columns, first, &next));
    }
    rows
}

/// Elapsed time that grows by seconds.
fn seconds_only(seconds: u128) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
