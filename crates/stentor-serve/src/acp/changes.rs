//! Changes of files as people see them: whole lines, with a few around them (section 8).

use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;
use stentor_text::line_diff::LineDiff;

use super::calls::text_content;
use super::limits;

/// What a file holds before it is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum FileBefore {
    /// Nobody knows.
    #[default]
    Unknown,
    /// Something that cannot be shown: why, for people.
    Hidden(String),
    /// There is no file.
    Nothing,
    Text(String),
}

impl FileBefore {
    /// What the file holds now.
    pub fn of(path: &Path) -> Self {
        let Ok(found) = std::fs::metadata(path) else {
            return Self::Nothing;
        };
        // Anything but a file could make the reader wait for ever.
        if !found.is_file() {
            return Self::Hidden("it is not a regular file".to_owned());
        }
        let length = found.len();
        if length > limits::CHANGED_FILE_BYTES {
            return Self::Hidden(format!("it is {length} bytes long"));
        }
        std::fs::read_to_string(path).map_or_else(
            |error| match error.kind() {
                ErrorKind::InvalidData => Self::Hidden(format!("its {length} bytes are not text")),
                _ => Self::Hidden(error.to_string()),
            },
            Self::Text,
        )
    }
}

impl FileBefore {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Unknown | Self::Hidden(_) | Self::Nothing => None,
        }
    }
}

/// The change of a file from `before` to `after`. One of which only one side is known is not shown.
pub(super) fn between(path: &Path, before: &FileBefore, after: &str) -> Vec<acp::ToolCallContent> {
    let pieces = match before {
        _ if after.len() as u64 > limits::CHANGED_FILE_BYTES => return Vec::new(),
        FileBefore::Unknown | FileBefore::Hidden(_) => return Vec::new(),
        FileBefore::Nothing => vec![ChangedPart {
            old: None,
            new: after.to_owned(),
        }],
        FileBefore::Text(before) => pieces(before, after),
    };
    shown(path, pieces)
}

/// What stands in the place of a change that cannot be shown: why, and how the new content begins.
/// Nobody should agree to what they cannot see. Empty when it can be.
pub(super) fn unshown(before: &FileBefore, after: &str) -> Vec<acp::ToolCallContent> {
    let length = after.len();
    let why = match before {
        FileBefore::Hidden(why) => format!("What the file holds now cannot be shown: {why}."),
        _ if length as u64 > limits::CHANGED_FILE_BYTES => "The change is too long.".to_owned(),
        FileBefore::Unknown | FileBefore::Nothing | FileBefore::Text(_) => return Vec::new(),
    };
    let beginning = after.get(..after.floor_char_boundary(limits::NEW_CONTENT_BYTES));
    let beginning = beginning.unwrap_or_default();
    let how = match beginning.len() == length {
        true => format!("The new content, {length} bytes:"),
        false => format!("The new content, {length} bytes, begins:"),
    };
    vec![text_content(&format!("[{why} {how}]\n{beginning}"))]
}

/// The change that a unified patch of one file describes.
pub(super) fn of_patch(path: &Path, patch: &str) -> Vec<acp::ToolCallContent> {
    let mut pieces: Vec<ChangedPart> = Vec::new();
    // The lines before the first `@@` name the file.
    for line in patch.split_inclusive('\n') {
        let Some(piece) = pieces.last_mut().filter(|_| !line.starts_with("@@")) else {
            if line.starts_with("@@") {
                pieces.push(ChangedPart {
                    old: Some(String::new()),
                    new: String::new(),
                });
            }
            continue;
        };
        let (old, new) = (piece.old.get_or_insert_default(), &mut piece.new);
        if let Some(text) = line.strip_prefix('-') {
            old.push_str(text);
        } else if let Some(text) = line.strip_prefix('+') {
            new.push_str(text);
        } else if let Some(text) = line.strip_prefix(' ') {
            old.push_str(text);
            new.push_str(text);
        }
    }
    shown(path, pieces)
}

/// The changes that a call made elsewhere, as whoever ran it reports them.
pub(super) fn reported(details: &Value) -> Vec<acp::ToolCallContent> {
    let diffs = details.get("diffs").and_then(Value::as_array);
    let changes = diffs.into_iter().flatten().filter_map(|diff| {
        let text = |key| diff.get(key).and_then(Value::as_str).map(str::to_owned);
        let (path, new, old) = (text("path")?, text("newText")?, text("oldText"));
        Some(shown(Path::new(&path), vec![ChangedPart { old, new }]))
    });
    changes.flatten().collect()
}

