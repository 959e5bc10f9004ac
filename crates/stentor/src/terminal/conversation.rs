//! The loop of a conversation: keys and events in, rows out.

mod typing;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use stentor_agent::agent::Agent;
use stentor_agent::event::{EventKind, NoticeLevel};
use stentor_agent::hub::Subscription;
use stentor_agent::session::Session;
use stentor_agent::tasks;
use stentor_journal::store::short_id;
use stentor_serve::signals::{EndSignal, EndSignals};
use stentor_text::visible::visible;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::actions::{ActionOutcome, Actions, MenuPurpose, session_menu};
use super::completion::{Completion, CompletionWords, complete};
use super::editor::Editor;
use super::keys::KeyDecoder;
use super::menu::Menu;
use super::questions::TerminalQuestion;
use super::screen::{LiveRows, Screen};
use super::stray_output::{self, StrayOutput};
use super::styled::{Colour, Row, TextStyle};
use super::transcript::{TerminalTranscript, note_rows};
use super::tty::{self, Abilities, Modes, Typed};
use crate::asked_session::{AnsweringModel, AskedSession, AskedSessionError};
use crate::models::Models;
use crate::repeated_calls::RepeatedCalls;

/// How often what goes on is painted anew.
const TICK: Duration = Duration::from_millis(100);
/// How long a plain terminal shows nothing while something runs.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// After this Escape was pressed, and nothing that begins with it.
const ESCAPE: Duration = Duration::from_millis(50);
/// How long the session may take to stop its tools and save.
const CLOSING: Duration = Duration::from_secs(5);
/// Outcomes of actions that wait.
const OUTCOMES: usize = 32;
/// Events that are shown at once.
const EVENTS_AT_ONCE: usize = 256;
/// Candidates that are listed below the line.
const CANDIDATES: usize = 8;
/// Messages of the past that are shown when a session goes on.
const PAST_MESSAGES: usize = 4;
/// Notices that are remembered, so that the log does not repeat them.
const NOTICES: usize = 32;

/// What a conversation begins with.
pub struct ConversationStart<'a> {
    pub asked: AskedSession<'a>,
    pub models: Arc<Models>,
    pub input: File,
    pub output: File,
    pub abilities: Abilities,
    /// Where what was typed is stored; nowhere when absent.
    pub history: Option<PathBuf>,
    /// Somebody has to choose the session first.
    pub choose_session: bool,
}

/// Why there is no conversation, or it ended.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error(transparent)]
    Session(#[from] AskedSessionError),
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Talks until somebody leaves. Returns the exit status.
pub async fn converse(beginning: ConversationStart<'_>) -> Result<u8, ConversationError> {
    let signals = EndSignals::listen().map_err(ConversationError::Signals)?;
    let resized = signal(SignalKind::window_change()).map_err(ConversationError::Signals)?;
    let file = beginning.asked.file()?;
    let session = beginning.asked.open(file.as_deref())?;
    let modes = match beginning.abilities.moves_cursor {
        true => Some(Modes::key_by_key(&beginning.input)?),
        false => None,
    };
    let mut conversation = TerminalConversation::new(beginning, session, modes);
    let talked = conversation.talk(signals, resized, file.is_some()).await;
    // Whatever happened, the terminal is left as it was.
    let ended = conversation.screen.end();
    if timeout(CLOSING, conversation.session.close())
        .await
        .is_err()
    {
        tracing::warn!("the session did not end in time");
    }
    match talked.and_then(|status| ended.map(|()| status)) {
        // Whoever closes the terminal leaves.
        Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => Ok(0),
        talked => Ok(talked?),
    }
}

struct TerminalConversation<'a> {
    asked: AskedSession<'a>,
    agent: Agent,
    models: Arc<Models>,
    session: Session,
    events: Subscription,
    modes: Option<Modes>,
    typed: mpsc::Receiver<Typed>,
    screen: Screen,
    editor: Editor,
    transcript: TerminalTranscript,
    questions: VecDeque<TerminalQuestion>,
    menu: Option<(Menu, MenuPurpose)>,
    known: CompletionWords,
    completion: Option<Completion>,
    footer: String,
    outcomes: (mpsc::Sender<ActionOutcome>, mpsc::Receiver<ActionOutcome>),
    notices: VecDeque<String>,
    repeated: RepeatedCalls,
    /// Ctrl-C was pressed and nothing else since.
    interrupted: bool,
    /// Something was said, and its run has not begun yet.
    run_expected: bool,
    /// A plain terminal shows its prompt.
    prompt_shown: bool,
    /// When rows that stay were printed last.
    last_printed: Instant,
    choose_session: bool,
    left: Option<u8>,
}

