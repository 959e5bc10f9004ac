//! Looking at a folder: what is in it, without any content.
//!
//! Folders are looked at level by level, each whole or not at all. So when there are too many files,
//! or no time is left, it is known which folders were seen: only in those can changes be found.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::AtFlags;

use crate::folders::{Folders, OpenFolder};
use crate::ignored::Ignored;
use crate::limits::CheckpointLimits;
use crate::state::{PathKind, PathStamp};
use crate::tree::{TEMPORARY, is_git, stamp_of};

/// What was in the folders of a session.
#[derive(Debug, Default)]
pub(crate) struct FolderListing {
    /// By its path.
    pub entries: HashMap<PathBuf, PathStamp>,
    /// The folders that were seen whole, that of the session with an empty path.
    pub seen: HashSet<PathBuf>,
    /// What is there and not looked at: ignored, on another device, or our own.
    pub skipped: HashSet<PathBuf>,
    /// Something among it is ignored.
    pub has_ignored: bool,
    /// Folders that should have been seen and were not; everything below them was not seen either.
    pub left_out: Vec<PathBuf>,
}

/// Folders that are named when some were left out.
const NAMED: usize = 3;

/// When to stop.
pub(crate) struct WalkLimit<'a> {
    pub deadline: Instant,
    pub stop: &'a AtomicBool,
}

impl WalkLimit<'_> {
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Lists the folders of a session, all of them within the limits of one. What is `left_out` is not looked
/// at: what is stored of the folders, above all. What was `watched` until now is looked at also where it is ignored by now.
pub(crate) fn list<'a>(
    folders: &'a Folders,
    left_out: &[PathBuf],
    watched: &dyn Fn(&Path) -> bool,
    limits: &CheckpointLimits,
    until: &WalkLimit<'_>,
) -> FolderListing {
    let mut listing = FolderListing::default();
    let begin = |folder: &'a OpenFolder| {
        let rules = Ignored::above(&folder.place);
        (folder, folder.prefix.clone(), rules)
    };
    let mut waiting: VecDeque<_> = folders.iter().map(begin).collect();
    while let Some((folder, path, rules)) = waiting.pop_front() {
        if listing.entries.len() >= limits.files || until.is_over() {
            listing.left_out.push(path);
            break;
        }
        let walk = FolderWalk {
            folder,
            path: &path,
            above: &rules,
            left_out,
            watched,
        };
        match walk.entries(limits, until, &mut listing) {
            Ok(Some((entries, rules))) => {
                for (path, stamp) in entries {
                    if stamp.kind == PathKind::Folder {
                        waiting.push_back((folder, path.clone(), rules.clone()));
                    }
                    listing.entries.insert(path, stamp);
                }
                listing.seen.insert(path);
            }
            Ok(None) => listing.left_out.push(path),
            // It is gone again, or nobody may look into it: nothing is known of what is in it.
            Err(_) => {}
        }
    }
    listing
        .left_out
        .extend(waiting.into_iter().map(|(_, path, _)| path));
    listing
}

impl FolderListing {
    /// True when it is known what was at a path: something, or nothing.
    pub fn covers(&self, path: &Path) -> bool {
        if self.skipped.contains(path) {
            return false;
        }
        for above in path.ancestors().skip(1) {
            if self.seen.contains(above) {
                return true;
            }
            let is_unseen = |stamp: &PathStamp| stamp.kind == PathKind::Folder;
            if self.skipped.contains(above) || self.entries.get(above).is_some_and(is_unseen) {
                return false;
            }
        }
        false
    }

    /// What people are told of the folders that were left out.
    pub fn what_is_missing(&self) -> Option<String> {
        let named =
            self.left_out
                .iter()
                .take(NAMED)
                .map(|path| match path.as_os_str().is_empty() {
                    true => "the folder".to_owned(),
                    false => path.display().to_string(),
                });
        let mut text = named.collect::<Vec<_>>().join(", ");
        match self.left_out.len() {
            0 => return None,
            count if count > NAMED => text.push_str(&format!(" and {} more", count - NAMED)),
            _ => {}
        }
        Some(text)
    }
}

struct FolderWalk<'a> {
    folder: &'a OpenFolder,
    path: &'a Path,
    above: &'a Option<Arc<Ignored>>,
    left_out: &'a [PathBuf],
    watched: &'a dyn Fn(&Path) -> bool,
}

type FolderEntries = (Vec<(PathBuf, PathStamp)>, Option<Arc<Ignored>>);

impl FolderWalk<'_> {
    /// What is in the folder, and the rules that hold below it; `None` when that is too much.
    fn entries(
        &self,
        limits: &CheckpointLimits,
        until: &WalkLimit<'_>,
        listing: &mut FolderListing,
    ) -> io::Result<Option<FolderEntries>> {
        let OpenFolder { tree, place, .. } = self.folder;
        let below = self.folder.below(self.path).unwrap_or(self.path);
        let opened = tree.folder(below)?;
        let rules = Ignored::inside(&opened, place, below, self.above);
        let here = place.join(below);
        let mut entries = Vec::new();
        for (count, entry) in rustix::fs::Dir::read_from(&opened)?.enumerate() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || is_git(name) || is_temporary(name) {
                continue;
            }
            if count >= limits.folder_entries || (count % 256 == 255 && until.is_over()) {
                return Ok(None);
            }
            // It may be gone again.
            let Ok(stat) = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let (stamp, path) = (stamp_of(&stat), self.path.join(name));
            let is_folder = stamp.kind == PathKind::Folder;
            let is_ignored = rules
                .as_ref()
                .is_some_and(|rules| rules.ignores(&here.join(name), is_folder))
                && !(self.watched)(&path);
            let is_elsewhere = is_folder && !tree.is_on_device(&stat);
            let is_left_out = self.left_out.contains(&path);
            listing.has_ignored |= is_ignored && !is_left_out;
            match is_ignored || is_elsewhere || is_left_out {
                true => drop(listing.skipped.insert(path)),
                false => entries.push((path, stamp)),
            }
        }
        Ok(Some((entries, rules)))
    }
}

fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(TEMPORARY.as_bytes()) && name.ends_with(b".tmp")
}
