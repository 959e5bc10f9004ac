//! What can go wrong with the fleet.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

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
    /// No node has made it yet.
    #[error("there is no fleet of the tenant `{tenant}`; the first node makes it ({why})")]
    NoFleet { tenant: String, why: String },
    /// A stream was made by somebody else, and not for this.
    #[error(
        "the stream `{stream}` would lose sessions: {why}. Change it, or use another `prefix` in \
         [fleet]"
    )]
    Loses { stream: String, why: String },
    /// Another prefix with another tenant gives the same names.
    #[error(
        "the stream `{stream}` is another tenant's, with the subjects {subjects}: `prefix` and \
         `tenant` of both, joined with `_`, are the same. Use another `prefix` or `tenant` in [fleet]"
    )]
    OtherTenant { stream: String, subjects: String },
    /// What is acknowledged may be gone after a power loss.
    #[error(
        "{0}. Set `jetstream {{ sync_interval: always }}` in the configuration of the NATS servers \
         and name their monitoring addresses as `monitor` in [fleet], or say what holds \
         with `durability` in [fleet]: \"synced\", \"replicated\" or, to try things out, \"none\""
    )]
    Durability(String),
    /// The folder that a session needs could not be checked out.
    #[error("cannot check out {}: {why}", path.display())]
    Checkout { path: PathBuf, why: String },
    /// A session that moves would go on in other files.
    #[error(
        "the place `{label}` is another repository on the node `{node}`; give one of them another label \
         in [fleet.places]"
    )]
    OtherRepository { label: String, node: String },
    /// What is stored of a session is not what this program writes.
    #[error("the journal of the session {id} cannot be read: {why}")]
    Journal { id: String, why: String },
    #[error("cannot {doing} {}: {why}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        why: io::Error,
    },
    /// Another process has the name of this node.
    #[error("another process is in the fleet as node `{0}`; give each node a different name")]
    NameTaken(String),
    #[error("there is no node `{name}`; there {}", known(there))]
    UnknownNode { name: String, there: Vec<String> },
}

fn known(nodes: &[String]) -> String {
    match nodes {
        [] => "is none".to_owned(),
        nodes => format!("are: {}", nodes.join(", ")),
    }
}

impl FleetError {
    /// True when the servers have answered and said no.
    pub(crate) fn is_refusal(&self) -> bool {
        // What a client library makes of an answer of JetStream ends with both numbers of it.
        matches!(self, Self::Nats { why, .. } if why.contains("error code "))
    }

    /// What the file system said, with what was being done to which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |why| Self::Io { doing, path, why }
    }

    /// What the servers said, with what was being done.
    pub(crate) fn nats<E: Display>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |why| Self::Nats {
            doing,
            why: why.to_string(),
        }
    }
}
