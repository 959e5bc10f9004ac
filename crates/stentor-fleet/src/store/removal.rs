//! Removing what this node has of sessions that are deleted, whoever deleted them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stentor_journal::store::{self as files, StoreError};
use tokio::task::spawn_blocking;

use super::FleetStore;
use crate::pictures;

impl FleetStore {
    /// Removes the working copies of deleted sessions, with what was set aside beside them and the
    /// pictures that no other session of their folder shows.
    pub(crate) async fn remove_copies(&self, deleted: HashSet<String>) {
        let store = self.clone();
        let removing = spawn_blocking(move || {
            // An id may be in use again.
            let is_gone = |id: &str| {
                deleted.contains(id) && !store.has(id) && store.fleet().session(id).is_none()
            };
            for folder in entries(&store.shared.files.root()) {
                remove_from(&folder, &is_gone);
            }
        });
        removing.await.ok();
    }
}

/// Removes the files of the sessions that are gone from a folder of working copies.
pub(super) fn remove_from(folder: &Path, is_gone: &impl Fn(&str) -> bool) {
    for file in entries(folder) {
        let is_it = file.file_name().and_then(id_in).is_some_and(is_gone);
        if is_it && let Err(why) = remove_file(&file) {
            tracing::warn!("a file of a deleted session is left: {why}");
        }
    }
}

/// Removes a file of a session, and the pictures beside it that no other file shows.
pub(super) fn remove_file(path: &Path) -> Result<(), StoreError> {
    let shown = pictures::referred_in(path).unwrap_or_default();
    let is_session = path.extension() == Some(OsStr::new("jsonl"));
    match is_session {
        true => files::remove(path)?,
        false => fs::remove_file(path).map_err(|source| StoreError::Io {
            doing: "remove",
            path: path.to_owned(),
            source,
        })?,
    }
    if shown.is_empty() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if let Err(why) = remove_pictures(folder, shown) {
        tracing::warn!(folder = %folder.display(), "pictures of a deleted session are left: {why}");
    }
    Ok(())
}

fn remove_pictures(folder: &Path, mut shown: HashSet<String>) -> io::Result<()> {
    for other in entries(folder) {
        if other.file_name().and_then(id_in).is_some() {
            let needed = pictures::referred_in(&other)?;
            shown.retain(|hash| !needed.contains(hash));
        }
    }
    for hash in shown {
        match fs::remove_file(pictures::folder_beside(folder).join(hash)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
    }
    Ok(())
}

/// The id of the session of a file `TIME_ID.jsonl`, or of one that was set aside.
fn id_in(name: &OsStr) -> Option<&str> {
    let (stem, end) = name.to_str()?.split_once(".jsonl")?;
    let is_session = end.is_empty() || end.starts_with(".unacknowledged-");
    let (_, id) = stem.split_once('_').filter(|_| is_session)?;
    Some(id)
}

/// What is in a folder that can be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    read.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use stentor_journal::store::SessionHeader;
    use stentor_test_support::TemporaryFolder;

    use super::*;

    #[test]
    fn a_deleted_session_leaves_nothing_and_takes_nothing_of_others() {
        let disk = TemporaryFolder::with(&["blobs"]);
        let (own, shared) = ("a".repeat(64), "b".repeat(64));
        let show = |hash: &str| format!("{{\"data\":\"blob:sha256:{hash}\"}}\n");
        for hash in [&own, &shared] {
            disk.file(&format!("blobs/{hash}"), "picture");
        }
        for (name, shown) in [
            ("1_gone.jsonl", [&own, &shared]),
            ("2_other.jsonl", [&shared, &shared]),
        ] {
            let header = SessionHeader::new("x", "2026-01-01T00:00:00Z", "/work");
            let mut text = String::from_utf8(header.to_line().unwrap()).unwrap();
            text.extend(shown.map(|hash| show(hash)));
            disk.file(name, &text);
        }
        disk.file("1_gone.jsonl.unacknowledged-1", "said");
        disk.file("notes.txt", "gone");
        remove_from(&disk.path("."), &|id| id == "gone");
        let mut left: Vec<String> = entries(&disk.path("."))
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .filter(|name| !name.ends_with(".lock"))
            .collect();
        left.sort();
        assert_eq!(left, ["2_other.jsonl", "blobs", "notes.txt"]);
        assert_eq!(
            entries(&disk.path("blobs")),
            [disk.path("blobs").join(shared)]
        );
    }
}
