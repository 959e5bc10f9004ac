//! The lines of a text that are shown, found without holding the text.

use std::io::{self, Read};

use serde_json::json;
use stentor_agent::tool::ToolOutput;
use tokio_util::sync::CancellationToken;

use crate::tool_call;
use crate::tool_error::ToolError;
use crate::truncation::{Extent, KeptLines, MAX_BYTES, MAX_LINES, TruncatedBy, Truncation, size};

/// Which lines are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    /// The first one, counted from 1.
    pub first: u64,
    pub limit: Option<u64>,
}

impl Range {
    /// What a model, or an agent, asks for.
    pub(super) fn of(offset: Option<f64>, limit: Option<f64>) -> Result<Self, ToolError> {
        Ok(Self {
            // Nothing and the first line are the same to the models that say 0.
            first: tool_call::whole_number("offset", offset, 0)?
                .unwrap_or(1)
                .max(1),
            limit: tool_call::whole_number("limit", limit, 1)?,
        })
    }

    fn contains(self, line: u64) -> bool {
        line >= self.first && self.limit.is_none_or(|limit| line - self.first < limit)
    }
}

/// The lines that are shown, and what is known of the text around them.
#[derive(Debug)]
pub(super) struct LineWindow {
    shown: String,
    kept: KeptLines,
    /// How much of the text the range asks for.
    selected: Extent,
    /// How many lines the text has, or had been counted when counting became too much.
    file_lines: u64,
    counted_all: bool,
    /// The length of the first wanted line, which alone may be too long.
    first_line_bytes: u64,
    ends_with_newline: bool,
    is_lossy: bool,
}

/// How far past the shown lines the rest is counted. Beyond, the total is not worth the wait.
const COUNTED_BYTES: u64 = 256 << 20;

/// Reads the window. Memory stays flat however long the text or one of its lines is.
pub(super) fn read(
    mut source: impl Read,
    range: Range,
    cancel: &CancellationToken,
) -> io::Result<LineWindow> {
    let mut scan = LineScan::new(range);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let bytes = match source.read(&mut chunk) {
            Ok(0) => return Ok(scan.finish(true)),
            Ok(count) => chunk.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        scan.take(bytes);
        if scan.counted_bytes > COUNTED_BYTES {
            return Ok(scan.finish(false));
        }
    }
}

struct LineScan {
    range: Range,
    window: LineWindow,
    /// The number of the line the next byte belongs to.
    line: u64,
    line_bytes: u64,
    /// The current line, as far as it could still be shown.
    current: Vec<u8>,
    /// No further line is shown.
    full: bool,
    counted_bytes: u64,
}

impl LineScan {
    fn new(range: Range) -> Self {
        Self {
            range,
            window: LineWindow {
                shown: String::new(),
                kept: KeptLines::default(),
                selected: Extent { lines: 0, bytes: 0 },
                file_lines: 0,
                counted_all: true,
                first_line_bytes: 0,
                ends_with_newline: false,
                is_lossy: false,
            },
            line: 1,
            line_bytes: 0,
            current: Vec::new(),
            full: false,
            counted_bytes: 0,
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        if self.full || self.current.len() as u64 > MAX_BYTES {
            self.counted_bytes += bytes.len() as u64;
        }
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.extend(line);
            self.end_line(true);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.extend(bytes);
    }

    fn extend(&mut self, part: &[u8]) {
        self.line_bytes += part.len() as u64;
        if !self.full && self.range.contains(self.line) {
            // One byte more than fits is enough to know that it does not.
            let room = (MAX_BYTES as usize + 1).saturating_sub(self.current.len());
            self.current
                .extend_from_slice(part.get(..room).unwrap_or(part));
        }
    }

    fn end_line(&mut self, with_newline: bool) {
        self.window.file_lines = self.line;
        self.window.ends_with_newline = with_newline;
        if self.range.contains(self.line) {
            self.window.selected.lines += 1;
            self.window.selected.bytes += self.line_bytes + u64::from(with_newline);
            if self.line == self.range.first {
                self.window.first_line_bytes = self.line_bytes;
            }
            self.show_line();
        } else if self.line > self.range.first {
            self.full = true;
        }
        self.line += 1;
        self.line_bytes = 0;
        self.current.clear();
    }

    fn show_line(&mut self) {
        if self.full {
            return;
        }
        let text = String::from_utf8_lossy(&self.current);
        if !self.window.kept.takes(text.len() as u64, MAX_LINES) {
            self.full = true;
            return;
        }
        self.window.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
        if self.window.kept.lines > 1 {
            self.window.shown.push('\n');
        }
        self.window.shown.push_str(&text);
    }

    fn finish(mut self, counted_all: bool) -> LineWindow {
        if self.line_bytes > 0 {
            self.end_line(false);
        }
        self.window.counted_all = counted_all;
        self.window
    }
}

impl LineWindow {
    /// The result: the lines, and a note on how to go on where there is more.
    pub(super) fn output(self, path: &str, range: Range) -> Result<ToolOutput, ToolError> {
        if self.file_lines == 0 && range.first == 1 {
            return Ok(ToolOutput::text("(empty file)"));
        }
        if range.first > self.file_lines {
            return Err(ToolError::refused(format!(
                "Offset {} is beyond end of file ({} lines total)",
                range.first, self.file_lines
            )));
        }
        let last = range.first + self.kept.lines.saturating_sub(1);
        let total = match self.counted_all {
            true => self.file_lines.to_string(),
            false => format!("more than {}", self.file_lines),
        };
        let max = size(MAX_BYTES);
        let is_cut = self.kept.lines < self.selected.lines;
        let mut text = self.shown;
        let note = if self.kept.lines == 0 {
            let (line, length) = (range.first, size(self.first_line_bytes));
            Some(format!(
                "[Line {line} is {length}, exceeds {max} limit. Use bash: sed -n '{line}p' {path} \
                 | head -c {MAX_BYTES}]"
            ))
        } else if is_cut {
            let limit = match self.kept.stopped_by {
                Some(TruncatedBy::Bytes) => format!(" ({max} limit)"),
                Some(TruncatedBy::Lines) | None => String::new(),
            };
            Some(format!(
                "[Showing lines {}-{last} of {total}{limit}. Use offset={} to continue.]",
                range.first,
                last + 1
            ))
        } else if last < self.file_lines {
            let more = self.file_lines - last;
            Some(format!(
                "[{more} more lines in file. Use offset={} to continue.]",
                last + 1
            ))
        } else {
            if self.ends_with_newline {
                text.push('\n');
            }
            None
        };
        let truncation = is_cut.then(|| Truncation {
            content: text.clone(),
            first_line_exceeds_limit: self.kept.lines == 0,
            ..self.kept.truncation(self.selected, MAX_LINES)
        });
        let lossy = self
            .is_lossy
            .then(|| "[Bytes that are not valid UTF-8 are shown as \u{fffd}.]".to_owned());
        for note in note.into_iter().chain(lossy) {
            if !text.is_empty() {
                text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
            }
            text.push_str(&note);
        }
        let output = ToolOutput::text(text);
        Ok(match truncation {
            Some(truncation) => output.with_details(json!({ "truncation": truncation })),
            None => output,
        })
    }
}
