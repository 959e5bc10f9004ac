//! What is at a path at one moment.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::content_hash::ContentHash;
use crate::path_text;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathState {
    /// Nothing.
    Absent,
    /// A file whose content is known.
    File {
        hash: ContentHash,
        size: u64,
        mode: u32,
    },
    /// A file whose content is not known.
    Unknown {
        size: u64,
        modified_ns: i64,
        why: UnstoredReason,
    },
    /// A symbolic link. What it leads to does not matter.
    Link {
        #[serde(with = "path_text")]
        target: PathBuf,
    },
    Folder {
        mode: u32,
    },
    /// A pipe, a socket, a device.
    Other,
}

/// Why the content of a file is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnstoredReason {
    TooLarge,
    /// Everything before it took all the time or space there is for a checkpoint.
    OverBudget,
    /// It is in no folder of the session.
    Outside,
    /// It could not be read, or what was read could not be stored.
    Failed(String),
}

impl fmt::Display for UnstoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it was too large to be copied"),
            Self::OverBudget => f.write_str("the folder was too large to be copied in time"),
            Self::Outside => f.write_str("it is outside the folder"),
            Self::Failed(why) => write!(f, "it could not be copied: {why}"),
        }
    }
}

/// What a path looked like, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathStamp {
    pub kind: PathKind,
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
    pub inode: u64,
    pub mode: u32,
}

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    File,
    Folder,
    Link,
    Other,
}
