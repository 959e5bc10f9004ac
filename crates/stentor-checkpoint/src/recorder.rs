//! What the calls of one session change in its folder.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::checkpoint::{self, Change, Changes, CheckpointId};
use crate::snapshot::{Camera, Snapshot};
use crate::state::{State, Unstored};
use crate::store::{FolderStore, Held};
use crate::tree::{Tree, relative};
use crate::{index, prune};

/// Looking at the folder takes no more than this share of the time between two commands: what
/// somebody else changes in between is told from what the commands change only by looking.
const LOOKING_SHARE: u32 = 10;

/// Records what a session changes. Every method waits for the disk.
pub struct Recorder {
    store: FolderStore,
    session: String,
    /// Nobody waits for what goes on any more.
    stop: AtomicBool,
    state: Mutex<RecorderState>,
}

#[derive(Default)]
struct RecorderState {
    held: Option<Held>,
    /// The folder as it was when it was last looked at.
    snapshot: Option<Snapshot>,
    looked: Option<Looked>,
    commands: usize,
    /// When the first of the commands that run began.
    since: Option<SystemTime>,
    /// What of the folder is not looked at has been recorded.
    has_warned: bool,
    /// The index is not what the snapshot is.
    is_unsaved: bool,
}

struct Looked {
    at: Instant,
    took: Duration,
}

/// A file before a tool changes it.
#[derive(Debug)]
pub struct Before {
    /// `None` for one that is not in the folder.
    path: Option<PathBuf>,
    given: PathBuf,
    state: State,
}

