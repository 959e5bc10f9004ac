//! What is in the subject of a session's journal.
//!
//! The first message is the header line of the session file. Messages with entries are parts of the
//! file behind it, in order; where a part ends says nothing about where a line ends. When a node
//! takes a session over it writes a message of its own, which says how many bytes of entries count:
//! what a writer that was interrupted left of an unfinished line does not. From then on the log
//! refuses whoever wrote before.

use async_nats::HeaderMap;

/// What a message is: `header`, `entries` or `owner`.
pub const KIND: &str = "Stentor-Kind";

/// The node that wrote it, and which life of it.
pub const WRITER: &str = "Stentor-Writer";

/// How many bytes of entries come before it.
pub const OFFSET: &str = "Stentor-Offset";

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    Header,
    Entries,
    Owner,
}

impl MessageKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Entries => "entries",
            Self::Owner => "owner",
        }
    }
}

/// What the headers of a message say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub kind: MessageKind,
    pub offset: u64,
    /// The node that wrote it, and which life of it.
    pub writer: String,
}

impl Label {
    /// Reads the headers of a message; `None` for one of another program or a later version.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).map(|value| value.as_str());
        let kind = match text(KIND)? {
            "header" => MessageKind::Header,
            "entries" => MessageKind::Entries,
            "owner" => MessageKind::Owner,
            _ => return None,
        };
        let offset = text(OFFSET)?.parse().ok()?;
        let writer = text(WRITER)?.to_owned();
        Some(Self {
            kind,
            offset,
            writer,
        })
    }
}
