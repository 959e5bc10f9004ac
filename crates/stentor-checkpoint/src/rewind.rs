//! Putting back what checkpoints say was there before.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::checkpoint::{self, Changes, CheckpointId, MergedChange, Overlap, PathChange};
use crate::folders::Folders;
use crate::state::{PathState, UnstoredReason};
use crate::store::FolderStore;
use crate::walk::{self, WalkLimit};

/// What a rewind would do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RewindPlan {
    /// What is put back.
    pub steps: Vec<RewindStep>,
    /// What somebody else has changed, and so is put back only by force.
    pub changed: Vec<RewindStep>,
    /// What cannot be put back, and why.
    pub lost: Vec<(PathBuf, String)>,
    /// What may have changed without anybody knowing.
    pub unknown: Vec<String>,
    /// Jobs in the background that still run, and so may go on changing files.
    pub running: Vec<String>,
    /// Checkpoints that are not here: the session was copied, or they were too old.
    pub missing: usize,
    /// The folders that the changes are in, besides that of the session.
    pub(crate) additional: Vec<PathBuf>,
}

/// One path and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindStep {
    /// From the folder of the session; absolute in its other folders.
    pub path: PathBuf,
    pub now: PathState,
    pub wanted: PathState,
    /// The jobs in the background during which it changed.
    pub during: Option<String>,
}

/// What a rewind did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rewound {
    /// What was put back: a checkpoint of its own, so that it can be undone.
    pub changes: Changes,
    /// What was not, and why.
    pub failed: Vec<(PathBuf, String)>,
}

impl RewindStep {
    /// The path as people are shown it, with what becomes of it.
    pub fn shown(&self) -> String {
        let path = self.path.display();
        match (&self.now, &self.wanted) {
            (_, PathState::Absent) => format!("{path} (removed)"),
            (PathState::Absent, _) => format!("{path} (was deleted)"),
            _ => path.to_string(),
        }
    }
}

/// What it would take to undo these checkpoints, the oldest first.
pub fn plan(store: &FolderStore, ids: &[CheckpointId]) -> io::Result<RewindPlan> {
    plan_while(store, ids, &|_, _| false)
}

/// The same, knowing which jobs still run: what those have changed was recorded just now.
pub(crate) fn plan_while(
    store: &FolderStore,
    ids: &[CheckpointId],
    runs: &dyn Fn(&CheckpointId, &str) -> bool,
) -> io::Result<RewindPlan> {
    let mut plan = RewindPlan::default();
    let mut changes = Vec::new();
    for id in ids {
        let stored = match checkpoint::read(&store.file_of(id)) {
            Ok(stored) => stored,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                plan.missing += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        changes.extend(stored.changes);
        plan.unknown.extend(stored.unknown);
        plan.additional.extend(stored.additional);
        for job in stored.jobs {
            match runs(id, &job) {
                true => plan.running.push(job),
                false => plan.unknown.push(format!(
                    "what {job} changed (it was running when Stentor ended, or its changes could not be recorded)"
                )),
            }
        }
        let overlaps = stored.overlaps.into_iter();
        let overlaps = overlaps.filter(|overlap| !ids.contains(&overlap.checkpoint));
        plan.unknown.extend(
            overlaps
                .map(|Overlap { job, .. }| format!("what {job} changed while other commands ran")),
        );
    }
    let mut named = HashSet::new();
    plan.unknown.retain(|unknown| named.insert(unknown.clone()));
    if changes.is_empty() {
        return Ok(plan);
    }
    let folders = Folders::open(&store.including(&plan.additional))?;
    for (path, merged) in checkpoint::merge(changes) {
        plan.add(store, &folders, path, merged);
    }
    Ok(plan)
}

impl RewindPlan {
    fn add(&mut self, store: &FolderStore, folders: &Folders, path: PathBuf, merged: MergedChange) {
        let MergedChange {
            before: wanted,
            after,
            is_interrupted,
            during,
        } = merged;
        let now = folders.state(&path, None, store.all.limits.written_bytes);
        if now == wanted {
            return;
        }
        let why = match (&now, &wanted) {
            // What goes must be able to come back.
            (PathState::Unknown { why, .. }, _) => Some(match why {
                UnstoredReason::Failed(why) => {
                    format!("what is there now could not be copied: {why}")
                }
                _ => "what is there now is too large to be copied".to_owned(),
            }),
            (_, PathState::Unknown { why, .. }) => Some(why.to_string()),
            (PathState::Other, _) => {
                Some("what is there now is a pipe, a socket or a device".to_owned())
            }
            (_, PathState::Other) => Some("it was no file".to_owned()),
            (_, PathState::File { hash, size, .. }) if !store.objects.has(*hash, *size) => {
                Some("its copy is gone".to_owned())
            }
            _ => None,
        };
        if let Some(why) = why {
            return self.lost.push((path, why));
        }
        // A folder that a run made is removed when nothing is left in it, whoever looked into it.
        let is_theirs = !matches!(
            (&now, &wanted),
            (PathState::Folder { .. }, PathState::Absent)
        );
        let is_changed = is_theirs && (is_interrupted || !is_still(&now, &after, folders, &path));
        let step = RewindStep {
            path,
            now,
            wanted,
            during,
        };
        match is_changed {
            true => self.changed.push(step),
            false => self.steps.push(step),
        }
    }

    /// Does it. With `force` what somebody else has changed is put back, too.
    pub fn apply(&self, store: &FolderStore, force: bool) -> io::Result<Rewound> {
        let _held = store.hold()?;
        let folders = Folders::open(&store.including(&self.additional))?;
        let forced = self.changed.iter().filter(|_| force);
        let mut steps: Vec<&RewindStep> = self.steps.iter().chain(forced).collect();
        // What is in the way goes first, the deepest first; then folders and files come back.
        steps.sort_by_key(|step| (RewindPhase::of(step), step.path.components().count()));
        let removals = steps
            .iter()
            .take_while(|step| RewindPhase::of(step) < RewindPhase::Make);
        let removals = removals.count();
        if let Some(removals) = steps.get_mut(..removals) {
            removals.sort_by_key(|step| {
                let depth = step.path.components().count();
                (RewindPhase::of(step), std::cmp::Reverse(depth))
            });
        }
        let mut rewound = Rewound::default();
        for step in steps {
            match take(store, &folders, step) {
                Ok(Some(change)) => rewound.changes.files.push(change),
                Ok(None) => {}
                Err(error) => rewound.failed.push((step.path.clone(), in_words(&error))),
            }
        }
        Ok(rewound)
    }
}

/// True when what is there now is what a run left there. Of what was not read then only the looks are
/// known.
fn is_still(now: &PathState, after: &PathState, folders: &Folders, path: &Path) -> bool {
    let PathState::Unknown {
        size, modified_ns, ..
    } = after
    else {
        return now == after;
    };
    let unread = folders.state(path, None, 0);
    matches!(unread, PathState::Unknown { size: s, modified_ns: m, .. } if (s, m) == (*size, *modified_ns))
}

/// In which order steps are taken.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RewindPhase {
    RemoveFile,
    RemoveFolder,
    Make,
}

