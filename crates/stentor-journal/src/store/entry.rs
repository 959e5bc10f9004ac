//! One line of a session file: the header, or an entry.

use std::io::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::codec;
use super::line::{EntryHead, LineHead, mended, trimmed};
use crate::clock::parse_iso_time;
use crate::message::{
    BranchSummary, CompactionSummary, CustomMessage, KnownMessage, Message, UserContent,
};

/// The version of the format this program writes.
pub const CURRENT_VERSION: u32 = 3;

/// One entry of a session: a node of the conversation tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Eight hex digits, unique in the file.
    pub id: String,
    pub parent_id: Option<String>,
    /// ISO-8601.
    pub timestamp: String,
    pub kind: EntryKind,
}

/// What an entry records.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    Message {
        message: Arc<Message>,
    },
    ModelChange {
        provider: String,
        model_id: String,
    },
    ThinkingLevelChange {
        thinking_level: Option<String>,
    },
    Compaction(Compaction),
    /// What happened on a branch that was left.
    BranchSummary {
        from_id: String,
        summary: String,
        details: Option<Value>,
    },
    /// State of an extension; never in context.
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    /// A message of an extension; in context.
    CustomMessage {
        custom_type: String,
        content: UserContent,
        display: bool,
        details: Option<Value>,
        /// Who caused it, as omp notes it.
        attribution: Option<String>,
    },
    /// What stands for an earlier message from here on: nothing, or its role with other content.
    /// The newest edit of a message counts.
    ContextEdit {
        target_id: String,
        replacement: Option<UserContent>,
    },
    /// A bookmark on another entry; no label clears it.
    Label {
        target_id: String,
        label: Option<String>,
    },
    /// The session's name; an empty one clears it.
    SessionInfo {
        name: String,
    },
    /// A type this program does not know, or a known one with fields it cannot read. The map has
    /// every field but `id`, `parentId` and `timestamp`, so `type` is among them.
    Other(Map<String, Value>),
}

/// The record that everything before `first_kept_entry_id` is represented by a summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    pub summary: String,
    /// Empty, or the compaction's own id, when nothing is kept.
    #[serde(default)]
    pub first_kept_entry_id: String,
    #[serde(default)]
    pub tokens_before: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Fields of other programs (`fromHook`, `shortSummary`, `preserveData`, …), kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The first line of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionHeader {
    pub version: u32,
    pub id: String,
    /// ISO-8601.
    pub timestamp: String,
    pub cwd: String,
    /// The session this one was forked from, by path or id.
    pub parent_session: Option<String>,
    /// The name omp gives a session.
    pub title: Option<String>,
}

impl Entry {
    /// The message it stands for in a conversation, if it stands for one: a compaction for its
    /// summary.
    pub fn to_message(&self) -> Option<Arc<Message>> {
        let timestamp = parse_iso_time(&self.timestamp).unwrap_or_default();
        let message = match &self.kind {
            EntryKind::Message { message } => return Some(Arc::clone(message)),
            EntryKind::Compaction(compaction) => {
                let shown = ["shortSummary", "tokensAfter", "method"];
                let rest = compaction.extra.iter();
                let rest = rest.filter(|(name, _)| shown.contains(&name.as_str()));
                KnownMessage::CompactionSummary(CompactionSummary {
                    summary: compaction.summary.clone(),
                    tokens_before: compaction.tokens_before,
                    timestamp,
                    rest: rest
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect(),
                })
            }
            EntryKind::BranchSummary {
                from_id, summary, ..
            } => KnownMessage::BranchSummary(BranchSummary {
                summary: summary.clone(),
                from_id: from_id.clone(),
                timestamp,
                rest: Default::default(),
            }),
            EntryKind::CustomMessage {
                custom_type,
                content,
                display,
                details,
                attribution,
            } => KnownMessage::Custom(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                details: details.clone(),
                timestamp,
                rest: attribution
                    .iter()
                    .map(|by| ("attribution".to_owned(), by.as_str().into()))
                    .collect(),
            }),
            EntryKind::ModelChange { .. }
            | EntryKind::ThinkingLevelChange { .. }
            | EntryKind::Custom { .. }
            | EntryKind::ContextEdit { .. }
            | EntryKind::Label { .. }
            | EntryKind::SessionInfo { .. }
            | EntryKind::Other(_) => return None,
        };
        Some(Arc::new(message.into()))
    }

    /// Reads one line. `None` when it is no entry: not JSON, a header, or without an id.
    ///
    /// Bytes that are not UTF-8 and escapes of half a surrogate pair, both of which other programs
    /// write, become U+FFFD instead of costing the whole entry. An entry of which only the place in
    /// the tree can be read (a number or a nesting beyond all bounds) is an empty
    /// [`EntryKind::Other`], so that what hangs on it is not lost.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        match LineHead::of(line) {
            LineHead::Entry(head) => {
                Some(Self::whole(&head, line).unwrap_or_else(|| Self::placeholder(&head)))
            }
            LineHead::Preamble | LineHead::Unreadable => None,
        }
    }

    /// The entry of a line that begins with `head`, if all of it can be read.
    pub(super) fn whole(head: &EntryHead<'_>, line: &[u8]) -> Option<Self> {
        let line = trimmed(line);
        codec::read_entry(&head.kind, line)
            .or_else(|| codec::read_entry(&head.kind, mended(line).as_bytes()))
    }

    /// A message of which nothing can be read: it stays in the file, and nobody is told what it said.
    pub(super) fn lacks_its_message(&self) -> bool {
        match &self.kind {
            EntryKind::Message { message } => message.is_misshapen(),
            kind => matches!(kind, EntryKind::Other(_)) && kind.type_name() == "message",
        }
    }

    /// What stands for an entry of which only the head can be read.
    pub(super) fn placeholder(head: &EntryHead<'_>) -> Self {
        let kind = Value::String(head.kind.to_string());
        Self {
            id: head.id.to_string(),
            parent_id: head.parent_id.as_ref().map(ToString::to_string),
            timestamp: String::new(),
            kind: EntryKind::Other(Map::from_iter([("type".to_owned(), kind)])),
        }
    }

    /// The line that records the entry, with its LF.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = Vec::new();
        self.write_line(&mut line)?;
        Ok(line)
    }

    /// Writes that line.
    pub(super) fn write_line(&self, out: &mut impl Write) -> Result<(), serde_json::Error> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n").map_err(serde_json::Error::io)
    }
}