/// A part of a file that changes, and the lines around it.
struct ChangedPart {
    /// `None` for a file that is not there yet.
    old: Option<String>,
    new: String,
}

impl ChangedPart {
    fn len(&self) -> usize {
        self.old.as_ref().map_or(0, String::len) + self.new.len()
    }
}

fn pieces(before: &str, after: &str) -> Vec<ChangedPart> {
    let diff = LineDiff::new(before, after);
    let text = |lines: &[&str], range: Range<usize>| lines.get(range).unwrap_or_default().concat();
    let pieces = diff.hunks(limits::CHANGE_CONTEXT).map(|hunk| ChangedPart {
        old: Some(text(&diff.old, hunk.old)),
        new: text(&diff.new, hunk.new),
    });
    pieces.collect()
}

/// What is too long is left out, and a line notes it: nobody should agree to what they cannot see.
fn shown(path: &Path, pieces: Vec<ChangedPart>) -> Vec<acp::ToolCallContent> {
    let mut left = limits::CHANGES_BYTES;
    let (mut content, mut left_out) = (Vec::new(), 0_usize);
    for piece in pieces {
        match left.checked_sub(piece.len()) {
            Some(rest) => {
                left = rest;
                let diff = acp::Diff::new(path, piece.new).old_text(piece.old);
                content.push(acp::ToolCallContent::Diff(diff));
            }
            None => left_out += 1,
        }
    }
    match left_out {
        0 => {}
        1 => content.push(text_content(
            "[One change is not shown here: it is too long.]",
        )),
        n => content.push(text_content(&format!(
            "[{n} changes are not shown here: they are too long.]"
        ))),
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(content: &[acp::ToolCallContent]) -> Vec<(Option<&str>, &str)> {
        let plain = content.iter().map(|one| match one {
            acp::ToolCallContent::Diff(diff) => (diff.old_text.as_deref(), diff.new_text.as_str()),
            _ => (None, "(text)"),
        });
        plain.collect()
    }

    fn numbered(changed: &[u32]) -> String {
        let line = |n| match changed.contains(&n) {
            true => format!("LINE {n}\n"),
            false => format!("line {n}\n"),
        };
        (1..=30).map(line).collect()
    }

    #[test]
    fn each_place_that_changes_is_shown_with_four_lines_around_it() {
        let before = FileBefore::Text(numbered(&[]));
        let content = between(Path::new("/f"), &before, &numbered(&[2, 29]));
        assert_eq!(
            plain(&content),
            [
                (
                    Some("line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n"),
                    "line 1\nLINE 2\nline 3\nline 4\nline 5\nline 6\n"
                ),
                (
                    Some("line 25\nline 26\nline 27\nline 28\nline 29\nline 30\n"),
                    "line 25\nline 26\nline 27\nline 28\nLINE 29\nline 30\n"
                ),
            ]
        );
    }

    #[test]
    fn a_patch_is_shown_as_what_it_changes() {
        let patch = "--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -9,2 +9,3 @@\n \
                     nine\n+\n ten\n\\ No newline at end of file\n";
        assert_eq!(
            plain(&of_patch(Path::new("/f"), patch)),
            [
                (Some("one\ntwo\nthree\n"), "one\nTWO\nthree\n"),
                (Some("nine\nten\n"), "nine\n\nten\n"),
            ]
        );
        assert_eq!(of_patch(Path::new("/f"), "no patch\n-a\n+b\n"), []);
    }

    #[test]
    fn what_is_too_long_is_said_to_be_left_out() {
        let long = "x".repeat(limits::CHANGES_BYTES);
        let before = FileBefore::Text(format!("{long}\nz\na\nb\nc\nd\ne\nf\ng\nh\ni\n"));
        let after = "y\nz\na\nb\nc\nd\ne\nf\ng\nh\nI\n";
        assert_eq!(
            plain(&between(Path::new("/f"), &before, after)),
            [
                (Some("e\nf\ng\nh\ni\n"), "e\nf\ng\nh\nI\n"),
                (None, "(text)")
            ]
        );
        let nothing = between(Path::new("/f"), &FileBefore::Unknown, "new");
        assert_eq!(nothing, []);
    }
}
