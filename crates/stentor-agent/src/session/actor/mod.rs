//! The task that owns a session's state.
//!
//! It answers three kinds of messages: commands of handles, requests of the run it started, and
//! news from the tasks it started beside the run. Nothing it does takes long; what does is a task
//! of its own that reports back.

mod asking;
mod bash;
mod choosing;
mod compacting;
mod falling_back;
mod handling;
mod injecting;
mod prompting;
mod queueing;
mod reading;
mod recording;
mod requests;
mod restoring;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stentor_journal::conversation::Conversation;
use stentor_journal::message::ContentBlock;
use stentor_journal::store::Opened;
use stentor_journal::usage::Usage;
use stentor_policy::{AnswerKeeper, PermissionMode, Policy};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::command::{Command, Reply, Started};
use super::dialogs::Dialogs;
use super::error::SessionError;
use super::options::{Environment, RunOptions, SessionOptions, Storage};
use super::queues::{QueueKind, WaitingMessages};
use super::record::Record;
use super::settings::{ForRun, Settings};
use super::tool_host::SessionToolHost;
use crate::commands::SlashCommands;
use crate::event::{
    CompactionReason, CompactionResult, EventKind, InterruptMode, NoticeLevel, NoticeSource,
    RunEnd, RunOutcome, StateChange,
};
use crate::fallback::FallbackSettings;
use crate::folder_texts::FolderTexts;
use crate::hooks::Hooks;
use crate::hub::Hub;
use crate::jobs::{JobKind, Jobs};
use crate::left_running::LeftRunning;
use crate::model::ModelErrorKind;
use crate::rules::RuleBook;
use crate::sandbox::SandboxState;
use crate::subagents::Subagents;
use crate::tool::{Place, Tool, ToolSpec};
use crate::turn::{Link, Request, RetryPolicy, Signals, Watch};

use asking::OpenQuestion;
use bash::{Deferred, FinishedBash};
use falling_back::Fallbacks;

/// News the actor's own tasks may have waiting for it.
const NEWS: usize = 16;

/// What a session begins with.
pub(super) enum Beginning {
    New,
    Resumed(Box<Opened>),
}

/// The owner of a session's state.
pub(super) struct Actor {
    id: Arc<str>,
    environment: Environment,
    hub: Hub,
    commands: mpsc::Receiver<Command>,
    requests: (mpsc::Sender<Request>, mpsc::Receiver<Request>),
    news: (mpsc::Sender<News>, mpsc::Receiver<News>),
    signals: Arc<Signals>,

    record: Record,
    conversation: Conversation,
    leaf: Option<String>,
    name: Option<String>,
    settings: Settings,
    /// What the run that is going on has otherwise.
    for_run: ForRun,
    waiting: WaitingMessages,
    policy: Policy,
    /// The permission mode that was chosen in this session, where one was.
    chosen_mode: Option<PermissionMode>,
    answer_keeper: Option<Arc<dyn AnswerKeeper>>,
    sandbox: Arc<SandboxState>,

    cwd: Arc<Path>,
    tools: Arc<[Arc<dyn Tool>]>,
    specs: Arc<[ToolSpec]>,
    place: Arc<dyn Place>,
    host: Arc<SessionToolHost>,
    hooks: Option<Arc<dyn Hooks>>,
    slash: Arc<SlashCommands>,
    retry: RetryPolicy,
    fallback: FallbackSettings,
    fallbacks: Fallbacks,
    watch: Arc<Watch>,
    rules: Arc<RuleBook>,

    activity: Option<Activity>,
    /// How many there have been.
    activities: u64,
    /// What begins when the activity that is being stopped is over.
    afterwards: Vec<Afterwards>,
    dialogs: Arc<Dialogs>,
    questions: HashMap<u64, OpenQuestion>,
    next_question: u64,
    /// What runs beside the conversation, and what ran.
    jobs: Arc<Jobs>,
    /// What commands leave running, and whether it ends with this session.
    left_running: (Arc<LeftRunning>, bool),
    /// How many commands of the user are running.
    running_bash: usize,
    next_bash: u64,
    /// Commands of the user that ended during a run: the model hears of them after it.
    unheard_bash: Vec<Deferred>,
    /// Somebody wants the program to end when nothing runs.
    shutdown_asked: bool,
    consumed: Consumed,
}

/// Something that is running.
struct Activity {
    number: u64,
    cancel: CancellationToken,
    cancel_retry: Arc<Notify>,
    /// Told when it is over.
    waiters: Vec<Reply<()>>,
}

