//! A session in a file.
//!
//! An entry is one line at the end of the file: one `write(2)`, or several if it is long, since a
//! second copy of a long answer would be made for nothing but the file. What it wrote is in the kernel
//! when [`Journal::append`] returns: the death of this process cannot lose it. A power loss can,
//! until [`Journal::sync`] has returned.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_core::future::BoxFuture;

use super::blobs::{BlobReader, Blobs};
use super::bytes::{Bytes, read_range};
use super::entry::{Entry, SessionHeader};
use super::error::StoreError;
use super::journal::{Journal, JournalReader, Totals};
use super::lock::SessionLock;
use super::repair::{FoundState, open_repaired, repair_tail};
use super::tail::tail_of;
use super::{scan, walk};

/// A longer line is written in several goes.
const WRITE_BYTES: usize = 64 * 1024;

/// Why nothing is appended to a session that was opened without its lock.
const ONLY_READ: &str = "it was opened to be read";

/// An open session file; nobody else may write to it.
pub(super) struct FileJournal {
    header: SessionHeader,
    path: PathBuf,
    file: Arc<File>,
    blobs: Blobs,
    /// Where the file must be cut before anything is written, after a write and its undoing failed.
    cut_at: Option<u64>,
    /// Whether the folder is known to have the file's name on disk.
    name_is_synced: Arc<AtomicBool>,
    /// Set as long as the file is as it was found.
    found: Option<FoundState>,
    /// `None` when nothing may be appended.
    lock: Option<SessionLock>,
}

impl FileJournal {
    /// A journal over `file`, opened for reading and appending, whose last line is whole.
    pub(super) fn new(header: SessionHeader, path: PathBuf, file: File, lock: SessionLock) -> Self {
        Self {
            header,
            blobs: Blobs::of(&path),
            path,
            file: Arc::new(file),
            cut_at: None,
            name_is_synced: Arc::default(),
            found: None,
            lock: Some(lock),
        }
    }

    /// A journal over a file that stays as it was found until something is appended. Without a lock
    /// nothing can be.
    pub(super) fn as_found(
        header: SessionHeader,
        path: PathBuf,
        file: File,
        lock: Option<SessionLock>,
        found: FoundState,
    ) -> Self {
        Self {
            header,
            blobs: Blobs::of(&path),
            path,
            file: Arc::new(file),
            cut_at: None,
            name_is_synced: Arc::default(),
            found: Some(found),
            lock,
        }
    }

    /// The file's bytes, in the current version.
    pub(super) fn bytes(&self) -> Arc<dyn Bytes + Send + Sync> {
        match self.found.as_ref().and_then(|found| found.lifted.as_ref()) {
            Some(lifted) => Arc::<Vec<u8>>::clone(lifted),
            None => Arc::<File>::clone(&self.file),
        }
    }

    /// Before the first entry is appended: what has to be done about the file is done now. What was
    /// unfinished when it was opened may be whole by now, and an older version lifted by others.
    fn repair(&mut self) -> Result<(), StoreError> {
        if self.lock.is_none() {
            return Err(StoreError::NotOurs {
                id: self.header.id.clone(),
                why: ONLY_READ.to_owned(),
            });
        }
        let Some(found) = &self.found else {
            return Ok(());
        };
        let mut warnings = Vec::new();
        match found.lifted {
            Some(_) => self.file = Arc::new(open_repaired(&self.path, &mut warnings)?.0),
            None => repair_tail(&self.file, &self.path, &mut warnings)?,
        }
        for warning in warnings {
            tracing::warn!(session = %self.header.id, "{warning}");
        }
        self.found = None;
        Ok(())
    }

    /// The pictures beside the file.
    pub(super) fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Appends whole lines.
    pub(super) fn append_lines(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        let appended = self.append_all(|mut file| file.write_all(lines))?;
        appended.map_err(StoreError::io("append to", &self.path))
    }

    /// Appends what `write` writes; when that fails, nothing of it stays.
    fn append_all<E>(
        &mut self,
        write: impl FnOnce(&File) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let size = self.size_to_append_at()?;
        // The descriptor is in append mode, so that a program that does not know the lock and
        // appends too cannot be overwritten.
        let written = write(&self.file);
        if written.is_err() && self.file.set_len(size).is_err() {
            self.cut_at = Some(size);
        }
        Ok(written)
    }

    fn size_to_append_at(&mut self) -> Result<u64, StoreError> {
        self.repair()?;
        let found = self.file.metadata().map_err(self.reading())?;
        if found.nlink() == 0 {
            return Err(StoreError::Vanished {
                path: self.path.clone(),
            });
        }
        match self.cut_at {
            None => Ok(found.len()),
            Some(size) => {
                self.file
                    .set_len(size)
                    .map_err(StoreError::io("repair", &self.path))?;
                self.cut_at = None;
                Ok(size)
            }
        }
    }