impl Recorder {
    /// A recorder for a session in the folder of `store`.
    pub fn new(store: FolderStore, session: &str) -> Self {
        Self {
            store,
            session: session.to_owned(),
            stop: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Where its checkpoints are.
    pub fn store(&self) -> &FolderStore {
        &self.store
    }

    /// Stores what is at these absolute paths, which a tool is about to change.
    pub fn before_write(&self, paths: &[PathBuf]) -> Vec<Before> {
        let mut state = self.lock();
        let (tree, held) = (Tree::open(&self.store.folder), self.hold(&mut state));
        let objects = held.is_ok().then_some(&self.store.objects);
        let limit_bytes = self.store.all.limits.written_bytes;
        let mut before = Vec::new();
        for given in paths {
            let Some(path) = relative(&self.store.folder, given) else {
                before.push(Before {
                    path: None,
                    state: looks_outside(given),
                    given: given.clone(),
                });
                continue;
            };
            let Ok(tree) = &tree else { continue };
            let state_of = |path: &Path| tree.state(path, objects, limit_bytes);
            // The folders that the tool will have to make are gone with the file.
            let missing = path.ancestors().skip(1);
            let missing = missing.take_while(|above| {
                Tree::covers(above) && matches!(state_of(above), State::Absent)
            });
            let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            for path in missing.into_iter().rev().chain([path]) {
                before.push(Before {
                    state: state_of(&path),
                    given: given.clone(),
                    path: Some(path),
                });
            }
        }
        before
    }

    /// What has become of it.
    pub fn after_write(&self, before: Vec<Before>) -> Changes {
        let mut changes = Changes::default();
        let mut state = self.lock();
        let Ok(tree) = Tree::open(&self.store.folder) else {
            return changes;
        };
        for Before {
            path,
            given,
            state: before,
        } in before
        {
            let Some(path) = path else {
                if looks_outside(&given) != before {
                    let text = format!("{} is outside the folder, or in .git", given.display());
                    changes.unknown.push(text);
                }
                continue;
            };
            let after = tree.state(&path, None, self.store.all.limits.written_bytes);
            if let Some(snapshot) = &mut state.snapshot {
                snapshot.set(&path, &after);
            }
            if before != after {
                changes.files.push(Change {
                    path,
                    before,
                    after,
                });
            }
        }
        changes
    }

    /// Looks at the folder before a command that may come, so that the command need not wait.
    pub fn prepare(&self) {
        let mut state = self.lock();
        if state.commands == 0 {
            self.look_before(&mut state);
        }
    }

    /// A command begins.
    pub fn before_command(&self) {
        let mut state = self.lock();
        if state.commands == 0 {
            self.look_before(&mut state);
            state.since = Some(SystemTime::now());
        }
        state.commands += 1;
    }

    /// A command has ended: what has changed meanwhile, it has changed.
    pub fn after_command(&self) -> Changes {
        let mut state = self.lock();
        state.commands = state.commands.saturating_sub(1);
        let mut changes = Changes::default();
        let Some(before) = state.snapshot.take() else {
            self.warn(&mut state, &mut changes, Some("the folder".to_owned()));
            return changes;
        };
        match self.look(&mut state, Some(&before)) {
            Ok(now) => {
                changes.files = before.changes_to(&now);
                if !changes.files.is_empty() {
                    let others = self.changed_by_others(state.since);
                    changes.files.retain(|change| {
                        !others.contains(&(change.path.clone(), change.after.clone()))
                    });
                }
                let missing = before.what_is_missing().or_else(|| now.what_is_missing());
                self.warn(&mut state, &mut changes, missing);
                state.snapshot = Some(now);
            }
            Err(error) => {
                tracing::warn!(%error, "what a command changed is not known");
                self.warn(&mut state, &mut changes, Some("the folder".to_owned()));
                state.snapshot = Some(before);
            }
        }
        changes
    }

    /// Appends what has changed to a checkpoint.
    pub fn append(&self, id: &CheckpointId, changes: &Changes) -> io::Result<()> {
        self.hold(&mut self.lock())?;
        self.store.append(id, &self.session, changes)
    }

    /// Nothing runs any more: what is only needed for the next command is let go.
    pub fn finish(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut state = self.lock();
        self.stop.store(false, Ordering::Relaxed);
        self.save_index(&mut state);
        let had = std::mem::take(&mut *state);
        drop(state);
        if had.held.is_some() {
            drop(had);
            prune::now_and_then(&self.store.all);
        }
    }

    /// Looks at the folder, unless that was done a moment ago.
    fn look_before(&self, state: &mut RecorderState) {
        let is_fresh = |looked: &Looked| looked.at.elapsed() < looked.took * LOOKING_SHARE;
        if state.snapshot.is_some() && state.looked.as_ref().is_some_and(is_fresh) {
            return;
        }
        let known = state.snapshot.take();
        let is_first = known.is_none();
        match self.look(state, known.as_ref()) {
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

    fn look(&self, state: &mut RecorderState, known: Option<&Snapshot>) -> io::Result<Snapshot> {
        let began = Instant::now();
        self.hold(state)?;
        let camera = Camera {
            folder: &self.store.folder,
            left_out: self.store.left_out(),
            objects: &self.store.objects,
            limits: &self.store.all.limits,
            stop: &self.stop,
        };
        let taken = match known {
            Some(known) => camera.again(known),
            None => camera.first(&index::read(&self.store.index())),
        }?;
        state.is_unsaved |= taken.read > 0;
        state.looked = Some(Looked {
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

    /// Records once in a run what of the folder is not looked at.
    fn warn(&self, state: &mut RecorderState, changes: &mut Changes, missing: Option<String>) {
        let Some(missing) = missing.filter(|_| !state.has_warned) else {
            return;
        };
        state.has_warned = true;
        let text = format!("what commands changed in {missing} is not known");
        changes.unknown.push(text);
    }

    /// What other sessions have recorded since: those changes are theirs.
    fn changed_by_others(&self, since: Option<SystemTime>) -> HashSet<(PathBuf, State)> {
        let (Some(since), Ok(files)) = (since, std::fs::read_dir(self.store.runs())) else {
            return HashSet::new();
        };
        let is_recent = |file: &std::fs::DirEntry| {
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| modified >= since)
        };
        let recent = files.flatten().filter(is_recent);
        recent
            .filter_map(|file| checkpoint::read(&file.path()).ok())
            .filter(|stored| stored.session != self.session)
            .flat_map(|stored| stored.changes)
            .map(|change| (change.path, change.after))
            .collect()
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

/// What a file looks like that is not in the folder: it is never copied.
fn looks_outside(path: &Path) -> State {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => State::Unknown {
            size: metadata.len(),
            modified_ns: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
            why: Unstored::Outside,
        },
        Err(_) => State::Absent,
    }
}

#[cfg(test)]
mod tests;
