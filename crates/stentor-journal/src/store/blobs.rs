//! Large pictures, kept once beside the sessions instead of once per copy of a message.
//!
//! A picture whose base64 text is longer than [`INLINE_BYTES`] is written to
//! `<session folder>/blobs/<sha256 of the decoded bytes>`, and the entry holds
//! `"data":"blob:sha256:<hex>"`, omp's form. Shorter ones stay in the entry, where every program
//! finds them, unless whoever has the journal wants all of them put out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::entry::{Entry, EntryKind};
use super::error::StoreError;
use super::names::hex;
use crate::message::{ContentBlock, ImageBlock, KnownBlock, KnownMessage, Message, UserContent};
use crate::private_file::{FileReplacement, PRIVATE, create_folder};

/// The longest base64 text that usually stays in the entry.
pub(super) const INLINE_BYTES: usize = 64 * 1024;
pub(super) const REFERENCE: &str = "blob:sha256:";
const HASH_DIGITS: usize = 64;
/// A picture larger than this was not written by this program and is not loaded.
const MAX_BLOB_BYTES: u64 = 256 * 1024 * 1024;
/// So many blobs may wait for the next sync; one more is synced at once.
const MAX_UNSYNCED: usize = 64;

/// The pictures of the sessions in one folder.
#[derive(Debug, Clone)]
pub(super) struct Blobs {
    dir: PathBuf,
    /// Where omp keeps its blobs: beside its `sessions` folder, two levels up from a session.
    of_omp: Option<PathBuf>,
    unsynced: Arc<std::sync::Mutex<Vec<PathBuf>>>,
    /// The longest base64 text that stays in its entry.
    inline_bytes: usize,
}

impl Blobs {
    /// The pictures of the session file `session`.
    pub(super) fn of(session: &Path) -> Self {
        let folder = session.parent().unwrap_or(Path::new("."));
        let of_omp = folder.parent().and_then(Path::parent);
        Self {
            dir: folder.join("blobs"),
            of_omp: of_omp.map(|root| root.join("blobs")),
            unsynced: Arc::default(),
            inline_bytes: INLINE_BYTES,
        }
    }

    /// From here on pictures stay in their entries. Those that are blobs are still found.
    pub(super) fn keep_inline(&mut self) {
        self.inline_bytes = usize::MAX;
    }

    /// From here on no picture stays in its entry.
    pub(super) fn put_out_all(&mut self) {
        self.inline_bytes = 0;
    }

    /// `entry` as it is to be written: large pictures replaced by references to their blobs,
    /// which exist when this returns.
    pub(super) fn put_out<'e>(&self, entry: &'e Entry) -> Result<Cow<'e, Entry>, StoreError> {
        let is_large = |block: &ContentBlock| {
            matches!(block, ContentBlock::Known(KnownBlock::Image(image))
                if image.data.len() > self.inline_bytes)
        };
        if !blocks(&entry.kind).iter().any(is_large) {
            return Ok(Cow::Borrowed(entry));
        }
        let mut entry = entry.clone();
        for block in blocks_mut(&mut entry.kind) {
            if let ContentBlock::Known(KnownBlock::Image(image)) = block
                && image.data.len() > self.inline_bytes
                // Only what decodes to the very same text again may be replaced.
                && let Ok(bytes) = STANDARD.decode(image.data.as_bytes())
            {
                let hash = hex(&Sha256::digest(&bytes));
                self.write(&hash, &bytes)?;
                image.data = format!("{REFERENCE}{hash}").into();
            }
        }
        Ok(Cow::Owned(entry))
    }

    /// Makes the blobs written since the last call survive a power loss. Blocks.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let paths = std::mem::take(&mut *self.unsynced());
        if paths.is_empty() {
            return Ok(());
        }
        let synced = paths
            .iter()
            .try_for_each(|path| sync_file(path))
            .and_then(|()| sync_file(&self.dir));
        if synced.is_err() {
            self.unsynced().extend(paths);
        }
        synced
    }

    /// True when both are in the same folder.
    pub(super) fn are_with(&self, other: &Blobs) -> bool {
        self.dir == other.dir
    }

    fn write(&self, hash: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.dir.join(hash);
        let size = fs::symlink_metadata(&path).map(|found| (found.is_file(), found.len()));
        if matches!(size, Ok((true, size)) if size == bytes.len() as u64) {
            // Another session may have written it and not synced it yet.
            return self.note_unsynced(path);
        }
        create_folder(&self.dir).map_err(StoreError::io("create", &self.dir))?;
        let written = FileReplacement::begin(&path, PRIVATE).and_then(|mut new| {
            new.file().write_all(bytes)?;
            new.finish_unsynced()
        });
        written.map_err(StoreError::io("write", &path))?;
        self.note_unsynced(path)
    }

    fn note_unsynced(&self, path: PathBuf) -> Result<(), StoreError> {
        let mut unsynced = self.unsynced();
        if unsynced.contains(&path) {
            return Ok(());
        }
        if unsynced.len() >= MAX_UNSYNCED {
            drop(unsynced);
            return sync_file(&path);
        }
        unsynced.push(path);
        Ok(())
    }

    /// The bytes of a blob, checked against its name.
    fn read(&self, hash: &str) -> io::Result<Vec<u8>> {
        let own = read_blob(&self.dir.join(hash), hash);
        match (&own, &self.of_omp) {
            (Err(_), Some(of_omp)) => read_blob(&of_omp.join(hash), hash).or(own),
            _ => own,
        }
    }

    fn unsynced(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts pictures back into the entries of one reading; each is loaded once and shared.
pub(super) struct BlobReader<'b> {
    blobs: &'b Blobs,
    loaded: HashMap<String, Result<Arc<str>, String>>,
}

