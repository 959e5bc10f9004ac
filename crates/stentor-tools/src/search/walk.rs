//! Which files a search sees.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, Walk, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::fault::Fault;

/// Everything below `root` in the order of its paths: hidden files too, `.git` never, and nothing
/// that an ignore file names, whether or not there is a repository. Links are not followed.
pub(super) fn below(root: &Path) -> Walk {
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .sort_by_file_path(Ord::cmp)
        .build()
}

/// The entries of a walk until it is cancelled. What cannot be looked into is left out.
pub(super) fn entries<'a>(
    walk: Walk,
    cancel: &'a CancellationToken,
) -> impl Iterator<Item = Result<DirEntry, Fault>> + 'a {
    walk.filter_map(move |entry| {
        if cancel.is_cancelled() {
            return Some(Err(Fault::Aborted));
        }
        match entry {
            Ok(entry) => Some(Ok(entry)),
            Err(error) => {
                tracing::debug!(%error, "left out of a search");
                None
            }
        }
    })
}

/// The path as it is shown: relative to where the search began.
pub(super) fn shown(path: &Path, root: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let relative = match relative.as_os_str().is_empty() {
        // A search of one file shows its name.
        true => Path::new(path.file_name().unwrap_or_default()),
        false => relative,
    };
    relative.to_string_lossy().into_owned()
}

/// The root of a search, which must exist.
pub(super) fn root(path: PathBuf) -> Result<PathBuf, Fault> {
    match path.metadata() {
        Ok(_) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Fault::refused(format!(
            "Path not found: {}",
            path.display()
        ))),
        Err(error) => Err(Fault::system("stat", &path)(error)),
    }
}
