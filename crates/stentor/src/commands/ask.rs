//! `stentor -p`: one prompt, one answer.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use stentor_agent::event::{CommandSource, EventKind};
use stentor_agent::hub::Subscription;
use stentor_agent::jobs::Job;
use stentor_agent::session::{RewindError, Session, SessionError};
use stentor_agent::tasks;
use stentor_journal::message::ContentBlock;
use stentor_serve::signals::{EndSignal, EndSignals};
use stentor_text::visible::visible;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::asked_session::{AskedSession, AskedSessionError, SessionSelector};
use crate::checked_result::{ResultSchema, TRIES};
use crate::commands::pick_session::pick;
use crate::print::call_line::one_line;
use crate::print::{OutputFormat, PrintOptions, Printer};
use crate::prompt_text::PromptText;
use crate::repeated_calls::RepeatedCalls;
use crate::run_ending::last_answer;
use crate::session_name::{SessionNameError, check_name};
use crate::slash::{self, BUILTINS, Builtin};
use crate::terminal::questions::{self, TerminalQuestion};
use crate::terminal::styled::Row;
use crate::terminal::tty::{self, Typed};
use crate::typed_prompt::{TypedPrompt, TypedPromptError, not_attached};

/// Exit status when the model gave no answer that matches the schema.
const NO_RESULT: u8 = 3;

/// How long the session may take to stop its tools and save.
const CLOSING: Duration = Duration::from_secs(5);

/// How often it is shown that something still goes on.
const TICK: Duration = Duration::from_secs(1);

/// What one prompt needs.
pub struct PromptCommand<'a> {
    pub asked: AskedSession<'a>,
    pub prompt: PromptText,
    pub images: &'a [PathBuf],
    /// The terminal of a person who can be asked.
    pub person: Option<File>,
    /// What the folder brings that is left out because the folder is not trusted, for people.
    pub waiting_for_trust: &'a dyn Fn() -> Option<String>,
    /// How long what runs in the background is waited for at the end.
    pub wait: Duration,
    pub print: PrintOptions,
}

/// Why a prompt was not answered.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Asked(#[from] AskedSessionError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Typed(#[from] TypedPromptError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("--resume needs an id here; `stentor sessions` lists them")]
    NobodyToChoose,
    #[error("cannot ask: {0}")]
    Pick(io::Error),
    #[error("no session was chosen")]
    NoneChosen,
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("cannot print the answer: {0}")]
    Print(io::Error),
}

/// Why a command of the conversation was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Rewind(#[from] RewindError),
    #[error(transparent)]
    Name(#[from] SessionNameError),
    #[error("use {flag} to choose a {what}")]
    IsFlag {
        flag: &'static str,
        what: &'static str,
    },
    #[error("use `stentor export` to export a session")]
    Export,
    #[error("this command is for the conversation: run `stentor` on a terminal")]
    ForConversation,
    #[error(transparent)]
    Print(#[from] io::Error),
}

impl PromptCommand<'_> {
    /// Asks and prints until nothing follows any more. Returns the exit status.
    pub async fn run(self, out: &mut impl Write, err: &mut impl Write) -> Result<u8, AskError> {
        let file = match self.asked.wanted {
            SessionSelector::Chosen => Some(self.pick()?),
            SessionSelector::New | SessionSelector::Last | SessionSelector::Named(_) => {
                self.asked.file()?
            }
        };
        let session = self.asked.open(file.as_deref())?;
        session.set_can_ask(self.person.is_some()).await?;
        if let Some((builtin, rest)) = slash::called(&self.prompt.text) {
            if self.prompt.piped.is_some() {
                let unused = "warning: a command takes nothing from standard input";
                let _ = writeln!(err, "{unused}");
            }
            let state = session.state().await?;
            let answering = self.asked.answering(&state);
            if builtin == Builtin::Compact && self.print.format == OutputFormat::Text {
                let mut printer = Printer::new(self.print);
                let printed = printer.on_start(&state, answering.as_ref(), out, err);
                printed.map_err(AskError::Print)?;
            } else if let Some(warning) = answering.and_then(|answering| answering.replacement()) {
                let _ = writeln!(err, "warning: {}", visible(&warning));
            }
            let done = command(&session, builtin, rest, out).await;
            close(&session).await;
            return Ok(done.map(|()| 0)?);
        }
        let events = session.subscribe();
        let signals = EndSignals::listen().map_err(AskError::Signals)?;
        let state = session.state().await?;
        let mut printer = Printer::new(self.print);
        let answering = self.asked.answering(&state);
        let ending = match printer.on_start(&state, answering.as_ref(), out, err) {
            Ok(()) => {
                if let Err(why) = self.send(&session, err).await {
                    // The command may be one of a folder that is not trusted.
                    if let Some(waiting) = (self.waiting_for_trust)() {
                        let _ = writeln!(err, "warning: {}", visible(&waiting));
                    }
                    close(&session).await;
                    return Err(why);
                }
                let mut following = FollowedRun {
                    session: &session,
                    events,
                    printer,
                    person: PersonAtTerminal::at(self.person),
                    repeated: RepeatedCalls::default(),
                    stopped: stopped_by(signals, &session),
                    answer: String::new(),
                    wait: self.wait,
                    waiting_since: None,
                    after: 0,
                };
                let status = match self.asked.schema {
                    None => following.follow(out, err).await,
                    Some(schema) => following.follow_to_result(schema, out, err).await,
                };
                status.and_then(|status| following.stop_jobs(err).map(|()| status))
            }
            Err(error) => Err(error),
        };
        close(&session).await;
        match ending {
            Ok(status) => Ok(status),
            // Whoever reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            Err(error) => Err(AskError::Print(error)),
        }
    }
}

