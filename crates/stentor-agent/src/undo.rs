//! What the calls of a session change in its folder, so that a rewind can put it back.
//!
//! Nothing waits here but the calls themselves, and only those that may change something: a call that
//! writes waits until its files are copied, one that runs a program until the folder was looked at.
//! Both are bounded by [`Limits`](stentor_checkpoint::Limits).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
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
    recorder: Arc<Recorder>,
    host: Box<dyn UndoHost>,
    /// The checkpoint of the newest message, once something has changed.
    current: Mutex<Option<CheckpointId>>,
    /// Nothing was looked at since the last run.
    is_idle: AtomicBool,
    has_warned: AtomicBool,
}

impl Undo {
    /// Records what the calls of this session change in the folder of `store`.
    pub fn new(store: FolderStore, session: &str, host: Box<dyn UndoHost>) -> Self {
        Self {
            recorder: Arc::new(Recorder::new(store, session)),
            host,
            current: Mutex::default(),
            is_idle: AtomicBool::new(true),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Where its checkpoints are.
    pub fn store(&self) -> &FolderStore {
        self.recorder.store()
    }

    /// A message came: what changes from here on can be undone by itself.
    pub fn message_came(&self) {
        *self.lock() = None;
    }

    /// A call that runs a program is being written: the folder is looked at meanwhile.
    pub fn expect_command(&self) {
        if self.is_idle.swap(false, Ordering::AcqRel) {
            let recorder = Arc::clone(&self.recorder);
            tasks::spawn_blocking(move || recorder.prepare());
        }
    }

    /// Lets a call run and records what it changes.
    pub async fn watch<T>(
        &self,
        effect: ToolEffect,
        touches: &Touches,
        call: impl Future<Output = T>,
    ) -> T {
        match effect {
            ToolEffect::Nothing | ToolEffect::Reads => call.await,
            // What only asks for something over the network changes nothing here, whatever else does.
            ToolEffect::Executes if !touches.web.is_empty() && touches.command.is_none() => {
                call.await
            }
            ToolEffect::Writes if !touches.paths.is_empty() => {
                self.watch_write(touches, call).await
            }
            // What writes without saying where may write anywhere.
            ToolEffect::Writes | ToolEffect::Executes => self.watch_command(call).await,
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
        self.blocking(Recorder::before_command).await;
        let output = call.await;
        let changes = self.blocking(Recorder::after_command).await;
        let changes = changes.unwrap_or_default();
        self.warn_once(&changes);
        self.record(changes).await;
        output
    }

    /// Nothing runs any more.
    pub fn finish(&self) {
        if !self.is_idle.swap(true, Ordering::AcqRel) {
            let recorder = Arc::clone(&self.recorder);
            tasks::spawn_blocking(move || recorder.finish());
        }
    }

    async fn record(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let known = self.lock().clone();
        let id = match known {
            Some(id) => id,
            None => match self.host.begin_checkpoint().await {
                Some(id) => self.lock().get_or_insert(id).clone(),
                None => return,
            },
        };
        let appended = self.blocking(move |recorder| recorder.append(&id, &changes));
        if let Some(Err(error)) = appended.await {
            self.host
                .warn(format!("What was changed cannot be undone: {error}"));
        }
    }

    /// Says once in a session what is never looked at.
    fn warn_once(&self, changes: &Changes) {
        if let Some(unknown) = changes.unknown.first()
            && !self.has_warned.swap(true, Ordering::AcqRel)
        {
            self.host.warn(format!("Undo is limited: {unknown}."));
        }
    }

    /// Does something that waits for the disk; `None` when it failed in a way nobody thought of.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Recorder) -> T + Send + 'static,
    ) -> Option<T> {
        self.is_idle.store(false, Ordering::Release);
        let recorder = Arc::clone(&self.recorder);
        let done = tasks::spawn_blocking(move || work(&recorder)).await;
        if let Err(error) = &done {
            tracing::error!(%error, "undo failed");
        }
        done.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<CheckpointId>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
