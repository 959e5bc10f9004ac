//! Whether frontends are served by a server instead of by the process that was started for them.

use serde_json::{Value as Json, json};

use super::error::ValueProblem;
use super::value::{SettingValue, WrittenValue};

/// When a frontend is served by a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachMode {
    /// Never, unless a flag asks for it.
    Never,
    /// If one listens on the usual socket.
    IfRunning,
    /// Always: one is started if none listens.
    Start,
}

impl AttachMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Never, Self::IfRunning, Self::Start];

    /// Its name in configuration files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::IfRunning => "if-running",
            Self::Start => "start",
        }
    }
}

impl SettingValue for AttachMode {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&Self::ALL.map(|mode| (mode.as_str(), mode)))
    }

    fn shown(&self) -> Json {
        json!(self.as_str())
    }
}
