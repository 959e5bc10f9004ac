//! What the calls of one session change in its folders.

mod jobs;

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::checkpoint::{self, Changes, CheckpointId, PathChange};
use crate::folders::Folders;
use crate::snapshot::{Camera, Snapshot};
use crate::state::{PathState, UnstoredReason};
use crate::store::{FolderStore, HeldCheckpoints};
use crate::{index, prune};

use jobs::OpenJob;
pub use jobs::{BackgroundJob, FilesRewound};

/// Looking at the folder takes no more than this share of the time between two commands: what
/// somebody else changes in between is told from what the commands change only by looking.
const LOOKING_SHARE: u32 = 10;

/// For what somebody waits for.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Records what a session changes. Every method waits for the disk.
pub struct Recorder {
    store: FolderStore,
    session: String,
    /// Counts the messages of the session.
    message: AtomicU64,
    /// Nobody waits for a command any more that might have come.
    stop: AtomicBool,
    state: Mutex<RecorderState>,
}

#[derive(Default)]
struct RecorderState {
    held: Option<HeldCheckpoints>,
    /// The folders as they were when they were last looked at.
    snapshot: Option<Snapshot>,
    looked: Option<LookTimes>,
    /// The commands of the run.
    commands: usize,
    jobs: Vec<OpenJob>,
    /// What the run has changed, found by somebody who looked for something else.
    unrecorded: Changes,
    /// When the first of the commands that run began.
    since: Option<SystemTime>,
    /// What of the folder is not looked at has been recorded.
    has_warned: bool,
    /// The index is not what the snapshot is.
    is_unsaved: bool,
    /// The run is over: the rest goes with the last command of a job.
    is_finished: bool,
}

struct LookTimes {
    began: Instant,
    at: Instant,
    took: Duration,
}

/// A file before a tool changes it.
#[derive(Debug)]
pub struct BeforeChange {
    /// `None` for one that is not in a folder of the session.
    path: Option<PathBuf>,
    given: PathBuf,
    state: PathState,
}

