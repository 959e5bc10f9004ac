//! The task that owns a session's state.
//!
//! It answers three kinds of messages: commands of handles, requests of the run it started, and
//! reports of the other tasks it started. Nothing it does takes long; what does is a task of its
//! own that reports back.
//!
//! The state is in parts, each with a file and methods of its own: what was said ([`log`]), what
//! waits to be said ([`queues`]), which model is asked ([`models`], [`fallbacks`]), who may run
//! what ([`permissions`]), what can be run ([`tools`]), commands of the user ([`shells`]), what was
//! consumed ([`spending`]), what runs ([`activities`]) and what goes on in the background
//! ([`background`]). The other files are what the actor does
//! with several of them.

mod activities;
mod background;
mod commands;
mod compaction;
mod fallbacks;
mod log;
mod models;
mod permissions;
mod queued_messages;
mod queues;
mod reading;
mod requests;
mod restore;
mod runs;
mod shells;
mod spending;
mod tools;
mod unanswered;
mod undo;

use std::path::Path;
use std::sync::Arc;

use stentor_journal::store::{OpenedSession, Reservation};
use tokio::sync::mpsc;

use super::command::{ActorCommand, Reply};
use super::dialogs::{Answerer, Dialogs};
use super::error::SessionError;
use super::handle::{RunId, SessionShared};
use super::options::{CompactionSettings, Environment, SessionOptions, Storage};
use super::record::Record;
use super::tool_host::SessionToolHost;
use crate::commands::SlashCommands;
use crate::event::{EventKind, NoticeLevel, NoticeSource, StateChange};
use crate::folder_texts::FolderTexts;
use crate::hooks::Hooks;
use crate::hub::Hub;
use crate::jobs::Jobs;
use crate::rules::RuleBook;
use crate::sandbox::SandboxState;
use crate::tool::Circumstances;
use crate::turn::{AutomaticSteps, RetryPolicy, RunRequest, RunWatch, Signals};
use crate::undo::{Undo, UndoSource};

use activities::Activities;
use background::Background;
use fallbacks::Fallbacks;
use log::SessionLog;
use models::ModelSelection;
use permissions::Permissions;
use queues::MessageQueues;
use restore::StoredSession;
use shells::{FinishedShell, UserShells};
use spending::Spending;
use tools::SessionTools;

/// Reports the actor's own tasks may have waiting for it. They wait when it is full.
const REPORTS: usize = 16;

/// What a session begins with.
pub(super) enum SessionStart {
    New(Option<Box<dyn Reservation>>),
    Resumed(Box<OpenedSession>),
}

/// The owner of a session's state.
pub(super) struct Actor {
    id: Arc<str>,
    cwd: Arc<Path>,
    environment: Environment,
    hub: Hub,
    commands: mpsc::Receiver<ActorCommand>,
    requests: (mpsc::Sender<RunRequest>, mpsc::Receiver<RunRequest>),
    reports: (mpsc::Sender<TaskReport>, mpsc::Receiver<TaskReport>),
    signals: Arc<Signals>,

    log: SessionLog,
    /// The name of the session, if its model gave it.
    title_of_model: Option<String>,
    queues: MessageQueues,
    models: ModelSelection,
    fallbacks: Fallbacks,
    permissions: Permissions,
    tools: SessionTools,
    shells: UserShells,
    spending: Spending,
    activities: Activities,
    background: Background,
    /// Records what calls change; the session's own, or that of the session it works for.
    undo: Option<Arc<Undo>>,
    has_own_undo: bool,

    dialogs: Arc<Dialogs>,
    sandbox: Arc<SandboxState>,
    automatic: AutomaticSteps,
    compaction: CompactionSettings,
    retry: RetryPolicy,
    watch: Arc<RunWatch>,
    rules: Arc<RuleBook>,
    /// What commands leave running ends with this session.
    ends_left_running: bool,
    /// Somebody wants the program to end when nothing runs.
    shutdown_asked: bool,
}

/// What the actor's own tasks report to it.
enum TaskReport {
    ShellEnded(Box<FinishedShell>),
    /// The running activity ended by a panic.
    ActivityDied,
    /// An activity ended without an end that the actor decided on.
    ActivityGone(RunId),
}

