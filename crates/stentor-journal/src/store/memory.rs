//! A journal kept in memory only, for sessions that leave nothing behind.

use std::path::Path;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::StoreError;
use super::entry::{Entry, EntryKind, SessionHeader};
use super::journal::{Journal, JournalReader, Totals};

/// Entries in a vector.
pub(super) struct MemoryJournal {
    header: SessionHeader,
    entries: Vec<Entry>,
}

impl MemoryJournal {
    /// A journal that has `entries` already.
    pub(super) fn new(header: SessionHeader, entries: Vec<Entry>) -> Self {
        Self { header, entries }
    }
}

impl Journal for MemoryJournal {
    fn header(&self) -> &SessionHeader {
        &self.header
    }

    fn path(&self) -> Option<&Path> {
        None
    }

    fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.entries.push(entry.clone());
        Ok(())
    }

    fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        Ok(Arc::new(MemoryReader::new(self.entries.clone())))
    }
}

/// Entries that were there at some moment.
pub(super) struct MemoryReader {
    entries: Vec<Entry>,
}

impl MemoryReader {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self { entries }
    }
}

impl JournalReader for MemoryReader {
    fn read_all(&self) -> Result<Vec<Entry>, StoreError> {
        Ok(self.entries.clone())
    }

    fn user_messages(&self) -> Result<Vec<(String, String)>, StoreError> {
        let texts = self.entries.iter().filter_map(|entry| {
            let EntryKind::Message { message } = &entry.kind else {
                return None;
            };
            let text = message.as_user()?.content.text();
            (!text.is_empty()).then(|| (entry.id.clone(), text))
        });
        Ok(texts.collect())
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        let mut totals = Totals::default();
        for entry in &self.entries {
            totals.count_entry(&entry.kind);
        }
        Ok(totals)
    }

    fn path_to(&self, entry_id: &str) -> Result<Vec<Entry>, StoreError> {
        let mut wanted = Some(entry_id);
        let mut path = Vec::new();
        for entry in self.entries.iter().rev() {
            if wanted == Some(entry.id.as_str()) {
                wanted = entry.parent_id.as_deref();
                path.push(entry.clone());
            }
        }
        if path.is_empty() {
            return Err(StoreError::NoEntry {
                id: entry_id.to_owned(),
            });
        }
        path.reverse();
        Ok(path)
    }

    fn newest_answer_is_on_path(&self, leaf: &str, response_id: &str) -> Result<bool, StoreError> {
        let mut wanted = Some(leaf);
        for entry in self.entries.iter().rev() {
            let is_on_path = wanted == Some(entry.id.as_str());
            if let EntryKind::Message { message } = &entry.kind
                && let Some(answer) = message.as_assistant()
                && answer.response_id.as_deref() == Some(response_id)
            {
                return Ok(is_on_path);
            }
            if is_on_path {
                wanted = entry.parent_id.as_deref();
            }
        }
        Ok(false)
    }
}
