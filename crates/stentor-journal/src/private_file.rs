//! Files that are replaced as a whole, and folders that only their owner may read, whatever the
//! umask.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The mode of a file that only its owner may read.
pub const PRIVATE: u32 = 0o600;

/// Makes a folder, and those above it that are missing, for its owner alone. One that is there
/// stays as it is.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Replaces a private file: a reader sees the old one or the new one, also after a crash.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = FileReplacement::begin(path, PRIVATE)?;
    replacement.file().write_all(bytes)?;
    replacement.finish()
}

/// A file that takes the place of another when it is finished. Dropped before, it is gone and the
/// other is as it was.
pub struct FileReplacement {
    new: NamedTempFile,
    path: PathBuf,
}

impl FileReplacement {
    /// Begins a file beside `path`. The umask may take from `mode`.
    pub fn begin(path: &Path, mode: u32) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let new = tempfile::Builder::new()
            .prefix(".stentor-")
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        Ok(Self {
            new,
            path: path.to_owned(),
        })
    }

    /// What it is written to before it takes its name.
    pub fn file(&mut self) -> &mut File {
        self.new.as_file_mut()
    }

    /// Puts the file in its place, when all of it is on the disk.
    pub fn finish(self) -> io::Result<()> {
        self.new.as_file().sync_all()?;
        self.finish_unsynced()
    }

    /// Puts the file in its place, for those who sync it later.
    pub fn finish_unsynced(self) -> io::Result<()> {
        self.new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for text in ["old", "new"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        drop(FileReplacement::begin(&path, PRIVATE).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
