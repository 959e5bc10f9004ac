//! The handle by which everybody but the actor knows a session.

use std::path::Path;
use std::sync::Arc;

use stentor_journal::message::{ContentBlock, KnownBlock};
use stentor_journal::store::{JournalStore, OpenedSession, Reservation};
use tokio::sync::{mpsc, oneshot};

use super::actor::{Actor, SessionStart};
use super::attachment::Attachment;
use super::command::{ActorCommand, COMMANDS};
use super::dialogs::{Answerer, Dialogs};
use super::error::SessionError;
use super::hook_source::HookedSession;
use super::options::{Environment, SessionOptions};
use crate::commands::{PromptSource, SlashCommands};
use crate::dialog::{Dialog, DialogAnswer};
use crate::event::EventKind;
use crate::hook_chain;
use crate::hooks::CommandRan;
use crate::hub::{Hub, MissedEvents, Subscription};
use crate::jobs::{Job, Jobs};
use crate::left_running::LeftRunning;
use crate::subagents::{SteerError, Subagents};
use crate::tasks;
use crate::undo::Undo;

/// A session. Cheap to clone; the session ends when it is closed or the last handle is dropped.
#[derive(Clone)]
pub struct Session {
    pub(super) commands: mpsc::Sender<ActorCommand>,
    pub(super) shared: Arc<SessionShared>,
    /// Set in the handles of a client that shares the session with others.
    pub(super) attachment: Option<Arc<Attachment>>,
}

/// What handles reach without the actor.
pub(super) struct SessionShared {
    pub id: Arc<str>,
    /// Where it is stored, or will be when something is said in it.
    pub file: Option<Arc<Path>>,
    pub cwd: Arc<Path>,
    /// Where its journal is.
    pub journals: Arc<dyn JournalStore>,
    /// Why the session can only be read, where that is so.
    pub read_only: Option<Arc<str>>,
    pub hub: Hub,
    pub dialogs: Arc<Dialogs>,
    pub jobs: Arc<Jobs>,
    pub left_running: Arc<LeftRunning>,
    pub subagents: Arc<Subagents>,
    pub slash: Arc<SlashCommands>,
    /// What records what can be undone.
    pub undo: Option<Arc<Undo>>,
}

/// A prompt that was accepted and is on disk.
///
/// The run begins when this is dropped, so that a caller can write its answer first.
#[must_use = "the run begins when this is dropped"]
pub struct Accepted {
    pub(super) _go: oneshot::Sender<()>,
    pub(super) run: RunId,
    pub(super) after: u64,
}

/// One run of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(pub(super) u64);

impl Accepted {
    /// Which run it is.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The number of the newest event when it was accepted: all events of the run are later.
    pub fn after(&self) -> u64 {
        self.after
    }
}

impl Session {
    /// Starts a new session.
    pub fn start(environment: Environment, options: SessionOptions) -> Result<Self, SessionError> {
        Self::begin(environment, options, SessionStart::New(None))
    }

    /// Starts a new session for which capacity was reserved, if it was.
    pub(crate) fn start_reserved(
        environment: Environment,
        options: SessionOptions,
        reserved: Option<Box<dyn Reservation>>,
    ) -> Result<Self, SessionError> {
        Self::begin(environment, options, SessionStart::New(reserved))
    }

    /// Goes on with a stored session. What `options` leaves open is taken from it.
    pub fn resume(
        environment: Environment,
        options: SessionOptions,
        opened: OpenedSession,
    ) -> Result<Self, SessionError> {
        Self::begin(
            environment,
            options,
            SessionStart::Resumed(Box::new(opened)),
        )
    }

    fn begin(
        environment: Environment,
        options: SessionOptions,
        beginning: SessionStart,
    ) -> Result<Self, SessionError> {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (hooks, servers) = (options.hooks.clone(), options.servers.clone());
        let cwd = Arc::from(options.cwd.as_path());
        let resumed = matches!(beginning, SessionStart::Resumed(_));
        let mut actor = Actor::new(environment, options, beginning, receiver)?;
        let shared = Arc::new(actor.shared());
        let session = Self {
            commands,
            shared,
            attachment: None,
        };
        let names = servers.iter().flat_map(|servers| &servers.wanted);
        let hooked = HookedSession {
            session: session.downgrade(),
            cwd,
            resumed,
            servers: names.map(|server| server.name.clone()).collect(),
        };
        let attached = hooks.iter().map(|source| source.attach(hooked.clone()));
        let mut attached: Vec<_> = attached.collect();
        let servers = servers.filter(|servers| !servers.is_empty());
        if let Some(servers) = servers {
            let brought = servers.starter.attach(&servers, hooked);
            attached.push(brought.hooks);
            session.shared.slash.add_source(brought.prompts);
        }
        if let Some(hooks) = hook_chain::all_in_one(attached) {
            actor.set_hooks(hooks);
        }
        tasks::spawn(actor.run());
        Ok(session)
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.shared.id
    }

