//! Which files a search sees: what its call was judged by, and what is below that.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, Walk, WalkBuilder};
use rustix::fs::{FileType, Mode};
use tokio_util::sync::CancellationToken;

use crate::file;
use crate::folder::Folder;
use crate::paths::FileTarget;
use crate::tool_error::ToolError;

/// Where a search begins.
pub(super) enum Root {
    Folder(SearchTree),
    /// It exists and is no folder.
    File,
}

/// A folder that is searched.
///
/// The walk goes by paths, in which somebody may put a link at any moment. So what it found is looked
/// at once more from the folder that was judged, a name at a time; what is not there is left out.
pub(super) struct SearchTree {
    folder: Folder,
    given: PathBuf,
    resolved: PathBuf,
    /// The folder of what was looked at last: most that follows is beside it.
    last: Option<(PathBuf, Folder)>,
}

/// Something below a root.
pub(super) struct SearchEntry {
    /// From the root.
    pub relative: PathBuf,
    /// The same below what the call named.
    pub path: PathBuf,
    pub is_link: bool,
    pub is_file: bool,
}

impl Root {
    /// Opens what the call was judged by, which must exist.
    pub(super) fn open(target: &FileTarget) -> Result<Self, ToolError> {
        let opened = Folder::open_target(target, "stat", file::LOOK_AT);
        let (file, metadata) = opened.map_err(|fault| match fault.code() {
            Some("ENOENT") => {
                ToolError::refused(format!("Path not found: {}", target.given.display()))
            }
            _ => fault,
        })?;
        if !metadata.is_dir() {
            return Ok(Self::File);
        }
        Ok(Self::Folder(SearchTree {
            folder: Folder::of_open(file),
            given: target.given.clone(),
            resolved: target.resolved()?.to_owned(),
            last: None,
        }))
    }
}

impl SearchTree {
    /// What is below, except the folder itself, until the walk is cancelled. What cannot be looked
    /// into is left out.
    pub(super) fn entries<'a>(
        &self,
        cancel: &'a CancellationToken,
    ) -> impl Iterator<Item = Result<SearchEntry, ToolError>> + use<'a> {
        let (given, resolved) = (self.given.clone(), self.resolved.clone());
        below(&self.resolved).filter_map(move |entry| {
            if cancel.is_cancelled() {
                return Some(Err(ToolError::Aborted));
            }
            match entry {
                Ok(entry) => Some(Ok(found(&entry, &given, &resolved)?)),
                Err(error) => {
                    tracing::debug!(%error, "left out of a search");
                    None
                }
            }
        })
    }

    /// What is there now, a link itself and not what it leads to.
    pub(super) fn kind(&mut self, relative: &Path) -> io::Result<FileType> {
        let (folder, name) = self.parent(relative)?;
        folder.kind(name, false)
    }

    /// Opens a plain file.
    pub(super) fn open_file(&mut self, relative: &Path) -> io::Result<File> {
        let (folder, name) = self.parent(relative)?;
        let file = folder.open(name, file::TO_READ, Mode::empty())?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn parent<'p>(&mut self, relative: &'p Path) -> io::Result<(&Folder, &'p OsStr)> {
        let parent = relative.parent().unwrap_or(Path::new(""));
        let name = relative.file_name().ok_or(io::ErrorKind::NotFound)?;
        let last = match self.last.take() {
            Some((path, folder)) if path == parent => (path, folder),
            _ => (parent.to_owned(), self.folder.below(parent)?),
        };
        Ok((&self.last.insert(last).1, name))
    }
}

/// Everything below `root` in the order of its paths: hidden files too, `.git` never, and nothing
/// that an ignore file names, whether or not there is a repository. Links are not followed.
fn below(root: &Path) -> Walk {
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .sort_by_file_path(Ord::cmp)
        .build()
}

fn found(entry: &DirEntry, given: &Path, resolved: &Path) -> Option<SearchEntry> {
    let relative = entry.path().strip_prefix(resolved).ok()?;
    (entry.depth() > 0).then(|| SearchEntry {
        path: given.join(relative),
        relative: relative.to_owned(),
        is_link: entry.path_is_symlink(),
        is_file: entry.file_type().is_some_and(|kind| kind.is_file()),
    })
}
