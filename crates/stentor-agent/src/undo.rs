//! What the calls of a session change in its folder, so that a rewind can put it back.
//!
//! Nothing waits here but the calls themselves, and only those that may change something: a call that
//! writes waits until its files are copied, one that runs a program until the folder was looked at.
//! Both are bounded by [`Limits`](stentor_checkpoint::Limits).

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use stentor_checkpoint::recorder::{BackgroundJob, FilesRewound};
use stentor_checkpoint::rewind::{self, RewindPlan};
use stentor_checkpoint::{Changes, CheckpointId, FolderStore, Recorder};
use stentor_policy::{ToolEffect, Touches};

use crate::tasks;

/// What a session does for its undo.
pub trait UndoHost: Send + Sync {
    /// Records in the session that a checkpoint follows. `None` when the session is gone.
    fn begin_checkpoint(&self) -> BoxFuture<'static, Option<CheckpointId>>;

    /// Warns people that something cannot be undone.
    fn warn(&self, message: String);
}

/// Where a session records what can be undone.
#[derive(Clone)]
pub enum UndoSource {
    /// In checkpoints of its own.
    Own(Box<FolderStore>),
    /// In those of the session it works for.
    Of(Arc<Undo>),
}

/// Records what the calls of a session change.
pub struct Undo {
    shared: Arc<UndoShared>,
    /// The job in the background whose calls these are; absent for those of the run.
    job: Option<Arc<BackgroundJob>>,
    /// They are those of a subagent, whose jobs have ids of their own.
    is_subagent: bool,
}

/// What the calls of a session have in common with those of its subagents.
struct UndoShared {
    recorder: Arc<Recorder>,
    host: Box<dyn UndoHost>,
    /// The checkpoint of the newest message, once something has changed.
    current: Mutex<Option<CheckpointId>>,
    /// Nothing was looked at since the last run.
    is_idle: AtomicBool,
    has_warned: AtomicBool,
}

/// Something that goes on in the background and may change files.
#[must_use = "what it changed is known when its end is"]
pub struct JobUndo {
    /// What its own calls are recorded with.
    undo: Arc<Undo>,
    running: UndoJob,
}

/// What kind of job changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobWatch {
    /// A command may change something at any time.
    Always,
    /// A subagent only by its calls.
    Calls,
}

/// True for a call that may change files here.
pub(crate) fn may_change_files(effect: ToolEffect, touches: &Touches) -> bool {
    match effect {
        ToolEffect::Nothing | ToolEffect::Reads => false,
        ToolEffect::Writes => true,
        // What only asks for something over the network changes nothing here, whatever else does.
        ToolEffect::Executes => touches.web.is_empty() || touches.command.is_some(),
    }
}

impl Undo {
    /// Records what the calls of this session change in the folder of `store`.
    pub fn new(store: FolderStore, session: &str, host: Box<dyn UndoHost>) -> Self {
        let shared = Arc::new(UndoShared {
            recorder: Arc::new(Recorder::new(store, session)),
            host,
            current: Mutex::default(),
            is_idle: AtomicBool::new(true),
            has_warned: AtomicBool::new(false),
        });
        Self {
            shared,
            job: None,
            is_subagent: false,
        }
    }

