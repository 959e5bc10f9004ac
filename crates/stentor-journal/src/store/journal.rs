//! The seam: where a session's entries are kept and who may append to them.

use std::path::Path;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::StoreError;
use super::entry::{Entry, EntryKind, SessionHeader};
use super::memory::{MemoryJournal, MemoryReader};
use crate::message::{KnownMessage, Message, StopReason};
use crate::usage::Usage;

/// The entries of one session, and the right to append to them.
///
/// Files now; anything that keeps an ordered log can stand behind it.
pub trait Journal: Send {
    /// The session's header.
    fn header(&self) -> &SessionHeader;

    /// The file, or `None` for a session that is kept only in memory.
    fn path(&self) -> Option<&Path>;

    /// Appends an entry. It has been handed to the kernel when this returns, so it survives the
    /// death of this process; a failed write leaves nothing of the entry behind.
    fn append(&mut self, entry: &Entry) -> Result<(), StoreError>;

    /// From here on pictures stay in their entries, however large: for programs that look nowhere
    /// else.
    fn keep_pictures_inline(&mut self) {}

    /// From here on no picture stays in its entry, however small: for who stores pictures elsewhere.
    fn put_out_pictures(&mut self) {}

    /// Makes everything appended before the call survive a power loss, including the pictures the
    /// entries refer to and the file's own name in its folder. Call at decision points: it takes
    /// about a millisecond, off the async threads.
    fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Why nothing said may be appended, where that is so: the session can only be read.
    fn read_only(&self) -> Option<&str> {
        None
    }

    /// Whether an entry survives the end of this process when [`Journal::append`] has returned. Where
    /// it does not, whoever acts on an entry waits for [`Journal::sync`] first.
    fn survives_process(&self) -> bool {
        true
    }

    /// Reads what has been appended so far. It may be sent to a thread that may block, while the
    /// journal goes on.
    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError>;

    /// [`JournalReader::read_all`] of now. Blocks.
    fn read_all(&self) -> Result<Vec<Entry>, StoreError> {
        self.reader()?.read_all()
    }

    /// [`JournalReader::user_messages`] of now. Blocks.
    fn user_messages(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.reader()?.user_messages()
    }

    /// [`JournalReader::totals`] of now. Blocks.
    fn totals(&self) -> Result<Totals, StoreError> {
        self.reader()?.totals()
    }

    /// [`JournalReader::path_to`] of now. Blocks.
    fn path_to(&self, entry_id: &str) -> Result<Vec<Entry>, StoreError> {
        self.reader()?.path_to(entry_id)
    }
}

/// The entries of a session up to a moment. Reading them may read the whole file.
pub trait JournalReader: Send + Sync {
    /// Every entry in append order, of all branches.
    fn read_all(&self) -> Result<Vec<Entry>, StoreError>;

    /// Entry id and text of every user message in append order, those without text left out.
    fn user_messages(&self) -> Result<Vec<(String, String)>, StoreError>;

    /// Sums over the whole session, all branches, in flat memory.
    fn totals(&self) -> Result<Totals, StoreError>;

    /// The entries from the root to `entry_id`, which is the last of them.
    fn path_to(&self, entry_id: &str) -> Result<Vec<Entry>, StoreError>;

    /// Whether the newest answer with this response id, of all branches, is on the path to `leaf`.
    fn newest_answer_is_on_path(&self, leaf: &str, response_id: &str) -> Result<bool, StoreError>;
}

/// Reads entries that are in memory.
pub fn memory_reader(entries: Vec<Entry>) -> Arc<dyn JournalReader> {
    Arc::new(MemoryReader::new(entries))
}

/// A journal that ends with the process.
pub fn memory(header: SessionHeader) -> Box<dyn Journal> {
    Box::new(MemoryJournal::new(header, Vec::new()))
}

/// A session ready to go on, with what is needed for it.
pub struct OpenedSession {
    pub journal: Box<dyn Journal>,
    /// The active path, oldest first, as far as it is in context: from the last compaction's first
    /// kept entry on, that compaction in its place; all of it when there was none. Only the last
    /// compaction in here counts, older ones may be among the kept entries.
    pub context: Vec<Entry>,
    /// The last entry; the parent of the next.
    pub leaf: Option<String>,
    pub name: Option<String>,
    /// Provider and model id.
    pub model: Option<(String, String)>,
    pub thinking_level: Option<String>,
    /// What was wrong with the file and what was done about it, for people. Logged already.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for OpenedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("path", &self.journal.path())
            .field("entries_in_context", &self.context.len())
            .field("leaf", &self.leaf)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// The custom entry that says what tools consumed of a model: a [`Usage`], and `model`,
/// `provider/id`. Entries of earlier versions are sums over all models, without a name.
pub const CONSUMED_BY_TOOLS: &str = "stentor.consumedByTools";

/// The custom entry that says what the model call for a summary consumed: a [`Usage`].
pub const CONSUMED_BY_SUMMARY: &str = "stentor.consumedBySummary";

/// Who consumed what an entry records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consumer {
    /// An answer of a model, `provider/id`.
    Model(String),
    /// A summary of the conversation, written by the model in use.
    Summary,
    /// Subagents and other tools that ask models: `provider/id`, if that was recorded.
    Tools(Option<String>),
}

/// What an entry says was consumed, if it says so.
pub(super) fn consumption(entry: &EntryKind) -> Option<(Consumer, Usage)> {
    match entry {
        EntryKind::Message { message } => {
            let answer = message.as_assistant()?;
            let model = format!("{}/{}", answer.provider, answer.model);
            Some((Consumer::Model(model), answer.usage))
        }
        EntryKind::Custom {
            custom_type,
            data: Some(data),
        } => {
            let consumer = match custom_type.as_str() {
                CONSUMED_BY_TOOLS => {
                    let model = data.get("model").and_then(Value::as_str);
                    Consumer::Tools(model.map(str::to_owned))
                }
                CONSUMED_BY_SUMMARY => Consumer::Summary,
                _ => return None,
            };
            Some((consumer, Usage::deserialize(data).ok()?))
        }
        _ => None,
    }
}

/// Sums over a session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Messages of any role.
    pub messages: u64,
    pub user_messages: u64,
    pub assistant_messages: u64,
    /// Those of them that are no answers but errors.
    pub failed_answers: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Model calls for summaries.
    pub summaries: u64,
    /// Tokens and cost of all answers, of summaries, and of what tools asked models.
    pub usage: Usage,
}

impl Totals {
    /// Adds one entry.
    pub fn count_entry(&mut self, entry: &EntryKind) {
        match entry {
            EntryKind::Message { message } => self.count(message),
            _ => {
                if let Some((consumer, usage)) = consumption(entry) {
                    self.usage.add(&usage);
                    self.summaries += u64::from(consumer == Consumer::Summary);
                }
            }
        }
    }

    /// Adds one message.
    pub fn count(&mut self, message: &Message) {
        self.messages += 1;
        let Message::Known(message) = message else {
            return;
        };
        match message {
            KnownMessage::User(_) => self.user_messages += 1,
            KnownMessage::Assistant(answer) => {
                self.assistant_messages += 1;
                self.failed_answers += u64::from(answer.stop_reason == StopReason::Error);
                self.tool_calls += answer.tool_calls().count() as u64;
                self.usage.add(&answer.usage);
            }
            KnownMessage::ToolResult(_) => self.tool_results += 1,
            KnownMessage::Developer(_)
            | KnownMessage::BashExecution(_)
            | KnownMessage::Custom(_)
            | KnownMessage::BranchSummary(_)
            | KnownMessage::CompactionSummary(_) => {}
        }
    }
}
