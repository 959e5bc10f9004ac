//! The first exchange: who is there, and what the extension brings.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    pub protocol_version: u32,
    pub agent: AgentInfo,
    /// The name the extension has in the configuration.
    pub extension: String,
    pub session: SessionInfo,
}

/// Who started the extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentInfo {
    pub name: String,
    pub version: String,
}

/// The session the extension belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub id: String,
    /// The folder the session works in.
    pub cwd: String,
    /// True when the session is not new, so that there may be state of an earlier process.
    pub resumed: bool,
    /// True when the extension was restarted within this session.
    pub restarted: bool,
}

/// Result of `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    pub protocol_version: u32,
    #[serde(default)]
    pub tools: Vec<ToolDeclaration>,
    #[serde(default)]
    pub commands: Vec<CommandDeclaration>,
    /// What the extension wants to be asked about.
    // Any text is read: a name that is not known is no reason to refuse the rest.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<HookName>"))]
    pub hooks: Vec<String>,
    /// The types of events the extension wants to hear of; `*` for all.
    #[serde(default)]
    pub events: Vec<String>,
}

/// Parameters of `register`: what is present replaces what was registered before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RegisterParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDeclaration>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<CommandDeclaration>>,
}

/// A tool the model can call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolDeclaration {
    /// Letters, digits, `_` and `-`, at most 64. A built-in tool of the same name wins.
    pub name: String,
    /// For people; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
    /// What the permission policy goes by.
    #[serde(default)]
    pub effect: Effect,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Touches nothing outside the session.
    Nothing,
    /// Only looks. Calls of this kind may run together.
    Reads,
    /// Changes files.
    Writes,
    /// Runs programs or reaches the network.
    #[default]
    Executes,
}

/// A slash command the user can type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandDeclaration {
    /// Without the slash; no spaces.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What may follow the name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What an extension can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum HookName {
    #[serde(rename = "tool/before")]
    ToolBefore,
    #[serde(rename = "tool/after")]
    ToolAfter,
    #[serde(rename = "prompt/before")]
    PromptBefore,
}

impl HookName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ToolBefore, Self::ToolAfter, Self::PromptBefore];

    /// The hook of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.as_str() == name)
    }

    /// Its name, which is that of the method.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolBefore => super::method::TOOL_BEFORE,
            Self::ToolAfter => super::method::TOOL_AFTER,
            Self::PromptBefore => super::method::PROMPT_BEFORE,
        }
    }
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}
