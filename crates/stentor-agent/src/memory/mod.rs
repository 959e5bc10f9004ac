//! Notes the agent keeps across sessions: an append-only file, searched by words.
//!
//! **Invariants.** A note that [`MemoryStore::remember`] accepted is in the file as one whole line.
//! Several processes may write to one store: each reads what the others appended before it
//! answers. A line that cannot be read is skipped and stays in the file. A store of a project has
//! the notes of that project and no others, whatever is in its file.

mod file;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use stentor_journal::clock::{SharedClock, iso_time};

use file::NotesFile;

/// The longest note.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Notes that are kept; who wants more must forget some.
pub const MAX_NOTES: usize = 20_000;

/// Something worth remembering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub id: String,
    /// ISO-8601.
    pub time: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The session in which it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The folder it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// What a new note says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewNote {
    pub text: String,
    pub tags: Vec<String>,
    pub session: Option<String>,
    pub folder: Option<String>,
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("the note is empty")]
    Empty,
    #[error("the note has {bytes} bytes; the limit is {MAX_TEXT_BYTES}")]
    TooLong { bytes: usize },
    #[error("there are already {MAX_NOTES} notes; forget some first")]
    Full,
    #[error("there is no note {0}")]
    Unknown(String),
    #[error("{path}: {error}", path = .path.display())]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
}

/// The store. Nothing is read before the first question.
pub struct MemoryStore {
    path: PathBuf,
    of: Option<ProjectNotes>,
    clock: SharedClock,
    state: Mutex<MemoryState>,
}

/// Whose notes a store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectNotes {
    /// Notes that were written in this folder or below are the project's.
    pub project: PathBuf,
    /// A file with notes of all projects, from before each had its own. It is only read.
    pub older: PathBuf,
}

#[derive(Default)]
struct MemoryState {
    has_older: bool,
    file: Option<NotesFile>,
    notes: Vec<Note>,
    last_error: Option<String>,
    last_capture: Option<String>,
    captures: u64,
}

/// How the store is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStatus {
    /// False when the file cannot be used; `last_error` says why.
    pub ready: bool,
    pub notes: usize,
    /// Notes written by this process.
    pub captures: u64,
    /// ISO-8601.
    pub last_capture: Option<String>,
    pub last_error: Option<String>,
}

impl MemoryStore {
    /// The store in a file, which is made with the first note.
    pub fn new(path: impl Into<PathBuf>, clock: SharedClock) -> Arc<Self> {
        Arc::new(Self {
            path: path.into(),
            of: None,
            clock,
            state: Mutex::default(),
        })
    }

