//! What can go wrong between a parent and its child.

use std::io;

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the child could not be started: {0}")]
    Spawn(#[source] io::Error),
    /// It said something else first, or ended before it said anything.
    #[error("the child did not become ready: {0}")]
    NotReady(String),
    #[error("the child speaks version {0} of the protocol; only version 1 is supported")]
    Version(u64),
    /// The child answered with an error.
    #[error("{0}")]
    Refused(String),
    /// The child answered in a way that makes no sense.
    #[error("the child's answer to {command} cannot be read: {why}")]
    BadAnswer { command: &'static str, why: String },
    /// The command would be longer than a frame may be: put the text into a file and attach it.
    #[error("the command has {bytes} bytes; a frame may have at most {limit}")]
    TooLong { bytes: usize, limit: usize },
    #[error("the child has ended")]
    Gone,
}
