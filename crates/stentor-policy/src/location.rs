//! Whether what a call touches is inside the folder.

use std::path::{Path, PathBuf};

use super::resolve::resolve;
use super::rule::Subject;

/// Where the paths of a call are.
#[derive(Debug)]
pub(super) struct CallLocation {
    /// The first path that is not in the working folder or one like it.
    outside: Option<PathBuf>,
    /// The same, where folders that may be read count as inside.
    unreadable: Option<PathBuf>,
    names_no_path: bool,
}

impl CallLocation {
    pub(super) fn of(subject: &Subject<'_>, roots: &[PathBuf], readable: &[PathBuf]) -> Self {
        let roots: Vec<PathBuf> = std::iter::once(subject.cwd)
            .chain(roots.iter().map(PathBuf::as_path))
            .filter_map(resolve)
            .collect();
        let readable: Vec<PathBuf> = readable.iter().filter_map(|path| resolve(path)).collect();
        let is_in = |path: &Path, folders: &[PathBuf]| {
            folders.iter().any(|folder| path.starts_with(folder))
        };
        let first_not_in = |folders: &[&[PathBuf]]| {
            subject
                .paths
                .iter()
                .find(|path| match &path.resolved {
                    Some(resolved) => !folders.iter().any(|folders| is_in(resolved, folders)),
                    None => true,
                })
                .map(|path| path.resolved.as_ref().unwrap_or(&path.given).clone())
        };
        Self {
            outside: first_not_in(&[&roots]),
            unreadable: first_not_in(&[&roots, &readable]),
            names_no_path: subject.paths.is_empty(),
        }
    }

    /// Reading here is like reading in the folder.
    pub(super) fn is_readable(&self) -> bool {
        self.unreadable.is_none()
    }

    /// Writing here is like writing in the folder. A call that does not say where it writes is not.
    pub(super) fn is_writable(&self) -> bool {
        self.outside.is_none() && !self.names_no_path
    }

    /// The path that is outside, if one is.
    pub(super) fn outside(&self) -> Option<&Path> {
        self.outside.as_deref()
    }
}
