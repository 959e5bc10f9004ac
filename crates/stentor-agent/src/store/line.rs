//! Looking at a line without reading all of it, and mending what other programs write.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a line is and where it hangs, found without building the rest of it.
#[derive(Debug, PartialEq)]
pub(super) enum LineHead<'a> {
    Entry {
        kind: Cow<'a, str>,
        id: Cow<'a, str>,
        parent_id: Option<Cow<'a, str>>,
    },
    /// A header or a title line: nothing of the tree.
    Preamble,
    Unreadable,
}

impl<'a> LineHead<'a> {
    /// Looks at one line.
    pub(super) fn of(line: &'a [u8]) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Raw<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow, default)]
            id: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            parent_id: Option<Cow<'a, str>>,
        }
        match serde_json::from_slice::<Raw>(trimmed(line)) {
            Ok(Raw { kind, .. }) if kind == "session" || kind == "title" => Self::Preamble,
            Ok(Raw {
                kind,
                id: Some(id),
                parent_id,
            }) => Self::Entry {
                kind,
                id,
                parent_id,
            },
            Ok(_) | Err(_) => Self::Unreadable,
        }
    }
}

/// True when `line` is one whole JSON object, so that nothing of it can be missing.
pub(super) fn is_whole_object(line: &[u8]) -> bool {
    let line = trimmed(line);
    line.first() == Some(&b'{') && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// `line` without white space around it and without NULs before it: what a hole in the file that
/// a power loss left reads as, when a program has appended after it.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let start = line
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(line.len());
    line.get(start..).unwrap_or_default().trim_ascii()
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
