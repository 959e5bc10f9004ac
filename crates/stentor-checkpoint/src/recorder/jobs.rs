//! What jobs in the background change: whose a change is when several things run at the same time.
//!
//! A job belongs to the message that started it, and what it changes is recorded there, however many
//! messages have come since. What changes while something else runs, too, is attributed to the newest
//! message, so that going back to before an older one undoes it in any case; that a job may have had
//! a part in it is recorded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Recorder, RecorderState};
use crate::checkpoint::{Changes, CheckpointId, Overlap};
use crate::rewind::{self, RewindPlan, Rewound};

/// Something that goes on in the background.
#[derive(Debug)]
pub struct BackgroundJob {
    name: String,
    /// Where what it changes is recorded.
    checkpoint: CheckpointId,
    /// The message that started it, counted.
    message: u64,
}

impl BackgroundJob {
    /// Where what it changes is recorded.
    pub fn checkpoint(&self) -> &CheckpointId {
        &self.checkpoint
    }
}

/// A job that has not ended.
pub(super) struct OpenJob {
    job: Arc<BackgroundJob>,
    /// Commands that run for it.
    commands: usize,
    has_warned: bool,
    /// Something it changed could not be recorded.
    is_incomplete: bool,
}

/// A rewind of files that was done, or at least begun.
#[derive(Debug, Default)]
pub struct FilesRewound {
    pub plan: RewindPlan,
    pub done: Rewound,
    /// Why it can itself not be undone.
    pub unrecorded: Option<String>,
}

impl RecorderState {
    pub(super) fn is_any_running(&self) -> bool {
        self.commands > 0 || self.active().next().is_some()
    }

    pub(super) fn count(&mut self, job: &Arc<BackgroundJob>, change: impl FnOnce(usize) -> usize) {
        let mut jobs = self.jobs.iter_mut();
        if let Some(running) = jobs.find(|running| Arc::ptr_eq(&running.job, job)) {
            running.commands = change(running.commands);
        }
    }

    fn forget(&mut self, job: &Arc<BackgroundJob>) -> Option<OpenJob> {
        let mut jobs = self.jobs.iter();
        let at = jobs.position(|running| Arc::ptr_eq(&running.job, job))?;
        Some(self.jobs.remove(at))
    }

    /// The jobs that may change something now.
    fn active(&self) -> impl Iterator<Item = &Arc<BackgroundJob>> {
        let active = self.jobs.iter().filter(|running| running.commands > 0);
        active.map(|running| &running.job)
    }

    /// The newest message for which a job runs.
    fn newest_of_jobs(&self) -> Option<u64> {
        self.active().map(|job| job.message).max()
    }
}

impl Recorder {
    /// Something begins in the background; within another job it is a part of that one's work.
    pub fn begin_job(
        &self,
        name: &str,
        checkpoint: &CheckpointId,
        within: Option<&BackgroundJob>,
    ) -> Arc<BackgroundJob> {
        let message = match within {
            Some(job) => job.message,
            None => self.message.load(Ordering::Relaxed),
        };
        let job = Arc::new(BackgroundJob {
            name: name.to_owned(),
            checkpoint: checkpoint.clone(),
            message,
        });
        let mut state = self.lock();
        let noted = self.note(&job, false);
        if let Err(error) = &noted {
            tracing::warn!(%error, "what {name} changes cannot be undone");
        }
        state.jobs.push(OpenJob {
            job: Arc::clone(&job),
            commands: 0,
            has_warned: false,
            is_incomplete: noted.is_err(),
        });
        job
    }

    /// It has ended, and everything it changed is recorded.
    pub fn end_job(&self, job: &Arc<BackgroundJob>) {
        let mut state = self.lock();
        let is_complete = state.forget(job).is_some_and(|ended| !ended.is_incomplete);
        if is_complete && let Err(error) = self.note(job, true) {
            tracing::warn!(%error, "it is not recorded that {} has ended", job.name);
        }
        self.let_go_if_over(state);
    }

    /// It went, and nobody knows what it changed.
    pub fn lost_job(&self, job: &Arc<BackgroundJob>) {
        let mut state = self.lock();
        state.forget(job);
        self.let_go_if_over(state);
    }

    /// A command of a job begins.
    pub fn before_command_of(&self, job: &Arc<BackgroundJob>) {
        self.begin(Some(job));
    }

    /// It has ended. What it changed is recorded.
    pub fn after_command_of(&self, job: &Arc<BackgroundJob>) {
        self.end(Some(job));
    }

    /// It went, and nobody knows how.
    pub fn lost_command_of(&self, job: &Arc<BackgroundJob>) {
        let mut state = self.lock();
        state.count(job, |commands| commands.saturating_sub(1));
        self.let_go_if_over(state);
    }

