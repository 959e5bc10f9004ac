//! What an extension shows.

use serde::{Deserialize, Serialize};

/// Parameters of `ui/notify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotifyParams {
    pub message: String,
    #[serde(default)]
    pub level: Level,
}

/// How important something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    Info,
    Warning,
    Error,
}

/// Parameters of `ui/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusParams {
    /// Which of the extension's lines; it has one without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Absent or `null`: the line goes away.
    #[serde(default)]
    pub text: Option<String>,
}

/// Parameters of `ui/widget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WidgetParams {
    /// Which of the extension's widgets; it has one without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Absent or `null`: the widget goes away.
    #[serde(default)]
    pub lines: Option<Vec<String>>,
    #[serde(default)]
    pub placement: Placement,
}

/// Where a widget is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    #[default]
    AboveEditor,
    BelowEditor,
}

/// Parameters of `ui/title`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TitleParams {
    pub title: String,
}

/// Parameters of `ui/editorText`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EditorTextParams {
    pub text: String,
}

/// Parameters of `log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogParams {
    pub message: String,
    #[serde(default)]
    pub level: Level,
}
