//! The folders of a session, open at one moment, as one tree. What is in the session's own folder has
//! a path from there; what is in another one, an absolute path.

use std::io;
use std::path::{Path, PathBuf};

use crate::objects::Objects;
use crate::state::{PathState, UnstoredReason};
use crate::store::FolderStore;
use crate::tree::FolderTree;

/// The folders of a session.
pub(crate) struct Folders {
    /// The session's own is the first.
    open: Vec<OpenFolder>,
}

/// One of them.
pub(crate) struct OpenFolder {
    pub tree: FolderTree,
    /// Where it is.
    pub place: PathBuf,
    /// How the paths of what is in it begin: not at all in the session's own.
    pub prefix: PathBuf,
}

impl Folders {
    /// Opens them. Additional ones that are not there, or are links by now, are not among them.
    pub fn open(store: &FolderStore) -> io::Result<Self> {
        let own = OpenFolder {
            tree: FolderTree::open(&store.folder)?,
            place: store.folder.clone(),
            prefix: PathBuf::new(),
        };
        let additional = store.additional.iter().filter_map(|place| {
            let is_there = place.canonicalize().is_ok_and(|real| real == *place);
            Some(OpenFolder {
                tree: FolderTree::open(place).ok().filter(|_| is_there)?,
                place: place.clone(),
                prefix: place.clone(),
            })
        });
        Ok(Self {
            open: [own].into_iter().chain(additional).collect(),
        })
    }

    /// Those that are open.
    pub fn iter(&self) -> impl Iterator<Item = &OpenFolder> {
        self.open.iter()
    }

    /// What is at a path. Contents of at most `limit_bytes` are read, and stored where `objects` are
    /// given.
    pub fn state(&self, path: &Path, objects: Option<&Objects>, limit_bytes: u64) -> PathState {
        match self.find(path) {
            Ok((tree, path)) => tree.state(path, objects, limit_bytes),
            Err(error) => PathState::Unknown {
                size: 0,
                modified_ns: 0,
                why: UnstoredReason::Failed(error.to_string()),
            },
        }
    }

    /// Puts something where something else, or nothing, is. A folder that is in the way must be gone.
    pub fn put(&self, path: &Path, wanted: &PathState, objects: &Objects) -> io::Result<()> {
        let (tree, path) = self.find(path)?;
        tree.put(path, wanted, objects)
    }

    /// The folder that a path is in, the innermost if there are several, and the path from there.
    fn find<'a>(&self, path: &'a Path) -> io::Result<(&FolderTree, &'a Path)> {
        let holds = |folder: &&OpenFolder| match path.is_absolute() {
            true => folder.prefix.is_absolute() && path.starts_with(&folder.prefix),
            false => !folder.prefix.is_absolute(),
        };
        let length = |folder: &&OpenFolder| folder.prefix.components().count();
        let found = self.open.iter().filter(holds).max_by_key(length);
        let found = found.and_then(|folder| Some((&folder.tree, folder.below(path)?)));
        found.ok_or_else(|| io::Error::other("its folder is not there"))
    }
}

impl OpenFolder {
    /// A path from this folder, for one that is in it.
    pub fn below<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.prefix).ok()
    }
}

#[cfg(test)]
mod tests;
