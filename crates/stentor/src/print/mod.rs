//! What `stentor -p` prints: the answer on stdout, everything else on stderr.

pub mod call_line;
pub mod json;
pub mod optional_reader;
pub mod streams;
pub mod style;

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use stentor_agent::event::{
    CompactionEnd, Event, EventKind, NoticeLevel, RunEnd, RunOutcome, SummaryRetry,
};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::session::SessionState;
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ToolCall;
use stentor_text::visible::visible;

use crate::asked_session::AnsweringModel;
use crate::run_ending;
use call_line::{call_summary, failure_summary, one_line, seconds};
use style::Style;

/// Prints the events of a run as they come.
///
/// Stdout gets the text of the answers and nothing else, so that it can be piped; stderr one line
/// for each tool call. With [`OutputFormat::Json`] stdout gets one JSON object for each event instead.
#[derive(Debug)]
pub struct Printer {
    options: PrintOptions,
    /// The calls that run: their ids, and what they do.
    running: Vec<(String, String)>,
    /// True in the middle of a line of thinking on stderr.
    thinking_open: bool,
    /// True when something of the answer has been written, so that what follows is set apart.
    has_answer: bool,
    /// True when the answer's last character was a line break.
    at_line_start: bool,
    /// Why the program itself stops the run.
    stopped_because: Option<String>,
    /// A line on stderr says that something goes on.
    progress_shown: bool,
    /// After what time a line said so last, where such lines stay.
    last_sign_of_life: Duration,
    outcome: Option<RunOutcome>,
}

/// What is shown of a call that runs: a row that wraps could not be erased.
const PROGRESS_CHARS: usize = 50;

/// How often a terminal that cannot move its cursor gets a line that something goes on.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// How to print.
#[derive(Debug, Clone, Copy)]
pub struct PrintOptions {
    pub format: OutputFormat,
    /// Shows thinking and usage.
    pub verbose: bool,
    /// How stderr looks.
    pub style: Style,
    /// How it is shown that something goes on.
    pub progress: ProgressStyle,
    /// Stdout is a terminal: control characters in the answer must not reach it.
    pub out_is_terminal: bool,
    /// Stdout gets a checked result and nothing else.
    pub hides_answer: bool,
}

/// How people who look on see that something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressStyle {
    /// Nobody looks on.
    None,
    /// The terminal cannot move its cursor: a line from time to time.
    Lines,
    /// A line that changes.
    Live,
}

/// The two forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    Text,
    Json,
}

impl Printer {
    /// A printer that has printed nothing.
    pub fn new(options: PrintOptions) -> Self {
        Self {
            options,
            running: Vec::new(),
            thinking_open: false,
            has_answer: false,
            at_line_start: true,
            stopped_because: None,
            progress_shown: false,
            last_sign_of_life: Duration::ZERO,
            outcome: None,
        }
    }

    /// How stderr looks.
    pub fn style(&self) -> Style {
        self.options.style
    }

