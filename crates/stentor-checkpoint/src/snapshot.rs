//! The folders of a session at one moment: what is in them, and the contents of what is small enough.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::checkpoint::PathChange;
use crate::folders::Folders;
use crate::state::{PathKind, PathStamp, PathState, UnstoredReason};
use crate::store::FolderStore;
use crate::walk::{self, FolderListing, WalkLimit};

/// A file that changed so shortly before it was read may change once more and look the same: the
/// times of files move in steps.
const RACY: Duration = Duration::from_millis(50);

/// Files up to this size are copied before larger ones.
const SMALL_BYTES: u64 = 64 << 10;

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenPath {
    pub stamp: PathStamp,
    pub state: PathState,
    /// The same looks may hide another content.
    pub is_racy: bool,
}

/// What was in the folders of a session, with its contents as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    listing: FolderListing,
    pub entries: HashMap<PathBuf, SeenPath>,
    /// Files whose contents were read for it.
    pub read: usize,
}

/// What a snapshot is taken with.
pub(crate) struct Camera<'a> {
    pub store: &'a FolderStore,
    pub stop: &'a AtomicBool,
}

impl Camera<'_> {
    /// Looks at the folders for the first time. What looks as `known` says is not read again.
    pub fn first(&self, known: &HashMap<PathBuf, SeenPath>) -> std::io::Result<Snapshot> {
        self.take(known, &|_| false)
    }

    /// Looks at the folders again: at what was there `before` also if a command has had it ignored.
    pub fn again(&self, before: &Snapshot) -> std::io::Result<Snapshot> {
        self.take(&before.entries, &|path| before.entries.contains_key(path))
    }

    fn take(
        &self,
        known: &HashMap<PathBuf, SeenPath>,
        watched: &dyn Fn(&Path) -> bool,
    ) -> std::io::Result<Snapshot> {
        let folders = Folders::open(self.store)?;
        let limits = &self.store.all.limits;
        let until = WalkLimit {
            deadline: Instant::now() + limits.time,
            stop: self.stop,
        };
        let left_out = self.store.left_out();
        let listing = walk::list(&folders, left_out, watched, limits, &until);
        let mut entries = HashMap::with_capacity(listing.entries.len());
        let mut unread: Vec<(&PathBuf, PathStamp)> = Vec::new();
        for (path, stamp) in &listing.entries {
            let reused = known.get(path);
            let reused = reused.filter(|seen| seen.stamp == *stamp && !seen.is_racy);
            let seen = match (reused, stamp.kind) {
                (Some(seen), _) => seen.clone(),
                (None, PathKind::Folder) => {
                    SeenPath::of(*stamp, PathState::Folder { mode: stamp.mode })
                }
                (None, PathKind::Other) => SeenPath::of(*stamp, PathState::Other),
                (None, PathKind::Link | PathKind::File) => {
                    unread.push((path, *stamp));
                    continue;
                }
            };
            entries.insert(path.clone(), seen);
        }
        // When not all of them can be copied, those are that are most, and those near the top before
        // what is deep in some folder.
        unread.sort_by_cached_key(|(path, stamp)| {
            let depth = path.components().count();
            (stamp.size > SMALL_BYTES, depth, stamp.size)
        });
        let (read, mut left_bytes) = (unread.len(), limits.total_bytes);
        for (path, stamp) in unread {
            let state = match left_bytes.checked_sub(stamp.size) {
                _ if stamp.kind == PathKind::File && stamp.size > limits.file_bytes => {
                    stamp.without_content(UnstoredReason::TooLarge)
                }
                Some(left) if !until.is_over() => {
                    left_bytes = left;
                    folders.state(path, Some(&self.store.objects), limits.file_bytes)
                }
                _ => stamp.without_content(UnstoredReason::OverBudget),
            };
            entries.insert(path.clone(), SeenPath::of(stamp, state));
        }
        Ok(Snapshot {
            listing,
            entries,
            read,
        })
    }
}

impl SeenPath {
    /// What was read just now.
    fn of(stamp: PathStamp, state: PathState) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.as_nanos());
        let now_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        let racy_ns = i64::try_from(RACY.as_nanos()).unwrap_or(i64::MAX);
        Self {
            is_racy: stamp.kind == PathKind::File
                && stamp.changed_ns.saturating_add(racy_ns) > now_ns,
            stamp,
            state,
        }
    }
}

impl Snapshot {
    /// What has changed from this one to a later one, as far as both know.
    pub fn changes_to(&self, later: &Self) -> Vec<PathChange> {
        let paths: HashSet<&PathBuf> = self.entries.keys().chain(later.entries.keys()).collect();
        let mut changes: Vec<PathChange> = paths
            .into_iter()
            .filter_map(|path| {
                let state = |seen: Option<&SeenPath>| match seen {
                    Some(seen) => seen.state.clone(),
                    None => PathState::Absent,
                };
                let before = state(self.entries.get(path));
                let after = state(later.entries.get(path));
                let is_known = || self.listing.covers(path) && later.listing.covers(path);
                (before != after && is_known()).then(|| PathChange {
                    path: path.clone(),
                    before,
                    after,
                })
            })
            .collect();
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }

    /// What is at a path has been looked at elsewhere.
    pub fn set(&mut self, path: &Path, state: &PathState) {
        match (self.entries.get_mut(path), state) {
            (_, PathState::Absent) => {
                self.entries.remove(path);
            }
            (Some(seen), state) => {
                seen.state = state.clone();
                seen.is_racy = true;
            }
            (None, state) => {
                // What it looks like is not known here, so it is read when it is next looked at.
                let stamp = PathStamp {
                    kind: PathKind::File,
                    size: 0,
                    modified_ns: 0,
                    changed_ns: 0,
                    inode: 0,
                    mode: 0,
                };
                let seen = SeenPath {
                    stamp,
                    state: state.clone(),
                    is_racy: true,
                };
                self.entries.insert(path.to_owned(), seen);
            }
        }
    }

    /// What people are told of the folders that were not looked at.
    pub fn what_is_missing(&self) -> Option<String> {
        self.listing.what_is_missing()
    }
}
