//! Where a process keeps its journals: they are made, found, opened and removed through this.

use std::path::{Path, PathBuf};

use super::entry::SessionHeader;
use super::error::StoreError;
use super::files;
use super::journal::{Journal, OpenedSession};
use super::list::ListedSession;
use crate::clock::Clock;

/// Capacity for a session that is to be made. It is free again when this is dropped, unless the session
/// was made.
pub trait Reservation: Send + Sync {
    /// Says which session it is for.
    fn assign(&mut self, session_id: &str);
}

/// The sessions that a client keeps by a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSessions {
    /// Where new ones go instead.
    pub folder: PathBuf,
    /// The file of the newest in which something was said.
    pub newest: Option<PathBuf>,
}

/// Makes, finds, opens and removes the journals of a process. What is given here is how that is done
/// with files and nothing else ([`SessionFileStore`]).
pub trait JournalStore: Send + Sync {
    /// Reserves capacity for a new session of a working folder, whose file would be in `folder`: an
    /// error when there is none left. `None` where capacity does not end.
    fn reserve(
        &self,
        _folder: &Path,
        _cwd: &Path,
    ) -> Result<Option<Box<dyn Reservation>>, StoreError> {
        Ok(None)
    }

    /// [`files::create`]. It is called where nothing may block for long.
    fn create(
        &self,
        folder: &Path,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<Box<dyn Journal>, StoreError> {
        files::create(folder, header, clock)
    }

    /// [`files::create_at`]. It is called where nothing may block for long.
    fn create_at(
        &self,
        path: &Path,
        header: SessionHeader,
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

    /// The folder that the session in a file works in, where that is not up to who opens it.
    fn working_folder(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// What has to come before a session is opened and may take long: nobody waits for anything else
    /// meanwhile. Blocks.
    fn prepare(&self, _path: &Path) -> Result<(), StoreError> {
        Ok(())
    }

    /// [`files::open`], after [`JournalStore::prepare`]. Blocks.
    fn open(&self, path: &Path) -> Result<OpenedSession, StoreError> {
        files::open(path)
    }

    /// [`files::open_untouched`], after [`JournalStore::prepare`]. Blocks.
    fn open_untouched(&self, path: &Path) -> Result<OpenedSession, StoreError> {
        files::open_untouched(path)
    }

    /// [`files::fork`]. Blocks.
    fn fork(
        &self,
        source: &Path,
        up_to: Option<&str>,
        folder: &Path,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<OpenedSession, StoreError> {
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

    /// The sessions that a client keeps by a folder of its own, if they are not there but here.
    fn kept_in(&self, _folder: &Path) -> Option<KeptSessions> {
        None
    }

    /// The sessions in its own place, of `cwd` or all, if it knows them otherwise than by their
    /// files.
    fn list(&self, _cwd: Option<&Path>) -> Option<Vec<ListedSession>> {
        None
    }
}

/// Journals in files and nowhere else.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionFileStore;

impl JournalStore for SessionFileStore {}
