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
use stentor_agent::message::{ContentBlock, DocumentBlock, KnownBlock};
use stentor_agent::model::InputKind;
use stentor_wire::synaps::Attachment;

use super::limits;

/// The blocks of a prompt: its text, then its files in order, the paths of the rest in front.
pub(super) fn read(
    message: String,
    files: &[Attachment],
    inputs: &[InputKind],
) -> Result<Vec<ContentBlock>, String> {
    for file in files {
        check_path(&file.path)?;
    }
    if files.len() > limits::MAX_ATTACHMENTS {
        return Err(format!(
            "At most {} attachments are allowed",
            limits::MAX_ATTACHMENTS
        ));
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
        match embed(&bytes, &title(file), inputs) {
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

fn check_path(path: &str) -> Result<(), String> {
    let parsed = Path::new(path);
    if !parsed.is_absolute() {
        return Err(format!("attachment path must be absolute: {path}"));
    }
    if parsed.components().any(|part| part == Component::ParentDir) {
        return Err(format!("attachment path must not contain ..: {path}"));
    }
    Ok(())
}

/// Opens without following a final link and without waiting, so that a pipe cannot hold us up.
fn open(path: &str) -> Result<File, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|_| "Cannot open attachment (check path, permissions, and symlinks)".to_owned())
}

fn size_of(file: &File) -> Result<u64, String> {
    let metadata = file
        .metadata()
        .map_err(|error| format!("Cannot read attachment: {error}"))?;
    if !metadata.is_file() {
        return Err("Attachment must be a regular file".to_owned());
    }
    if metadata.len() == 0 {
        return Err("Attachment is empty".to_owned());
    }
    Ok(metadata.len())
}

/// Reads what the file holds now, which may have grown since its size was asked.
fn contents(file: File) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(limits::MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("Cannot read attachment: {error}"))?;
    Ok(bytes)
}

/// The block for a file whose kind the model can take. Content decides, not the name.
fn embed(bytes: &[u8], title: &str, inputs: &[InputKind]) -> Option<ContentBlock> {
    if let Some(mime) = image_type(bytes) {
        let takes = inputs.contains(&InputKind::Image) && bytes.len() <= limits::MAX_IMAGE_BYTES;
        let sides_fit = image_sides(bytes, mime).is_none_or(|(w, h)| {
            [w, h]
                .iter()
                .all(|s| (1..=limits::MAX_IMAGE_SIDE).contains(s))
        });
        return (takes && sides_fit).then(|| ContentBlock::image(STANDARD.encode(bytes), mime));
    }
    if is_pdf(bytes) {
        return Some(document(STANDARD.encode(bytes), "application/pdf", title));
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

fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

/// Width and height, where the header says them in a fixed place.
fn image_sides(bytes: &[u8], mime: &str) -> Option<(u32, u32)> {
    match mime {
        "image/png" => {
            let number = |at: usize| {
                let field: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
                Some(u32::from_be_bytes(field))
            };
            Some((number(16)?, number(20)?))
        }
        "image/gif" => {
            let number = |at: usize| {
                let field: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
                Some(u32::from(u16::from_le_bytes(field)))
            };
            Some((number(6)?, number(8)?))
        }
        _ => None,
    }
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
