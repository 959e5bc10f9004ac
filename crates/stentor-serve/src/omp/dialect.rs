//! The one conversation of a process, and how another takes its place.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use serde_json::value::RawValue;
use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::project_files::{FileOwner, NotRead};
use stentor_agent::session::{Session, SessionOptions};
use stentor_agent::tasks;
use stentor_agent::tool::{Place, Tool};
use stentor_wire::omp::command::SubagentLevel;
use tokio::sync::{RwLock, RwLockWriteGuard, Semaphore};
use tokio::task::JoinHandle;

use super::OmpOptions;
use super::args::ConversationToOpen;
use super::connection::OmpConnection;
use super::events::OmpEncoder;
use super::framing::{AgentFrame, Framing};
use super::hosting::Hosting;
use super::limits;
use super::place::{AnnouncedPlace, WayOut};
use super::reply::{CommandOutcome, UnframedAnswer};
use super::running_commands::RunningCommands;
use super::scoped_models::scoped;
use super::serving::publish_commands;
use crate::output::{Closed, Output};
use crate::pump::{Answers, Pump};

/// How often a run that stopped with things to do is reminded of them (section 8).
const PLAN_REMINDERS: u32 = 3;

/// How long what is done stays in the list of todos, as in omp 13.
const TODO_CLEAR_DELAY: Duration = Duration::from_secs(60);

/// Everything a command may need.
pub(super) struct OmpDialect {
    pub agent: Agent,
    pub options: OmpOptions,
    pub connection: Arc<OmpConnection>,
    pub hosting: Arc<Hosting>,
    /// Permits for what runs in the background.
    pub background: Arc<Semaphore>,
    /// Permits for what stops something while the client does not read.
    pub urgent: Arc<Semaphore>,
    /// Commands that are being done.
    pub running_commands: RunningCommands,
    output: Output,
    /// For answers, which must not get lost between two conversations.
    current: RwLock<Option<CurrentConversation>>,
    /// For what must not wait.
    live: Mutex<LiveConversation>,
    /// Answers that wait for a client that does not read.
    unread: AtomicUsize,
    me: Weak<Self>,
}

/// The conversation with its way out.
pub(super) struct CurrentConversation {
    session: Session,
    answers: Answers,
    pump: JoinHandle<Result<OmpEncoder, Closed>>,
}

/// The conversation, for who only wants to talk to it.
#[derive(Clone)]
pub(super) struct LiveConversation {
    pub session: Session,
    /// Which conversation of this process it is, from one.
    pub generation: u32,
    /// The tools it has of its own; those of the client come on top.
    pub tools: Arc<[Arc<dyn Tool>]>,
}

/// A conversation that is about to take the place of another.
pub(super) struct NextConversation {
    pub session: Session,
    tools: Vec<Arc<dyn Tool>>,
}

impl OmpDialect {
    /// Starts the first conversation.
    pub fn start(
        agent: Agent,
        options: OmpOptions,
        output: Output,
        mut session_options: SessionOptions,
    ) -> Result<Arc<Self>, AgentError> {
        let connection = Arc::new(OmpConnection::new(agent.is_sharing()));
        session_options.place = announced_place(&connection);
        let first = begin(&agent, &options, session_options)?;
        let live = LiveConversation {
            session: first.session.clone(),
            generation: 1,
            tools: first.tools.into(),
        };
        let current = pumped(&connection, &output, first.session, 1);
        Ok(Arc::new_cyclic(|me| Self {
            me: me.clone(),
            unread: AtomicUsize::new(0),
            agent,
            options,
            connection,
            hosting: Arc::default(),
            background: Arc::new(Semaphore::new(limits::BACKGROUND_COMMANDS)),
            urgent: Arc::new(Semaphore::new(limits::BACKGROUND_COMMANDS)),
            running_commands: RunningCommands::default(),
            output,
            current: RwLock::new(Some(current)),
            live: Mutex::new(live),
        }))
    }

