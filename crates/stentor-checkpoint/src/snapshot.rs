//! A folder at one moment: what is in it, and the contents of what is small enough.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::checkpoint::Change;
use crate::limits::Limits;
use crate::objects::Objects;
use crate::state::{Kind, Stamp, State, Unstored};
use crate::tree::Tree;
use crate::walk::{self, Listing, Until};

/// A file that changed so shortly before it was read may change once more and look the same: the
/// times of files move in steps.
const RACY: Duration = Duration::from_millis(50);

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub stamp: Stamp,
    pub state: State,
    /// The same looks may hide another content.
    pub is_racy: bool,
}

/// What was in a folder, with its contents as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    listing: Listing,
    pub entries: HashMap<PathBuf, Seen>,
    /// Files whose contents were read for it.
    pub read: usize,
}

/// What a snapshot is taken with.
pub(crate) struct Camera<'a> {
    pub folder: &'a Path,
    pub left_out: &'a [PathBuf],
    pub objects: &'a Objects,
    pub limits: &'a Limits,
    pub stop: &'a AtomicBool,
}

impl Camera<'_> {
    /// Looks at the folder for the first time. What looks as `known` says is not read again.
    pub fn first(&self, known: &HashMap<PathBuf, Seen>) -> std::io::Result<Snapshot> {
        self.take(known, &|_| false)
    }

    /// Looks at the folder again: at what was there `before` also if a command has had it ignored.
    pub fn again(&self, before: &Snapshot) -> std::io::Result<Snapshot> {
        self.take(&before.entries, &|path| before.entries.contains_key(path))
    }

    fn take(
        &self,
        known: &HashMap<PathBuf, Seen>,
        watched: &dyn Fn(&Path) -> bool,
    ) -> std::io::Result<Snapshot> {
        let tree = Tree::open(self.folder)?;
        let until = Until {
            deadline: Instant::now() + self.limits.time,
            stop: self.stop,
        };
        let listing = walk::list(
            &tree,
            self.folder,
            self.left_out,
            watched,
            self.limits,
            &until,
        );
        let mut entries = HashMap::with_capacity(listing.entries.len());
        let mut unread: Vec<(&PathBuf, Stamp)> = Vec::new();
        for (path, stamp) in &listing.entries {
            let reused = known.get(path);
            let reused = reused.filter(|seen| seen.stamp == *stamp && !seen.is_racy);
            let seen = match (reused, stamp.kind) {
                (Some(seen), _) => seen.clone(),
                (None, Kind::Folder) => Seen::of(*stamp, State::Folder { mode: stamp.mode }),
                (None, Kind::Other) => Seen::of(*stamp, State::Other),
                (None, Kind::Link | Kind::File) => {
                    unread.push((path, *stamp));
                    continue;
                }
            };
            entries.insert(path.clone(), seen);
        }
        // When not all of them can be copied, those are that are most.
        unread.sort_by_key(|(_, stamp)| stamp.size);
        let (read, mut left_bytes) = (unread.len(), self.limits.total_bytes);
        for (path, stamp) in unread {
            let state = match left_bytes.checked_sub(stamp.size) {
                _ if stamp.kind == Kind::File && stamp.size > self.limits.file_bytes => {
                    stamp.without_content(Unstored::TooLarge)
                }
                Some(left) if !until.is_over() => {
                    left_bytes = left;
                    tree.state(path, Some(self.objects), self.limits.file_bytes)
                }
                _ => stamp.without_content(Unstored::OverBudget),
            };
            entries.insert(path.clone(), Seen::of(stamp, state));
        }
        Ok(Snapshot {
            listing,
            entries,
            read,
        })
    }
}

impl Seen {
    /// What was read just now.
    fn of(stamp: Stamp, state: State) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.as_nanos());
        let now_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        let racy_ns = i64::try_from(RACY.as_nanos()).unwrap_or(i64::MAX);
        Self {
            is_racy: stamp.kind == Kind::File && stamp.changed_ns.saturating_add(racy_ns) > now_ns,
            stamp,
            state,
        }
    }
}

impl Snapshot {
    /// What has changed from this one to a later one, as far as both know.
    pub fn changes_to(&self, later: &Self) -> Vec<Change> {
        let paths: HashSet<&PathBuf> = self.entries.keys().chain(later.entries.keys()).collect();
        let mut changes: Vec<Change> = paths
            .into_iter()
            .filter_map(|path| {
                let state = |seen: Option<&Seen>| match seen {
                    Some(seen) => seen.state.clone(),
                    None => State::Absent,
                };
                let before = state(self.entries.get(path));
                let after = state(later.entries.get(path));
                let is_known = || self.listing.covers(path) && later.listing.covers(path);
                (before != after && is_known()).then(|| Change {
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
    pub fn set(&mut self, path: &Path, state: &State) {
        match (self.entries.get_mut(path), state) {
            (_, State::Absent) => {
                self.entries.remove(path);
            }
            (Some(seen), state) => {
                seen.state = state.clone();
                seen.is_racy = true;
            }
            (None, state) => {
                // What it looks like is not known here, so it is read when it is next looked at.
                let stamp = Stamp {
                    kind: Kind::File,
                    size: 0,
                    modified_ns: 0,
                    changed_ns: 0,
                    inode: 0,
                    mode: 0,
                };
                let seen = Seen {
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
