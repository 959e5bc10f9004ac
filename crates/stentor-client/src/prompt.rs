//! What a child is given, and the lists it answers with.

use std::path::PathBuf;

/// A message for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentPrompt {
    /// What is said.
    pub text: String,
    /// Pictures that go with it.
    pub pictures: Vec<PromptPicture>,
    /// Pictures as files, for the dialect that takes only those. Filled in by the [`ChildAgent`].
    ///
    /// [`ChildAgent`]: crate::ChildAgent
    pub(crate) files: Vec<PathBuf>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPicture {
    /// For example `image/png`.
    pub mime_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// A conversation the agent has stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionInfo {
    /// What to resume or load it with.
    pub id: String,
    /// Its title, for people.
    pub title: Option<String>,
    /// The folder it works in.
    pub cwd: Option<String>,
    /// When it was last changed, as the agent writes times.
    pub updated_at: Option<String>,
}

/// A model the agent can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// What to choose it with.
    pub id: String,
    /// Its name, for people.
    pub name: String,
}

impl AgentPrompt {
    /// Text with pictures.
    pub fn with_pictures(text: impl Into<String>, pictures: Vec<PromptPicture>) -> Self {
        Self {
            text: text.into(),
            pictures,
            files: Vec::new(),
        }
    }
}

impl<T: Into<String>> From<T> for AgentPrompt {
    fn from(text: T) -> Self {
        Self::with_pictures(text, Vec::new())
    }
}
