//! What a file is, told from its first bytes and not from its name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ContentBlock, ImageBlock, KnownBlock};

use crate::tool_error::ToolError;
use crate::truncation::size;

/// How many bytes are enough to tell.
pub(super) const TELLING_BYTES: u64 = 8192;

/// The largest picture that is sent. Encoded it is 4.5 MiB, which every provider takes.
const MAX_IMAGE_BYTES: u64 = 4_718_592 / 4 * 3;

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Text,
    /// A picture a model can look at, with its MIME type.
    Image(&'static str, u64),
    /// Anything else, with its MIME type where that is known.
    Binary(Option<&'static str>, u64),
    /// Text in an encoding that is not shown.
    Utf16(u64),
}

impl FileKind {
    /// Tells from the `start` of a file of `length` bytes.
    pub(super) fn of(start: &[u8], length: u64) -> Self {
        let known = infer::get(start).map(|kind| kind.mime_type());
        if let Some(mime @ ("image/png" | "image/jpeg" | "image/gif" | "image/webp")) = known {
            return Self::Image(mime, length);
        }
        if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
            return Self::Utf16(length);
        }
        let has_zero = memchr::memchr(0, start).is_some();
        // Two letters are enough for some formats, so a text may look like one of them.
        let is_known_binary =
            known.is_some_and(|mime| !mime.starts_with("text/")) && !is_utf8(start);
        if has_zero || is_known_binary {
            Self::Binary(known, length)
        } else {
            Self::Text
        }
    }

    /// The result for a file that is not shown as text.
    pub(super) fn output(self, file: File, path: &Path) -> Result<ToolOutput, ToolError> {
        let note = match self {
            Self::Image(mime, length) if length <= MAX_IMAGE_BYTES => {
                return image(file, path, mime);
            }
            Self::Image(mime, length) => format!(
                "Read image file [{mime}]\n[Image omitted: {} is above the inline image size \
                 limit of {}. Make a smaller copy with bash and read that.]",
                size(length),
                size(MAX_IMAGE_BYTES)
            ),
            Self::Utf16(length) => format!(
                "[UTF-16 text, {}, not shown. Convert it with bash: iconv -f UTF-16 -t UTF-8]",
                size(length)
            ),
            Self::Binary(mime, length) => format!(
                "[Binary file{}, {}, not shown. Use bash to look into it, for example with file, \
                 xxd or strings.]",
                mime.map(|mime| format!(" ({mime})")).unwrap_or_default(),
                size(length)
            ),
            Self::Text => String::new(),
        };
        Ok(ToolOutput::text(note))
    }
}

fn image(file: File, path: &Path, mime: &str) -> Result<ToolOutput, ToolError> {
    let mut bytes = Vec::new();
    // The file may have grown since it was looked at.
    file.take(MAX_IMAGE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ToolError::system("read", path))?;
    let mut output = ToolOutput::text(format!("Read image file [{mime}]"));
    output
        .content
        .push(ContentBlock::Known(KnownBlock::Image(ImageBlock {
            data: STANDARD.encode(&bytes).into(),
            mime_type: mime.to_owned(),
        })));
    Ok(output)
}

/// UTF-8 so far: a character may be cut at the end.
fn is_utf8(start: &[u8]) -> bool {
    match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_content() {
        for (start, kind) in [
            (&b""[..], FileKind::Text),
            (b"hello", FileKind::Text),
            (b"BM is how a bitmap starts", FileKind::Text),
            ("h\u{e9}llo".as_bytes(), FileKind::Text),
            (b"caf\xe9 in Latin-1", FileKind::Text),
            (b"a\0b", FileKind::Binary(None, 3)),
            (b"\x89PNG\r\n\x1a\n", FileKind::Image("image/png", 3)),
            (b"GIF89a", FileKind::Image("image/gif", 3)),
            (b"\xff\xd8\xff\xe0", FileKind::Image("image/jpeg", 3)),
            (
                b"RIFF\x01\x02\x03\x04WEBPVP8 ",
                FileKind::Image("image/webp", 3),
            ),
            (b"\xff\xfeh\0i\0", FileKind::Utf16(3)),
            (
                b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
                FileKind::Binary(Some("application/pdf"), 3),
            ),
        ] {
            assert_eq!(FileKind::of(start, 3), kind, "{start:?}");
        }
    }
}
