//! `@file` arguments: what is in the files goes in front of the prompt, as pi puts it there.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stentor_agent::project_files::{FileOwner, NotRead};
use stentor_journal::message::ContentBlock;
use stentor_serve::picture;

/// The largest file that is attached: what is longer than this a model cannot take.
const LARGEST_BYTES: u64 = 16 * 1024 * 1024;

/// Why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("Error: File not found: {0}")]
    Missing(PathBuf),
    #[error("Error: {path} is not attached: {why}")]
    NotRead { path: PathBuf, why: NotRead },
    #[error("Error: {0} is neither text nor an image")]
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
        match picture::look(&bytes) {
            Some(picture) => {
                text.push_str(&format!("<file name=\"{name}\"></file>\n"));
                pictures.push(ContentBlock::image(STANDARD.encode(&bytes), picture.mime));
            }
            None => {
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
    let path = path.to_owned();
    FileOwner::Own
        .read(&path, LARGEST_BYTES)
        .map_err(|why| match why {
            NotRead::Missing => AttachError::Missing(path),
            why => AttachError::NotRead { path, why },
        })
}