impl Actor {
    pub fn new(
        environment: Environment,
        options: SessionOptions,
        beginning: SessionStart,
        commands: mpsc::Receiver<ActorCommand>,
    ) -> Result<Self, SessionError> {
        let (mut record, leaf, stored) = match beginning {
            SessionStart::New(reserved) => {
                let record = log::new_record(&environment, &options, reserved)?;
                (record, None, None)
            }
            SessionStart::Resumed(opened) => {
                let (journal, leaf, stored) = StoredSession::of(*opened);
                let record = match options.opens_untouched {
                    true => Record::held(journal),
                    false => Record::Open(journal),
                };
                (record, leaf, Some(stored))
            }
        };
        if options.inline_pictures {
            record.keep_pictures_inline();
        }
        let mut actor = Self::with_record(environment, &options, record, leaf, commands);
        match stored {
            Some(stored) => actor.restore(stored, &options)?,
            None => actor.note_beginning()?,
        }
        actor.log.restored();
        let file = actor.log.path().map(Path::to_path_buf);
        actor.tools.host.set_file(file);
        for gap in &actor.sandbox.gaps {
            actor.warn(format!("sandbox: {gap}"));
        }
        if matches!(options.storage, Storage::FolderAtOnce(_)) {
            actor.log.make_file()?;
        }
        Ok(actor)
    }

    fn with_record(
        environment: Environment,
        options: &SessionOptions,
        record: Record,
        leaf: Option<String>,
        commands: mpsc::Receiver<ActorCommand>,
    ) -> Self {
        let id: Arc<str> = Arc::from(record.header().id.as_str());
        let cwd: Arc<Path> = Arc::from(options.cwd.as_path());
        let clock = &environment.clock;
        let hub = Hub::new(Arc::clone(&id), Arc::clone(clock));
        let dialogs = Arc::new(Dialogs::new(hub.clone()));
        let requests = mpsc::channel(crate::turn::LINK_REQUESTS);
        let reports = mpsc::channel(REPORTS);
        let jobs = Jobs::new(Arc::clone(clock));
        let background = Background::new(Arc::clone(&jobs), options.wake_on_job_end);
        let left_running = options.left_running.clone().unwrap_or_default();
        let signals = Arc::<Signals>::default();
        let undo = undo::of_session(options, &id, &hub, &requests.0);
        let host = Arc::new(SessionToolHost::new(
            hub.clone(),
            Arc::clone(&dialogs),
            (Arc::clone(&jobs), Arc::clone(&left_running)),
            (requests.0.clone(), options.permits.clone()),
            options.policy.path_rules(),
            undo.clone(),
            options.plan_clearing.clone(),
        ));
        let slash = SlashCommands::new(options.commands.clone(), hub.clone());
        slash.set_instructions(options.instructions.clone());
        slash.set_base_prompt(Arc::clone(&options.system_prompt));
        let mut log = SessionLog::new(hub.clone(), Arc::clone(clock), record, leaf);
        log.set_name(options.name.clone());
        if let (Some(undo), Some(UndoSource::Own(_))) = (&undo, &options.undo) {
            log.set_undo(Arc::clone(undo));
        }
        let (shared, home) = (|| environment.clone(), || Arc::clone(&cwd));
        Self {
            queues: MessageQueues::new(hub.clone(), Arc::clone(&signals), options),
            models: ModelSelection::new(shared(), hub.clone(), Arc::clone(&host), options),
            fallbacks: Fallbacks::new(options.fallback.clone()),
            permissions: Permissions::new(
                hub.clone(),
                Arc::clone(&dialogs),
                Arc::clone(&host),
                home(),
                options,
            ),
            shells: UserShells::new(
                shared(),
                hub.clone(),
                home(),
                (jobs, left_running),
                reports.0.clone(),
            ),
            spending: Spending::new(Arc::clone(&host), options.budget),
            tools: SessionTools::new(options, host, Arc::new(slash)),
            activities: Activities::default(),
            background,
            has_own_undo: matches!(options.undo, Some(UndoSource::Own(_))),
            undo,
            sandbox: Arc::clone(&options.sandbox),
            automatic: AutomaticSteps {
                retry: options.auto_retry,
                compaction: options.auto_compaction,
            },
            compaction: options.compaction,
            retry: options.retry,
            rules: Arc::new(options.rules.afresh()),
            ends_left_running: options.left_running.is_none(),
            watch: Arc::new(RunWatch {
                plan_reminders: options.plan_reminders,
                max_answer_bytes: options.max_answer_bytes,
                output_schema: options.output_schema.clone(),
                steering_waits_for_first_call: options.steering_waits_for_first_call,
            }),
            shutdown_asked: false,
            id,
            cwd,
            environment,
            hub,
            commands,
            requests,
            reports,
            signals,
            log,
            title_of_model: None,
            dialogs,
        }
    }

