//! Reading a session from bytes, without a file: for tools, tests and fuzzing.
//!
//! It is the same code that opens files, less the lock, the repair and the pictures beside the
//! file, so what is found to hold here holds there.

use std::io;

use super::bytes::{Bytes, LinesForward};
use super::entry::{CURRENT_VERSION, NoHeader, SessionHeader};
use super::line::trimmed;
use super::migrate;
use super::restore::restore;
use super::tail::tail_of;

pub use super::restore::Restored;

/// How far into a file the header may be: an over-long first line belongs to another kind of file.
const MAX_PREAMBLE_BYTES: u64 = 1024 * 1024;

/// What a session of these bytes would go on with, or why they are no session.
pub fn read_bytes(bytes: &[u8]) -> Result<(SessionHeader, Restored), ReadBytesError> {
    let header = match preamble_of(bytes)? {
        Preamble::Found(preamble) => preamble.header,
        Preamble::Empty => return Err(ReadBytesError::Empty),
        Preamble::Missing(why) => return Err(why.into()),
    };
    if header.version > CURRENT_VERSION {
        return Err(ReadBytesError::TooNew(header.version));
    }
    let end = tail_of(bytes)?.keep;
    let restored = if header.version < CURRENT_VERSION {
        let mut lifted = Vec::new();
        migrate::lift(bytes, end, header.version, &mut lifted)?;
        restore(lifted.as_slice(), lifted.len() as u64)?
    } else {
        restore(bytes, end)?
    };
    Ok((header, restored))
}

/// Why bytes are no session.
#[derive(Debug, thiserror::Error)]
pub enum ReadBytesError {
    #[error("it is empty")]
    Empty,
    #[error(transparent)]
    NoHeader(#[from] NoHeader),
    #[error("its version {0} is not supported")]
    TooNew(u32),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a file begins with.
pub(super) enum Preamble {
    Found(FoundPreamble),
    /// Nothing at all, or nothing but NULs and white space.
    Empty,
    /// Something else than a session, and why.
    Missing(NoHeader),
}

/// The header, and the title line omp may keep before it.
pub(super) struct FoundPreamble {
    pub(super) header: SessionHeader,
    pub(super) title: Option<String>,
}

/// Reads the header.
pub(super) fn preamble_of<B: Bytes + ?Sized>(bytes: &B) -> io::Result<Preamble> {
    let mut lines = LinesForward::until(bytes, MAX_PREAMBLE_BYTES);
    let mut title = None;
    while let Some((_, line, _)) = lines.next()? {
        if trimmed(line).is_empty() {
            continue;
        }
        if title.is_none()
            && let Some(found) = title_line(line)
        {
            title = Some(found);
            continue;
        }
        return Ok(match SessionHeader::from_line(line) {
            Ok(header) => Preamble::Found(FoundPreamble {
                header,
                title: title.flatten(),
            }),
            Err(why) => Preamble::Missing(why),
        });
    }
    Ok(match title {
        Some(_) => Preamble::Missing(NoHeader::OnlyTitle),
        None => Preamble::Empty,
    })
}

/// The title in a `{"type":"title",…}` line; the outer `None` when it is another line.
fn title_line(line: &[u8]) -> Option<Option<String>> {
    #[derive(serde::Deserialize)]
    struct Title {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        title: Option<String>,
    }
    let title: Title = serde_json::from_slice(line.trim_ascii()).ok()?;
    (title.kind == "title").then_some(title.title)
}
