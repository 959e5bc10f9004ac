//! The messages of a conversation, in the shapes of the version-3 session format.
//!
//! The same shapes are written to disk, sent to models (after lowering) and shown to clients, so
//! they are defined once, here. What another program wrote and this one does not know is kept as
//! it is: an unknown role becomes [`Message::Other`], an unknown block [`ContentBlock::Other`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::usage::Usage;

/// One message of a conversation, told apart by its role.
#[expect(
    clippy::large_enum_variant,
    reason = "messages live behind an Arc, the small one is rare"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Message {
    Known(KnownMessage),
    /// A role this program does not write. Kept and shown to clients as it is.
    Other(Map<String, Value>),
}

/// The roles this program understands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum KnownMessage {
    User(UserMessage),
    /// A reminder the agent itself injected; a model sees it as a user message.
    Developer(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    BashExecution(BashExecution),
    Custom(CustomMessage),
    BranchSummary(BranchSummary),
    CompactionSummary(CompactionSummary),
}

impl KnownMessage {
    /// When it was made, in milliseconds since the epoch.
    pub fn timestamp(&self) -> u64 {
        match self {
            Self::User(message) | Self::Developer(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.timestamp,
            Self::BashExecution(message) => message.timestamp,
            Self::Custom(message) => message.timestamp,
            Self::BranchSummary(message) => message.timestamp,
            Self::CompactionSummary(message) => message.timestamp,
        }
    }
}

/// The roles of [`KnownMessage`], as they are written.
const KNOWN_ROLES: [&str; 8] = [
    "user",
    "developer",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
];

/// What a person, or a program on their behalf, said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    pub content: UserContent,
    /// `user` or `agent`: who caused the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// True for text a person did not type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<bool>,
    /// True when it was steered into a running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<bool>,
    pub timestamp: u64,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Content of a user or custom message: plain text, or blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    pub content: Vec<ContentBlock>,
    /// The wire it came over, for example `anthropic-messages`.
    pub api: String,
    pub provider: String,
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
    pub stop_reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    pub timestamp: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Milliseconds from the request to the end of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// Milliseconds from the request to the first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<u64>,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    #[default]
    Stop,
    /// The output limit was hit.
    Length,
    ToolUse,
    Error,
    Aborted,
    /// A value another program wrote that means nothing here.
    #[serde(other)]
    Unknown,
}

/// The outcome of one tool call, as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    pub tool_call_id: String,
    pub tool_name: String,
    pub content: Vec<ContentBlock>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub is_error: bool,
    pub timestamp: u64,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A shell command the user ran beside the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    pub command: String,
    pub output: String,
    /// Absent when the command was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    pub timestamp: u64,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A message an extension put into the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    pub custom_type: String,
    pub content: UserContent,
    pub display: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub timestamp: u64,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The field of a user message that tells what kind of message it was before a model was to see it.
const CUSTOM_TYPE: &str = "customType";

impl CustomMessage {
    /// The same as a model sees it: said by a user, who has not typed it.
    pub fn as_said(&self) -> UserMessage {
        UserMessage {
            content: UserContent::Blocks(self.content.to_blocks()),
            attribution: None,
            synthetic: None,
            steering: None,
            timestamp: self.timestamp,
            rest: Map::from_iter([(CUSTOM_TYPE.to_owned(), self.custom_type.clone().into())]),
        }
    }
}

impl UserMessage {
    /// Of which kind it was, if it is [`CustomMessage::as_said`].
    pub fn custom_type(&self) -> Option<&str> {
        self.rest.get(CUSTOM_TYPE)?.as_str()
    }
}

/// What happened on a branch that was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    pub summary: String,
    pub from_id: String,
    pub timestamp: u64,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What stands for the part of the conversation that was compacted away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    pub summary: String,
    pub tokens_before: u64,
    pub timestamp: u64,
    /// Fields of other programs, kept as they are.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One block of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ContentBlock {
    Known(KnownBlock),
    /// A block another program wrote that means nothing here. Kept as it is.
    Other(Map<String, Value>),
}

