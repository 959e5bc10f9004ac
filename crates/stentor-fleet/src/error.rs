//! What can go wrong with the fleet.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

/// Why the fleet could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A name that cannot be part of a subject.
    #[error(
        "`{}` cannot be the {what} of a fleet: use at most 64 letters, digits, `-` and `_`",
        name.escape_debug()
    )]
    BadName { what: &'static str, name: String },
    #[error("{}: {why}", path.display())]
    Credentials { path: PathBuf, why: io::Error },
    #[error("cannot connect to {url}: {why}")]
    Connect { url: String, why: String },
    /// The servers refused, or did not answer.
    #[error("the fleet cannot {doing}: {why}")]
    Nats { doing: &'static str, why: String },
    /// Another process has started under the name of this node.
    #[error("another process has joined the fleet as node `{0}`; give each node a name of its own")]
    NameTaken(String),
}

impl FleetError {
    /// What the servers said, with what was being done.
    pub(crate) fn nats<E: Display>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |why| Self::Nats {
            doing,
            why: why.to_string(),
        }
    }
}
