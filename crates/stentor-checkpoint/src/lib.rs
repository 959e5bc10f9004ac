//! Undo of files: what was in a folder before a run changed it, and how it comes back.
//!
//! A [`Recorder`] watches one session in its folder, and in those it has besides ([`folders`]). A tool that changes files names them, so they
//! are copied before; what a command changes is not known before, so the folder is looked at before
//! and after it ([`walk`]), and small files are copied before the first command. What changed is
//! appended to a [`checkpoint`], a file whose id the session records. [`rewind`] takes the
//! checkpoints of a session from a message on and puts back what was there before.
//!
//! Contents are kept by their hash in [`objects`], below a folder of the program's own, never in the
//! folder of the user. [`tree`] is the only place that touches the user's folder: it follows no link,
//! leaves `.git` alone and never leaves the folders of the session. Everything here waits for the disk.
//!
//! **Invariants.** What cannot be stored never keeps a tool from running. A file is put back only
//! where what is there now is what the session left there, unless somebody insists; and what is
//! overwritten then is stored before, so that a rewind can be undone, too.

pub mod checkpoint;
mod content_hash;
mod folders;
mod ignored;
mod index;
pub mod limits;
mod objects;
mod own_file;
mod path_text;
mod prune;
pub mod recorder;
pub mod rewind;
mod snapshot;
pub mod state;
mod store;
#[cfg(test)]
mod testing;
mod tree;
mod walk;

pub use checkpoint::{Changes, CheckpointId, PathChange};
pub use limits::CheckpointLimits;
pub use recorder::Recorder;
pub use state::PathState;
pub use store::{Checkpoints, FolderStore, HeldCheckpoints};