    /// The store of one project.
    pub fn of_project(path: impl Into<PathBuf>, of: ProjectNotes, clock: SharedClock) -> Arc<Self> {
        Arc::new(Self {
            path: path.into(),
            of: Some(of),
            clock,
            state: Mutex::default(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a note.
    pub fn remember(&self, new: NewNote) -> Result<Note, MemoryError> {
        let text = new.text.trim();
        if text.is_empty() {
            return Err(MemoryError::Empty);
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(MemoryError::TooLong { bytes: text.len() });
        }
        let mut state = self.refreshed()?;
        if state.notes.len() >= MAX_NOTES {
            return Err(MemoryError::Full);
        }
        let note = Note {
            id: state.new_id(&self.clock),
            time: iso_time(self.clock.now_ms()),
            text: text.to_owned(),
            tags: clean_tags(new.tags),
            session: new.session,
            folder: new.folder,
        };
        let done = state.append(
            &self.path,
            self.of.as_ref(),
            &file::NoteLine::Note(note.clone()),
        );
        self.noting(&mut state, done)?;
        state.captures += 1;
        state.last_capture = Some(note.time.clone());
        Ok(note)
    }

    /// Takes a note away.
    pub fn forget(&self, id: &str) -> Result<Note, MemoryError> {
        let mut state = self.refreshed()?;
        let note = state.notes.iter().find(|note| note.id == id).cloned();
        let note = note.ok_or_else(|| MemoryError::Unknown(id.to_owned()))?;
        let line = file::NoteLine::Forget {
            forget: id.to_owned(),
        };
        let done = state.append(&self.path, self.of.as_ref(), &line);
        self.noting(&mut state, done)?;
        Ok(note)
    }

    /// The notes that have the words of `query`, the best first. A word matches the beginning of
    /// a word of the text or of a tag, whatever the case.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Note>, MemoryError> {
        let state = self.refreshed()?;
        Ok(search::best(&state.notes, query, limit))
    }

    /// All notes, oldest first.
    pub fn notes(&self) -> Result<Vec<Note>, MemoryError> {
        Ok(self.refreshed()?.notes.clone())
    }

    /// The newest notes, newest first.
    pub fn recent(&self, limit: usize) -> Result<Vec<Note>, MemoryError> {
        let state = self.refreshed()?;
        Ok(state.notes.iter().rev().take(limit).cloned().collect())
    }

    /// How many notes have each tag.
    pub fn by_tag(&self) -> Result<BTreeMap<String, usize>, MemoryError> {
        let state = self.refreshed()?;
        let mut tags = BTreeMap::new();
        for tag in state.notes.iter().flat_map(|note| &note.tags) {
            *tags.entry(tag.clone()).or_insert(0) += 1;
        }
        Ok(tags)
    }

    /// How the store is.
    pub fn status(&self) -> MemoryStatus {
        let ready = self.refreshed().is_ok();
        let state = self.lock();
        MemoryStatus {
            ready,
            notes: state.notes.len(),
            captures: state.captures,
            last_capture: state.last_capture.clone(),
            last_error: state.last_error.clone(),
        }
    }

    /// The state with everything read that anybody appended.
    fn refreshed(&self) -> Result<MutexGuard<'_, MemoryState>, MemoryError> {
        let mut state = self.lock();
        let read = state.read_new(&self.path, self.of.as_ref());
        self.noting(&mut state, read)?;
        Ok(state)
    }

    fn noting<T>(
        &self,
        state: &mut MemoryState,
        done: std::io::Result<T>,
    ) -> Result<T, MemoryError> {
        done.map_err(|error| {
            state.last_error = Some(error.to_string());
            MemoryError::Io {
                path: self.path.clone(),
                error,
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryState {
    fn read_new(&mut self, path: &Path, of: Option<&ProjectNotes>) -> std::io::Result<()> {
        if let Some(of) = of.filter(|_| !self.has_older) {
            if let Some(mut older) = NotesFile::open_existing(&of.older)? {
                self.take(older.read_new()?, Some(of));
            }
            self.has_older = true;
        }
        if self.file.is_none() {
            self.file = NotesFile::open_existing(path)?;
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let lines = file.read_new()?;
        self.take(lines, of);
        Ok(())
    }

    fn take(&mut self, lines: Vec<file::NoteLine>, of: Option<&ProjectNotes>) {
        let belongs = |note: &Note| match (of, &note.folder) {
            (Some(of), Some(folder)) => Path::new(folder).starts_with(&of.project),
            (Some(_), None) => false,
            (None, _) => true,
        };
        for line in lines {
            match line {
                file::NoteLine::Note(note) => {
                    if belongs(&note) && !self.notes.iter().any(|known| known.id == note.id) {
                        self.notes.push(note);
                    }
                }
                file::NoteLine::Forget { forget } => self.notes.retain(|note| note.id != forget),
            }
        }
    }

    fn new_id(&self, clock: &SharedClock) -> String {
        loop {
            let id = format!("{:08x}", clock.random());
            if !self.notes.iter().any(|note| note.id == id) {
                return id;
            }
        }
    }

    fn append(
        &mut self,
        path: &Path,
        of: Option<&ProjectNotes>,
        line: &file::NoteLine,
    ) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(NotesFile::create(path)?),
        };
        file.append(line)?;
        self.read_new(path, of)
    }
}

fn clean_tags(tags: Vec<String>) -> Vec<String> {
    let mut clean: Vec<String> = tags
        .into_iter()
        .map(|tag| tag.trim().trim_start_matches('#').to_lowercase())
        .filter(|tag| !tag.is_empty() && tag.len() <= 64)
        .collect();
    clean.sort();
    clean.dedup();
    clean.truncate(16);
    clean
}