impl Recorder {
    /// A recorder for a session in the folder of `store`.
    pub fn new(store: FolderStore, session: &str) -> Self {
        Self {
            store,
            session: session.to_owned(),
            message: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Where its checkpoints are.
    pub fn store(&self) -> &FolderStore {
        &self.store
    }

    /// Stores what is at these absolute paths, which a tool is about to change.
    pub fn before_write(&self, paths: &[PathBuf]) -> Vec<BeforeChange> {
        let mut state = self.lock();
        let (folders, held) = (Folders::open(&self.store), self.hold(&mut state));
        let objects = held.is_ok().then_some(&self.store.objects);
        let limit_bytes = self.store.all.limits.written_bytes;
        let mut before = Vec::new();
        for given in paths {
            let Some(path) = self.store.path_of(given) else {
                before.push(BeforeChange {
                    path: None,
                    state: looks_outside(given),
                    given: given.clone(),
                });
                continue;
            };
            let Ok(folders) = &folders else { continue };
            let state_of = |path: &Path| folders.state(path, objects, limit_bytes);
            // The folders that the tool will have to make are gone with the file.
            let missing = path.ancestors().skip(1);
            let missing = missing.take_while(|above| {
                self.store.covers(above) && matches!(state_of(above), PathState::Absent)
            });
            let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            for path in missing.into_iter().rev().chain([path]) {
                before.push(BeforeChange {
                    state: state_of(&path),
                    given: given.clone(),
                    path: Some(path),
                });
            }
        }
        before
    }

    /// What has become of it.
    pub fn after_write(&self, before: Vec<BeforeChange>) -> Changes {
        let mut changes = Changes::default();
        let mut state = self.lock();
        let Ok(folders) = Folders::open(&self.store) else {
            return changes;
        };
        for BeforeChange {
            path,
            given,
            state: before,
        } in before
        {
            let Some(path) = path else {
                if looks_outside(&given) != before {
                    let text = format!(
                        "what was in {} (it is outside the folder, or in .git)",
                        given.display()
                    );
                    changes.unknown.push(text);
                }
                continue;
            };
            let after = folders.state(&path, None, self.store.all.limits.written_bytes);
            if let Some(snapshot) = &mut state.snapshot {
                snapshot.set(&path, &after);
            }
            if before != after {
                changes.files.push(PathChange {
                    path,
                    before,
                    after,
                });
            }
        }
        changes
    }

    /// A message came: what changes from here on is another's.
    pub fn message_came(&self) {
        self.message.fetch_add(1, Ordering::Relaxed);
    }

    /// Looks at the folder before a command that may come, so that the command need not wait.
    pub fn prepare(&self) {
        let mut state = self.lock();
        if !state.is_any_running() {
            self.look_before(&mut state, &self.stop);
        }
    }

    /// A command of the run begins.
    pub fn before_command(&self) {
        self.begin(None);
    }

    /// It has ended: what has changed meanwhile, it has changed.
    pub fn after_command(&self) -> Changes {
        self.end(None)
    }

    /// It went, and nobody knows how.
    pub fn lost_command(&self) {
        let mut state = self.lock();
        state.commands = state.commands.saturating_sub(1);
        self.let_go_if_over(state);
    }

    fn begin(&self, of: Option<&Arc<BackgroundJob>>) {
        let mut state = self.lock();
        if !state.is_any_running() {
            self.look_before(&mut state, &NEVER);
            state.since = Some(SystemTime::now());
        } else if !self.is_owner(&state, of) {
            // What has changed until now is not its doing.
            self.look_after(&mut state);
        }
        match of {
            None => {
                state.commands += 1;
                state.is_finished = false;
            }
            Some(job) => state.count(job, |commands| commands + 1),
        }
    }

    fn end(&self, of: Option<&Arc<BackgroundJob>>) -> Changes {
        let ended = Instant::now();
        let mut state = self.lock();
        // Several may end in one moment: whoever looks after that has seen what all of them did.
        let is_seen = |looked: &LookTimes| looked.began >= ended;
        if !state.looked.as_ref().is_some_and(is_seen) {
            self.look_after(&mut state);
        }
        let changes = match of {
            None => {
                state.commands = state.commands.saturating_sub(1);
                std::mem::take(&mut state.unrecorded)
            }
            Some(job) => {
                state.count(job, |commands| commands.saturating_sub(1));
                Changes::default()
            }
        };
        self.let_go_if_over(state);
        changes
    }

    /// Looks at the folder, and attributes what has changed to what runs.
    fn look_after(&self, state: &mut RecorderState) {
        let mut changes = Changes::default();
        let mut missing = Some("the folder".to_owned());
        if let Some(before) = state.snapshot.take() {
            match self.look(state, Some(&before), &NEVER) {
                Ok(now) => {
                    changes.files = before.changes_to(&now);
                    if !changes.files.is_empty() {
                        let others = self.changed_by_others(state.since);
                        changes.files.retain(|change| {
                            !others.contains(&(change.path.clone(), change.after.clone()))
                        });
                    }
                    missing = before.what_is_missing().or_else(|| now.what_is_missing());
                    state.snapshot = Some(now);
                }
                Err(error) => {
                    tracing::warn!(%error, "what a command changed is not known");
                    state.snapshot = Some(before);
                }
            }
        }
        self.attribute(state, changes, missing);
    }

    /// Appends what has changed to a checkpoint.
    pub fn append(&self, id: &CheckpointId, changes: &Changes) -> io::Result<()> {
        self.hold(&mut self.lock())?;
        self.store.append(id, &self.session, changes)
    }

    /// The run is over: what is only needed for the next command is let go, unless one runs still.
    pub fn finish(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut state = self.lock();
        self.stop.store(false, Ordering::Relaxed);
        self.save_index(&mut state);
        state.has_warned = false;
        state.is_finished = true;
        self.let_go_if_over(state);
    }

    fn let_go_if_over(&self, mut state: MutexGuard<'_, RecorderState>) {
        if !state.is_finished || state.is_any_running() {
            return;
        }
        self.save_index(&mut state);
        // A subagent in the background runs a command only now and then.
        let rest = RecorderState {
            jobs: std::mem::take(&mut state.jobs),
            is_finished: true,
            ..RecorderState::default()
        };
        let had = std::mem::replace(&mut *state, rest);
        drop(state);
        if had.held.is_some() {
            drop(had);
            prune::now_and_then(&self.store.all);
        }
    }

    /// Looks at the folder, unless that was done a moment ago.
    fn look_before(&self, state: &mut RecorderState, stop: &AtomicBool) {
        let is_fresh = |looked: &LookTimes| looked.at.elapsed() < looked.took * LOOKING_SHARE;
        if state.snapshot.is_some() && state.looked.as_ref().is_some_and(is_fresh) {
            return;
        }
        let known = state.snapshot.take();
        let is_first = known.is_none();
        match self.look(state, known.as_ref(), stop) {
            Ok(snapshot) => {
                state.snapshot = Some(snapshot);
                if is_first {
                    // Copying was the long part: it is not lost when this process is.
                    self.save_index(state);
                }
            }
            Err(error) => tracing::warn!(%error, "what commands change cannot be undone"),
        }
    }

    fn look(
        &self,
        state: &mut RecorderState,
        known: Option<&Snapshot>,
        stop: &AtomicBool,
    ) -> io::Result<Snapshot> {
        let began = Instant::now();
        self.hold(state)?;
        let camera = Camera {
            store: &self.store,
            stop,
        };
        let taken = match known {
            Some(known) => camera.again(known),
            None => camera.first(&index::read(&self.store.index())),
        }?;
        state.is_unsaved |= taken.read > 0;
        state.looked = Some(LookTimes {
            began,
            at: Instant::now(),
            took: began.elapsed(),
        });
        Ok(taken)
    }

    fn save_index(&self, state: &mut RecorderState) {
        let Some(snapshot) = state.snapshot.as_ref().filter(|_| state.is_unsaved) else {
            return;
        };
        match index::write(&self.store.index(), snapshot.entries.iter()) {
            Ok(()) => state.is_unsaved = false,
            Err(error) => tracing::warn!(%error, "files will have to be copied again"),
        }
    }

    /// What other sessions have recorded since: those changes are theirs.
    fn changed_by_others(&self, since: Option<SystemTime>) -> HashSet<(PathBuf, PathState)> {
        let Some(since) = since else {
            return HashSet::new();
        };
        let is_recent = |file: &std::fs::DirEntry| {
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| modified >= since)
        };
        let recorded_in = |runs: PathBuf| {
            let files = std::fs::read_dir(runs).into_iter().flatten().flatten();
            let stored = files.filter(is_recent);
            let stored = stored.filter_map(|file| checkpoint::read(&file.path()).ok());
            let others = stored.filter(|stored| stored.session != self.session);
            others.flat_map(|stored| stored.changes)
        };
        let mut changed: HashSet<(PathBuf, PathState)> = recorded_in(self.store.runs())
            .map(|recorded| (recorded.change.path, recorded.change.after))
            .collect();
        for folder in &self.store.additional {
            let recorded = recorded_in(self.store.all.of_folder(folder).runs());
            let recorded = recorded.map(|recorded| recorded.change);
            changed.extend(recorded.map(|change| (folder.join(change.path), change.after)));
        }
        changed
    }

    fn hold(&self, state: &mut RecorderState) -> io::Result<()> {
        if state.held.is_none() {
            state.held = Some(self.store.hold()?);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a file looks like that is in no folder of the session: it is never copied.
fn looks_outside(path: &Path) -> PathState {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => PathState::Unknown {
            size: metadata.len(),
            modified_ns: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
            why: UnstoredReason::Outside,
        },
        Err(_) => PathState::Absent,
    }
}

#[cfg(test)]
mod tests;
