//! The commands found in the files of one project and user, cached until the files change.

use std::sync::{Arc, Mutex, PoisonError};

use super::book::CommandBook;
use super::folders::CommandFolders;
use super::scan::{self, CommandCandidate};
use crate::project_files::Project;

/// Knows what the files of one project and user say now. Nothing is read before somebody looks.
#[derive(Debug, Default)]
pub struct CommandCache {
    folders: Mutex<CommandFolders>,
    /// Held while the disk is looked at, so that it is not looked at twice at once.
    files: Mutex<Vec<CommandCandidate>>,
    book: Mutex<Arc<CommandBook>>,
}

impl CommandCache {
    /// What is in these folders.
    pub fn new(folders: CommandFolders) -> Self {
        Self {
            folders: Mutex::new(folders),
            ..Self::default()
        }
    }

    /// Has it look in other folders from now on. Waits for the disk if somebody is looking.
    pub fn set_folders(&self, folders: CommandFolders) {
        // The same files may mean something else there.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.clear();
        *self.folders.lock().unwrap_or_else(PoisonError::into_inner) = folders;
    }

    /// The project, and what of it may be read.
    pub fn project(&self) -> Project {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.project.clone()
    }

    /// What was found when somebody last looked. Never waits for the disk.
    pub fn seen(&self) -> Arc<CommandBook> {
        Arc::clone(&self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks whether files have changed, and reads them again if so. Waits for the disk.
    pub fn look(&self) -> Arc<CommandBook> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = folders.clone();
        let now = scan::scan(&folders);
        if now != *files {
            let book = Arc::new(CommandBook::read(&now, &folders));
            *self.book.lock().unwrap_or_else(PoisonError::into_inner) = book;
            *files = now;
        }
        self.seen()
    }
}
