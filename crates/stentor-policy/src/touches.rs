//! What a call does to the world, and what it touches: what the policy decides on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::resolve::resolve;

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolEffect {
    /// Touches nothing outside the session, such as the plan.
    Nothing,
    /// Only looks. Calls of this kind run together.
    Reads,
    /// Changes files.
    Writes,
    /// Runs programs or reaches the network.
    Executes,
}

/// What one call would touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touches {
    /// Absolute paths as they were named, links and `..` included.
    pub paths: Vec<PathBuf>,
    /// Where each of them really is, once [`Touches::settle`] has looked; nothing for one whose
    /// links go in circles.
    pub settled: Option<Vec<Option<PathBuf>>>,
    /// The shell command, if there is one.
    pub command: Option<String>,
    /// The command is text for a program that runs already. That may be no shell, or one in which
    /// words mean something else by now, so no part of it is known to be harmless.
    pub is_input: bool,
    /// What it asks for over the network.
    pub web: Vec<WebAddress>,
    /// Whoever brought the tool says that it only reads. Nothing shows that this is true, so it is
    /// only a reason to ask where everything else is denied.
    pub claims_to_read: bool,
    /// The whole call in words, where nothing else says what it does: a tool without a name, of
    /// another agent. An "always" is about exactly these words.
    pub words: Option<String>,
}

/// What stands for the host where a provider's own server looks for something on the web.
pub const PROVIDER_HOST: &str = "the model's provider";

/// An address on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    /// What rules and answers are about: the host in lower case without a final dot, with `:PORT`
    /// where that is not the usual one of its scheme.
    pub host: String,
    /// The whole address, for people.
    pub url: String,
}

impl Touches {
    /// Follows the links of every path, once and for all: what is judged, what a person is asked
    /// about and what is opened then are the same, whatever the links say by that time.
    #[must_use]
    pub fn settle(mut self, cwd: &Path) -> Self {
        let really = |path: &PathBuf| resolve(&cwd.join(path));
        self.settled = Some(self.paths.iter().map(really).collect());
        self
    }
}
