//! How much is copied, how long that may take, and how long it is kept.

use std::time::Duration;

/// The bounds of everything that is done for undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointLimits {
    /// The largest file that is copied before a command runs.
    pub file_bytes: u64,
    /// The largest file that is copied before a tool changes it.
    pub written_bytes: u64,
    /// How much is copied before a command, or after it.
    pub total_bytes: u64,
    /// Files that are looked at.
    pub files: usize,
    /// Entries of one folder; a folder with more is left out, with everything below it.
    pub folder_entries: usize,
    /// How long looking and copying may take before a command, and after it.
    pub time: Duration,
    /// Checkpoints that are older are removed.
    pub age: Duration,
    /// What the checkpoints of a folder may take; the oldest go first.
    pub stored_bytes: u64,
}

impl Default for CheckpointLimits {
    fn default() -> Self {
        Self {
            file_bytes: 4 << 20,
            written_bytes: 16 << 20,
            total_bytes: 256 << 20,
            files: 100_000,
            folder_entries: 20_000,
            time: Duration::from_secs(2),
            age: Duration::from_secs(30 * 24 * 60 * 60),
            stored_bytes: 1 << 30,
        }
    }
}
