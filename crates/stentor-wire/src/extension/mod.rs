//! The messages between the agent and an extension: a program that adds tools, commands and hooks.
//!
//! JSON-RPC 2.0, one message a line, over the extension's stdin and stdout. `docs/extensions.md`
//! describes it for the authors of extensions; [`SCHEMA`] is the same for programs. [`method`] has
//! the names, the other modules the parameters and results. Unknown fields are ignored on both
//! sides, so that a newer side can say more to an older one.

mod content;
mod display;
mod execution;
mod hook;
mod messages;
mod register;
mod requests;

#[cfg(test)]
mod schema;

pub mod method;

pub use content::{Content, ContentInput, Image, Text};
pub use display::{
    EditorTextParams, Level, LogParams, NotifyParams, Placement, StatusParams, TitleParams,
    WidgetParams,
};
pub use execution::{
    CancelParams, CommandRunParams, CommandRunResult, ToolProgressParams, ToolRunParams,
    ToolRunResult,
};
pub use hook::{
    AfterToolParams, AfterToolResult, BeforePromptParams, BeforePromptResult, BeforeToolParams,
    BeforeToolResult, EventParams, SessionEndParams,
};
pub use messages::{DeliverAs, JoinAs, MessageSendParams, UserMessageSendParams};
pub use register::{
    AgentInfo, CommandDeclaration, Effect, HookName, InitializeParams, InitializeResult,
    RegisterParams, SessionInfo, ToolDeclaration,
};
pub use requests::{
    ConfirmParams, ConfirmResult, EditorParams, InputParams, SelectOption, SelectParams,
    StateGetParams, StateGetResult, StateSetParams, StateSetResult, ValueResult,
};

/// The version of the protocol. An extension that answers with another one is not used.
pub const PROTOCOL_VERSION: u32 = 1;

/// The longest line an extension may write. A longer one is dropped, and with it the calls that
/// were waiting for it.
pub const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// The JSON Schema of all messages.
pub const SCHEMA: &str = include_str!("schema.json");

/// An answer that says nothing: `{}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Nothing {}
