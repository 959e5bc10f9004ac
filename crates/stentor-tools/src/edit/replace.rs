//! Finding the pieces to replace, and replacing them.
//!
//! Matching sees LF line ends and no byte order mark, because that is what models write. What is
//! not replaced stays byte for byte as it was, whatever its line ends.

use std::ops::Range;

use memchr::memmem;
use serde::Deserialize;

use super::nearest;
use crate::tool_error::ToolError;

/// One piece to replace.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextReplacement {
    pub old_text: String,
    pub new_text: String,
}

/// A file after its edits.
#[derive(Debug)]
pub(super) struct Edited {
    /// What goes into the file.
    pub text: String,
    /// The old and the new text with LF line ends and no mark, for the diff.
    pub before: String,
    pub after: String,
}

const MARK: char = '\u{feff}';

/// Applies all edits to the original, or none.
pub(super) fn apply(
    original: &str,
    replacements: &[TextReplacement],
    path: &str,
) -> Result<Edited, ToolError> {
    let plain = NormalizedText::of(original);
    let mut spans = Vec::with_capacity(replacements.len());
    for (index, replacement) in replacements.iter().enumerate() {
        let named = EditLabel {
            index,
            is_one_of_many: replacements.len() > 1,
            path,
        };
        let old = lf(replacement.old_text.trim_start_matches(MARK));
        let start = find_only(&plain.text, &old, named)?;
        spans.push(ReplacedSpan {
            index,
            at: start..start + old.len(),
            new: lf(&replacement.new_text),
        });
    }
    spans.sort_by_key(|span| span.at.start);
    for pair in spans.windows(2) {
        if let [left, right] = pair
            && left.at.end > right.at.start
        {
            let (first, second) = (left.index.min(right.index), left.index.max(right.index));
            return Err(ToolError::refused(format!(
                "edits[{first}] and edits[{second}] overlap in {path}. Merge them into one edit or \
                 target disjoint regions."
            )));
        }
    }
    let after = splice(&plain.text, &spans, |span| {
        (span.at.clone(), span.new.clone())
    });
    if after == plain.text {
        return Err(ToolError::refused(format!(
            "No changes made to {path}. The replacement produced identical content."
        )));
    }
    let text = splice(original, &spans, |span| {
        let at = plain.original(span.at.start)..plain.original(span.at.end);
        let new = match plain.ends_lines_with_crlf {
            true => span.new.replace('\n', "\r\n"),
            false => span.new.clone(),
        };
        (at, new)
    });
    Ok(Edited {
        text,
        before: plain.text,
        after,
    })
}

/// Where a piece is, and what comes in its place.
struct ReplacedSpan {
    index: usize,
    at: Range<usize>,
    new: String,
}

/// How an edit is called in an error.
#[derive(Clone, Copy)]
struct EditLabel<'a> {
    index: usize,
    is_one_of_many: bool,
    path: &'a str,
}

/// A text as models see it, and the way back.
struct NormalizedText {
    text: String,
    /// Where in `text` an LF stands that had a CR before it.
    dropped: Vec<usize>,
    mark_bytes: usize,
    /// What new lines end with: what the first line of the file ends with.
    ends_lines_with_crlf: bool,
}

impl NormalizedText {
    fn of(original: &str) -> Self {
        let marked = original.strip_prefix(MARK).unwrap_or(original);
        let mut text = String::with_capacity(marked.len());
        let mut dropped = Vec::new();
        let mut rest = marked;
        while let Some(at) = memmem::find(rest.as_bytes(), b"\r\n") {
            let (line, after) = rest.split_at(at);
            text.push_str(line);
            dropped.push(text.len());
            text.push('\n');
            rest = after.get(2..).unwrap_or_default();
        }
        text.push_str(rest);
        let ends_lines_with_crlf = dropped
            .first()
            .is_some_and(|first| text.find('\n') == Some(*first));
        Self {
            text,
            dropped,
            mark_bytes: original.len() - marked.len(),
            ends_lines_with_crlf,
        }
    }

    /// The place in the original of a place in the text. A dropped CR belongs to its LF.
    fn original(&self, at: usize) -> usize {
        let dropped_before = self.dropped.partition_point(|dropped| *dropped < at);
        self.mark_bytes + at + dropped_before
    }
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn splice(
    text: &str,
    spans: &[ReplacedSpan],
    new: impl Fn(&ReplacedSpan) -> (Range<usize>, String),
) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        let (at, new) = new(span);
        result.push_str(text.get(from..at.start).unwrap_or_default());
        result.push_str(&new);
        from = at.end;
    }
    result.push_str(text.get(from..).unwrap_or_default());
    result
}