impl<'a> TerminalConversation<'a> {
    fn new(beginning: ConversationStart<'a>, session: Session, modes: Option<Modes>) -> Self {
        let screen = Screen::new(beginning.output, beginning.abilities);
        let typed = match beginning.abilities.moves_cursor {
            true => tty::read_keys(beginning.input),
            false => tty::read_lines(beginning.input),
        };
        Self {
            agent: beginning.asked.agent.clone(),
            asked: beginning.asked,
            models: beginning.models,
            events: session.subscribe(),
            session,
            modes,
            typed,
            transcript: TerminalTranscript::new(screen.size().columns),
            screen,
            editor: Editor::new(beginning.history),
            questions: VecDeque::new(),
            menu: None,
            known: CompletionWords::default(),
            completion: None,
            footer: String::new(),
            outcomes: mpsc::channel(OUTCOMES),
            notices: VecDeque::new(),
            repeated: RepeatedCalls::default(),
            interrupted: false,
            run_expected: false,
            prompt_shown: false,
            last_printed: Instant::now(),
            choose_session: beginning.choose_session,
            left: None,
        }
    }

    fn is_plain(&self) -> bool {
        !self.screen.abilities().moves_cursor
    }

    async fn talk(
        &mut self,
        mut signals: EndSignals,
        mut resized: Signal,
        is_resumed: bool,
    ) -> io::Result<u8> {
        // In a plain terminal the log disturbs nothing.
        let (_stderr, mut stray) = match self.is_plain() {
            true => (None, mpsc::channel(1).1),
            false => {
                let (taken, lines) = StrayOutput::take()?;
                (Some(taken), lines)
            }
        };
        self.screen.begin()?;
        self.greet(is_resumed).await?;
        let mut decoder = KeyDecoder::default();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            if let Some(status) = self.left {
                self.farewell().await?;
                return Ok(status);
            }
            self.paint()?;
            let is_running = self.transcript.is_running() && !self.is_plain();
            let is_silent = self.is_plain() && self.transcript.is_running();
            let is_silent = is_silent && self.questions.is_empty();
            let sign_of_life = tokio::time::Instant::from_std(self.last_printed + SIGN_OF_LIFE);
            let is_ambiguous = decoder.is_ambiguous();
            tokio::select! {
                typed = self.typed.recv() => match typed {
                    Some(Typed::Bytes(bytes)) => {
                        for key in decoder.push(&bytes) {
                            self.press(key)?;
                        }
                    }
                    Some(Typed::Line(line)) => self.line(&line)?,
                    Some(Typed::End) | None => self.left = Some(0),
                },
                () = tokio::time::sleep(ESCAPE), if is_ambiguous => {
                    if let Some(key) = decoder.give_up() {
                        self.press(key)?;
                    }
                }
                event = self.events.next() => match event {
                    Some(event) => self.happened(event.kind).await?,
                    None => self.left = Some(1),
                },
                Some(outcome) = self.outcomes.1.recv() => self.came_of(outcome).await?,
                Some(line) = stray.recv() => self.logged(&line)?,
                _ = resized.recv() => {
                    self.screen.resize();
                    self.transcript.resize(self.screen.size().columns);
                }
                ended = signals.next() => match ended {
                    EndSignal::Interrupt => self.interrupt()?,
                    EndSignal::Hangup | EndSignal::Terminate => return Ok(ended.exit_code()),
                },
                _ = tick.tick(), if is_running => {}
                () = tokio::time::sleep_until(sign_of_life), if is_silent => {
                    let rows = self.transcript.sign_of_life(Instant::now());
                    self.print(rows)?;
                }
            }
        }
    }

    /// Says who answers, where, and how to find out more.
    async fn greet(&mut self, is_resumed: bool) -> io::Result<()> {
        let asking = self.session.set_can_ask(true).await;
        if let Err(error) = asking {
            return self.note(NoticeLevel::Error, &error.to_string());
        }
        let Ok(state) = self.session.state().await else {
            return self.note(NoticeLevel::Error, "the session has ended");
        };
        let version = env!("CARGO_PKG_VERSION");
        let mut rows =
            vec![Row::of("stentor", TextStyle::BOLD).with(&format!(" {version}"), TextStyle::DIM)];
        let answering = self.asked.answering(&state);
        match &answering {
            Some(AnsweringModel { model, why, .. }) => {
                let row = fact("model").with(&model.full_name(), TextStyle::PLAIN);
                rows.push(row.with(&format!("  {why}"), TextStyle::DIM));
            }
            None => rows.push(fact("model").with("none", TextStyle::colour(Colour::Red))),
        }
        rows.push(fact("folder").with(&state.cwd.display().to_string(), TextStyle::PLAIN));
        let mode = format!("{}", state.permission_mode);
        rows.push(
            fact("permissions")
                .with(&mode, TextStyle::PLAIN)
                .with("  /help lists the commands", TextStyle::DIM),
        );
        let rows = self.transcript.notes(rows);
        self.print(rows)?;
        for warning in answering.iter().flat_map(AnsweringModel::warnings) {
            self.note(NoticeLevel::Warning, &warning)?;
        }
        if is_resumed {
            self.show_past().await?;
        }
        if std::mem::take(&mut self.choose_session) {
            let listed: Vec<_> = self.asked.sessions().take(PAST_MENU).collect();
            match session_menu(&listed) {
                Some((menu, purpose)) => self.choose(menu, purpose)?,
                None => self.note(NoticeLevel::Info, "there is no session of this folder yet")?,
            }
        }
        self.act(Actions::footer);
        self.learn();
        Ok(())
    }

    async fn show_past(&mut self) -> io::Result<()> {
        let messages = self.session.messages().await.unwrap_or_default();
        let first = messages.len().saturating_sub(PAST_MESSAGES);
        let mut rows = Vec::new();
        for message in messages.iter().skip(first) {
            rows.extend(self.transcript.past(message));
        }
        self.print(rows)
    }

    async fn farewell(&mut self) -> io::Result<()> {
        let state = self.session.state().await.ok();
        let is_stored = state.is_some_and(|state| state.file.is_some() && state.message_count > 0);
        if !is_stored {
            return Ok(());
        }
        let text = format!(
            "to go on: stentor -c, or stentor --resume {}",
            short_id(self.session.id())
        );
        let rows = self.transcript.notes(vec![Row::of(&text, TextStyle::DIM)]);
        self.print(rows)
    }

    /// Learns what the Tab key completes, beside everything else.
    fn learn(&mut self) {
        let models = self.models.registry();
        let names = models.list_without_servers();
        self.known.models = names.into_iter().map(|info| info.full_name()).collect();
        let listed = self.session.slash().list_now();
        self.known.commands = listed
            .iter()
            .map(|one| {
                (
                    one.name.clone(),
                    one.description.clone().unwrap_or_default(),
                )
            })
            .collect();
    }
}

