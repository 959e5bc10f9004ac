//! Putting back what checkpoints say was there before.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::checkpoint::{self, Change, Changes, CheckpointId, Merged, Overlap};
use crate::state::{State, Unstored};
use crate::store::FolderStore;
use crate::tree::Tree;

/// What a rewind would do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is put back.
    pub steps: Vec<Step>,
    /// What somebody else has changed, and so is put back only by force.
    pub changed: Vec<Step>,
    /// What cannot be put back, and why.
    pub lost: Vec<(PathBuf, String)>,
    /// What may have changed without anybody knowing.
    pub unknown: Vec<String>,
    /// Jobs in the background that still run, and so may go on changing files.
    pub running: Vec<String>,
    /// Checkpoints that are not here: the session was copied, or they were too old.
    pub missing: usize,
}

/// One path and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// From the folder of the session.
    pub path: PathBuf,
    pub now: State,
    pub wanted: State,
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

impl Step {
    /// The path as people are shown it, with what becomes of it.
    pub fn shown(&self) -> String {
        let path = self.path.display();
        match (&self.now, &self.wanted) {
            (_, State::Absent) => format!("{path} (removed)"),
            (State::Absent, _) => format!("{path} (was deleted)"),
            _ => path.to_string(),
        }
    }
}

/// What it would take to undo these checkpoints, the oldest first.
pub fn plan(store: &FolderStore, ids: &[CheckpointId]) -> io::Result<Plan> {
    plan_while(store, ids, &|_, _| false)
}

/// The same, knowing which jobs still run: what those have changed was recorded just now.
pub(crate) fn plan_while(
    store: &FolderStore,
    ids: &[CheckpointId],
    runs: &dyn Fn(&CheckpointId, &str) -> bool,
) -> io::Result<Plan> {
    let mut plan = Plan::default();
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
    let tree = Tree::open(&store.folder)?;
    for (path, merged) in checkpoint::merge(changes) {
        plan.add(store, &tree, path, merged);
    }
    Ok(plan)
}

impl Plan {
    fn add(&mut self, store: &FolderStore, tree: &Tree, path: PathBuf, merged: Merged) {
        let Merged {
            before: wanted,
            after,
            is_interrupted,
            during,
        } = merged;
        let now = tree.state(&path, None, store.all.limits.written_bytes);
        if now == wanted {
            return;
        }
        let why = match (&now, &wanted) {
            // What goes must be able to come back.
            (State::Unknown { why, .. }, _) => Some(match why {
                Unstored::Failed(why) => format!("what is there now could not be copied: {why}"),
                _ => "what is there now is too large to be copied".to_owned(),
            }),
            (_, State::Unknown { why, .. }) => Some(why.to_string()),
            (_, State::Other) => Some("it was no file".to_owned()),
            (_, State::File { hash, size, .. }) if !store.objects.has(*hash, *size) => {
                Some("its copy is gone".to_owned())
            }
            _ => None,
        };
        if let Some(why) = why {
            return self.lost.push((path, why));
        }
        // A folder that a run made is removed when nothing is left in it, whoever looked into it.
        let is_theirs = !matches!((&now, &wanted), (State::Folder { .. }, State::Absent));
        let is_changed = is_theirs && (is_interrupted || !is_still(&now, &after, tree, &path));
        let step = Step {
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
        let tree = Tree::open(&store.folder)?;
        let forced = self.changed.iter().filter(|_| force);
        let mut steps: Vec<&Step> = self.steps.iter().chain(forced).collect();
        // What is in the way goes first, the deepest first; then folders and files come back.
        steps.sort_by_key(|step| (Phase::of(step), step.path.components().count()));
        let removals = steps
            .iter()
            .take_while(|step| Phase::of(step) < Phase::Make);
        let removals = removals.count();
        if let Some(removals) = steps.get_mut(..removals) {
            removals.sort_by_key(|step| {
                let depth = step.path.components().count();
                (Phase::of(step), std::cmp::Reverse(depth))
            });
        }
        let mut rewound = Rewound::default();
        for step in steps {
            match take(store, &tree, step) {
                Ok(Some(change)) => rewound.changes.files.push(change),
                Ok(None) => {}
                Err(error) => rewound.failed.push((step.path.clone(), error.to_string())),
            }
        }
        Ok(rewound)
    }
}

/// True when what is there now is what a run left there. Of what was not read then only the looks are
/// known.
fn is_still(now: &State, after: &State, tree: &Tree, path: &Path) -> bool {
    let State::Unknown {
        size, modified_ns, ..
    } = after
    else {
        return now == after;
    };
    let unread = tree.state(path, None, 0);
    matches!(unread, State::Unknown { size: s, modified_ns: m, .. } if (s, m) == (*size, *modified_ns))
}

/// In which order steps are taken.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    RemoveFile,
    RemoveFolder,
    Make,
}

impl Phase {
    fn of(step: &Step) -> Self {
        let is_folder = |state: &State| matches!(state, State::Folder { .. });
        match (&step.now, &step.wanted) {
            (State::Absent, _) => Self::Make,
            (now, State::Absent) if !is_folder(now) => Self::RemoveFile,
            (now, wanted) if !is_folder(now) && is_folder(wanted) => Self::RemoveFile,
            (now, wanted) if is_folder(now) && !is_folder(wanted) => Self::RemoveFolder,
            _ => Self::Make,
        }
    }
}

/// Takes one step; `None` when there was nothing to do after all.
fn take(store: &FolderStore, tree: &Tree, step: &Step) -> io::Result<Option<Change>> {
    // What is there is stored before it goes, and is what was looked at when the step was planned.
    let limit_bytes = store.all.limits.written_bytes;
    let now = tree.state(&step.path, Some(&store.objects), limit_bytes);
    if now != step.now {
        return Err(io::Error::other(match now {
            State::Unknown {
                why: why @ Unstored::Failed(_),
                ..
            } => why.to_string(),
            _ => "it is being changed by somebody else".to_owned(),
        }));
    }
    if Phase::of(step) < Phase::Make {
        match tree.put(&step.path, &State::Absent, &store.objects) {
            // Somebody has put something into it.
            Err(error) if is_occupied(&error) && step.wanted == State::Absent => return Ok(None),
            Err(error) if is_occupied(&error) => {
                return Err(io::Error::other("a folder with other files is there now"));
            }
            removed => removed?,
        }
    }
    if step.wanted != State::Absent {
        tree.put(&step.path, &step.wanted, &store.objects)?;
    }
    Ok(Some(Change {
        path: step.path.clone(),
        before: now,
        after: tree.state(&step.path, None, limit_bytes),
    }))
}

fn is_occupied(error: &io::Error) -> bool {
    matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::NOTEMPTY | rustix::io::Errno::EXIST)
    )
}

/// The paths that a checkpoint changed; `None` when it is not here.
pub fn changed_paths(store: &FolderStore, id: &CheckpointId) -> Option<Vec<PathBuf>> {
    let stored = checkpoint::read(&store.file_of(id)).ok()?;
    let changes = stored.changes.into_iter();
    let changes = changes.map(|recorded| recorded.change);
    let is_file = |change: &Change| {
        let is_folder = |state: &State| matches!(state, State::Folder { .. });
        !is_folder(&change.before) && !is_folder(&change.after)
    };
    let changed = changes.filter(is_file);
    Some(changed.map(|change| change.path).collect())
}

#[cfg(test)]
mod tests;