impl RewindPhase {
    fn of(step: &RewindStep) -> Self {
        let is_folder = |state: &PathState| matches!(state, PathState::Folder { .. });
        match (&step.now, &step.wanted) {
            (PathState::Absent, _) => Self::Make,
            (now, PathState::Absent) if !is_folder(now) => Self::RemoveFile,
            (now, wanted) if !is_folder(now) && is_folder(wanted) => Self::RemoveFile,
            (now, wanted) if is_folder(now) && !is_folder(wanted) => Self::RemoveFolder,
            _ => Self::Make,
        }
    }
}

/// Takes one step; `None` when there was nothing to do after all.
fn take(
    store: &FolderStore,
    folders: &Folders,
    step: &RewindStep,
) -> io::Result<Option<PathChange>> {
    // What is there is stored before it goes, and is what was looked at when the step was planned.
    let limit_bytes = store.all.limits.written_bytes;
    let now = folders.state(&step.path, Some(&store.objects), limit_bytes);
    if now != step.now {
        return Err(io::Error::other(match now {
            PathState::Unknown {
                why: why @ UnstoredReason::Failed(_),
                ..
            } => why.to_string(),
            _ => "it is being changed by somebody else".to_owned(),
        }));
    }
    if RewindPhase::of(step) < RewindPhase::Make {
        match folders.put(&step.path, &PathState::Absent, &store.objects) {
            // Somebody has put something into it.
            Err(error) if is_occupied(&error) && step.wanted == PathState::Absent => {
                return Ok(None);
            }
            Err(error) if is_occupied(&error) => {
                return Err(io::Error::other("a folder with other files is there now"));
            }
            removed => removed?,
        }
    }
    if step.wanted != PathState::Absent {
        folders.put(&step.path, &step.wanted, &store.objects)?;
    }
    Ok(Some(PathChange {
        path: step.path.clone(),
        before: now,
        after: folders.state(&step.path, None, limit_bytes),
    }))
}

/// Why a step could not be taken, for people.
fn in_words(error: &io::Error) -> String {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::NOTDIR | Errno::LOOP) => {
            "its folder is a link or a file by now, which stays".to_owned()
        }
        _ => error.to_string(),
    }
}

fn is_occupied(error: &io::Error) -> bool {
    matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::NOTEMPTY | rustix::io::Errno::EXIST)
    )
}

/// True when there are files that are not looked at because `.gitignore` lists them. Looking for them
/// takes no longer than looking for changes.
pub fn has_ignored(store: &FolderStore) -> bool {
    let Ok(folders) = Folders::open(store) else {
        return false;
    };
    let (limits, stop) = (&store.all.limits, AtomicBool::new(false));
    let until = WalkLimit {
        deadline: Instant::now() + limits.time,
        stop: &stop,
    };
    walk::list(&folders, store.left_out(), &|_| false, limits, &until).has_ignored
}

/// The paths that a checkpoint changed; `None` when it is not here.
pub fn changed_paths(store: &FolderStore, id: &CheckpointId) -> Option<Vec<PathBuf>> {
    let stored = checkpoint::read(&store.file_of(id)).ok()?;
    let changes = stored.changes.into_iter();
    let changes = changes.map(|recorded| recorded.change);
    let is_file = |change: &PathChange| {
        let is_folder = |state: &PathState| matches!(state, PathState::Folder { .. });
        !is_folder(&change.before) && !is_folder(&change.after)
    };
    let changed = changes.filter(is_file);
    Some(changed.map(|change| change.path).collect())
}

#[cfg(test)]
mod tests;
