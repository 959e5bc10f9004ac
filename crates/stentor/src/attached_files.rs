//! `@file` arguments: what is in the files goes in front of the prompt, as pi puts it there.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stentor_journal::message::ContentBlock;

/// The largest file that is attached: what is longer than this a model cannot take.
const LARGEST_BYTES: u64 = 16 * 1024 * 1024;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("Error: File not found: {0}")]
    Missing(PathBuf),
    #[error("Error: cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("Error: {0} is no regular file")]
    NoFile(PathBuf),
    #[error("Error: {0} is larger than {LARGEST_BYTES} bytes")]
    TooLarge(PathBuf),
    #[error("Error: {0} is neither text nor a picture")]
    Binary(PathBuf),
}

/// A prompt with the files in front of it. Files that are empty are left out.
pub fn attached(
    cwd: &Path,
    files: &[String],
    prompt: &str,
) -> Result<Vec<ContentBlock>, AttachError> {
    let mut text = String::new();
    let mut pictures = Vec::new();
    for file in files {
        let path = cwd.join(file);
        let bytes = read(&path)?;
        if bytes.is_empty() {
            continue;
        }
        let name = path.display();
        match infer::get(&bytes).map(|kind| kind.mime_type()) {
            Some(mime @ ("image/png" | "image/jpeg" | "image/gif" | "image/webp")) => {
                text.push_str(&format!("<file name=\"{name}\"></file>\n"));
                pictures.push(ContentBlock::image(STANDARD.encode(&bytes), mime));
            }
            _ => {
                let content = String::from_utf8(bytes);
                let content = content.map_err(|_| AttachError::Binary(path.clone()))?;
                text.push_str(&format!("<file name=\"{name}\">\n{content}\n</file>\n"));
            }
        }
    }
    text.push_str(prompt);
    let mut blocks = vec![ContentBlock::text(text)];
    blocks.extend(pictures);
    Ok(blocks)
}

fn read(path: &Path) -> Result<Vec<u8>, AttachError> {
    let wrong = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => AttachError::Missing(path.to_owned()),
        _ => AttachError::Unreadable {
            path: path.to_owned(),
            source,
        },
    };
    // A pipe or a device of that name would make us wait for ever.
    let found = std::fs::metadata(path).map_err(wrong)?;
    if !found.is_file() {
        return Err(AttachError::NoFile(path.to_owned()));
    }
    if found.len() > LARGEST_BYTES {
        return Err(AttachError::TooLarge(path.to_owned()));
    }
    std::fs::read(path).map_err(wrong)
}