    fn reading(&self) -> impl FnOnce(io::Error) -> StoreError {
        StoreError::io("read", &self.path)
    }

    /// Where the whole lines end.
    pub(super) fn end(&self) -> Result<u64, StoreError> {
        let end = match (self.cut_at, &self.found) {
            (Some(size), _) => Ok(size),
            (None, Some(_)) => tail_of(&*self.bytes()).map(|tail| tail.keep),
            (None, None) => self.file.size(),
        };
        end.map_err(self.reading())
    }
}

impl Journal for FileJournal {
    fn header(&self) -> &SessionHeader {
        &self.header
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let stored = self.blobs.put_out(entry)?;
        let appended = self.append_all(|file| write_line(&stored, file))?;
        appended.map_err(|source| {
            if source.is_io() {
                StoreError::io("append to", &self.path)(source.into())
            } else {
                let id = entry.id.clone();
                StoreError::Unwritable { id, source }
            }
        })
    }

    fn keep_pictures_inline(&mut self) {
        self.blobs.keep_inline();
    }

    fn put_out_pictures(&mut self) {
        self.blobs.put_out_all();
    }

    fn read_only(&self) -> Option<&str> {
        self.lock.is_none().then_some(ONLY_READ)
    }

    fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        let file = Arc::clone(&self.file);
        let name_is_synced = Arc::clone(&self.name_is_synced);
        let blobs = self.blobs.clone();
        let path = self.path.clone();
        Box::pin(async move {
            let failed = StoreError::io("sync", &path);
            let synced = tokio::task::spawn_blocking(move || {
                blobs.sync()?;
                file.sync_data().map_err(StoreError::io("sync", &path))?;
                if !name_is_synced.load(Ordering::Acquire) {
                    sync_folder_of(&path)?;
                    name_is_synced.store(true, Ordering::Release);
                }
                Ok(())
            });
            synced
                .await
                .unwrap_or_else(|stopped| Err(failed(io::Error::other(stopped))))
        })
    }

    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        Ok(Arc::new(FileReader {
            path: self.path.clone(),
            bytes: self.bytes(),
            blobs: self.blobs.clone(),
            end: self.end()?,
        }))
    }
}

/// Writes an entry's line through a buffer.
fn write_line(entry: &Entry, file: &File) -> Result<(), serde_json::Error> {
    let mut buffer = BufWriter::with_capacity(WRITE_BYTES, file);
    let written = entry
        .write_line(&mut buffer)
        .and_then(|()| buffer.flush().map_err(serde_json::Error::io));
    // Taken apart, so that it does not try again to write what could not be written.
    drop(buffer.into_parts());
    written
}

/// The whole lines of a session file up to a moment. It does not hold the lock.
struct FileReader {
    path: PathBuf,
    bytes: Arc<dyn Bytes + Send + Sync>,
    blobs: Blobs,
    end: u64,
}

impl FileReader {
    fn reading(&self) -> impl FnOnce(io::Error) -> StoreError {
        StoreError::io("read", &self.path)
    }
}

impl JournalReader for FileReader {
    fn read_all(&self) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        let mut images = BlobReader::new(&self.blobs);
        scan::each_entry(&*self.bytes, self.end, |mut entry| {
            images.bring_in(&mut entry);
            entries.push(entry);
        })
        .map_err(self.reading())?;
        Ok(entries)
    }

    fn user_messages(&self) -> Result<Vec<(String, String)>, StoreError> {
        scan::user_messages(&*self.bytes, self.end).map_err(self.reading())
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        scan::totals(&*self.bytes, self.end).map_err(self.reading())
    }

    fn path_to(&self, entry_id: &str) -> Result<Vec<Entry>, StoreError> {
        let spans =
            walk::path_spans(&*self.bytes, self.end, Some(entry_id)).map_err(self.reading())?;
        if spans.is_empty() {
            return Err(StoreError::NoEntry {
                id: entry_id.to_owned(),
            });
        }
        let mut images = BlobReader::new(&self.blobs);
        let mut path = Vec::with_capacity(spans.len());
        for span in spans {
            let line =
                read_range(&*self.bytes, span.offset, span.length).map_err(self.reading())?;
            path.extend(Entry::from_line(&line).map(|mut entry| {
                images.bring_in(&mut entry);
                entry
            }));
        }
        Ok(path)
    }

    fn newest_answer_is_on_path(&self, leaf: &str, response_id: &str) -> Result<bool, StoreError> {
        walk::newest_answer_is_on_path(&*self.bytes, self.end, leaf, response_id)
            .map_err(self.reading())
    }
}

/// Makes the names in a file's folder survive a power loss. Blocks.
pub(super) fn sync_folder_of(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(StoreError::io("sync", folder))
}
