//! Where a process keeps its journals: they are made, found, opened and removed through this.

use std::path::{Path, PathBuf};

use super::entry::Header;
use super::error::StoreError;
use super::files;
use super::journal::{Journal, Opened};
use super::list::Listed;
use crate::clock::Clock;

/// Makes, finds, opens and removes the journals of a process. What is given here is how that is done
/// with files and nothing else ([`SessionFileStore`]).
pub trait JournalStore: Send + Sync {
    /// [`files::create`]. It is called where nothing may block for long.
    fn create(
        &self,
        folder: &Path,
        header: Header,
        clock: &dyn Clock,
    ) -> Result<Box<dyn Journal>, StoreError> {
        files::create(folder, header, clock)
    }

    /// [`files::create_at`]. It is called where nothing may block for long.
    fn create_at(
        &self,
        path: &Path,
        header: Header,
        clock: &dyn Clock,
    ) -> Result<Box<dyn Journal>, StoreError> {
        files::create_at(path, header, clock)
    }

    /// True when it can make a folder that is not there for sessions to work in.
    fn can_make_folder(&self, _cwd: &Path) -> bool {
        false
    }

    /// Makes a folder that [`JournalStore::can_make_folder`]. It may take long. Blocks.
    fn make_folder(&self, _cwd: &Path) -> Result<(), StoreError> {
        Ok(())
    }

    /// What has to come before a session is opened and may take long: nobody waits for anything else
    /// meanwhile. Blocks.
    fn prepare(&self, _path: &Path) -> Result<(), StoreError> {
        Ok(())
    }

    /// [`files::open`], after [`JournalStore::prepare`]. Blocks.
    fn open(&self, path: &Path) -> Result<Opened, StoreError> {
        files::open(path)
    }

    /// [`files::fork`]. Blocks.
    fn fork(
        &self,
        source: &Path,
        up_to: Option<&str>,
        folder: &Path,
        header: Header,
        clock: &dyn Clock,
    ) -> Result<Opened, StoreError> {
        files::fork(source, up_to, folder, header, clock)
    }

    /// [`files::remove`]. Blocks.
    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        files::remove(path)
    }

    /// The file of a session that is known otherwise than by its file, by its id or the beginning of
    /// that; what it says is there when this returns. `None` when there is none. Blocks.
    fn find(&self, _wanted: &str) -> Option<Result<PathBuf, StoreError>> {
        None
    }

    /// The sessions in its own place, of `cwd` or all, if it knows them otherwise than by their
    /// files.
    fn list(&self, _cwd: Option<&Path>) -> Option<Vec<Listed>> {
        None
    }
}

/// Journals in files and nowhere else.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionFileStore;

impl JournalStore for SessionFileStore {}