    /// The same for the calls of a subagent.
    #[must_use]
    pub fn of_subagent(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            job: self.job.clone(),
            is_subagent: true,
        }
    }

    /// Where its checkpoints are.
    pub fn store(&self) -> &FolderStore {
        self.shared.recorder.store()
    }

    /// A message came: what changes from here on can be undone by itself.
    pub fn message_came(&self) {
        self.shared.recorder.message_came();
        *self.lock() = None;
    }

    /// A call that runs a program is being written: the folder is looked at meanwhile.
    pub fn expect_command(&self) {
        if self.job.is_none() && self.shared.is_idle.swap(false, Ordering::AcqRel) {
            let recorder = Arc::clone(&self.shared.recorder);
            tasks::spawn_blocking(move || recorder.prepare());
        }
    }

    /// A job begins in the background: whenever it changes something, that belongs to the message
    /// that started it. `None` when the session is gone.
    pub async fn begin_job(&self, id: &str, watch: JobWatch) -> Option<JobUndo> {
        let name = match self.is_subagent {
            true => format!("{id} of a subagent"),
            false => id.to_owned(),
        };
        let checkpoint = self.checkpoint().await?;
        let within = self.job.clone();
        let begun = self.blocking(move |recorder| {
            let job = recorder.begin_job(&name, &checkpoint, within.as_deref());
            let command =
                (watch == JobWatch::Always).then(|| UndoCommand::begin(recorder, Some(&job)));
            UndoJob {
                recorder: Arc::clone(recorder),
                job: Some(job),
                command,
            }
        });
        let running = begun.await?;
        let undo = Self {
            job: running.job.clone(),
            ..self.of_subagent()
        };
        Some(JobUndo {
            undo: Arc::new(undo),
            running,
        })
    }

    /// Records what jobs in the background have changed until now.
    pub async fn look(&self) {
        let recorder = Arc::clone(&self.shared.recorder);
        if let Err(error) = tasks::spawn_blocking(move || recorder.look_at_jobs()).await {
            tracing::error!(%error, "undo failed");
        }
    }

    /// What it would take to undo these checkpoints, the oldest first.
    pub async fn plan(&self, ids: Vec<CheckpointId>) -> Option<io::Result<RewindPlan>> {
        let recorder = Arc::clone(&self.shared.recorder);
        tasks::spawn_blocking(move || recorder.plan(&ids))
            .await
            .ok()
    }

    /// True when there are files that are not looked at because `.gitignore` lists them.
    pub async fn has_ignored(&self) -> bool {
        let store = self.store().clone();
        let looked = tasks::spawn_blocking(move || rewind::has_ignored(&store));
        looked.await.unwrap_or_default()
    }

    /// Undoes these checkpoints, and records that in another. What changes from here on can be undone
    /// by itself.
    pub async fn rewind(
        &self,
        ids: Vec<CheckpointId>,
        force: bool,
        checkpoint: CheckpointId,
    ) -> Option<io::Result<FilesRewound>> {
        let recorder = Arc::clone(&self.shared.recorder);
        let rewound = move || recorder.rewind(&ids, force, &checkpoint);
        let rewound = tasks::spawn_blocking(rewound).await.ok();
        self.message_came();
        rewound
    }

    /// Lets a call run and records what it changes.
    pub async fn watch<T>(
        &self,
        effect: ToolEffect,
        touches: &Touches,
        call: impl Future<Output = T>,
    ) -> T {
        match effect {
            _ if !may_change_files(effect, touches) => call.await,
            ToolEffect::Writes if !touches.paths.is_empty() => {
                self.watch_write(touches, call).await
            }
            // What writes without saying where may write anywhere.
            _ => self.watch_command(call).await,
        }
    }

    async fn watch_write<T>(&self, touches: &Touches, call: impl Future<Output = T>) -> T {
        let settled = touches.settled.iter().flatten().flatten();
        let paths: Vec<PathBuf> = settled.cloned().collect();
        let before = self
            .blocking(move |recorder| recorder.before_write(&paths))
            .await;
        let output = call.await;
        if let Some(before) = before {
            let changes = self.blocking(|recorder| recorder.after_write(before));
            self.record(changes.await.unwrap_or_default()).await;
        }
        output
    }

    async fn watch_command<T>(&self, call: impl Future<Output = T>) -> T {
        let job = self.job.clone();
        let begun = self.blocking(move |recorder| UndoCommand::begin(recorder, job.as_ref()));
        let begun = begun.await;
        let output = call.await;
        let changes = match begun {
            Some(begun) => self.blocking(move |_| begun.end()).await,
            None => None,
        };
        let changes = changes.unwrap_or_default();
        self.warn_once(&changes);
        self.record(changes).await;
        output
    }

    /// The run is over.
    pub fn finish(&self) {
        if !self.shared.is_idle.swap(true, Ordering::AcqRel) {
            let recorder = Arc::clone(&self.shared.recorder);
            tasks::spawn_blocking(move || recorder.finish());
        }
    }

    async fn record(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let Some(id) = self.checkpoint().await else {
            return;
        };
        let appended = self.blocking(move |recorder| recorder.append(&id, &changes));
        if let Some(Err(error)) = appended.await {
            self.shared
                .host
                .warn(format!("What was changed cannot be undone: {error}"));
        }
    }

    /// Where what these calls change is recorded. `None` when the session is gone.
    async fn checkpoint(&self) -> Option<CheckpointId> {
        if let Some(job) = &self.job {
            return Some(job.checkpoint().clone());
        }
        let known = self.lock().clone();
        match known {
            Some(id) => Some(id),
            None => {
                let id = self.shared.host.begin_checkpoint().await?;
                Some(self.lock().get_or_insert(id).clone())
            }
        }
    }

    /// Says once in a session what is never looked at.
    fn warn_once(&self, changes: &Changes) {
        if let Some(unknown) = changes.unknown.first()
            && !self.shared.has_warned.swap(true, Ordering::AcqRel)
        {
            let message = format!("Undo is limited: {unknown} is not known.");
            self.shared.host.warn(message);
        }
    }

    /// Does something that waits for the disk; `None` when it failed in a way nobody thought of.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Recorder>) -> T + Send + 'static,
    ) -> Option<T> {
        if self.job.is_none() {
            self.shared.is_idle.store(false, Ordering::Release);
        }
        let recorder = Arc::clone(&self.shared.recorder);
        let done = tasks::spawn_blocking(move || work(&recorder)).await;
        if let Err(error) = &done {
            tracing::error!(%error, "undo failed");
        }
        done.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<CheckpointId>> {
        let current = self.shared.current.lock();
        current.unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobUndo {
    /// What its own calls are recorded with.
    pub fn undo(&self) -> Arc<Undo> {
        Arc::clone(&self.undo)
    }

    /// It has ended: everything it changed is recorded when this returns.
    pub async fn end(self) {
        let Self { undo, running } = self;
        undo.blocking(move |_| running.end()).await;
    }
}

/// A job that has not ended. One that goes without an end has changed nobody knows what.
struct UndoJob {
    recorder: Arc<Recorder>,
    job: Option<Arc<BackgroundJob>>,
    /// Where it is itself a command.
    command: Option<UndoCommand>,
}

impl UndoJob {
    fn end(mut self) {
        if let Some(command) = self.command.take() {
            command.end();
        }
        if let Some(job) = self.job.take() {
            self.recorder.end_job(&job);
        }
    }
}

impl Drop for UndoJob {
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            self.recorder.lost_job(job);
        }
    }
}

/// A command that runs. One that goes without an end, by a panic, must not count as running for good.
struct UndoCommand {
    recorder: Arc<Recorder>,
    job: Option<Arc<BackgroundJob>>,
    is_over: bool,
}

impl UndoCommand {
    fn begin(recorder: &Arc<Recorder>, job: Option<&Arc<BackgroundJob>>) -> Self {
        match job {
            Some(job) => recorder.before_command_of(job),
            None => recorder.before_command(),
        }
        Self {
            recorder: Arc::clone(recorder),
            job: job.cloned(),
            is_over: false,
        }
    }

    /// What it changed, as far as that is not recorded yet.
    fn end(mut self) -> Changes {
        self.is_over = true;
        match &self.job {
            Some(job) => {
                self.recorder.after_command_of(job);
                Changes::default()
            }
            None => self.recorder.after_command(),
        }
    }
}

impl Drop for UndoCommand {
    fn drop(&mut self) {
        match &self.job {
            _ if self.is_over => {}
            Some(job) => self.recorder.lost_command_of(job),
            None => self.recorder.lost_command(),
        }
    }
}
