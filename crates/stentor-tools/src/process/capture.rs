//! What is kept of a command's output while it runs: its end in memory, the whole in a file.

use std::path::{Path, PathBuf};

use super::clean::Cleaner;
use super::spill::{MAX_SPILL_BYTES, Spill};
use crate::truncation::{self, Extent, MAX_BYTES, MAX_LINES, Truncation};

/// An output as it grows. Memory stays flat: beyond a few times what is shown, only the end is
/// kept.
#[derive(Debug)]
pub(crate) struct Capture {
    cleaner: Cleaner,
    spill_dir: PathBuf,
    /// How much of it is stored in a file.
    file_bytes: u64,
    spill: Option<Spill>,
    tail: String,
    bytes: u64,
    newlines: u64,
    /// Bytes after the last newline.
    open_line_bytes: u64,
    /// Bytes of the last line that a newline ended.
    closed_line_bytes: u64,
}

/// The tail is cut back to this when it has grown to twice as much.
const KEPT_BYTES: usize = 2 * MAX_BYTES as usize;

impl Capture {
    /// Nothing yet. Output too long to show will be kept in `spill_dir`.
    pub(crate) fn new(spill_dir: &Path) -> Self {
        Self::up_to(spill_dir, MAX_SPILL_BYTES)
    }

    /// The same, of which no more than so much is kept there.
    pub(super) fn up_to(spill_dir: &Path, file_bytes: u64) -> Self {
        Self {
            file_bytes,
            cleaner: Cleaner::default(),
            spill_dir: spill_dir.to_owned(),
            spill: None,
            tail: String::new(),
            bytes: 0,
            newlines: 0,
            open_line_bytes: 0,
            closed_line_bytes: 0,
        }
    }

    /// Takes what the command wrote; `fresh` becomes the text of it.
    pub(crate) async fn append(&mut self, bytes: &[u8], fresh: &mut String) {
        fresh.clear();
        self.cleaner.clean(bytes, fresh);
        self.push(fresh).await;
    }

    /// Takes the end of the output; `fresh` becomes the text that was still to come.
    pub(crate) async fn finish(&mut self, fresh: &mut String) {
        fresh.clear();
        self.cleaner.finish(fresh);
        self.push(fresh).await;
        if let Some(spill) = &mut self.spill {
            spill.finish().await;
        }
    }

    /// How long the output is so far.
    pub(crate) fn extent(&self) -> Extent {
        Extent {
            lines: self.newlines + u64::from(self.open_line_bytes > 0),
            bytes: self.bytes,
        }
    }

    /// What is shown of it.
    pub(crate) fn shown(&self) -> Truncation {
        truncation::tail(&self.tail, self.extent())
    }

    /// The length of the last line, of which only the end may be shown.
    pub(crate) fn last_line_bytes(&self) -> u64 {
        match self.open_line_bytes {
            0 => self.closed_line_bytes,
            open => open,
        }
    }

    /// The file with the whole output, when only its end is shown.
    pub(crate) fn full_output_path(&self) -> Option<&Path> {
        self.spill.as_ref().and_then(Spill::path)
    }

    /// Tells where the whole output is.
    pub(crate) fn full_output_note(&self) -> String {
        self.spill.as_ref().map(Spill::note).unwrap_or_default()
    }

    async fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.count(text);
        self.tail.push_str(text);
        match &mut self.spill {
            Some(spill) => spill.append(text).await,
            None => {
                let extent = self.extent();
                if extent.bytes > MAX_BYTES || extent.lines > MAX_LINES {
                    let mut spill = Spill::create(&self.spill_dir, self.file_bytes).await;
                    // Nothing has been cut from the tail yet, because cutting starts later.
                    spill.append(&self.tail).await;
                    self.spill = Some(spill);
                }
            }
        }
        if self.tail.len() > 2 * KEPT_BYTES {
            let from = self.tail.ceil_char_boundary(self.tail.len() - KEPT_BYTES);
            self.tail.drain(..from);
        }
    }

    fn count(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        match text.rfind('\n') {
            None => self.open_line_bytes += text.len() as u64,
            Some(last) => {
                let before = text.get(..last).unwrap_or_default();
                self.closed_line_bytes = match before.rfind('\n') {
                    Some(start) => (last - start - 1) as u64,
                    None => self.open_line_bytes + last as u64,
                };
                self.open_line_bytes = (text.len() - last - 1) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn captured(folder: &Path, chunks: impl IntoIterator<Item = Vec<u8>>) -> Capture {
        let mut capture = Capture::new(folder);
        let mut fresh = String::new();
        for chunk in chunks {
            capture.append(&chunk, &mut fresh).await;
        }
        capture.finish(&mut fresh).await;
        capture
    }

    #[tokio::test]
    async fn a_short_output_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let capture = captured(folder.path(), [b"a\n".to_vec(), b"b".to_vec()]).await;
        assert_eq!(capture.shown().content, "a\nb");
        assert_eq!(capture.full_output_path(), None);
        assert_eq!(capture.last_line_bytes(), 1);
    }

    #[tokio::test]
    async fn a_long_output_is_whole_in_its_file_and_flat_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let chunk: Vec<u8> = b"0123456789abcde\n".repeat(4096);
        let capture = captured(folder.path(), std::iter::repeat_n(chunk.clone(), 100)).await;
        assert!(capture.tail.capacity() < 1 << 20);
        let shown = capture.shown();
        assert_eq!((shown.total_lines, shown.output_lines), (409_600, 2000));
        let whole = std::fs::read(capture.full_output_path().unwrap()).unwrap();
        assert_eq!(whole, chunk.repeat(100));
    }

    #[tokio::test]
    async fn one_endless_line_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = std::iter::repeat_n(vec![b'x'; 10_000], 50).chain([b"\n".to_vec()]);
        let capture = captured(folder.path(), chunks).await;
        assert_eq!(capture.last_line_bytes(), 500_000);
        let shown = capture.shown();
        assert!(shown.last_line_partial);
        assert_eq!((shown.total_lines, shown.output_bytes), (1, 51_200));
    }
}