    /// Records what jobs have changed until now.
    pub fn look_at_jobs(&self) {
        let mut state = self.lock();
        if state.is_any_running() {
            self.look_after(&mut state);
        }
    }

    /// What it would take to undo these checkpoints, the oldest first.
    pub fn plan(&self, ids: &[CheckpointId]) -> io::Result<RewindPlan> {
        let mut state = self.lock();
        self.plan_now(&mut state, ids)
    }

    /// Undoes these checkpoints, and records that in another.
    pub fn rewind(
        &self,
        ids: &[CheckpointId],
        force: bool,
        checkpoint: &CheckpointId,
    ) -> io::Result<FilesRewound> {
        // Nothing is attributed to a job meanwhile: what is put back is not its doing.
        let mut state = self.lock();
        // What goes is stored while it is put back, and is needed by the checkpoint that follows.
        let _held = self.store.hold()?;
        let plan = self.plan_now(&mut state, ids)?;
        let done = plan.apply(&self.store, force)?;
        if let Some(snapshot) = &mut state.snapshot {
            for change in &done.changes.files {
                snapshot.set(&change.path, &change.after);
            }
        }
        let unrecorded = match done.changes.is_empty() {
            true => None,
            false => {
                let store = self.store.including(&plan.additional);
                let appended = store.append(checkpoint, &self.session, &done.changes);
                appended.err().map(|error| error.to_string())
            }
        };
        Ok(FilesRewound {
            plan,
            done,
            unrecorded,
        })
    }

    fn plan_now(&self, state: &mut RecorderState, ids: &[CheckpointId]) -> io::Result<RewindPlan> {
        if state.is_any_running() {
            self.look_after(state);
        }
        let runs = |checkpoint: &CheckpointId, name: &str| {
            let mut jobs = state.jobs.iter().filter(|running| !running.is_incomplete);
            jobs.any(|OpenJob { job, .. }| job.checkpoint == *checkpoint && job.name == name)
        };
        rewind::plan_while(&self.store, ids, &runs)
    }

    /// True when what has changed until now is attributed to the message of `of`, whether it runs or
    /// not.
    pub(super) fn is_owner(&self, state: &RecorderState, of: Option<&Arc<BackgroundJob>>) -> bool {
        match (of, state.commands) {
            (None, commands) => commands > 0,
            (Some(job), 0) => state.newest_of_jobs() == Some(job.message),
            (Some(job), _) => job.message == self.message.load(Ordering::Relaxed),
        }
    }

    /// Records what was found under the message it belongs to. What is the run's, the run records.
    pub(super) fn attribute(
        &self,
        state: &mut RecorderState,
        mut changes: Changes,
        missing: Option<String>,
    ) {
        let owner = match state.commands {
            0 => state.newest_of_jobs(),
            _ => Some(self.message.load(Ordering::Relaxed)),
        };
        let Some(owner) = owner else {
            return;
        };
        if !changes.files.is_empty() {
            let others = state.active().filter(|job| job.message != owner);
            let others = others.map(|job| Overlap {
                job: job.name.clone(),
                checkpoint: job.checkpoint.clone(),
            });
            changes.overlaps = others.collect();
        }
        if state.commands > 0 {
            if let Some(missing) = missing.filter(|_| !state.has_warned) {
                state.has_warned = true;
                let text = format!("what commands changed in {missing}");
                changes.unknown.push(text);
            }
            return state.unrecorded.extend(changes);
        }
        let names = state.active().filter(|job| job.message == owner);
        let names: Vec<&str> = names.map(|job| job.name.as_str()).collect();
        let names = names.join(", ");
        let mut jobs = state.jobs.iter_mut();
        let is_owner = |one: &OpenJob| one.commands > 0 && one.job.message == owner;
        let Some(running) = jobs.find(|running| is_owner(running)) else {
            return;
        };
        if let Some(missing) = missing.filter(|_| !running.has_warned) {
            running.has_warned = true;
            let text = format!("what {names} changed in {missing}");
            changes.unknown.push(text);
        }
        if changes.is_empty() {
            return;
        }
        changes.during = Some(names);
        let job = Arc::clone(&running.job);
        if let Err(error) = self.append_held(&job.checkpoint, &changes) {
            running.is_incomplete = true;
            tracing::warn!(%error, "what {} changed cannot be undone", job.name);
        }
    }

    fn append_held(&self, checkpoint: &CheckpointId, changes: &Changes) -> io::Result<()> {
        let _held = self.store.hold()?;
        self.store.append(checkpoint, &self.session, changes)
    }

    fn note(&self, job: &BackgroundJob, has_ended: bool) -> io::Result<()> {
        let _held = self.store.hold()?;
        let (checkpoint, name) = (&job.checkpoint, &job.name);
        self.store
            .append_job(checkpoint, &self.session, name, has_ended)
    }
}

#[cfg(test)]
mod tests;