    /// The conversation.
    pub fn live(&self) -> LiveConversation {
        self.live
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Itself, for what must not keep it alive.
    pub fn me(&self) -> Weak<Self> {
        self.me.clone()
    }

    /// The conversation's session.
    pub fn session(&self) -> Session {
        self.live().session
    }

    /// Answers a command.
    pub async fn answer(&self, id: Option<&RawValue>, command: &str, outcome: &CommandOutcome) {
        self.write_answer(UnframedAnswer::of(id, command, outcome))
            .await;
    }

    /// Answers a command, and does something once all that happened before it has been told.
    pub async fn answer_and(
        &self,
        id: Option<&RawValue>,
        command: &str,
        outcome: &CommandOutcome,
        then: impl FnOnce(&OmpConnection) + Send + 'static,
    ) {
        let answer = UnframedAnswer::of(id, command, outcome);
        let connection = Arc::clone(&self.connection);
        self.send(move |framing, frames| {
            answer.write(framing, frames);
            then(&connection);
        })
        .await;
    }

    /// Writes an answer.
    pub async fn write_answer(&self, answer: UnframedAnswer) {
        self.send(move |framing, frames| answer.write(framing, frames))
            .await;
    }

    /// Has frames written after the events that have happened and before those to come.
    pub async fn send(&self, write: impl FnOnce(&Framing, &mut Vec<u8>) + Send + 'static) {
        let connection = Arc::clone(&self.connection);
        let write = move |frames: &mut Vec<u8>| write(&connection.framing, frames);
        let current = self.current.read().await;
        let mut sending = Box::pin(async {
            match &*current {
                Some(current) => {
                    let after_seq = current.session.seq();
                    current.answers.send_with(after_seq, write).await
                }
                None => {
                    let mut frames = Vec::new();
                    write(&mut frames);
                    self.output.send(&frames).await
                }
            }
        });
        let sent = match poll!(&mut sending) {
            Poll::Ready(sent) => sent,
            Poll::Pending => {
                self.unread.fetch_add(1, Ordering::AcqRel);
                let sent = sending.await;
                self.unread.fetch_sub(1, Ordering::AcqRel);
                sent
            }
        };
        if sent.is_err() {
            tracing::debug!("an answer came after the reader had gone");
        }
    }

    /// True while answers wait for a client that does not read.
    pub fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Acquire) > 0
    }

    /// Writes one frame of its own accord.
    pub async fn send_frame(&self, name: &'static str, frame: &AgentFrame<'_>) {
        match serde_json::to_vec(frame) {
            Ok(object) => {
                self.send(move |framing, frames| {
                    let start = frames.len();
                    frames.extend_from_slice(&object);
                    framing.finish_event(frames, start, name);
                })
                .await;
            }
            Err(error) => tracing::error!(%error, name, "a frame could not be written"),
        }
    }

    /// Has what happens in subagents told if the client wants to hear it.
    pub fn watch_subagents(&self) {
        let level = self.connection.wants.now().subagents;
        if level == SubagentLevel::Events {
            self.session().subagents().watch();
        }
    }

    /// The options of a further conversation.
    pub fn options_for_next(&self) -> Result<SessionOptions, AgentError> {
        self.options_in(&self.options.cwd)
    }

    /// The same for one that works in another folder.
    pub fn options_in(&self, cwd: &Path) -> Result<SessionOptions, AgentError> {
        let mut options = self.agent.options(cwd)?;
        prepare(&self.agent, &self.options, &mut options);
        options.place = announced_place(&self.connection);
        Ok(options)
    }

    /// Stops the conversation and lets its last frames out. Nothing is answered until the guard
    /// is used.
    pub async fn leave(&self) -> Leaving<'_> {
        self.hosting.unequip(self).await;
        let mut current = self.current.write().await;
        if let Some(old) = current.take() {
            finish(old).await;
        }
        Leaving {
            dialect: self,
            current,
        }
    }

    /// Stops the conversation for good.
    pub async fn end(&self) {
        self.hosting.close();
        self.hosting.unequip(self).await;
        // First what matters: the lock may be held by an answer that nobody reads.
        self.session().close().await;
        let old = self.current.write().await.take();
        if let Some(old) = old {
            finish(old).await;
        }
    }
}

/// The moment between two conversations.
pub(super) struct Leaving<'a> {
    dialect: &'a OmpDialect,
    current: RwLockWriteGuard<'a, Option<CurrentConversation>>,
}

impl Leaving<'_> {
    /// The next conversation begins.
    pub async fn enter(mut self, next: NextConversation) {
        let dialect = self.dialect;
        let tools: Arc<[Arc<dyn Tool>]> = next.tools.into();
        let generation = dialect.live().generation.wrapping_add(1);
        dialect.connection.bash.new_session();
        dialect.connection.subagents.clear();
        *self.current = Some(pumped(
            &dialect.connection,
            &dialect.output,
            next.session.clone(),
            generation,
        ));
        *dialect.live.lock().unwrap_or_else(PoisonError::into_inner) = LiveConversation {
            session: next.session.clone(),
            generation,
            tools,
        };
        drop(self);
        dialect.watch_subagents();
        dialect.connection.let_ask(&next.session).await;
        publish_commands(next.session);
        dialect.hosting.equip(dialect).await;
    }
}