/// The only place where `old` is.
fn find_only(text: &str, old: &str, named: EditLabel<'_>) -> Result<usize, ToolError> {
    let EditLabel {
        index,
        is_one_of_many,
        path,
    } = named;
    if old.is_empty() {
        return Err(ToolError::refused(match is_one_of_many {
            true => format!("edits[{index}].oldText must not be empty in {path}."),
            false => format!("oldText must not be empty in {path}."),
        }));
    }
    let places = places(text, old);
    match places.as_slice() {
        [] => Err(ToolError::refused(format!(
            "{}{}",
            match is_one_of_many {
                true => format!(
                    "Could not find edits[{index}] in {path}. The oldText must match exactly \
                     including all whitespace and newlines."
                ),
                false => format!(
                    "Could not find the exact text in {path}. The old text must match exactly \
                     including all whitespace and newlines."
                ),
            },
            nearest::hint(text, old)
        ))),
        [only] => Ok(*only),
        several => {
            let count = several.len();
            let lines = line_numbers(text, several);
            Err(ToolError::refused(match is_one_of_many {
                true => format!(
                    "Found {count} occurrences of edits[{index}] in {path}, at lines {lines}. Each \
                     oldText must be unique. Please provide more context to make it unique."
                ),
                false => format!(
                    "Found {count} occurrences of the text in {path}, at lines {lines}. The text \
                     must be unique. Please provide more context to make it unique."
                ),
            }))
        }
    }
}

/// Every place where `old` starts, also where two of them overlap: which one is meant is not clear
/// then either.
fn places(text: &str, old: &str) -> Vec<usize> {
    let finder = memmem::Finder::new(old);
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
        places.push(from + found);
        from += found + 1;
    }
    places
}

fn line_numbers(text: &str, places: &[usize]) -> String {
    const MOST_NAMED: usize = 10;
    let mut numbers: Vec<String> = places
        .iter()
        .take(MOST_NAMED)
        .map(|at| {
            let before = text.as_bytes().get(..*at).unwrap_or_default();
            (memchr::memchr_iter(b'\n', before).count() + 1).to_string()
        })
        .collect();
    if places.len() > MOST_NAMED {
        numbers.push("…".into());
    }
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edits(pairs: &[(&str, &str)]) -> Vec<TextReplacement> {
        pairs
            .iter()
            .map(|(old, new)| TextReplacement {
                old_text: (*old).into(),
                new_text: (*new).into(),
            })
            .collect()
    }

    #[test]
    fn line_ends_and_the_mark_stay_as_they_were() {
        for (original, pairs, expected) in [
            (
                "a\r\nb\r\nc\r\n",
                &[("a\nb", "x\ny")][..],
                "x\r\ny\r\nc\r\n",
            ),
            ("a\r\nb\nc\r\n", &[("c", "d\ne")], "a\r\nb\nd\r\ne\r\n"),
            ("a\nb\r\nc", &[("b\nc", "x\ny")], "a\nx\ny"),
            ("a\r\nb", &[("\n", " ")], "a b"),
            ("a\r\nb", &[("b", "b\n")], "a\r\nb\r\n"),
            ("\u{feff}a\r\n", &[("a", "b")], "\u{feff}b\r\n"),
            ("\u{feff}a", &[("\u{feff}a", "b")], "\u{feff}b"),
            ("a\rb\n", &[("b", "c")], "a\rc\n"),
            ("one two three", &[("three", "3"), ("one", "1")], "1 two 3"),
            ("ab", &[("a", "b"), ("b", "a")], "ba"),
            ("x $1 y", &[("$1", "$&")], "x $& y"),
        ] {
            let edited = apply(original, &edits(pairs), "f").unwrap();
            assert_eq!(edited.text, expected, "{original:?}");
        }
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        for (original, pairs, expected) in [
            (
                "a\nb a\n",
                &[("a", "x")][..],
                "Found 2 occurrences of the text in f, at lines 1, 2. The text must be unique. \
                 Please provide more context to make it unique.",
            ),
            (
                "aaa",
                &[("aa", "x"), ("aaa", "y")],
                "Found 2 occurrences of edits[0] in f, at lines 1, 1. Each oldText must be unique. \
                 Please provide more context to make it unique.",
            ),
            (
                "one two three",
                &[("two three", "x"), ("one two", "y")],
                "edits[0] and edits[1] overlap in f. Merge them into one edit or target disjoint \
                 regions.",
            ),
            ("a", &[("", "x")], "oldText must not be empty in f."),
            (
                "a",
                &[("a", "b"), ("", "x")],
                "edits[1].oldText must not be empty in f.",
            ),
            (
                "a",
                &[("a", "a")],
                "No changes made to f. The replacement produced identical content.",
            ),
        ] {
            let fault = apply(original, &edits(pairs), "f").unwrap_err();
            assert_eq!(fault.to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn everything_around_an_edit_is_untouched(
            before in "[ab\r\n]{0,20}", after in "[ab\r\n]{0,20}", new in "[ab\n]{0,6}"
        ) {
            // A CR at the seam would join with what follows and change what a line end is.
            prop_assume!(!before.ends_with('\r') && !after.starts_with('\n'));
            let original = format!("{before}XYZ{after}");
            let edited = apply(&original, &edits(&[("XYZ", &new)]), "f").unwrap();
            prop_assert!(edited.text.starts_with(&before));
            prop_assert!(edited.text.ends_with(&after));
        }
    }
}