/// Something that waits for an activity to be over.
enum Afterwards {
    Prompt {
        content: Vec<ContentBlock>,
        options: RunOptions,
        reply: Reply<Result<Started, SessionError>>,
    },
    Compact {
        reason: CompactionReason,
        instructions: Option<String>,
        reply: Reply<Result<CompactionResult, String>>,
    },
    Abort {
        reply: Reply<()>,
    },
}

/// What the session consumed so far.
enum Consumed {
    Known {
        usage: Usage,
        turns: u64,
    },
    /// A resumed session: its file knows, and is asked when somebody wants to know.
    Unread,
}

/// What the actor's own tasks tell it.
enum News {
    BashEnded(Box<FinishedBash>),
    /// The running activity ended by a panic.
    ActivityDied,
}

impl Actor {
    pub fn new(
        environment: Environment,
        options: SessionOptions,
        beginning: Beginning,
        commands: mpsc::Receiver<Command>,
    ) -> Result<Self, SessionError> {
        let (mut record, opened) = match beginning {
            Beginning::New => (Self::new_record(&environment, &options)?, None),
            Beginning::Resumed(opened) => {
                let (journal, rest) = restoring::Stored::of(*opened);
                (Record::Kept(journal), Some(rest))
            }
        };
        if options.inline_pictures {
            record.keep_pictures_inline();
        }
        let id: Arc<str> = Arc::from(record.header().id.as_str());
        let hub = Hub::new(Arc::clone(&id), Arc::clone(&environment.clock));
        let dialogs = Arc::new(Dialogs::new(hub.clone()));
        let requests = mpsc::channel(crate::turn::LINK_REQUESTS);
        let jobs = Jobs::new(Arc::clone(&environment.clock));
        let left_running = options.left_running.clone().unwrap_or_default();
        let host = SessionToolHost::new(
            hub.clone(),
            Arc::clone(&dialogs),
            (Arc::clone(&jobs), Arc::clone(&left_running)),
            requests.0.clone(),
            options.policy.path_rules(),
            options.plan_clearing.clone(),
        );
        let slash = SlashCommands::new(options.commands.clone(), hub.clone());
        slash.set_base_prompt(Arc::clone(&options.system_prompt));
        let mut actor = Self {
            hub,
            commands,
            requests,
            news: mpsc::channel(NEWS),
            signals: Arc::default(),
            record,
            conversation: Conversation::default(),
            leaf: None,
            name: options.name.clone(),
            settings: Settings::new(&environment, &options),
            for_run: ForRun::default(),
            waiting: WaitingMessages::default(),
            policy: options.policy.clone(),
            chosen_mode: None,
            answer_keeper: options.answer_keeper.clone(),
            sandbox: Arc::clone(&options.sandbox),
            cwd: Arc::from(options.cwd.as_path()),
            tools: Arc::new([]),
            specs: Arc::new([]),
            place: Arc::clone(&options.place),
            host: Arc::new(host),
            hooks: None,
            slash: Arc::new(slash),
            retry: options.retry,
            fallback: options.fallback.clone(),
            fallbacks: Fallbacks::default(),
            watch: Arc::new(Watch {
                plan_reminders: options.plan_reminders,
                max_answer_bytes: options.max_answer_bytes,
                steering_waits_for_first_call: options.steering_waits_for_first_call,
            }),
            rules: Arc::new(options.rules.afresh()),
            activity: None,
            activities: 0,
            afterwards: Vec::new(),
            dialogs,
            questions: HashMap::new(),
            next_question: 1,
            jobs,
            left_running: (left_running, options.left_running.is_none()),
            running_bash: 0,
            next_bash: 1,
            unheard_bash: Vec::new(),
            shutdown_asked: false,
            consumed: Consumed::Known {
                usage: Usage::default(),
                turns: 0,
            },
            id,
            environment,
        };
        actor.set_tools(options.tools.clone());
        match opened {
            Some(stored) => actor.restore(stored, &options)?,
            None => actor.note_beginning()?,
        }
        actor.host.set_model(actor.settings.info().cloned());
        let file = actor.record.path().map(Path::to_path_buf);
        actor.host.set_file(file);
        actor.tell_sandbox_gaps();
        if matches!(options.storage, Storage::FolderAtOnce(_)) {
            actor.record.keep(&*actor.environment.clock)?;
        }
        Ok(actor)
    }

    pub fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    pub fn hub(&self) -> Hub {
        self.hub.clone()
    }

    pub fn jobs(&self) -> Arc<Jobs> {
        Arc::clone(&self.jobs)
    }

