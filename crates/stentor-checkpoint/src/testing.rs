//! A folder of a user with checkpoints of it, for tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Changes, CheckpointId, CheckpointLimits, Checkpoints, Recorder};

/// A folder, and a recorder of what happens in it.
pub(crate) struct Workshop {
    pub folder: TempDir,
    pub stored: TempDir,
    pub limits: CheckpointLimits,
    pub recorder: Recorder,
    runs: std::cell::Cell<usize>,
}

impl Workshop {
    pub fn new() -> Self {
        Self::with(CheckpointLimits::default())
    }

    pub fn with(limits: CheckpointLimits) -> Self {
        let (folder, stored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // Somebody has just looked: only what a test removes itself goes, and only then.
        let root = stored.path().join("checkpoints");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("pruned"), "").unwrap();
        let recorder = recorder(&folder, &stored, limits, "session");
        Self {
            folder,
            stored,
            limits,
            recorder,
            runs: Default::default(),
        }
    }

    /// The same for a session that has these folders besides its own.
    pub fn including(mut self, folders: &[&Path]) -> Self {
        let folders: Vec<PathBuf> = folders.iter().map(|&folder| folder.to_owned()).collect();
        let store = self.recorder.store().including(&folders);
        self.recorder = Recorder::new(store, "session");
        self
    }

    /// Another session in the folder.
    pub fn other_session(&self) -> Recorder {
        recorder(&self.folder, &self.stored, self.limits, "other")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| error.kind().to_string())
    }

    pub fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    pub fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    /// A run with one command that does `work`.
    pub fn command(&self, work: impl FnOnce()) -> CheckpointId {
        self.recorder.before_command();
        work();
        let changes = self.recorder.after_command();
        self.record(&changes)
    }

    /// A run with one tool that writes a file.
    pub fn tool(&self, name: &str, content: &str) -> CheckpointId {
        let before = self.recorder.before_write(&[self.path(name)]);
        self.write(name, content);
        let changes = self.recorder.after_write(before);
        self.record(&changes)
    }

    pub fn record(&self, changes: &Changes) -> CheckpointId {
        let run = self.runs.replace(self.runs.get() + 1);
        let id = CheckpointId::of_entry("session", &run.to_string());
        self.recorder.append(&id, changes).unwrap();
        self.recorder.finish();
        id
    }
}

/// What a command changed, a line each.
pub(crate) fn shown(changes: &Changes) -> Vec<String> {
    let files = changes.files.iter().map(|change| {
        let kind = |state: &crate::PathState| match state {
            crate::PathState::Absent => "absent",
            crate::PathState::File { .. } => "file",
            crate::PathState::Unknown { .. } => "unknown",
            crate::PathState::Link { .. } => "link",
            crate::PathState::Folder { .. } => "folder",
            crate::PathState::Other => "other",
        };
        let (before, after) = (kind(&change.before), kind(&change.after));
        format!("{}: {before} -> {after}", change.path.display())
    });
    let overlaps = changes.overlaps.iter();
    let overlaps = overlaps.map(|overlap| format!("perhaps {}", overlap.job));
    let unknown = changes.unknown.iter().cloned();
    files.chain(unknown).chain(overlaps).collect()
}

/// Nothing is read-only to root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn recorder(
    folder: &TempDir,
    stored: &TempDir,
    limits: CheckpointLimits,
    session: &str,
) -> Recorder {
    let all = Checkpoints::in_folder(stored.path().join("checkpoints"), limits);
    Recorder::new(all.of_folder(Path::new(folder.path())), session)
}
