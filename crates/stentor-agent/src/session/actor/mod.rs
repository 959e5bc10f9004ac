//! The task that owns a session's state.
//!
//! It answers three kinds of messages: commands of handles, requests of the run it started, and
//! news from the tasks it started beside the run. Nothing it does takes long; what does is a task
//! of its own that reports back.

mod asking;
mod bash;
mod choosing;
mod compacting;
mod handling;
mod prompting;
mod queueing;
mod reading;
mod requests;
mod restoring;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::command::{Command, Reply, Started};
use super::dialogs::Dialogs;
use super::error::SessionError;
use super::options::{Environment, SessionOptions, Storage};
use super::queues::{QueueKind, WaitingMessages};
use super::record::Record;
use super::settings::Settings;
use super::tool_host::SessionToolHost;
use crate::clock::iso_time;
use crate::conversation::Conversation;
use crate::event::{
    CompactionResult, EventKind, InterruptMode, NoticeLevel, RunEnd, RunOutcome, StateChange,
};
use crate::hub::Hub;
use crate::jobs::{JobKind, Jobs};
use crate::message::{ContentBlock, Message};
use crate::model::ModelErrorKind;
use crate::policy::Policy;
use crate::store::{self, Entry, EntryKind, Header, Opened, StoreError};
use crate::tool::{Place, Plan, Tool, ToolHost, ToolSpec};
use crate::turn::{Link, Request, RetryPolicy, Signals};
use crate::usage::Usage;

use asking::OpenQuestion;
use bash::{Deferred, FinishedBash};

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
    waiting: WaitingMessages,
    policy: Policy,

    cwd: Arc<Path>,
    system_prompt: Arc<str>,
    tools: Arc<[Arc<dyn Tool>]>,
    specs: Arc<[ToolSpec]>,
    place: Arc<dyn Place>,
    host: Arc<SessionToolHost>,
    retry: RetryPolicy,

    activity: Option<Activity>,
    /// What begins when the activity that is being stopped is over.
    afterwards: Vec<Afterwards>,
    dialogs: Arc<Dialogs>,
    questions: HashMap<u64, OpenQuestion>,
    next_question: u64,
    /// What runs beside the conversation, and what ran.
    jobs: Arc<Jobs>,
    /// How many commands of the user are running.
    running_bash: usize,
    next_bash: u64,
    /// Commands of the user that ended during a run: the model hears of them after it.
    unheard_bash: Vec<Deferred>,
    consumed: Consumed,
}

/// Something that is running.
struct Activity {
    cancel: CancellationToken,
    cancel_retry: Arc<Notify>,
    /// Told when it is over.
    waiters: Vec<Reply<()>>,
}