impl EntryKind {
    /// The value of the line's `type`.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Message { .. } => "message",
            Self::ModelChange { .. } => "model_change",
            Self::ThinkingLevelChange { .. } => "thinking_level_change",
            Self::Compaction(_) => "compaction",
            Self::BranchSummary { .. } => "branch_summary",
            Self::Custom { .. } => "custom",
            Self::CustomMessage { .. } => "custom_message",
            Self::ContextEdit { .. } => "context_edit",
            Self::Label { .. } => "label",
            Self::SessionInfo { .. } => "session_info",
            Self::Other(fields) => fields.get("type").and_then(Value::as_str).unwrap_or(""),
        }
    }

    /// The name this entry gives the session, `Some("")` when it takes the name away.
    pub fn session_name(&self) -> Option<&str> {
        match self {
            Self::SessionInfo { name } => Some(name),
            Self::Other(fields) if self.type_name() == "title_change" => {
                fields.get("title").and_then(Value::as_str)
            }
            _ => None,
        }
    }

    /// The model in use after this entry, if it says so.
    pub fn model(&self) -> Option<(String, String)> {
        match self {
            Self::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
            Self::Message { message } => message
                .as_assistant()
                .map(|answer| (answer.provider.clone(), answer.model.clone())),
            _ => None,
        }
    }
}

/// Why a line is no header.
#[derive(Debug, thiserror::Error)]
pub enum NoHeader {
    #[error("the first line is not a JSON object ({0})")]
    NotJson(#[from] serde_json::Error),
    #[error("the first line is not a session header")]
    AnotherType,
    #[error("the header has no id")]
    NoId,
    #[error("the header's version is not a number")]
    Version,
    #[error("it has a title but no session header")]
    OnlyTitle,
}

impl SessionHeader {
    /// A header of the current version.
    pub fn new(
        id: impl Into<String>,
        timestamp: impl Into<String>,
        cwd: impl Into<String>,
    ) -> Self {
        Self {
            version: CURRENT_VERSION,
            id: id.into(),
            timestamp: timestamp.into(),
            cwd: cwd.into(),
            parent_session: None,
            title: None,
        }
    }

    /// Reads a header line, or says why it is none.
    pub fn from_line(line: &[u8]) -> Result<Self, NoHeader> {
        let text = String::from_utf8_lossy(trimmed(line));
        let fields: Map<String, Value> = serde_json::from_str(&text)?;
        let text_of = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        if fields.get("type").and_then(Value::as_str) != Some("session") {
            return Err(NoHeader::AnotherType);
        }
        let id = text_of("id").ok_or(NoHeader::NoId)?;
        let version = match fields.get("version") {
            None => 1,
            Some(version) => version
                .as_u64()
                .and_then(|version| u32::try_from(version).ok())
                .ok_or(NoHeader::Version)?,
        };
        Ok(Self {
            version,
            id,
            timestamp: text_of("timestamp").unwrap_or_default(),
            cwd: text_of("cwd").unwrap_or_default(),
            parent_session: text_of("parentSession").or_else(|| text_of("branchedFrom")),
            title: text_of("title"),
        })
    }

    /// The header's line, with its LF.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}