    /// What handles reach without asking.
    pub fn shared(&self) -> SessionShared {
        SessionShared {
            id: Arc::clone(&self.id),
            file: self.log.path().map(Arc::from),
            cwd: Arc::clone(&self.cwd),
            journals: Arc::clone(&self.environment.journals),
            read_only: self
                .log
                .journal()
                .and_then(|journal| journal.read_only().map(Arc::from)),
            hub: self.hub.clone(),
            dialogs: Arc::clone(&self.dialogs),
            jobs: Arc::clone(self.shells.jobs()),
            left_running: Arc::clone(self.shells.left_running()),
            subagents: self.tools.host.running_subagents(),
            slash: Arc::clone(&self.tools.slash),
            undo: self.undo.clone(),
        }
    }

    /// Has `hooks` asked from now on.
    pub fn set_hooks(&mut self, hooks: Arc<dyn Hooks>) {
        self.tools.set_hooks(hooks);
    }

    /// Lives until it is closed or nobody holds a handle any more.
    ///
    /// Whoever hears that it is over, by the answer or by the end of the events, can open the
    /// session's file: the actor, and with it the lock, is gone by then.
    pub async fn run(self) {
        // Declared first, so dropped last, also by a panic.
        let _events = EndOfEvents(self.hub.clone());
        let mut actor = self;
        let asked_to_close = actor.serve_until_closed().await;
        let keeps_questions = asked_to_close.as_ref().is_some_and(|(_, keeps)| *keeps);
        actor.wind_down(keeps_questions).await;
        drop(actor);
        if let Some((reply, _)) = asked_to_close {
            // Who asked may be gone; the session is closed all the same.
            answer(reply, ());
        }
    }

    /// Works until it is asked to close, or nobody is left to ask for anything. With who asked,
    /// whether questions stay open.
    async fn serve_until_closed(&mut self) -> Option<(Reply<()>, bool)> {
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(ActorCommand::Close { keeps_questions, reply }) => {
                        return Some((reply, keeps_questions));
                    }
                    Some(ActorCommand::Act(act)) => act(self),
                    Some(ActorCommand::ActAsync(act)) => act(self).await,
                    None => return None,
                },
                Some(request) = self.requests.1.recv() => self.serve(request).await,
                Some(report) = self.reports.1.recv() => self.take_report(report).await,
            }
        }
    }

    async fn take_report(&mut self, report: TaskReport) {
        match report {
            TaskReport::ShellEnded(finished) => {
                let in_run = self.activities.is_any_running();
                self.shells.ended(&mut self.log, *finished, in_run).await;
            }
            TaskReport::ActivityDied => self.activity_died().await,
            TaskReport::ActivityGone(run) => self.activity_gone(run).await,
        }
    }

    /// A new session's first entries: the model, the thinking level and the name it begins with.
    fn note_beginning(&mut self) -> Result<(), SessionError> {
        if let Some(info) = self.models.info() {
            self.log.note_model(info, false)?;
        }
        self.log.note_thinking(self.models.thinking(), false)?;
        self.log.note_name(false)?;
        self.permissions.note_mode(&mut self.log)?;
        Ok(())
    }

    /// What decides which tools a model is offered.
    fn circumstances(&self) -> Circumstances {
        Circumstances {
            somebody_answers: self.dialogs.answerer() == Answerer::Known,
            mode: self.permissions.current_mode(),
        }
    }

    /// Has what the folder says take the place of what the session began with.
    fn set_folder_texts(&mut self, texts: FolderTexts) {
        self.tools
            .slash
            .set_base_prompt(Arc::clone(&texts.system_prompt));
        self.rules = Arc::new(texts.rules.afresh());
        self.tools.host.set_folder_texts(texts);
    }

    fn publish_change(&self, change: StateChange) {
        self.hub.publish(EventKind::StateChanged(change));
    }

    /// Warns those who subscribe from the beginning on, and in the log those who come later.
    fn warn(&self, message: String) {
        tracing::warn!(session = %self.id, "{message}");
        self.publish_warning(message);
    }

    fn publish_warning(&self, message: String) {
        self.hub.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message,
            from: NoticeSource::Agent,
        });
    }
}

impl Drop for Actor {
    /// Nothing outlives its session, however that ends.
    fn drop(&mut self) {
        self.activities.cancel();
        self.shells.cancel_all();
        self.background.close();
        if self.ends_left_running {
            self.shells.left_running().end();
        }
    }
}

/// Ends the events of all subscribers, when it goes.
struct EndOfEvents(Hub);

impl Drop for EndOfEvents {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Answers. Who asked may have gone away; then nobody misses the answer.
fn answer<T>(reply: Reply<T>, value: T) {
    reply.send(value).ok();
}
