//! The file of the notes: one JSON object a line.

use std::fs::{DirBuilder, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Note;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum NoteLine {
    Note(Note),
    Forget { forget: String },
}

/// The file, and how far it was read.
pub(super) struct NotesFile {
    file: File,
    read_bytes: u64,
    /// The beginning of a line whose end was not there yet.
    partial: Vec<u8>,
}

impl NotesFile {
    /// The file, if there is one.
    pub fn open_existing(path: &Path) -> std::io::Result<Option<Self>> {
        match File::options().read(true).append(true).open(path) {
            Ok(file) => Ok(Some(Self::new(file))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file; it and its folder are made, for their owner alone, if there are none.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        if let Some(folder) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600);
        Ok(Self::new(options.open(path)?))
    }

    fn new(file: File) -> Self {
        Self {
            file,
            read_bytes: 0,
            partial: Vec::new(),
        }
    }

    /// Appends a line in one write, so that lines of several processes do not mix, and makes it
    /// last.
    pub fn append(&mut self, line: &NoteLine) -> std::io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        if self.ends_torn()? {
            bytes.insert(0, b'\n');
        }
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }

    /// The lines that were appended since the last call. Unreadable ones are skipped.
    pub fn read_new(&mut self) -> std::io::Result<Vec<NoteLine>> {
        let length = self.file.metadata()?.len();
        if length < self.read_bytes {
            // Somebody cut the file. What was known stays known, what is new is read.
            self.read_bytes = 0;
            self.partial.clear();
        }
        if length == self.read_bytes {
            return Ok(Vec::new());
        }
        self.file.seek(SeekFrom::Start(self.read_bytes))?;
        let taken = (&self.file)
            .take(length - self.read_bytes)
            .read_to_end(&mut self.partial)?;
        self.read_bytes += taken as u64;
        let whole = memchr::memrchr(b'\n', &self.partial).map_or(0, |end| end + 1);
        let rest = self.partial.split_off(whole);
        let lines = std::mem::replace(&mut self.partial, rest);
        Ok(lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .filter_map(|line| match serde_json::from_slice(line) {
                Ok(line) => Some(line),
                Err(error) => {
                    tracing::warn!(%error, "skipped an unreadable line of the notes");
                    None
                }
            })
            .collect())
    }

    /// Whether the last line was never finished.
    fn ends_torn(&mut self) -> std::io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length == 0 {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(length - 1))?;
        let mut last = [0];
        self.file.read_exact(&mut last)?;
        Ok(last != [b'\n'])
    }
}