    /// Where it is stored, or will be when something is said in it.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_deref()
    }

    /// True when nothing can be said in it here.
    pub(super) fn is_read_only(&self) -> bool {
        self.shared.read_only.is_some()
    }

    /// Where its journal is.
    pub fn journals(&self) -> Arc<dyn JournalStore> {
        Arc::clone(&self.shared.journals)
    }

    /// What runs beside the conversation, and what ran.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.shared.jobs
    }

    /// Has a job stop. `None` when there is none with this id.
    pub fn cancel_job(&self, id: &str) -> Result<Option<Job>, SessionError> {
        Ok(self.driving()?.shared.jobs.cancel(id))
    }

    /// Stops a subagent, and waits until it has stopped. False when it is not at work.
    pub async fn cancel_subagent(&self, number: u64) -> Result<bool, SessionError> {
        Ok(self.driving()?.shared.subagents.cancel(number).await)
    }

    /// Says something to a subagent that is at work.
    pub async fn steer_subagent(
        &self,
        number: u64,
        content: Vec<ContentBlock>,
    ) -> Result<(), SteerError> {
        let session = self
            .driving()
            .map_err(|why| SteerError::Refused(why.into()))?;
        session.shared.subagents.steer(number, content).await
    }

    /// What its commands have left running.
    pub fn left_running(&self) -> &Arc<LeftRunning> {
        &self.shared.left_running
    }

    /// The subagents at work for it.
    pub fn subagents(&self) -> &Arc<Subagents> {
        &self.shared.subagents
    }

    pub(super) fn undo(&self) -> Option<Arc<Undo>> {
        self.shared.undo.clone()
    }

    /// The slash commands it has.
    pub fn slash(&self) -> &Arc<SlashCommands> {
        &self.shared.slash
    }

    /// Has a source of prompts asked for slash commands, too.
    pub async fn add_prompts(&self, source: Arc<dyn PromptSource>) {
        self.shared.slash.add_source(source);
        self.shared.slash.refresh().await;
    }

    /// The slash commands may have changed: they are published if they did.
    pub async fn commands_changed(&self) {
        self.shared.slash.refresh().await;
    }

    /// What is said to the agent for what a user said: a template, a skill or another prompt that
    /// its first text calls by name, else the same. Every way in that takes text of a person calls
    /// this before it prompts or queues.
    pub async fn expand(
        &self,
        content: Vec<ContentBlock>,
    ) -> Result<Vec<ContentBlock>, SessionError> {
        let Some(ContentBlock::Known(KnownBlock::Text(first))) = content.first() else {
            return Ok(content);
        };
        match self.driving()?.shared.slash.expand(&first.text).await? {
            None => Ok(content),
            Some(expanded) => {
                let rest = content.into_iter().skip(1);
                Ok(expanded.content.into_iter().chain(rest).collect())
            }
        }
    }

    /// Runs a command of an extension beside the conversation. `None` when it is nobody's.
    pub async fn run_command(&self, name: &str, arguments: &str) -> Option<CommandRan> {
        if let Err(why) = self.driving() {
            return Some(CommandRan::Failed(why.to_string()));
        }
        match self.shared.slash.run(name, arguments) {
            Some(running) => running.await,
            None => None,
        }
    }

    /// Subscribes to what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.shared.hub.subscribe_as(self.client())
    }

    /// Subscribes to everything after event number `since`.
    pub fn subscribe_since(&self, since: u64) -> Result<Subscription, MissedEvents> {
        self.shared.hub.subscribe_since_as(self.client(), since)
    }

    /// The number of the newest event.
    pub fn seq(&self) -> u64 {
        self.shared.hub.seq()
    }

    /// Whether somebody can be asked. Where nobody can, asking means denying.
    pub async fn set_can_ask(&self, can_ask: bool) -> Result<(), SessionError> {
        // Not by way of the actor: who asks next must find it so.
        self.set_answerer(match can_ask {
            true => Answerer::Known,
            false => Answerer::Nobody,
        });
        Ok(())
    }

    /// Questions are asked from now on, but whether anybody answers them is not known. What can do
    /// without an answer does without the question.
    pub fn set_answerer_unproven(&self) {
        self.set_answerer(Answerer::Unproven);
    }

    fn set_answerer(&self, answerer: Answerer) {
        if self.observes() {
            return;
        }
        let nobody_answers = self.shared.dialogs.set_answerer(self.client(), answerer);
        if nobody_answers {
            self.nobody_answers();
        }
        if answerer != Answerer::Nobody {
            self.ask_again();
        }
    }

    /// Whether somebody is known to answer questions.
    pub fn is_known_to_answer(&self) -> bool {
        self.shared.dialogs.answerer() == Answerer::Known
    }

    /// Asks a person. [`DialogAnswer::Nothing`] at once when nobody can be asked; dropping the
    /// future withdraws the question.
    pub async fn ask_dialog(&self, dialog: Dialog) -> DialogAnswer {
        Arc::clone(&self.shared.dialogs).ask(dialog).await
    }

    /// Publishes an event to every subscriber: a status, a widget, a notice, a subagent's progress.
    pub fn publish(&self, event: EventKind) {
        self.shared.hub.publish(event);
    }
}