impl<'b> BlobReader<'b> {
    pub(super) fn new(blobs: &'b Blobs) -> Self {
        Self {
            blobs,
            loaded: HashMap::new(),
        }
    }

    /// Replaces references by pictures; one that is missing becomes a text block that says so.
    pub(super) fn bring_in(&mut self, entry: &mut Entry) {
        if !blocks(&entry.kind)
            .iter()
            .any(|block| reference(block).is_some())
        {
            return;
        }
        for block in blocks_mut(&mut entry.kind) {
            let Some((image, hash)) = reference(block) else {
                continue;
            };
            let loaded = self.loaded.entry(hash.to_owned()).or_insert_with(|| {
                let bytes = self.blobs.read(hash).map_err(|error| error.to_string())?;
                Ok(STANDARD.encode(bytes).into())
            });
            *block = match loaded {
                Ok(data) => ContentBlock::image(Arc::clone(data), image.mime_type.clone()),
                Err(_) => ContentBlock::text(format!(
                    "[image missing: {} {REFERENCE}{hash}]",
                    image.mime_type
                )),
            };
        }
    }

    /// What was missing, for people.
    pub(super) fn warnings(self) -> Vec<String> {
        let missing = self.loaded.into_iter().filter_map(|(hash, loaded)| {
            let why = loaded.err()?;
            Some(format!("the image {hash} is missing: {why}"))
        });
        let mut warnings: Vec<String> = missing.collect();
        warnings.sort();
        warnings
    }
}

fn reference(block: &ContentBlock) -> Option<(&ImageBlock, &str)> {
    let ContentBlock::Known(KnownBlock::Image(image)) = block else {
        return None;
    };
    let hash = image.data.strip_prefix(REFERENCE)?;
    is_hash(hash).then_some((image, hash))
}

/// True for lower-case hexadecimal of the right length: safe as a file name.
fn is_hash(text: &str) -> bool {
    text.len() == HASH_DIGITS
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn read_blob(path: &Path, hash: &str) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let mut file = File::open(path)?.take(MAX_BLOB_BYTES + 1);
    file.read_to_end(&mut bytes)?;
    if hex(&Sha256::digest(&bytes)) == hash {
        Ok(bytes)
    } else {
        Err(io::Error::other("the file is damaged"))
    }
}

fn sync_file(path: &Path) -> Result<(), StoreError> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(StoreError::io("sync", path))
}

/// The blocks of an entry that has any.
fn blocks(kind: &EntryKind) -> &[ContentBlock] {
    let content = match kind {
        EntryKind::Message { message } => match message.as_ref() {
            Message::Known(KnownMessage::User(user) | KnownMessage::Developer(user)) => {
                &user.content
            }
            Message::Known(KnownMessage::Custom(custom)) => &custom.content,
            Message::Known(KnownMessage::ToolResult(result)) => return &result.content,
            Message::Known(KnownMessage::Assistant(answer)) => return &answer.content,
            _ => return &[],
        },
        EntryKind::CustomMessage { content, .. } => content,
        _ => return &[],
    };
    match content {
        UserContent::Blocks(blocks) => blocks,
        UserContent::Text(_) => &[],
    }
}

/// The same, to be changed; a shared message is copied first.
fn blocks_mut(kind: &mut EntryKind) -> &mut [ContentBlock] {
    let content = match kind {
        EntryKind::Message { message } => match Arc::make_mut(message) {
            Message::Known(KnownMessage::User(user) | KnownMessage::Developer(user)) => {
                &mut user.content
            }
            Message::Known(KnownMessage::Custom(custom)) => &mut custom.content,
            Message::Known(KnownMessage::ToolResult(result)) => return &mut result.content,
            Message::Known(KnownMessage::Assistant(answer)) => return &mut answer.content,
            _ => return &mut [],
        },
        EntryKind::CustomMessage { content, .. } => content,
        _ => return &mut [],
    };
    match content {
        UserContent::Blocks(blocks) => blocks,
        UserContent::Text(_) => &mut [],
    }
}
