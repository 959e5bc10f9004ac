//! Messages that an extension sends into the conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::ContentInput;

/// Parameters of `message/send`: a message in the extension's own name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MessageSendParams {
    /// What kind of message it is, for who shows it.
    pub custom_type: String,
    /// What the model reads.
    pub content: ContentInput,
    /// False: clients do not show it.
    #[serde(default = "shown")]
    pub display: bool,
    /// For programs; no model reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// True: begins a run where none goes on. False: does not steer one that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_turn: Option<bool>,
    /// When it is delivered; absent: it steers a run that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver_as: Option<DeliverAs>,
}

fn shown() -> bool {
    true
}

/// When a message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeliverAs {
    /// As soon as the run that goes on looks.
    Steer,
    /// When the run that goes on would end.
    FollowUp,
    /// Behind the next prompt of the user.
    NextTurn,
}

/// Parameters of `message/sendUser`: a message in the name of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserMessageSendParams {
    pub content: ContentInput,
    /// How it joins a run that goes on; without it, it is refused then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver_as: Option<JoinAs>,
}

/// How a message joins a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum JoinAs {
    Steer,
    FollowUp,
}