impl PromptCommand<'_> {
    /// Hands the prompt to the session; what follows comes as events.
    async fn send(&self, session: &Session, err: &mut impl Write) -> Result<(), AskError> {
        let PromptText {
            text,
            is_typed,
            piped,
        } = &self.prompt;
        let typed = TypedPrompt {
            text,
            names_files: *is_typed,
            piped: piped.as_deref(),
            pictures: self.images,
        };
        let (blocks, missing) = typed.to_blocks(session, self.asked.cwd).await?;
        for name in &missing {
            let _ = writeln!(err, "warning: {}", visible(&not_attached(name)));
        }
        drop(session.prompt(blocks).await?);
        Ok(())
    }
}

async fn close(session: &Session) {
    if timeout(CLOSING, session.close()).await.is_err() {
        tracing::warn!("the session did not end in time");
    }
}

/// Does what a command of the conversation means where there is only one prompt.
async fn command(
    session: &Session,
    builtin: Builtin,
    rest: &str,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let is_flag = |flag, what| Err(CommandError::IsFlag { flag, what });
    let text = match builtin {
        Builtin::Name if rest.is_empty() => {
            let state = session.state().await?;
            state
                .name
                .unwrap_or_else(|| "the session has no name".to_owned())
        }
        Builtin::Name => {
            let name = check_name(rest)?;
            session.set_name(name).await?;
            format!("name: {name}")
        }
        Builtin::Compact => {
            let instructions = (!rest.is_empty()).then(|| rest.to_owned());
            let done = session.compact(instructions).await?;
            format!(
                "summarised: {} tokens became {}",
                done.tokens_before, done.tokens_after
            )
        }
        Builtin::Rewind => session.rewind_command(rest).await?.text,
        Builtin::Help => return Ok(help(session, out).await?),
        Builtin::Model => return is_flag("--model", "model"),
        Builtin::Thinking => return is_flag("--thinking", "level"),
        Builtin::Permissions => return is_flag("--permission-mode", "mode"),
        Builtin::Plan => return is_flag("--permission-mode plan", "mode"),
        Builtin::Export => return Err(CommandError::Export),
        Builtin::Usage
        | Builtin::Jobs
        | Builtin::New
        | Builtin::Resume
        | Builtin::Fork
        | Builtin::Tree
        | Builtin::Quit => return Err(CommandError::ForConversation),
    };
    Ok(writeln!(out, "{text}")?)
}

async fn help(session: &Session, out: &mut impl Write) -> io::Result<()> {
    for one in BUILTINS.iter().filter(|one| {
        let works_here = [Builtin::Name, Builtin::Compact, Builtin::Rewind];
        works_here.contains(&one.builtin)
    }) {
        writeln!(out, "/{} {}  {}", one.name, one.hint, one.description)?;
    }
    for one in session.slash().list().await.iter() {
        let is_own = one.source == CommandSource::Builtin;
        if !is_own {
            let about = one.description.as_deref().unwrap_or_default();
            writeln!(out, "/{}  {about}", one.name)?;
        }
    }
    Ok(())
}

/// The person at the terminal, and what they have still to answer.
struct PersonAtTerminal {
    terminal: Option<File>,
    /// Lines are read from the first question on: before, they are nobody's.
    lines: Option<mpsc::Receiver<Typed>>,
    question: Option<TerminalQuestion>,
}

impl PersonAtTerminal {
    fn at(terminal: Option<File>) -> Self {
        Self {
            terminal,
            lines: None,
            question: None,
        }
    }

