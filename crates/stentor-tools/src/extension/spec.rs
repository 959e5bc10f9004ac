//! What is configured about an extension.

use std::path::PathBuf;
use std::time::Duration;

use crate::json_rpc_child::{MESSAGE_INTERVAL, RestartPolicy};
use crate::process::Launcher;

/// An extension as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSpec {
    /// By which people know it; unique among the extensions of a session.
    pub name: String,
    /// The program and its arguments. Never empty when it came from a configuration.
    pub command: Vec<String>,
    /// Where it is started; the folder of the session when absent.
    pub cwd: Option<PathBuf>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// The events it may hear of; when absent those it asks for.
    pub events: Option<Vec<String>>,
    /// How long it may take to answer a hook. The time in which a person is asked does not count.
    pub timeout: Duration,
    /// How long it may take until it has registered. The first prompt waits for it.
    pub start_timeout: Duration,
    /// How often it may write a message in the long run; one that writes more often is slowed down.
    pub message_interval: Duration,
    pub restart: RestartPolicy,
    /// What happens to a call it should be asked about and cannot.
    pub when_broken: WhenBroken,
    /// What its yes-or-no questions are answered with where nobody can be asked: `None` tells it
    /// that nobody could.
    pub unasked: Option<bool>,
    /// How its process is started, and what it is held back from.
    pub launcher: Launcher,
}

/// What happens to a call that an extension should be asked about while it does not work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenBroken {
    /// It goes on as if the extension had said nothing.
    #[default]
    Allow,
    /// It is denied: for extensions that guard something.
    Deny,
}

impl ExtensionSpec {
    /// An extension with every default.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command,
            cwd: None,
            env: Vec::new(),
            events: None,
            timeout: Duration::from_secs(5),
            start_timeout: Duration::from_secs(10),
            message_interval: MESSAGE_INTERVAL,
            restart: RestartPolicy::default(),
            when_broken: WhenBroken::default(),
            unasked: None,
            launcher: Launcher::default(),
        }
    }
}
