//! Files that go with a prompt (section 10).
//!
//! A path that breaks a rule, or a file that is not there, refuses the prompt. A file that cannot
//! be embedded (too large, of an unknown kind, or of a kind the model cannot take) stays with the
//! prompt as a note of its path, so that the agent can open it with its tools: the person who sent
//! it would otherwise see nothing at all.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{Mode, OFlags};
use stentor_agent::model::InputKind;
use stentor_journal::message::{ContentBlock, DocumentBlock, KnownBlock};
use stentor_wire::synaps::Attachment;

use super::limits;
use crate::picture;

/// Why a prompt is refused because of its files, in the words of section 10.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttachmentError {
    #[error("At most {} attachments are allowed", limits::MAX_ATTACHMENTS)]
    TooMany,
    #[error("attachment path must be absolute: {0}")]
    Relative(String),
    #[error("attachment path must not contain ..: {0}")]
    Upwards(String),
    #[error("Cannot open attachment (check path, permissions, and symlinks)")]
    Open,
    #[error("Cannot read attachment: {0}")]
    Read(#[from] std::io::Error),
    #[error("Attachment must be a regular file")]
    NoFile,
    #[error("Attachment is empty")]
    Empty,
    #[error("the attachments could not be read")]
    Crashed,
}

/// The blocks of a prompt: its text, then its files in order, the paths of the rest in front.
pub(super) fn read(
    message: String,
    files: &[Attachment],
    inputs: &[InputKind],
) -> Result<Vec<ContentBlock>, AttachmentError> {
    for file in files {
        check_path(&file.path)?;
    }
    if files.len() > limits::MAX_ATTACHMENTS {
        return Err(AttachmentError::TooMany);
    }
    let mut embedded = Vec::new();
    let mut left_out: Vec<&str> = Vec::new();
    let mut sum = 0;
    for file in files {
        let handle = open(&file.path)?;
        let size = size_of(&handle)?;
        if size > limits::MAX_FILE_BYTES || sum + size > limits::MAX_FILES_BYTES {
            left_out.push(&file.path);
            continue;
        }
        sum += size;
        let bytes = contents(handle)?;
        match bytes.and_then(|bytes| embed(&bytes, &title(file), inputs)) {
            Some(block) => embedded.push(block),
            None => left_out.push(&file.path),
        }
    }
    let mut text = String::new();
    if !left_out.is_empty() {
        let quoted: Vec<String> = left_out.iter().map(|path| quote(path)).collect();
        text = format!("[user attached files: {}]\n", quoted.join(", "));
    }
    text.push_str(&message);
    let mut blocks = Vec::with_capacity(embedded.len() + 1);
    if !text.trim().is_empty() {
        blocks.push(ContentBlock::text(text));
    }
    blocks.extend(embedded);
    Ok(blocks)
}

fn check_path(path: &str) -> Result<(), AttachmentError> {
    let parsed = Path::new(path);
    if !parsed.is_absolute() {
        return Err(AttachmentError::Relative(path.to_owned()));
    }
    if parsed.components().any(|part| part == Component::ParentDir) {
        return Err(AttachmentError::Upwards(path.to_owned()));
    }
    Ok(())
}

/// Opens without following a final link and without waiting, so that a pipe cannot hold us up.
fn open(path: &str) -> Result<File, AttachmentError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|_| AttachmentError::Open)
}

fn size_of(file: &File) -> Result<u64, AttachmentError> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(AttachmentError::NoFile);
    }
    if metadata.len() == 0 {
        return Err(AttachmentError::Empty);
    }
    Ok(metadata.len())
}

/// Reads what the file holds now. `None` when it has grown over the limit since its size was
/// asked.
fn contents(file: File) -> Result<Option<Vec<u8>>, AttachmentError> {
    let mut bytes = Vec::new();
    file.take(limits::MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limits::MAX_FILE_BYTES))
}

/// The block for a file whose kind the model can take. Content decides, not the name.
fn embed(bytes: &[u8], title: &str, inputs: &[InputKind]) -> Option<ContentBlock> {
    if let Some(picture) = picture::look(bytes) {
        let fits = |side: u32| (1..=limits::MAX_IMAGE_SIDE).contains(&side);
        let takes = inputs.contains(&InputKind::Image)
            && bytes.len() <= limits::MAX_IMAGE_BYTES
            && picture.sides.is_some_and(|(w, h)| fits(w) && fits(h));
        return takes.then(|| ContentBlock::image(STANDARD.encode(bytes), picture.mime));
    }
    if is_pdf(bytes) {
        return inputs
            .contains(&InputKind::Document)
            .then(|| document(STANDARD.encode(bytes), "application/pdf", title));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let plain = text
        .chars()
        .all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t'));
    (plain && bytes.len() <= limits::MAX_TEXT_BYTES)
        .then(|| document(text.to_owned(), "text/plain", title))
}

fn document(data: String, mime_type: &str, title: &str) -> ContentBlock {
    KnownBlock::Document(DocumentBlock {
        data: Arc::from(data),
        mime_type: mime_type.to_owned(),
        name: Some(title.to_owned()),
    })
    .into()
}

fn is_pdf(bytes: &[u8]) -> bool {
    let tail = bytes
        .get(bytes.len().saturating_sub(1024)..)
        .unwrap_or_default();
    bytes.starts_with(b"%PDF-") && tail.windows(5).any(|window| window == b"%%EOF")
}

/// What the file is called: the hint without anything that could mislead, else the base name.
fn title(file: &Attachment) -> String {
    let hint = file.name.as_deref().unwrap_or_default();
    let clean: String = hint
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '/' | '\\'))
        .collect();
    if !clean.trim().is_empty() {
        return clean;
    }
    let base = Path::new(&file.path).file_name();
    base.map_or_else(
        || "file".to_owned(),
        |base| base.to_string_lossy().into_owned(),
    )
}

fn quote(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