    pub fn left_running(&self) -> Arc<LeftRunning> {
        Arc::clone(&self.left_running.0)
    }

    pub fn subagents(&self) -> Arc<Subagents> {
        self.host.subagents_at_work()
    }

    pub fn slash(&self) -> Arc<SlashCommands> {
        Arc::clone(&self.slash)
    }

    pub fn dialogs(&self) -> Arc<Dialogs> {
        Arc::clone(&self.dialogs)
    }

    /// Has `hooks` asked from now on.
    pub fn set_hooks(&mut self, hooks: Arc<dyn Hooks>) {
        self.host.set_hooks(Arc::clone(&hooks));
        self.slash.set_hooks(&hooks);
        self.hooks = Some(hooks);
    }

    /// Lives until it is closed or nobody holds a handle any more.
    ///
    /// Whoever hears that it is over, by the answer or by the end of the events, can open the
    /// session's file: the actor, and with it the lock, is gone by then.
    pub async fn live(self) {
        // Declared first, so dropped last, also by a panic.
        let _events = EndOfEvents(self.hub.clone());
        let mut actor = self;
        let asked_to_close = actor.work().await;
        actor.wind_down().await;
        drop(actor);
        if let Some(reply) = asked_to_close {
            // Who asked may be gone; the session is closed all the same.
            answer(reply, ());
        }
    }

    /// Works until it is asked to close, or nobody is left to ask for anything.
    async fn work(&mut self) -> Option<Reply<()>> {
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(Command::Close { reply }) => return Some(reply),
                    Some(command) => self.handle(command).await,
                    None => return None,
                },
                Some(request) = self.requests.1.recv() => self.serve(request).await,
                Some(news) = self.news.1.recv() => self.hear(news).await,
            }
        }
    }

    async fn hear(&mut self, news: News) {
        match news {
            News::BashEnded(finished) => self.bash_ended(*finished).await,
            News::ActivityDied => {
                let message = "the agent had an internal error and gave up this run".to_owned();
                self.hub.publish(EventKind::Notice {
                    level: NoticeLevel::Error,
                    message: message.clone(),
                    from: NoticeSource::Agent,
                });
                if self.signals.in_run.swap(false, Ordering::AcqRel) {
                    // Clients wait for the end of every run that began.
                    self.hub.publish(EventKind::RunEnded(Arc::new(RunEnd {
                        messages: Vec::new(),
                        usage: Usage::default(),
                        outcome: RunOutcome::Failed {
                            kind: ModelErrorKind::Other,
                            message,
                            status: None,
                        },
                        will_retry: false,
                    })));
                }
                self.activity_over().await;
            }
        }
    }

    fn set_tools(&mut self, tools: Vec<Arc<dyn Tool>>) {
        self.specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        self.slash.set_tools(&self.specs);
        self.tools = tools.into();
    }

    /// Has what the folder says taken the place of what the session began with.
    fn set_folder_texts(&mut self, texts: FolderTexts) {
        self.slash.set_base_prompt(Arc::clone(&texts.system_prompt));
        self.rules = Arc::new(texts.rules.afresh());
        self.host.set_folder_texts(texts);
    }

    fn changed(&self, change: StateChange) {
        self.hub.publish(EventKind::StateChanged(change));
    }

    /// Lets the running turn see whether a steering message must not wait.
    fn signal_steering(&self) {
        let now = self.settings.interrupt_mode == InterruptMode::Immediate
            && self.waiting.has(QueueKind::Steering);
        self.signals.steering_now.store(now, Ordering::Release);
    }

    fn link(&self, cancel: CancellationToken, cancel_retry: Arc<Notify>) -> Link {
        Link {
            hub: self.hub.clone(),
            clock: Arc::clone(&self.environment.clock),
            requests: self.requests.0.clone(),
            signals: Arc::clone(&self.signals),
            retry: self.retry,
            cwd: Arc::clone(&self.cwd),
            spill_dir: Arc::clone(&self.environment.spill_dir),
            session_id: Arc::clone(&self.id),
            watch: Arc::clone(&self.watch),
            hooks: self.hooks.clone(),
            slash: Arc::clone(&self.slash),
            cancel,
            cancel_retry,
        }
    }
}

impl Drop for Actor {
    /// Nothing outlives its session, however that ends.
    fn drop(&mut self) {
        if let Some(activity) = &self.activity {
            activity.cancel.cancel();
        }
        self.jobs.cancel_all(JobKind::Shell);
        if let (left_running, true) = &self.left_running {
            left_running.end();
        }
    }
}

/// Tells the subscribers that nothing more comes, when it goes.
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
