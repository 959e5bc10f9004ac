//! What is removed from the checkpoints: what is too old, and the oldest where there is too much.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use crate::checkpoint;
use crate::content_hash::ContentHash;
use crate::index;
use crate::own_file::own_file;
use crate::state::PathState;
use crate::store::{Checkpoints, FolderStore};

/// How often that is looked at.
const OFTEN: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes what is too old or too much, if nobody has looked for a day. What others hold stays.
pub(crate) fn now_and_then(all: &Checkpoints) {
    let stamp = all.root.join("pruned");
    let is_due = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > OFTEN);
    match fs::metadata(&stamp).and_then(|metadata| metadata.modified()) {
        Ok(modified) if !is_due(modified) => return,
        _ => {}
    }
    let stamped = own_file(&stamp).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = stamped {
        return tracing::warn!(%error, "old checkpoints are not removed");
    }
    // Nobody waits for it, not even the end of the program: what it did not come to is done next time.
    let all = all.clone();
    std::thread::spawn(move || {
        if let Err(error) = prune(&all) {
            tracing::warn!(%error, "old checkpoints were not removed");
        }
    });
}

fn prune(all: &Checkpoints) -> io::Result<()> {
    for place in fs::read_dir(&all.root)?.flatten() {
        if place.file_type()?.is_dir() {
            let store = FolderStore::at(place.path(), PathBuf::new(), all.clone());
            prune_folder(&store)?;
        }
    }
    Ok(())
}

fn prune_folder(store: &FolderStore) -> io::Result<()> {
    let lock = store.lock_file()?;
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let limits = &store.all.limits;
    let mut runs: Vec<(SystemTime, PathBuf)> = fs::read_dir(store.runs())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|run| Some((run.metadata().ok()?.modified().ok()?, run.path())))
        .collect();
    runs.sort();
    let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > limits.age);
    let old = runs.iter().take_while(|(modified, _)| is_old(*modified));
    let old = old.count();
    for (_, run) in runs.drain(..old) {
        fs::remove_file(run)?;
    }
    let index_age = fs::metadata(store.index()).and_then(|metadata| metadata.modified());
    if !index_age.is_ok_and(|modified| !is_old(modified)) {
        remove_if_there(&store.index())?;
    }
    if runs.is_empty() && !store.index().exists() {
        return fs::remove_dir_all(&store.place);
    }
    let mut stored_bytes = sweep(store, &runs)?;
    if stored_bytes > limits.stored_bytes {
        // What is only there to save copying goes before what can be undone.
        remove_if_there(&store.index())?;
        stored_bytes = sweep(store, &runs)?;
    }
    while stored_bytes > limits.stored_bytes && !runs.is_empty() {
        // Half at a time: looking what is still needed reads all that stay.
        let oldest = runs.len().div_ceil(2);
        for (_, run) in runs.drain(..oldest) {
            fs::remove_file(run)?;
        }
        stored_bytes = sweep(store, &runs)?;
    }
    Ok(())
}

/// Removes the contents that nothing refers to. Returns how many bytes stay.
fn sweep(store: &FolderStore, runs: &[(SystemTime, PathBuf)]) -> io::Result<u64> {
    let mut needed: HashSet<PathBuf> = HashSet::new();
    let mut need = |hash: ContentHash| needed.insert(store.objects.path(hash));
    for seen in index::read(&store.index()).into_values() {
        if let PathState::File { hash, .. } = seen.state {
            need(hash);
        }
    }
    for (_, run) in runs {
        for recorded in checkpoint::read(run)?.changes {
            let change = recorded.change;
            for state in [change.before, change.after] {
                if let PathState::File { hash, .. } = state {
                    need(hash);
                }
            }
        }
    }
    let mut stay_bytes = 0;
    let folders = fs::read_dir(store.place.join("objects"));
    for folder in folders.into_iter().flatten().flatten() {
        let files: Vec<DirEntry> = fs::read_dir(folder.path())?.flatten().collect();
        for file in files {
            match needed.contains(&file.path()) {
                true => stay_bytes += file.metadata()?.len(),
                false => fs::remove_file(file.path())?,
            }
        }
    }
    Ok(stay_bytes)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
