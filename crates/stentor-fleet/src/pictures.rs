//! Pictures too large for an entry: files beside the working copy, objects in the fleet.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::task::spawn_blocking;

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::names::token;

/// How an entry refers to a picture.
const REFERENCE: &[u8] = b"blob:sha256:";
const HASH_DIGITS: usize = 64;

/// A larger picture is not fetched.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The pictures of one session.
#[derive(Clone)]
pub(crate) struct Pictures {
    folder: PathBuf,
    /// What their names in the fleet begin with: each session has its own, which go with it.
    session: String,
    /// Those that are known to be in the fleet.
    sent: Arc<Mutex<HashSet<String>>>,
}

impl Pictures {
    /// Those beside the file of a session.
    pub fn beside(file: &Path, session_id: &str) -> Self {
        let folder = file.parent().unwrap_or(Path::new("."));
        Self {
            folder: folder_beside(folder),
            session: token(session_id),
            sent: Arc::default(),
        }
    }

    /// Puts those into the fleet that a part of the session file refers to. A reference may have
    /// begun before the part.
    pub async fn send(
        &self,
        fleet: &Fleet,
        file: &Arc<File>,
        at: u64,
        length: usize,
    ) -> Result<(), FleetError> {
        for hash in referred(file, at, length).await {
            let path = self.folder.join(&hash);
            let is_sent = self.lock().contains(&hash);
            if is_sent || !path.is_file() {
                continue;
            }
            let name = self.name(&hash);
            if fleet.pictures().info(&name).await.is_err() {
                let mut picture = tokio::fs::File::open(&path)
                    .await
                    .map_err(FleetError::io("read", &path))?;
                let put = fleet.pictures().put(name.as_str(), &mut picture).await;
                put.map_err(FleetError::nats("store a picture"))?;
            }
            self.lock().insert(hash);
        }
        Ok(())
    }

    /// Fetches those that a session file refers to and that are missing beside it. One that is not
    /// to be had is left out: the session shows that it is missing.
    pub async fn fetch(&self, fleet: &Fleet, file: &Arc<File>) -> Result<(), FleetError> {
        for hash in self.all(file).await? {
            let path = self.folder.join(&hash);
            if !path.exists()
                && let Err(why) = self.fetch_one(fleet, &hash, &path).await
            {
                tracing::warn!(%why, "a picture is missing");
            }
        }
        Ok(())
    }

    /// Removes those from the fleet that a session file refers to.
    pub async fn remove(&self, fleet: &Fleet, file: &Arc<File>) -> Result<(), FleetError> {
        for hash in self.all(file).await? {
            if let Err(why) = fleet.pictures().delete(self.name(&hash)).await {
                tracing::warn!(%why, "a picture is left");
            }
        }
        Ok(())
    }

    /// All that a session file refers to.
    async fn all(&self, file: &Arc<File>) -> Result<HashSet<String>, FleetError> {
        let (file, folder) = (Arc::clone(file), self.folder.clone());
        let searched = spawn_blocking(move || {
            all_hashes(&file).map_err(FleetError::io("read what is beside", &folder))
        });
        searched
            .await
            .map_err(FleetError::nats("look for pictures"))?
    }

    fn name(&self, hash: &str) -> String {
        format!("{}.{hash}", self.session)
    }

    async fn fetch_one(&self, fleet: &Fleet, hash: &str, path: &Path) -> Result<(), FleetError> {
        const DOING: &str = "fetch a picture";
        let object = fleet.pictures().get(self.name(hash)).await;
        let object = object.map_err(FleetError::nats(DOING))?;
        let mut bytes = Vec::new();
        let read = object.take(MAX_BYTES).read_to_end(&mut bytes).await;
        read.map_err(FleetError::nats(DOING))?;
        let (folder, path) = (self.folder.clone(), path.to_owned());
        let written = spawn_blocking(move || {
            stentor_journal::private_file::create_folder(&folder)
                .and_then(|()| stentor_journal::private_file::replace(&path, &bytes))
                .map_err(FleetError::io("write", &path))
        });
        written.await.map_err(FleetError::nats(DOING))?
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the pictures of the session files in a folder are.
pub(crate) fn folder_beside(files: &Path) -> PathBuf {
    files.join("blobs")
}

/// The hashes of the pictures that a file refers to. Blocks.
pub(crate) fn referred_in(path: &Path) -> io::Result<HashSet<String>> {
    all_hashes(&File::open(path)?)
}

/// How much of a file is searched at once.
const PART_BYTES: u64 = 1024 * 1024;

/// How much before a part a reference in it may have begun.
const OVERLAP_BYTES: u64 = (REFERENCE.len() + HASH_DIGITS) as u64;

fn all_hashes(file: &File) -> io::Result<HashSet<String>> {
    let size = file.metadata()?.len();
    let (mut at, mut all, mut part) = (0, HashSet::new(), Vec::new());
    while at < size {
        let begin = at.saturating_sub(OVERLAP_BYTES);
        at = size.min(at + PART_BYTES);
        part.resize(usize::try_from(at - begin).unwrap_or_default(), 0);
        file.read_exact_at(&mut part, begin)?;
        all.extend(hashes(&part));
    }
    Ok(all)
}

/// The hashes of the pictures that a part of a file refers to.
async fn referred(file: &Arc<File>, at: u64, length: usize) -> Vec<String> {
    let file = Arc::clone(file);
    let begin = at.saturating_sub(OVERLAP_BYTES);
    let length = length + usize::try_from(at - begin).unwrap_or(0);
    let searched = spawn_blocking(move || {
        let mut part = vec![0; length];
        // What cannot be read now is met by whoever reads the part itself.
        match file.read_exact_at(&mut part, begin) {
            Ok(()) => hashes(&part),
            Err(_) => Vec::new(),
        }
    });
    searched.await.unwrap_or_default()
}

fn hashes(text: &[u8]) -> Vec<String> {
    let found = memchr::memmem::find_iter(text, REFERENCE);
    let found = found.filter_map(|at| {
        let begin = at + REFERENCE.len();
        let hash = text.get(begin..begin + HASH_DIGITS)?;
        let is_hash = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let hash = hash.iter().all(is_hash).then_some(hash)?;
        String::from_utf8(hash.to_vec()).ok()
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_wherever_they_stand() {
        let hash = "0123456789abcdef".repeat(4);
        let text = format!("x\"blob:sha256:{hash}\"blob:sha256:{hash}blob:sha256:short");
        assert_eq!(hashes(text.as_bytes()), [hash.clone(), hash]);
    }
}