    /// The next line, when a question waits for one.
    async fn line(&mut self) -> Typed {
        match (&self.question, &mut self.lines) {
            (Some(_), Some(lines)) => lines.recv().await.unwrap_or(Typed::End),
            _ => std::future::pending().await,
        }
    }
}

impl PromptCommand<'_> {
    /// The session that the person at the terminal chooses.
    fn pick(&self) -> Result<PathBuf, AskError> {
        let tty = File::open("/dev/tty")
            .ok()
            .filter(|_| io::stderr().is_terminal());
        let Some(tty) = tty else {
            return Err(AskError::NobodyToChoose);
        };
        let newest = self.asked.agent.newest_first(Some(self.asked.cwd));
        let picked = pick(
            newest,
            &TimeZone::system(),
            &mut BufReader::new(tty),
            &mut io::stderr(),
        );
        picked.map_err(AskError::Pick)?.ok_or(AskError::NoneChosen)
    }
}

/// Prints events until the session is settled. A signal stops the run, a second one the program.
struct FollowedRun<'a> {
    session: &'a Session,
    events: Subscription,
    printer: Printer,
    person: PersonAtTerminal,
    repeated: RepeatedCalls,
    stopped: Arc<OnceLock<EndSignal>>,
    /// The last answer of the last run.
    answer: String,
    /// How long what runs in the background is waited for; nothing any more when that is over.
    wait: Duration,
    /// Since when it is, and nothing else.
    waiting_since: Option<Instant>,
    /// The number of the newest event before the prompt: what ended by then was another run.
    after: u64,
}