/// The blocks this program understands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum KnownBlock {
    Text(TextBlock),
    Thinking(ThinkingBlock),
    RedactedThinking(RedactedThinking),
    ToolCall(ToolCall),
    Image(ImageBlock),
    Document(DocumentBlock),
}

/// Visible text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextBlock {
    pub text: String,
    /// Opaque provider data that must go back with the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
}

/// A model's reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    pub thinking: String,
    /// Opaque provider data (a signature, or encrypted reasoning) that must go back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
}

/// Reasoning the provider shows to nobody but wants back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedactedThinking {
    pub data: String,
}

/// A model's wish to have a tool run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// One line in which the model says what the call is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// A picture, base64 encoded. The text is shared, because messages are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    pub data: Arc<str>,
    pub mime_type: String,
}

/// A document a model may read as such: a PDF (base64), or a text file with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentBlock {
    /// Base64 for `application/pdf`, the text itself for `text/plain`.
    pub data: Arc<str>,
    pub mime_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// A user message made of blocks, as commands of clients make them.
    pub fn user(blocks: Vec<ContentBlock>, timestamp: u64) -> Self {
        Self::Known(KnownMessage::User(UserMessage {
            content: UserContent::Blocks(blocks),
            attribution: Some("user".to_owned()),
            synthetic: None,
            steering: None,
            timestamp,
            rest: Default::default(),
        }))
    }

    /// When it was made, in milliseconds since the epoch; zero where it does not say.
    pub fn timestamp(&self) -> u64 {
        match self {
            Self::Known(known) => known.timestamp(),
            Self::Other(fields) => {
                let time = fields.get("timestamp").and_then(Value::as_u64);
                time.unwrap_or_default()
            }
        }
    }

    /// The same message with other content, if it is of a kind that has any to replace.
    pub fn with_content(&self, content: &UserContent) -> Option<Self> {
        let Self::Known(known) = self else {
            return None;
        };
        let mut known = known.clone();
        match &mut known {
            KnownMessage::User(message) => message.content = content.clone(),
            KnownMessage::Custom(message) => message.content = content.clone(),
            KnownMessage::Assistant(message) => message.content = content.to_blocks(),
            KnownMessage::ToolResult(message) => message.content = content.to_blocks(),
            KnownMessage::Developer(_)
            | KnownMessage::BashExecution(_)
            | KnownMessage::BranchSummary(_)
            | KnownMessage::CompactionSummary(_) => return None,
        }
        Some(Self::Known(known))
    }

    /// True when it has no role, or one that this program understands but not the shape of it.
    pub fn is_misshapen(&self) -> bool {
        match self {
            Self::Known(_) => false,
            Self::Other(fields) => fields
                .get("role")
                .and_then(Value::as_str)
                .is_none_or(|role| KNOWN_ROLES.contains(&role)),
        }
    }

    /// The assistant message, if it is one.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Known(KnownMessage::Assistant(message)) => Some(message),
            _ => None,
        }
    }

    /// The user message, if it is one a person sent.
    pub fn as_user(&self) -> Option<&UserMessage> {
        match self {
            Self::Known(KnownMessage::User(message)) => Some(message),
            _ => None,
        }
    }

    /// The tool result, if it is one.
    pub fn as_tool_result(&self) -> Option<&ToolResultMessage> {
        match self {
            Self::Known(KnownMessage::ToolResult(message)) => Some(message),
            _ => None,
        }
    }
}

impl From<KnownMessage> for Message {
    fn from(message: KnownMessage) -> Self {
        Self::Known(message)
    }
}