/// Something that waits for an activity to be over.
enum Afterwards {
    Prompt {
        content: Vec<ContentBlock>,
        reply: Reply<Result<Started, SessionError>>,
    },
    Compact {
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
        let (record, opened) = match beginning {
            Beginning::New => (Self::new_record(&environment, &options)?, None),
            Beginning::Resumed(opened) => {
                let Opened {
                    journal,
                    context,
                    leaf,
                    name,
                    model,
                    thinking_level,
                    warnings,
                } = *opened;
                let rest = restoring::Stored {
                    context,
                    leaf,
                    name,
                    model,
                    thinking_level,
                    warnings,
                };
                (Record::Kept(journal), Some(rest))
            }
        };
        let id: Arc<str> = Arc::from(record.header().id.as_str());
        let hub = Hub::new(Arc::clone(&id), Arc::clone(&environment.clock));
        let dialogs = Arc::new(Dialogs::new(hub.clone()));
        let requests = mpsc::channel(crate::turn::LINK_REQUESTS);
        let jobs = Jobs::new(Arc::clone(&environment.clock));
        let host = SessionToolHost::new(
            hub.clone(),
            Arc::clone(&dialogs),
            Arc::clone(&jobs),
            requests.0.clone(),
        );
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
            waiting: WaitingMessages::default(),
            policy: options.policy.clone(),
            cwd: Arc::from(options.cwd.as_path()),
            system_prompt: Arc::clone(&options.system_prompt),
            tools: Arc::new([]),
            specs: Arc::new([]),
            place: Arc::clone(&options.place),
            host: Arc::new(host),
            retry: options.retry,
            activity: None,
            afterwards: Vec::new(),
            dialogs,
            questions: HashMap::new(),
            next_question: 1,
            jobs,
            running_bash: 0,
            next_bash: 1,
            unheard_bash: Vec::new(),
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

    pub fn dialogs(&self) -> Arc<Dialogs> {
        Arc::clone(&self.dialogs)
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

    fn new_record(
        environment: &Environment,
        options: &SessionOptions,
    ) -> Result<Record, StoreError> {
        let id = options
            .id
            .clone()
            .unwrap_or_else(|| environment.clock.session_id());
        let header = Header {
            version: store::CURRENT_VERSION,
            id,
            timestamp: iso_time(environment.clock.now_ms()),
            cwd: options.cwd.to_string_lossy().into_owned(),
            parent_session: options.parent_session.clone(),
            title: None,
        };
        match &options.storage {
            Storage::Memory => Ok(Record::Kept(store::memory(header))),
            Storage::Folder(folder) | Storage::FolderAtOnce(folder) => {
                Record::planned(folder.clone(), header)
            }
        }
    }

    /// A new session's first entries: the model, the thinking level and the name it begins with.
    fn note_beginning(&mut self) -> Result<(), StoreError> {
        if let Some(info) = self.settings.info() {
            let (provider, model_id) = (info.provider.clone(), info.id.clone());
            self.append(EntryKind::ModelChange { provider, model_id }, false)?;
        }
        let thinking_level = Some(self.settings.thinking.to_string());
        self.append(EntryKind::ThinkingLevelChange { thinking_level }, false)?;
        if let Some(name) = self.name.clone() {
            self.append(EntryKind::SessionInfo { name }, false)?;
        }
        Ok(())
    }

    async fn hear(&mut self, news: News) {
        match news {
            News::BashEnded(finished) => self.bash_ended(*finished).await,
            News::ActivityDied => {
                let message = "the agent failed inside and gave up this run".to_owned();
                self.hub.publish(EventKind::Notice {
                    level: NoticeLevel::Error,
                    message: message.clone(),
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

    /// Adds an entry after the newest one. With `must_last` it is in the file when this returns.
    fn append(&mut self, kind: EntryKind, must_last: bool) -> Result<String, StoreError> {
        let id = self.new_entry_id();
        self.append_as(id, kind, must_last)
    }

    fn append_as(
        &mut self,
        id: String,
        kind: EntryKind,
        must_last: bool,
    ) -> Result<String, StoreError> {
        let now_ms = self.environment.clock.now_ms();
        self.append_at(id, now_ms, kind, must_last)
    }

    fn append_at(
        &mut self,
        id: String,
        now_ms: u64,
        kind: EntryKind,
        must_last: bool,
    ) -> Result<String, StoreError> {
        let entry = Entry {
            id: id.clone(),
            parent_id: self.leaf.clone(),
            timestamp: iso_time(now_ms),
            kind,
        };
        self.record
            .append(&entry, must_last, &*self.environment.clock)?;
        self.leaf = Some(id.clone());
        self.hub
            .publish(EventKind::EntryAppended { id: id.clone() });
        Ok(id)
    }

    /// Adds a message to the conversation and to the file.
    fn append_message(&mut self, id: String, message: Arc<Message>) -> Result<(), StoreError> {
        let kind = EntryKind::Message {
            message: Arc::clone(&message),
        };
        let id = self.append_as(id, kind, true)?;
        self.conversation.push(id, message);
        Ok(())
    }

    fn new_entry_id(&self) -> String {
        // The ids in context are the ones a new entry could be confused with in practice; the
        // reader resolves a parent to the nearest entry before, so older ones do no harm.
        store::new_entry_id(&*self.environment.clock, |id| {
            self.leaf.as_deref() == Some(id)
                || self.waiting.all().any(|queued| queued.deliver_as == id)
                || self
                    .conversation
                    .items()
                    .iter()
                    .any(|item| item.entry_id == id)
        })
    }

    fn set_tools(&mut self, tools: Vec<Arc<dyn Tool>>) {
        self.specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        self.tools = tools.into();
    }

    /// A plan that a client set is in no tool's result, so it gets an entry of its own.
    fn set_plan(&mut self, plan: Plan) {
        if let Err(error) = self.note_plan(&plan) {
            tracing::warn!(%error, "the plan may be an older one when the session is resumed");
        }
        self.host.set_plan(plan);
    }

    fn note_plan(&mut self, plan: &Plan) -> Result<(), StoreError> {
        let kind = EntryKind::Custom {
            custom_type: restoring::PLAN.to_owned(),
            data: serde_json::to_value(plan).ok(),
        };
        self.append(kind, false).map(|_| ())
    }

    fn set_name(&mut self, name: &str) -> Result<(), SessionError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(SessionError::EmptyName);
        }
        self.append(
            EntryKind::SessionInfo {
                name: name.to_owned(),
            },
            false,
        )?;
        self.name = Some(name.to_owned());
        self.changed(StateChange::Name(self.name.clone()));
        Ok(())
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