impl FollowedRun<'_> {
    /// Asks again until the last answer matches `schema`, or has been asked for often enough.
    async fn follow_to_result(
        &mut self,
        schema: &ResultSchema,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<u8> {
        let mut tries = 1;
        loop {
            let status = self.follow(out, err).await?;
            if status != 0 {
                return Ok(status);
            }
            let mistakes = match schema.check(&self.answer).await {
                Ok(value) => {
                    self.printer
                        .on_result(self.session.id(), &value, tries, out)?;
                    return Ok(0);
                }
                Err(mistakes) => mistakes,
            };
            if tries == TRIES {
                self.on_invalid(&mistakes, tries, out, err)?;
                break;
            }
            let again = vec![ContentBlock::text(schema.correction(&mistakes))];
            let accepted = match self.session.prompt(again).await {
                Ok(accepted) => accepted,
                // A job ended just now and woke the agent: what it says to that is looked at first.
                Err(SessionError::Busy) => continue,
                Err(error) => {
                    self.on_invalid(&mistakes, tries, out, err)?;
                    self.printer.on_problem(&error.to_string(), err)?;
                    return Ok(1);
                }
            };
            self.after = accepted.after();
            self.on_invalid(&mistakes, tries, out, err)?;
            tries += 1;
        }
        self.printer
            .on_no_result(self.session.id(), &self.answer, TRIES, out, err)?;
        Ok(NO_RESULT)
    }

    fn on_invalid(
        &mut self,
        mistakes: &str,
        tries: usize,
        out: &mut impl Write,
        err: &mut impl Write,
    ) -> io::Result<()> {
        let session = self.session.id();
        self.printer.on_invalid(session, mistakes, tries, out, err)
    }

    async fn follow(&mut self, out: &mut impl Write, err: &mut impl Write) -> io::Result<u8> {
        let begun = Instant::now();
        let mut tick = tokio::time::interval(TICK);
        let mut gave_up = false;
        self.waiting_since = None;
        loop {
            tokio::select! {
                event = self.events.next() => {
                    let Some(event) = event else { break };
                    self.printer.on_event(&event, out, err)?;
                    if let EventKind::RunEnded(end) = &event.kind {
                        self.answer = last_answer(end).unwrap_or_default();
                    }
                    if let Some(why) = self.repeated.on_event(&event.kind) {
                        gave_up = true;
                        self.printer.on_stop(why);
                        let session = self.session.clone();
                        tasks::spawn(async move { session.abort().await });
                    }
                    self.ask(&event.kind, err).await?;
                    let may_be_over = match event.kind {
                        EventKind::RunStarted => {
                            self.waiting_since = None;
                            false
                        }
                        EventKind::Settled { .. } => event.seq > self.after,
                        EventKind::JobsChanged => self.waiting_since.is_some(),
                        _ => false,
                    };
                    if may_be_over && (gave_up || !self.waits(err).await?) {
                        break;
                    }
                }
                typed = self.person.line() => self.answered(typed, err).await?,
                _ = tick.tick() => {
                    if self.has_waited_enough() {
                        self.wait = Duration::ZERO;
                        break;
                    }
                    let waits = self.person.question.is_some();
                    if !waits {
                        self.printer.on_tick(begun.elapsed(), err)?;
                    }
                }
            }
        }
        let status = match gave_up {
            true => 1,
            false => self.printer.exit_code(),
        };
        Ok(self
            .stopped
            .get()
            .map_or(status, |signal: &EndSignal| signal.exit_code()))
    }

    /// Whether something in the background is waited for. What failed or was stopped waits for nothing.
    async fn waits(&mut self, err: &mut impl Write) -> io::Result<bool> {
        let is_over = self.wait.is_zero()
            || self.stopped.get().is_some()
            || self.printer.exit_code() != 0
            || self.session.is_at_rest().await.unwrap_or(true);
        if is_over {
            return Ok(false);
        }
        let jobs = self.session.jobs().in_background();
        if self.waiting_since.is_none() && !jobs.is_empty() {
            self.waiting_since = Some(Instant::now());
            let seconds = self.wait.as_secs();
            let text = format!("waiting for {}, at most {seconds} s (--wait)", named(&jobs));
            self.printer.on_job_note(&text, err)?;
        }
        Ok(true)
    }

    fn has_waited_enough(&self) -> bool {
        let is_late = |since: Instant| since.elapsed() >= self.wait;
        self.waiting_since
            .is_some_and(|since| is_late(since) || self.stopped.get().is_some())
    }

    /// What still runs ends with the session, which whoever reads should know.
    fn stop_jobs(&mut self, err: &mut impl Write) -> io::Result<()> {
        let jobs = self.session.jobs().in_background();
        match jobs.is_empty() {
            true => Ok(()),
            false => {
                let text = format!("stopping {}", named(&jobs));
                self.printer.on_job_note(&text, err)
            }
        }
    }

    /// Asks the person, if there is one.
    async fn ask(&mut self, kind: &EventKind, err: &mut impl Write) -> io::Result<()> {
        let person = &mut self.person;
        if person
            .question
            .as_ref()
            .is_some_and(|known| known.is_closed_by(kind))
        {
            person.question = None;
        }
        if person.terminal.is_none() && person.lines.is_none() {
            return Ok(());
        }
        let Some((question, rows)) = TerminalQuestion::of_event(kind).await else {
            return Ok(());
        };
        if let Some(terminal) = person.terminal.take() {
            person.lines = Some(tty::read_lines(terminal));
        }
        self.printer.close_line(err)?;
        let in_colour = self.printer.style().is_terminal();
        print_rows(&rows, in_colour, err)?;
        print_rows(&question.plain_rows(), in_colour, err)?;
        write!(err, "> ")?;
        err.flush()?;
        self.person.question = Some(question);
        Ok(())
    }

    async fn answered(&mut self, typed: Typed, err: &mut impl Write) -> io::Result<()> {
        let Some(question) = self.person.question.take() else {
            return Ok(());
        };
        let line = match typed {
            Typed::Line(line) => line,
            // Whoever is gone allows nothing.
            Typed::End | Typed::Bytes(_) => "n".to_owned(),
        };
        match question.answer_of_line(&line) {
            Some(answer) => questions::give(self.session, question.id(), answer).await,
            None => {
                print_rows(
                    &question.plain_rows(),
                    self.printer.style().is_terminal(),
                    err,
                )?;
                write!(err, "> ")?;
                err.flush()?;
                self.person.question = Some(question);
            }
        }
        Ok(())
    }
}

/// Jobs, for people.
fn named(jobs: &[Job]) -> String {
    let named = jobs
        .iter()
        .map(|job| format!("{} ({})", job.id, one_line(&job.work.what)));
    named.collect::<Vec<_>>().join(", ")
}

fn print_rows(rows: &[Row], in_colour: bool, err: &mut impl Write) -> io::Result<()> {
    for row in rows {
        writeln!(err, "{}", row.to_text(in_colour))?;
    }
    Ok(())
}

/// The signal that stopped the run, as soon as there was one.
fn stopped_by(signals: EndSignals, session: &Session) -> Arc<OnceLock<EndSignal>> {
    let stopped = Arc::new(OnceLock::new());
    tasks::spawn(stop_by_signals(
        signals,
        session.clone(),
        Arc::clone(&stopped),
    ));
    stopped
}

/// Stops the run at the first signal and the program at the second. Printing may have to wait for
/// a reader that sleeps, so this is a task of its own.
async fn stop_by_signals(
    mut signals: EndSignals,
    session: Session,
    stopped: Arc<OnceLock<EndSignal>>,
) {
    let first = signals.next().await;
    stopped.set(first).ok();
    tasks::spawn(async move { session.abort().await });
    signals.next().await;
    // What was said is on disk, and the processes of tools end with this one.
    std::process::exit(first.exit_code().into());
}
