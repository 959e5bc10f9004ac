//! The journal of a session that was opened by who perhaps adds nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use stentor_journal::store::{Entry, Journal, JournalReader, StoreError, Totals, memory_reader};

/// A journal in which the entries wait that a session makes by itself when it is opened. They are
/// written before the first that comes later; if none does, they are made again at the next opening.
pub(super) struct HeldJournal {
    journal: Box<dyn Journal>,
    waiting: VecDeque<Entry>,
    is_restored: bool,
}

impl HeldJournal {
    pub fn new(journal: Box<dyn Journal>) -> Self {
        Self {
            journal,
            waiting: VecDeque::new(),
            is_restored: false,
        }
    }

    pub fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    pub fn journal_mut(&mut self) -> &mut dyn Journal {
        &mut *self.journal
    }

    /// What is appended from here on is written.
    pub fn restored(&mut self) {
        self.is_restored = true;
    }

    pub fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        if !self.is_restored {
            self.waiting.push_back(entry.clone());
            return Ok(());
        }
        while let Some(first) = self.waiting.front() {
            self.journal.append(first)?;
            self.waiting.pop_front();
        }
        self.journal.append(entry)
    }

    /// The entries that wait, with their parents.
    pub fn parents(&self) -> HashMap<String, Option<String>> {
        let waiting = self.waiting.iter();
        let parents = waiting.map(|entry| (entry.id.clone(), entry.parent_id.clone()));
        parents.collect()
    }

    pub fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        let stored = self.journal.reader()?;
        if self.waiting.is_empty() {
            return Ok(stored);
        }
        Ok(Arc::new(HeldReader {
            stored,
            waiting: self.waiting.iter().cloned().collect(),
        }))
    }
}

/// What is stored, and what waits behind it.
struct HeldReader {
    stored: Arc<dyn JournalReader>,
    waiting: Vec<Entry>,
}

impl HeldReader {
    /// The waiting entries on the path to an entry, oldest first, and the stored one before them.
    fn waiting_to(&self, entry_id: &str) -> (Vec<Entry>, Option<String>) {
        let mut path = Vec::new();
        let mut next = Some(entry_id.to_owned());
        for entry in self.waiting.iter().rev() {
            if next.as_deref() == Some(&*entry.id) {
                next.clone_from(&entry.parent_id);
                path.push(entry.clone());
            }
        }
        path.reverse();
        (path, next)
    }
}

impl JournalReader for HeldReader {
    fn read_all(&self) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.stored.read_all()?;
        entries.extend_from_slice(&self.waiting);
        Ok(entries)
    }

    fn user_messages(&self) -> Result<Vec<(String, String)>, StoreError> {
        let mut messages = self.stored.user_messages()?;
        messages.extend(memory_reader(self.waiting.clone()).user_messages()?);
        Ok(messages)
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        let mut totals = self.stored.totals()?;
        for entry in &self.waiting {
            totals.count_entry(&entry.kind);
        }
        Ok(totals)
    }

    fn path_to(&self, entry_id: &str) -> Result<Vec<Entry>, StoreError> {
        let (waiting, stored) = self.waiting_to(entry_id);
        let mut path = match stored {
            Some(id) => self.stored.path_to(&id)?,
            None => Vec::new(),
        };
        path.extend(waiting);
        Ok(path)
    }

    /// No answer waits: a session makes none by itself.
    fn newest_answer_is_on_path(&self, leaf: &str, response_id: &str) -> Result<bool, StoreError> {
        match self.waiting_to(leaf).1 {
            Some(stored) => self.stored.newest_answer_is_on_path(&stored, response_id),
            None => Ok(false),
        }
    }
}
