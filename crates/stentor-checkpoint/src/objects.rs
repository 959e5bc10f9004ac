//! Contents, each once, in a file named by its hash.
//!
//! They are not synced: a power cut may leave one that is shorter or other than its name says. So
//! its length is looked at before it counts as stored, and its hash when it is read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::content_hash::ContentHash;

/// The contents of one folder's checkpoints.
#[derive(Debug, Clone)]
pub(crate) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Stores a content.
    pub fn store(&self, bytes: &[u8]) -> io::Result<ContentHash> {
        let hash = ContentHash::of(bytes);
        let path = self.path(hash);
        match self.write_new(&path, bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(hash),
        }
        let there = fs::metadata(&path)?;
        if there.len() != bytes.len() as u64 {
            let folder = path.parent().unwrap_or(&self.folder);
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            new.write_all(bytes)?;
            new.persist(&path)?;
        }
        Ok(hash)
    }

    /// The content with this hash. One that is damaged is as good as none.
    pub fn load(&self, hash: ContentHash) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.path(hash))?;
        match ContentHash::of(&bytes) == hash {
            true => Ok(bytes),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the stored copy is damaged",
            )),
        }
    }

    pub fn has(&self, hash: ContentHash, size: u64) -> bool {
        fs::metadata(self.path(hash)).is_ok_and(|there| there.len() == size)
    }

    pub fn path(&self, hash: ContentHash) -> PathBuf {
        let name = hash.to_string();
        let (first, rest) = name.split_at_checked(2).unwrap_or(("", &name));
        self.folder.join(first).join(rest)
    }

    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let opened = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(&self.folder);
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
                options.open(path)
            }
            opened => opened,
        };
        let written = opened?.write_all(bytes);
        if written.is_err() {
            // The error that matters is the first one: the disk may be full.
            fs::remove_file(path).ok();
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_stored_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::in_folder(folder.path().join("objects"));
        let hash = objects.store(b"hello").unwrap();
        assert_eq!(objects.store(b"hello").unwrap(), hash);
        assert_eq!(objects.load(hash).unwrap(), b"hello");
        assert!(objects.has(hash, 5));
    }

    #[test]
    fn a_damaged_copy_is_not_given_out_and_a_short_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::in_folder(folder.path().join("objects"));
        let hash = objects.store(b"hello").unwrap();
        fs::write(objects.path(hash), "hallo").unwrap();
        assert!(objects.load(hash).is_err());
        fs::write(objects.path(hash), "he").unwrap();
        assert!(!objects.has(hash, 5));
        objects.store(b"hello").unwrap();
        assert_eq!(objects.load(hash).unwrap(), b"hello");
    }

    #[test]
    fn only_the_owner_may_read_what_is_stored() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::in_folder(folder.path().join("objects"));
        let path = objects.path(objects.store(b"secret").unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}