/// Sessions that are offered at the start.
const PAST_MENU: usize = 100;

/// What happens.
impl TerminalConversation<'_> {
    async fn happened(&mut self, first: EventKind) -> io::Result<()> {
        let mut rows = Vec::new();
        let mut next = Some(first);
        let now = Instant::now();
        for place in 0..EVENTS_AT_ONCE {
            let Some(kind) = next.take() else { break };
            rows.extend(self.transcript.on_event(&kind, now));
            rows.extend(self.asked_something(&kind).await);
            if let Some(why) = self.repeated.on_event(&kind) {
                self.transcript.on_stop(why);
                self.abort();
            }
            match &kind {
                EventKind::RunStarted => self.run_expected = false,
                EventKind::Settled { .. } => {
                    // What was stopped asks no more; what goes on in the background does.
                    if self.session.jobs().in_background().is_empty() {
                        self.questions.retain(TerminalQuestion::is_dialog);
                    }
                    self.act(Actions::footer);
                }
                EventKind::CommandsChanged(_) => self.learn(),
                EventKind::EditorText(text) => self.editor.set(text),
                EventKind::ShutdownAsked => self.left = Some(0),
                EventKind::Notice { message, .. } => self.remember_notice(message.clone()),
                EventKind::StateChanged(_) if !self.transcript.is_running() => {
                    self.act(Actions::footer);
                }
                EventKind::JobsChanged => self.act(Actions::footer),
                _ => {}
            }
            if place + 1 < EVENTS_AT_ONCE {
                next = self.events.try_next().map(|event| event.kind);
            }
        }
        self.print(rows)
    }

    /// A question that was asked, answered or withdrawn.
    async fn asked_something(&mut self, kind: &EventKind) -> Vec<Row> {
        self.questions.retain(|known| !known.is_closed_by(kind));
        let Some((question, rows)) = TerminalQuestion::of_event(kind).await else {
            return Vec::new();
        };
        if let TerminalQuestion::Text { prefill, .. } = &question
            && !prefill.is_empty()
        {
            self.editor.set(prefill);
        }
        let mut rows = self.transcript.notes(rows);
        if self.is_plain() {
            rows.extend(question.plain_rows());
        }
        self.questions.push_back(question);
        rows
    }

    async fn came_of(&mut self, outcome: ActionOutcome) -> io::Result<()> {
        match outcome {
            ActionOutcome::Rows(rows) => {
                let rows = self.transcript.notes(rows);
                self.print(rows)
            }
            ActionOutcome::Warnings(texts) => {
                for text in texts {
                    self.note(NoticeLevel::Warning, &visible(&text))?;
                }
                Ok(())
            }
            ActionOutcome::Failed(why) => {
                self.run_expected = false;
                self.note(NoticeLevel::Error, &why)
            }
            ActionOutcome::NotPrompted(why) => {
                self.run_expected = false;
                self.transcript.prompt_failed();
                self.note(NoticeLevel::Error, &why)
            }
            ActionOutcome::Choose(menu, purpose) => self.choose(menu, purpose),
            ActionOutcome::Footer(text) => {
                self.footer = text;
                Ok(())
            }
            ActionOutcome::Open(file) => {
                // A session is read from disk; nothing else goes on meanwhile.
                match self.asked.switch_to(file.as_deref()) {
                    Ok(session) => self.go_on_in(session, file.is_some()).await,
                    Err(why) => self.note(NoticeLevel::Error, &why.to_string()),
                }
            }
            ActionOutcome::Forked(session, text) => {
                self.go_on_in(*session, true).await?;
                self.editor.set(&text);
                Ok(())
            }
            ActionOutcome::Rewound(rows, prompt) => {
                self.print(rows)?;
                if let Some(text) = prompt {
                    self.editor.set(&text);
                }
                Ok(())
            }
            ActionOutcome::Leave => {
                self.left = Some(0);
                Ok(())
            }
        }
    }

    async fn go_on_in(&mut self, session: Session, is_resumed: bool) -> io::Result<()> {
        let before = std::mem::replace(&mut self.session, session);
        self.events = self.session.subscribe();
        self.transcript = TerminalTranscript::new(self.screen.size().columns);
        self.questions.clear();
        self.run_expected = false;
        self.print(vec![Row::new()])?;
        tasks::spawn(async move { timeout(CLOSING, before.close()).await });
        self.greet(is_resumed).await
    }

    /// A line of the log, unless the session has published the same.
    fn logged(&mut self, line: &str) -> io::Result<()> {
        let message = stray_output::message(line);
        if message.is_empty() || self.notices.iter().any(|known| known == message) {
            return Ok(());
        }
        let message = message.to_owned();
        self.remember_notice(message.clone());
        self.note(NoticeLevel::Warning, &message)
    }

    fn remember_notice(&mut self, message: String) {
        if self.notices.len() >= NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(message);
    }
}

