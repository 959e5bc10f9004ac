//! A session file as somebody reads it who follows it while it grows: from a byte on.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::error::StoreError;

/// One reading ends with the line that reaches this; what follows is there for the next.
const READING_BYTES: u64 = 8 * 1024 * 1024;

/// Lines of a session file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// Where the reading began.
    pub from_byte: u64,
    /// Where the next reading begins.
    pub next_byte: u64,
    /// The file is shorter than the place that was asked for, so it was read from its beginning.
    pub reset: bool,
    /// The lines, header included; a line that is not JSON is left out.
    pub lines: Vec<Value>,
}

/// The complete lines of a session file from a byte on. A file that is not there yet has none.
pub fn transcript(path: &Path, from_byte: u64) -> Result<Transcript, StoreError> {
    read(path, from_byte).map_err(StoreError::io("read", path))
}

fn read(path: &Path, from_byte: u64) -> io::Result<Transcript> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Transcript {
                from_byte,
                next_byte: from_byte,
                ..Transcript::default()
            });
        }
        Err(error) => return Err(error),
    };
    let reset = from_byte > file.metadata()?.len();
    let start = if reset { 0 } else { from_byte };
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(start))?;
    let mut transcript = Transcript {
        from_byte: start,
        next_byte: start,
        reset,
        lines: Vec::new(),
    };
    let mut line = Vec::new();
    while transcript.next_byte - start < READING_BYTES {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        // An end without a newline is still being written.
        if line.last() != Some(&b'\n') {
            break;
        }
        transcript.next_byte += u64::try_from(read).unwrap_or(u64::MAX);
        transcript.lines.extend(serde_json::from_slice(&line).ok());
    }
    Ok(transcript)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_read_is_not_read_again_and_half_a_line_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        assert_eq!(transcript(&path, 7).unwrap().next_byte, 7);
        std::fs::write(&path, "{\"a\":1}\nnot json\n{\"b\"").unwrap();
        let first = transcript(&path, 0).unwrap();
        assert_eq!(
            (first.lines.as_slice(), first.next_byte),
            (&[json!({"a": 1})][..], 17)
        );
        std::fs::write(&path, "{\"a\":1}\nnot json\n{\"b\":2}\n").unwrap();
        let second = transcript(&path, first.next_byte).unwrap();
        assert_eq!(
            (second.lines.as_slice(), second.from_byte, second.reset),
            (&[json!({"b": 2})][..], 17, false)
        );
        let beyond = transcript(&path, 1_000).unwrap();
        assert_eq!(
            (beyond.lines.len(), beyond.from_byte, beyond.reset),
            (2, 0, true)
        );
    }
}