impl NextConversation {
    /// A new conversation.
    pub fn new(
        agent: &Agent,
        options: SessionOptions,
        new: NewSession,
    ) -> Result<Self, AgentError> {
        let tools = options.tools.clone();
        let session = agent.start_with(options, new)?;
        Ok(Self::of(session, tools))
    }

    /// The conversation of a client that has named none, or whose own is gone.
    pub fn first(agent: &Agent, options: SessionOptions) -> Result<Self, AgentError> {
        let tools = options.tools.clone();
        let session = agent.start_first(options, NewSession::default())?;
        Ok(Self::of(session, tools))
    }

    /// A conversation that exists.
    pub fn of(session: Session, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { session, tools }
    }
}

/// What this dialect changes in the defaults.
pub(super) fn prepare(agent: &Agent, dialect: &OmpOptions, options: &mut SessionOptions) {
    // Clients show the waiting time as it is announced: twice as long each time (section 12).
    options.retry.jitter_percent = 0;
    options.plan_reminders = PLAN_REMINDERS;
    options.plan_clearing.otherwise = Some(TODO_CLEAR_DELAY);
    if !dialect.models.is_empty() {
        options.scoped_models = scoped(&dialect.models, &agent.models().available());
    }
}

/// Where tools work, when the client was told.
pub(super) fn announced_place(connection: &Arc<OmpConnection>) -> Arc<dyn Place> {
    let connection = Arc::clone(connection);
    Arc::new(AnnouncedPlace { connection })
}

/// The conversation the command line asks for.
pub(super) fn begin(
    agent: &Agent,
    options: &OmpOptions,
    mut session_options: SessionOptions,
) -> Result<NextConversation, AgentError> {
    let found = match &options.resume {
        ConversationToOpen::New => None,
        ConversationToOpen::Last => {
            let mut newest = agent.newest_first(Some(&options.cwd));
            newest
                .find(|listed| listed.problem.is_none())
                .map(|listed| listed.path)
        }
        ConversationToOpen::Named(name) if names_a_file(name) => {
            let path = agent.file_at(options.session_file(name));
            match begins_at(&path) {
                true => {
                    session_options.keep_at(path);
                    None
                }
                false => Some(path),
            }
        }
        ConversationToOpen::Named(name) => Some(agent.find(name)?),
    };
    let Some(path) = found else {
        session_options.name = options.name.clone();
        return NextConversation::first(agent, session_options);
    };
    let cwd = agent.working_folder(&path, &options.cwd);
    if cwd != options.cwd {
        let place = session_options.place;
        session_options = agent.options(&cwd)?;
        prepare(agent, options, &mut session_options);
        session_options.place = place;
    }
    if !options.model_asked_for {
        session_options.prefer_stored_model();
    }
    let tools = session_options.tools.clone();
    let session = agent.resume_first(&path, session_options)?;
    Ok(NextConversation::of(session, tools))
}

/// A conversation is named by its file or by its id, in which there are no such characters.
fn names_a_file(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".jsonl")
}

/// True when a conversation of that file has yet to begin: there is no file, or one with nothing
/// but blank lines.
pub(super) fn begins_at(file: &Path) -> bool {
    const MOST_BLANKS: u64 = 4 << 10;
    match FileOwner::Own.read(file, MOST_BLANKS) {
        Ok(bytes) => bytes.trim_ascii().is_empty(),
        Err(why) => matches!(why, NotRead::Missing),
    }
}

/// Gives a conversation its way out.
pub(super) fn pumped(
    connection: &Arc<OmpConnection>,
    output: &Output,
    session: Session,
    generation: u32,
) -> CurrentConversation {
    let encoder = OmpEncoder::new(Arc::clone(connection), generation);
    let encoder = encoder.observing(session.observes());
    // A session tells what happened before anybody listened as well: warnings about its file.
    let events = session.subscribe_first();
    let (pump, answers) = Pump::new(events, output.clone(), encoder);
    connection.goes_out(WayOut {
        session: session.downgrade(),
        answers: answers.downgrade(),
        output: output.clone(),
    });
    CurrentConversation {
        session,
        answers,
        pump: tasks::spawn(pump.run()),
    }
}

/// Stops a conversation and lets its last frames out.
pub(super) async fn finish(old: CurrentConversation) {
    let CurrentConversation {
        session,
        answers,
        pump,
    } = old;
    session.close().await;
    drop(answers);
    // A pump that failed has said why.
    pump.await.ok();
}