impl UserContent {
    /// The text of all text blocks, joined.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => text_of(blocks, "\n"),
        }
    }

    /// The content as blocks; plain text is one text block.
    pub fn to_blocks(&self) -> Vec<ContentBlock> {
        match self {
            Self::Text(text) => vec![ContentBlock::text(text.clone())],
            Self::Blocks(blocks) => blocks.clone(),
        }
    }
}

impl AssistantMessage {
    /// The tool calls, in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::Known(KnownBlock::ToolCall(call)) => Some(call),
            _ => None,
        })
    }

    /// The visible text, blocks joined without a separator.
    pub fn text(&self) -> String {
        text_of(&self.content, "")
    }
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Known(KnownBlock::Text(TextBlock {
            text: text.into(),
            text_signature: None,
        }))
    }

    /// An image block from base64 text.
    pub fn image(data: impl Into<Arc<str>>, mime_type: impl Into<String>) -> Self {
        Self::Known(KnownBlock::Image(ImageBlock {
            data: data.into(),
            mime_type: mime_type.into(),
        }))
    }

    /// The text, if it is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Known(KnownBlock::Text(block)) => Some(&block.text),
            _ => None,
        }
    }
}

impl From<KnownBlock> for ContentBlock {
    fn from(block: KnownBlock) -> Self {
        Self::Known(block)
    }
}

/// The text blocks of `blocks`, joined by `separator`.
pub fn text_of(blocks: &[ContentBlock], separator: &str) -> String {
    let mut text = String::new();
    for (n, part) in blocks.iter().filter_map(ContentBlock::as_text).enumerate() {
        if n > 0 {
            text.push_str(separator);
        }
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_and_writes_back(line: &str) -> Message {
        let message: Message = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), line);
        message
    }

    #[test]
    fn messages_of_the_session_format_survive_a_round_trip() {
        for line in [
            r#"{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":1}"#,
            r#"{"role":"user","content":"plain","timestamp":1}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"ls","timeout":3}}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":2}"#,
            r#"{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"details":{},"isError":false,"timestamp":3}"#,
            r#"{"role":"bashExecution","command":"ls","output":"x","exitCode":0,"cancelled":false,"truncated":false,"timestamp":4}"#,
            r#"{"role":"developer","content":[{"type":"text","text":"a reminder"}],"attribution":"agent","timestamp":1}"#,
            r#"{"role":"custom","customType":"note","content":[{"type":"text","text":"a note"}],"display":false,"details":{"k":1},"timestamp":1,"attribution":"agent"}"#,
            r#"{"role":"branchSummary","summary":"s","fromId":"a1","timestamp":1}"#,
            r#"{"role":"compactionSummary","summary":"s","tokensBefore":9,"timestamp":1,"shortSummary":"s"}"#,
            r#"{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[],"isError":false,"timestamp":3,"prunedAt":9}"#,
            r#"{"role":"assistant","content":[{"type":"redactedThinking","data":"b3A="}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":2,"responseModel":"m-1","providerPayload":{"x":[1]},"completedAt":7}"#,
        ] {
            reads_and_writes_back(line);
        }
    }

    #[test]
    fn a_role_or_block_of_another_program_is_kept_as_it_is() {
        let line = r#"{"role":"pythonExecution","code":"1+1","timestamp":1}"#;
        assert!(matches!(reads_and_writes_back(line), Message::Other(_)));
        let line = r#"{"role":"user","content":[{"type":"hologram","depth":3}],"timestamp":1}"#;
        let message = reads_and_writes_back(line);
        let UserContent::Blocks(blocks) = &message.as_user().unwrap().content else {
            panic!("blocks expected")
        };
        assert!(matches!(blocks[0], ContentBlock::Other(_)));
    }

    #[test]
    fn an_unknown_stop_reason_does_not_lose_the_message() {
        let line = r#"{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","stopReason":"deferred","timestamp":2}"#;
        let message: Message = serde_json::from_str(line).unwrap();
        assert_eq!(
            message.as_assistant().unwrap().stop_reason,
            StopReason::Unknown
        );
    }
}
