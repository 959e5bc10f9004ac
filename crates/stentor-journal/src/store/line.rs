//! Looking at a line without reading all of it, and mending what other programs write.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a line is and where it hangs, found without building the rest of it.
#[derive(Debug, PartialEq)]
pub(super) enum LineHead<'a> {
    Entry(EntryHead<'a>),
    /// A header or a title line: nothing of the tree.
    Preamble,
    Unreadable,
}

/// The part of an entry that places it in the tree.
#[derive(Debug, PartialEq)]
pub(super) struct EntryHead<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Cow<'a, str>,
    pub(super) parent_id: Option<Cow<'a, str>>,
}

impl<'a> LineHead<'a> {
    /// Looks at one line.
    pub(super) fn of(line: &'a [u8]) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct RawLine<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow, default)]
            id: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            parent_id: Option<Cow<'a, str>>,
        }
        match serde_json::from_slice::<RawLine>(trimmed(line)) {
            Ok(RawLine { kind, .. }) if kind == "session" || kind == "title" => Self::Preamble,
            Ok(RawLine {
                kind,
                id: Some(id),
                parent_id,
            }) => Self::Entry(EntryHead {
                kind,
                id,
                parent_id,
            }),
            Ok(_) | Err(_) => Self::Unreadable,
        }
    }
}

/// True when `line` is one whole JSON object, so that nothing of it can be missing.
pub(super) fn is_whole_object(line: &[u8]) -> bool {
    let line = trimmed(line);
    line.first() == Some(&b'{') && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// `line` without white space and NULs around it. NULs are what a hole in the file reads as that a
/// power loss left, when a program has appended after it.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let is_solid = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    let start = line.iter().position(is_solid).unwrap_or(line.len());
    let end = line
        .iter()
        .rposition(is_solid)
        .map_or(start, |last| last + 1);
    line.get(start..end).unwrap_or_default()
}

/// `line` with what no Rust string can hold replaced by U+FFFD.
pub(super) fn mended(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut mended = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let length = match surrogate(escape) {
            Some(first) if first < 0xdc00 => {
                let pair = escape.get(6..).and_then(surrogate);
                if pair.is_some_and(|second| second >= 0xdc00) {
                    12
                } else {
                    0
                }
            }
            Some(_) => 0,
            // The backslash and what it escapes; both stay.
            None => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        if length == 0 {
            mended.push_str("\\ufffd");
            rest = escape.get(6..).unwrap_or_default();
        } else {
            let (kept, after) = escape.split_at(length);
            mended.push_str(kept);
            rest = after;
        }
    }
    mended.push_str(rest);
    mended
}

/// The surrogate that `escape` (`\uXXXX…`) begins with, if it does.
fn surrogate(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let unit = u32::from_str_radix(digits, 16).ok()?;
    (0xd800..0xe000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;
    use crate::message::Message;

    #[test]
    fn text_that_no_string_can_hold_costs_a_character_not_the_entry() {
        for (content, expected) in [
            (br"a\ud800b".as_slice(), "a\u{fffd}b"),
            (br"\udc00\ud800", "\u{fffd}\u{fffd}"),
            (br"\ud83d\ude00 \ud83d", "\u{1f600} \u{fffd}"),
            (br"\\ud800 \ud800", "\\ud800 \u{fffd}"),
            (b"\xff\xc3(", "\u{fffd}\u{fffd}("),
            (br"\ud800\ud83d\ude00", "\u{fffd}\u{1f600}"),
        ] {
            let line = [
                br#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","timestamp":1,"content":""#.as_slice(),
                content,
                br#""}}"#,
            ]
            .concat();
            let entry = Entry::from_line(&line).unwrap();
            let super::super::EntryKind::Message { message } = &entry.kind else {
                panic!("{content:?}: {entry:?}")
            };
            let Message::Known(_) = message.as_ref() else {
                panic!("{content:?}: {entry:?}")
            };
            assert_eq!(message.as_user().unwrap().content.text(), expected);
        }
    }

    #[test]
    fn lines_are_told_apart_by_their_heads() {
        for (line, is_entry) in [
            (r#"{"type":"x","id":"a","parentId":"b"}"#, true),
            (r#" {"id":"a","z":[[{}]],"type":"x"} "#, true),
            (r#"{"type":"x"}"#, false),
            (r#"{"id":"a"}"#, false),
            (r#"{"type":"x","id":7}"#, false),
            (r#"{"type":"x","id":"a"} {}"#, false),
            (r#"{"type":"x","id":"a","#, false),
            ("", false),
        ] {
            let head = LineHead::of(line.as_bytes());
            assert_eq!(matches!(head, LineHead::Entry(_)), is_entry, "{line}");
        }
        for line in [HEADER_LINE, r#"{"type":"title","v":1}"#] {
            assert_eq!(LineHead::of(line.as_bytes()), LineHead::Preamble);
        }
    }

    const HEADER_LINE: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t"}"#;
}
