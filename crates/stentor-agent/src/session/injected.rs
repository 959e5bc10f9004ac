//! What an extension says in a conversation.

use serde_json::Value;

use stentor_journal::message::{ContentBlock, UserContent};

/// A message of an extension.
#[derive(Debug, Clone, PartialEq)]
pub enum Injected {
    /// In its own name. A model reads it like one of the user.
    Custom {
        custom_type: String,
        content: UserContent,
        /// False: clients do not show it.
        display: bool,
        /// For programs; no model reads them.
        details: Option<Value>,
    },
    /// In the name of the user, and as it is: it calls no slash command and no hook is asked.
    User(Vec<ContentBlock>),
}

/// When a message of an extension is delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// How, where something runs; a message of its own steers, one of the user must say.
    pub deliver_as: Option<DeliverAs>,
    /// True: where nothing runs it begins a run. False: where something runs it neither steers nor
    /// prolongs it. A message in the name of the user always begins one.
    pub trigger_turn: Option<bool>,
}

/// How a message is delivered that cannot be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliverAs {
    Steer,
    FollowUp,
    /// Behind the next prompt of the user, whenever that comes.
    NextTurn,
}
