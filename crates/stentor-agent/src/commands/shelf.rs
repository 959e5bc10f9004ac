//! The book of one folder, kept fresh.

use std::sync::{Arc, Mutex, PoisonError};

use super::book::CommandBook;
use super::folders::CommandFolders;
use super::scan::{self, Found};

/// Knows what the files of one project and user say now. Nothing is read before somebody looks.
#[derive(Debug, Default)]
pub struct Shelf {
    folders: CommandFolders,
    /// Held while the disk is looked at, so that it is not looked at twice at once.
    files: Mutex<Vec<Found>>,
    book: Mutex<Arc<CommandBook>>,
}

impl Shelf {
    /// What is in these folders.
    pub fn new(folders: CommandFolders) -> Self {
        Self {
            folders,
            ..Self::default()
        }
    }

    /// The folders.
    pub fn folders(&self) -> &CommandFolders {
        &self.folders
    }

    /// What was found when somebody last looked. Never waits for the disk.
    pub fn seen(&self) -> Arc<CommandBook> {
        Arc::clone(&self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks whether files have changed, and reads them again if so. Waits for the disk.
    pub fn look(&self) -> Arc<CommandBook> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let now = scan::scan(&self.folders);
        if now != *files {
            let book = Arc::new(CommandBook::read(&now, &self.folders));
            *self.book.lock().unwrap_or_else(PoisonError::into_inner) = book;
            *files = now;
        }
        self.seen()
    }
}