/// What is shown.
impl TerminalConversation<'_> {
    fn note(&mut self, level: NoticeLevel, text: &str) -> io::Result<()> {
        let rows = note_rows(level, text, self.screen.size().columns);
        let rows = self.transcript.notes(rows);
        self.print(rows)
    }

    fn print(&mut self, rows: Vec<Row>) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.prompt_shown {
            self.prompt_shown = false;
            self.screen.write_plain("\n")?;
        }
        let live = self.live();
        let columns = self.screen.size().columns;
        let rows = rows.into_iter().flat_map(|row| row.wrapped(columns));
        self.last_printed = Instant::now();
        self.screen.print(&rows.collect::<Vec<_>>(), live)
    }

    fn paint(&mut self) -> io::Result<()> {
        if !self.is_plain() {
            let live = self.live();
            return self.screen.paint(live);
        }
        let is_idle = !self.transcript.is_running() && !self.run_expected;
        let waits = is_idle || self.menu.is_some() || !self.questions.is_empty();
        if waits && !self.prompt_shown {
            self.prompt_shown = true;
            self.screen.write_plain("> ")?;
        }
        Ok(())
    }

    fn live(&self) -> LiveRows {
        if self.is_plain() || self.left.is_some() {
            return LiveRows::default();
        }
        let columns = self.screen.size().columns;
        let mut rows = vec![Row::new()];
        rows.extend(self.transcript.live(Instant::now()));
        if let Some((menu, _)) = &self.menu {
            rows.extend(menu.rows(columns));
            return LiveRows { rows, cursor: None };
        }
        if let Some(question) = self.questions.front() {
            rows.extend(question.rows(columns));
            match question {
                TerminalQuestion::Text { .. } => {}
                _ if self.editor.is_empty() => return LiveRows { rows, cursor: None },
                _ => rows.push(Row::of(
                    "  send or empty the line below to answer",
                    TextStyle::DIM,
                )),
            }
        }
        let prompt = Row::of("› ", TextStyle::colour(Colour::Blue));
        let (mut line, (row, column)) = self.editor.rows(columns, &prompt);
        let above = rows.len();
        if self.editor.is_empty() {
            let hint = match self.transcript.is_running() {
                true => "type to steer it",
                false => "ask something, or /help",
            };
            line = vec![prompt.with(hint, TextStyle::DIM)];
        }
        rows.extend(line);
        rows.extend(self.candidates());
        if !self.footer.is_empty() {
            rows.push(Row::of(&self.footer, TextStyle::DIM));
        }
        let cursor = Some((above + row, column));
        LiveRows { rows, cursor }
    }

    /// What Tab has found, or the commands that begin as the line does.
    fn candidates(&self) -> Vec<Row> {
        let typed = self.editor.text();
        let is_command = typed.starts_with('/') && !typed.contains(char::is_whitespace);
        let commands =
            is_command.then(|| complete(typed, typed.len(), &self.known, self.asked.cwd));
        let Some(found) = self.completion.as_ref().or(commands.as_ref()) else {
            return Vec::new();
        };
        let shown = found.candidates.iter().take(CANDIDATES);
        let mut rows: Vec<Row> = shown
            .map(|one| {
                Row::of(
                    &format!("  {:<14}", one.text),
                    TextStyle::colour(Colour::Cyan),
                )
                .with(&one.detail, TextStyle::DIM)
            })
            .collect();
        let more = found.candidates.len().saturating_sub(CANDIDATES);
        if more > 0 {
            rows.push(Row::of(&format!("  … {more} more"), TextStyle::DIM));
        }
        rows
    }
}

fn fact(name: &str) -> Row {
    Row::of(&format!("  {name:<13}"), TextStyle::DIM)
}
