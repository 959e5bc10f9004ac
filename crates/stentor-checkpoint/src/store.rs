//! Where checkpoints are: below one folder of the program's own, a folder for each folder of the user.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::FlockOperation;

use crate::checkpoint::{self, Changes, CheckpointId};
use crate::content_hash::ContentHash;
use crate::limits::CheckpointLimits;
use crate::objects::Objects;
use crate::own_file::own_file;
use crate::tree::{FolderTree, is_git};

/// The checkpoints of all folders.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    pub(crate) root: PathBuf,
    pub(crate) limits: CheckpointLimits,
    left_out: Vec<PathBuf>,
}

impl Checkpoints {
    /// Those below `root`, which need not be there yet.
    pub fn in_folder(root: PathBuf, limits: CheckpointLimits) -> Self {
        Self {
            left_out: vec![root.clone()],
            root,
            limits,
        }
    }

    /// The same, which never look at these folders: what the program itself keeps there is not the
    /// user's work.
    #[must_use]
    pub fn leaving_out(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.left_out.extend(folders);
        self
    }

    /// Those of a folder of the user.
    pub fn of_folder(&self, folder: &Path) -> FolderStore {
        const DIGITS: usize = 24;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = ContentHash::of(folder.as_os_str().as_bytes()).to_string();
        let name: String = name.chars().take(DIGITS).collect();
        FolderStore::at(self.root.join(name), folder, self.clone())
    }
}

/// Where a path really is, also if its end is not there yet.
fn really(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or_else(|| path.to_owned())
}

/// The checkpoints of one folder of the user.
#[derive(Debug, Clone)]
pub struct FolderStore {
    /// The folder of the user.
    pub(crate) folder: PathBuf,
    /// The folders that a session has besides.
    pub(crate) additional: Vec<PathBuf>,
    /// Where its checkpoints are.
    pub(crate) place: PathBuf,
    pub(crate) objects: Objects,
    pub(crate) all: Checkpoints,
    left_out: Arc<OnceLock<Vec<PathBuf>>>,
}

impl FolderStore {
    pub(crate) fn at(place: PathBuf, folder: PathBuf, all: Checkpoints) -> Self {
        Self {
            objects: Objects::in_folder(place.join("objects")),
            folder,
            additional: Vec::new(),
            place,
            all,
            left_out: Arc::default(),
        }
    }

    /// The same for a session that has these folders besides. One that is in the session's folder is
    /// none of its own, and one in a `.git` is never touched.
    #[must_use]
    pub fn including<'a>(&self, folders: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut store = Self {
            left_out: Arc::default(),
            ..self.clone()
        };
        for folder in folders.into_iter().map(|folder| really(folder)) {
            let is_known = folder.starts_with(&store.folder) || store.additional.contains(&folder);
            let is_usable = folder.is_absolute() && !folder.iter().any(is_git);
            if is_usable && !is_known {
                store.additional.push(folder);
            }
        }
        store
    }

    /// The path by which a file is known that is in a folder of the session.
    pub(crate) fn path_of(&self, file: &Path) -> Option<PathBuf> {
        let path = match file.strip_prefix(&self.folder) {
            Ok(path) => path,
            Err(_) => file,
        };
        self.covers(path).then(|| path.to_owned())
    }

    /// True when a path is one below a folder of the session that is looked at and changed at all.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let mut additional = self.additional.iter();
        let below = |folder: &PathBuf| path.strip_prefix(folder).is_ok_and(FolderTree::covers);
        FolderTree::covers(path) || additional.any(below)
    }

    /// What is never looked at, by its path. Found out when it is first needed: a session is to
    /// start before it runs a command.
    pub(crate) fn left_out(&self) -> &[PathBuf] {
        self.left_out.get_or_init(|| {
            let of_program = self.all.left_out.iter().map(|path| really(path));
            // A folder inside another is looked at by itself.
            let all = of_program.chain(self.additional.iter().cloned());
            let inside = all.filter_map(|path| self.path_of(&path));
            let own = Some(self.folder.clone()).filter(|own| self.covers(own));
            inside.chain(own).collect()
        })
    }

    /// True when a checkpoint is here.
    pub fn has(&self, id: &CheckpointId) -> bool {
        self.file_of(id).is_file()
    }

    /// Appends what a session has changed to a checkpoint.
    pub fn append(&self, id: &CheckpointId, session: &str, changes: &Changes) -> io::Result<()> {
        checkpoint::append(&self.file_of(id), session, changes, &self.additional)
    }

    /// Notes in a checkpoint that a job in the background has begun, or ended.
    pub(crate) fn append_job(
        &self,
        id: &CheckpointId,
        session: &str,
        job: &str,
        has_ended: bool,
    ) -> io::Result<()> {
        checkpoint::append_job(&self.file_of(id), session, job, has_ended)
    }

    pub(crate) fn file_of(&self, id: &CheckpointId) -> PathBuf {
        self.runs().join(format!("{id}.jsonl"))
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.place.join("runs")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.place.join("index")
    }

    /// Makes the folders, for their owner alone, and keeps what is in them from being removed.
    pub fn hold(&self) -> io::Result<HeldCheckpoints> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(self.runs())?;
        let name = self.place.join("folder");
        if !name.exists() {
            own_file(&name)?.write_all(self.folder.as_os_str().as_bytes())?;
        }
        let lock = self.lock_file()?;
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        Ok(HeldCheckpoints { _lock: lock })
    }

    pub(crate) fn lock_file(&self) -> io::Result<File> {
        own_file(&self.place.join("lock"))
    }
}

/// While it is there, nothing of a folder's checkpoints is removed.
#[derive(Debug)]
pub struct HeldCheckpoints {
    _lock: File,
}