    /// Prints which model answers and why that one; and what commands are held back from, for
    /// programs: people are told of what does not hold by a warning.
    pub fn on_start(
        &mut self,
        state: &SessionState,
        answering: Option<&AnsweringModel>,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        if let Some(answering) = answering {
            self.answering(&state.id, answering, out, err)?;
        }
        let Some(sandbox) = state.sandbox.to_report() else {
            return Ok(());
        };
        if self.options.format == OutputFormat::Json {
            serde_json::to_writer(&mut *out, &json::sandbox_json(&state.id, sandbox))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn answering(
        &mut self,
        session: &str,
        answering: &AnsweringModel,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        if self.options.format == OutputFormat::Json {
            serde_json::to_writer(&mut *out, &json::model_json(session, answering))?;
            out.write_all(b"\n")?;
        } else {
            let what = format!("{} ({})", answering.model.full_name(), answering.why);
            self.line(&self.options.style.dim("model:"), &what, err)?;
        }
        // Whoever lets a program read the events may still look at stderr.
        for warning in answering.warnings() {
            self.notice(NoticeLevel::Warning, &warning, err)?;
        }
        Ok(())
    }

    /// Prints that something still goes on, where a person looks on and nothing else does.
    pub fn on_tick(&mut self, elapsed: Duration, err: &mut impl Write) -> io::Result<()> {
        let is_between = self.at_line_start && !self.thinking_open;
        let is_shown = self.options.format == OutputFormat::Text && is_between;
        if elapsed < self.last_sign_of_life {
            // Another try has begun.
            self.last_sign_of_life = Duration::ZERO;
        }
        let is_due = match self.options.progress {
            ProgressStyle::None => false,
            ProgressStyle::Live => elapsed.as_secs() > 0,
            ProgressStyle::Lines => elapsed >= self.last_sign_of_life + SIGN_OF_LIFE,
        };
        if !is_shown || !is_due {
            return Ok(());
        }
        let waited = seconds(elapsed.as_secs() * 1000);
        let mut what = format!("working, {waited}");
        if let Some((_, does)) = self.running.last() {
            what.push_str(": ");
            what.extend(does.chars().take(PROGRESS_CHARS));
        }
        let what = self.options.style.dim(&what);
        let mark = self.options.style.waiting();
        if self.options.progress == ProgressStyle::Lines {
            self.last_sign_of_life = elapsed;
            return writeln!(err, "{mark} {what}");
        }
        self.progress_shown = true;
        write!(err, "\r\u{1b}[K{mark} {what}")?;
        err.flush()
    }

    /// Takes note why the run is being stopped; that is printed when it has ended.
    pub fn on_stop(&mut self, why: String) {
        self.stopped_because = Some(why);
    }

    /// Prints what went wrong beside the run.
    pub fn on_problem(&mut self, why: &str, err: &mut impl Write) -> io::Result<()> {
        match self.options.format {
            OutputFormat::Json => Ok(()),
            OutputFormat::Text => self.notice(NoticeLevel::Error, why, err),
        }
    }

    /// Prints what becomes of jobs in the background. What reads JSON has it on stderr, too.
    pub fn on_job_note(&mut self, text: &str, err: &mut impl Write) -> io::Result<()> {
        self.close_line(err)?;
        self.notice(NoticeLevel::Info, text, err)
    }

    /// Prints the result that was asked for.
    pub fn on_result(
        &mut self,
        session: &str,
        value: &Value,
        tries: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match self.options.format {
            OutputFormat::Json => {
                let line = json!({ "type": "result", "valid": true, "result": value, "tries": tries, "session": session });
                serde_json::to_writer(&mut *out, &line)?;
            }
            OutputFormat::Text => serde_json::to_writer_pretty(&mut *out, value)?,
        }
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Prints what is wrong with an answer that should have been the result.
    pub fn on_invalid(
        &mut self,
        session: &str,
        mistakes: &str,
        tries: usize,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        let what = format!("answer {tries} does not match the schema:\n{mistakes}");
        match self.options.format {
            OutputFormat::Json => {
                let line = json!({ "type": "result_invalid", "error": mistakes, "tries": tries, "session": session });
                serde_json::to_writer(&mut *out, &line)?;
                out.write_all(b"\n")?;
                out.flush()
            }
            OutputFormat::Text => self.notice(NoticeLevel::Warning, &what, err),
        }
    }

    /// Prints the last answer where there is no result.
    pub fn on_no_result(
        &mut self,
        session: &str,
        answer: &str,
        tries: usize,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        if self.options.format == OutputFormat::Json {
            let line = json!({ "type": "result", "valid": false, "result": null, "tries": tries, "session": session });
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
        self.notice(
            NoticeLevel::Error,
            &format!("no answer of {tries} matches the schema; this is the last one:"),
            err,
        )?;
        writeln!(err, "{}", visible(answer.trim_end()))
    }

    /// Prints one event.
    pub fn on_event(
        &mut self,
        event: &Event,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        if let EventKind::RunEnded(end) = &event.kind
            && !end.will_retry
        {
            self.outcome = Some(end.outcome.clone());
        }
        match self.options.format {
            OutputFormat::Json => {
                if let EventKind::RunEnded(_) = &event.kind
                    && let Some(why) = self.stopped_because.take()
                {
                    let notice = json::notice_json(&event.session, NoticeLevel::Error, &why);
                    serde_json::to_writer(&mut *out, &notice)?;
                    out.write_all(b"\n")?;
                }
                serde_json::to_writer(&mut *out, &json::event_json(event))?;
                out.write_all(b"\n")?;
                out.flush()
            }
            OutputFormat::Text => self.text_event(&event.kind, out, err),
        }
    }

    /// The exit status of the program, once the run has ended.
    pub fn exit_code(&self) -> u8 {
        match &self.outcome {
            Some(RunOutcome::Completed) => 0,
            // What a shell reports for a program that was interrupted.
            Some(RunOutcome::Aborted) => 130,
            Some(
                RunOutcome::Refused
                | RunOutcome::OutputLimit
                | RunOutcome::Failed { .. }
                | RunOutcome::BudgetReached { .. },
            )
            | None => 1,
        }
    }

    fn text_event(
        &mut self,
        kind: &EventKind,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        match kind {
            EventKind::BlockStarted { block, .. } => self.block_started(block, out, err),
            EventKind::BlockDelta { block, range, .. } => block.with(range.clone(), |text| {
                self.delta(&block.kind, text, out, err)
            }),
            EventKind::BlockEnded { block, .. } => self.block_ended(block, out, err),
            EventKind::ToolStarted { call } => self.tool_started(call, err),
            EventKind::ToolEnded {
                call,
                output,
                duration_ms,
            } => self.tool_ended(call, output, *duration_ms, err),
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                delay_ms,
                error,
                ..
            } => {
                let wait = seconds(*delay_ms);
                let what = format!("retrying in {wait} ({attempt} of {max_attempts}): {error}");
                self.line(self.options.style.waiting(), &what, err)
            }
            EventKind::SummaryRetry(SummaryRetry::Scheduled {
                delay_ms, error, ..
            }) => {
                let what = format!("retrying the summary in {}: {error}", seconds(*delay_ms));
                self.line(self.options.style.waiting(), &what, err)
            }
            EventKind::FallbackApplied(fallback) => {
                let what = format!("{} steps in for {}", fallback.to, fallback.from);
                self.line(self.options.style.waiting(), &what, err)
            }
            EventKind::CompactionStarted { .. } => {
                let what = "summarising the older part of the conversation";
                self.line(self.options.style.waiting(), what, err)
            }
            EventKind::CompactionEnded(end) => self.compaction_ended(end, err),
            EventKind::Notice { level, message, .. } => self.notice(*level, message, err),
            EventKind::RunEnded(end) => self.run_ended(end, err),
            EventKind::ExtensionFailed {
                extension,
                event,
                error,
            } => {
                let what = format!("extension {extension} failed at {event}: {error}");
                self.notice(NoticeLevel::Warning, &what, err)
            }
            EventKind::SubagentStarted(agent) => {
                let what = format!("{}: {}", agent.name, one_line(&agent.task));
                self.line(self.options.style.waiting(), &what, err)
            }
            EventKind::SubagentEnded { agent, end } => {
                let how = if end.failed { "failed" } else { "done" };
                let what = format!("{}: {how} after {}", agent.name, seconds(end.duration_ms));
                self.line(self.options.style.waiting(), &what, err)
            }
            // What these say is either said by others or of no interest to a reader.
            EventKind::RunStarted
            | EventKind::TurnStarted
            | EventKind::TurnEnded { .. }
            | EventKind::MessageStarted { .. }
            | EventKind::AnswerStarted(_)
            | EventKind::MessageEnded { .. }
            | EventKind::ToolProgress { .. }
            | EventKind::QueueChanged(_)
            | EventKind::StateChanged(_)
            | EventKind::EntryAppended { .. }
            | EventKind::RetryEnded { .. }
            | EventKind::FallbackSucceeded { .. }
            | EventKind::SummaryRetry(SummaryRetry::Started { .. } | SummaryRetry::Ended)
            | EventKind::JobsChanged
            | EventKind::PlanTidied
            | EventKind::ShutdownAsked
            | EventKind::Settled { .. }
            | EventKind::PlanChanged(_)
            | EventKind::BashStarted { .. }
            | EventKind::BashOutput { .. }
            | EventKind::BashEnded { .. }
            | EventKind::PermissionAsked { .. }
            | EventKind::PermissionAnswered { .. }
            | EventKind::DialogAsked { .. }
            | EventKind::DialogClosed { .. }
            | EventKind::Status { .. }
            | EventKind::Widget { .. }
            | EventKind::Title(_)
            | EventKind::EditorText(_)
            | EventKind::CommandsChanged(_)
            | EventKind::SubagentProgress { .. }
            | EventKind::SubagentEvent { .. }
            | EventKind::RulesTriggered(_)
            | EventKind::PlanReminder { .. } => Ok(()),
        }
    }

    fn block_started(
        &mut self,
        block: &LiveBlock,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        match block.kind {
            LiveBlockKind::Text => {
                self.close_line(err)?;
                if self.has_answer {
                    out.write_all(b"\n")?;
                }
                Ok(())
            }
            LiveBlockKind::Thinking | LiveBlockKind::Redacted | LiveBlockKind::ToolCall { .. } => {
                Ok(())
            }
        }
    }

    fn delta(
        &mut self,
        kind: &LiveBlockKind,
        text: &str,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        match kind {
            LiveBlockKind::Text if self.options.hides_answer => Ok(()),
            LiveBlockKind::Text => {
                // What is piped on is the answer, byte for byte.
                let text = match self.options.out_is_terminal {
                    true => visible(text),
                    false => Cow::Borrowed(text),
                };
                self.clear_progress(err)?;
                out.write_all(text.as_bytes())?;
                if let Some(last) = text.chars().next_back() {
                    self.has_answer = true;
                    self.at_line_start = last == '\n';
                }
                out.flush()
            }
            LiveBlockKind::Thinking if self.options.verbose => {
                if !self.thinking_open {
                    self.close_line(err)?;
                    self.thinking_open = true;
                }
                write!(err, "{}", self.options.style.dim(&visible(text)))?;
                err.flush()
            }
            LiveBlockKind::Thinking | LiveBlockKind::Redacted | LiveBlockKind::ToolCall { .. } => {
                Ok(())
            }
        }
    }

    fn block_ended(
        &mut self,
        block: &LiveBlock,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        match block.kind {
            LiveBlockKind::Text if !self.at_line_start => {
                self.at_line_start = true;
                out.write_all(b"\n")?;
                out.flush()
            }
            LiveBlockKind::Thinking if self.thinking_open => self.close_line(err),
            LiveBlockKind::Text
            | LiveBlockKind::Thinking
            | LiveBlockKind::Redacted
            | LiveBlockKind::ToolCall { .. } => Ok(()),
        }
    }

    /// A call gets its one line with its outcome, whatever else runs; until then progress shows it.
    fn tool_started(&mut self, call: &ToolCall, err: &mut impl Write) -> io::Result<()> {
        let does = match call_summary(call) {
            summary if summary.is_empty() => visible(&call.name).into_owned(),
            summary => format!("{}  {summary}", visible(&call.name)),
        };
        self.running.push((call.id.clone(), does));
        self.close_line(err)
    }

    fn tool_ended(
        &mut self,
        call: &ToolCall,
        output: &ToolOutput,
        duration_ms: u64,
        err: &mut impl Write,
    ) -> io::Result<()> {
        self.running.retain(|(id, _)| *id != call.id);
        self.close_line(err)?;
        self.call_start(call, err)?;
        let style = self.options.style;
        if output.is_error {
            writeln!(
                err,
                "  {} {}",
                style.failed(),
                style.red(&failure_summary(output))
            )
        } else {
            writeln!(
                err,
                "  {} {}",
                style.done(),
                style.dim(&seconds(duration_ms))
            )
        }
    }

    fn call_start(&self, call: &ToolCall, err: &mut impl Write) -> io::Result<()> {
        let style = self.options.style;
        write!(err, "{} {}", style.call(), style.bold(&visible(&call.name)))?;
        match call_summary(call) {
            summary if summary.is_empty() => Ok(()),
            summary => write!(err, "  {summary}"),
        }
    }

    fn compaction_ended(&mut self, end: &CompactionEnd, err: &mut impl Write) -> io::Result<()> {
        let what = match (&end.result, &end.error) {
            (Some(result), _) => format!(
                "summarised: {} tokens became {}",
                result.tokens_before, result.tokens_after
            ),
            (None, Some(error)) => format!("not summarised: {error}"),
            (None, None) => "not summarised".to_owned(),
        };
        self.line(self.options.style.waiting(), &what, err)
    }

    fn notice(
        &mut self,
        level: NoticeLevel,
        message: &str,
        err: &mut impl Write,
    ) -> io::Result<()> {
        let style = self.options.style;
        let label = match level {
            NoticeLevel::Info => style.dim("note:"),
            NoticeLevel::Warning => style.yellow("warning:"),
            NoticeLevel::Error => style.red("error:"),
        };
        self.line(&label, message, err)
    }

    fn run_ended(&mut self, end: &RunEnd, err: &mut impl Write) -> io::Result<()> {
        self.close_line(err)?;
        let stopped_because = self.stopped_because.take();
        if let Some((level, text)) = run_ending::notice(end, stopped_because.as_deref()) {
            self.notice(level, text, err)?;
        }
        if self.options.verbose && !end.usage.is_zero() {
            let usage = &end.usage;
            let mut cost = usage.cost.in_words(4);
            if usage.cost.is_unknown {
                cost.insert_str(0, "cost ");
            }
            let what = format!(
                "{} tokens in, {} from the cache, {} out, {}",
                usage.new_tokens_in(),
                usage.cache_read,
                usage.output,
                cost
            );
            self.line(&self.options.style.dim("usage:"), &what, err)?;
        }
        Ok(())
    }

    /// A whole line on stderr.
    fn line(&mut self, label: &str, text: &str, err: &mut impl Write) -> io::Result<()> {
        self.close_line(err)?;
        writeln!(err, "{label} {}", visible(text))
    }

    /// Ends a line on stderr that waits for more.
    pub fn close_line(&mut self, err: &mut impl Write) -> io::Result<()> {
        self.clear_progress(err)?;
        if std::mem::take(&mut self.thinking_open) {
            err.write_all(b"\n")?;
        }
        Ok(())
    }
}

impl Printer {
    fn clear_progress(&mut self, err: &mut impl Write) -> io::Result<()> {
        if std::mem::take(&mut self.progress_shown) {
            err.write_all(b"\r\x1b[K")?;
            err.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
