//! Looking through whole session files: what they consumed, where a text occurs, a copy that needs
//! no other file. Nothing is locked and nothing is changed.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use memchr::memmem;

use super::blobs::{BlobReader, Blobs, REFERENCE};
use super::bytes::LinesForward;
use super::entry::{Entry, EntryKind};
use super::error::StoreError;
use super::files::{check_regular, read_preamble};
use super::journal::{Consumer, Totals, consumption};
use super::scan;
use super::tail::tail_of;
use crate::message::{KnownMessage, Message};
use crate::usage::Usage;

/// How much of the text around a match is shown.
const CONTEXT_CHARS: usize = 60;

/// What a session consumed, and which model it used last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionConsumption {
    pub totals: Totals,
    /// `provider/id`.
    pub model: Option<String>,
}

/// A place in a session where a text occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// `user`, `assistant` or `tool`; `name` for the session's name.
    pub role: &'static str,
    /// The text around it, in one line.
    pub excerpt: String,
}

/// Adds up a session file.
pub fn consumed(path: &Path) -> Result<SessionConsumption, StoreError> {
    let (file, end) = open_to_read(path)?;
    let reading = || StoreError::io("read", path);
    let mut model = None;
    let mut totals = Totals::default();
    scan::each_entry(&file, end, |entry| {
        totals.count_entry(&entry.kind);
        if let Some((provider, id)) = entry.kind.model() {
            model = Some(format!("{provider}/{id}"));
        }
    })
    .map_err(reading())?;
    Ok(SessionConsumption { totals, model })
}

/// What one entry of a session file consumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Consumption {
    /// The id and the time of the entry. A fork has copies of its parent's entries with the same.
    pub entry: (String, String),
    pub consumer: Consumer,
    pub usage: Usage,
}

/// Hands what each entry of a session file consumed to `visit`, in append order.
pub fn each_consumption(path: &Path, mut visit: impl FnMut(Consumption)) -> Result<(), StoreError> {
    let (file, end) = open_to_read(path)?;
    scan::each_consuming_entry(&file, 0..end, |entry| {
        if let Some((consumer, usage)) = consumption(&entry.kind) {
            visit(Consumption {
                entry: (entry.id, entry.timestamp),
                consumer,
                usage,
            });
        }
    })
    .map_err(StoreError::io("read", path))
}

/// Where `wanted` occurs in what was said and in the name, in any case; at most `limit` places.
pub fn occurrences(path: &Path, wanted: &str, limit: usize) -> Result<Vec<Occurrence>, StoreError> {
    let (file, end) = open_to_read(path)?;
    let wanted = wanted.to_lowercase();
    let mut found = Vec::new();
    scan::each_entry(&file, end, |entry| {
        if found.len() < limit
            && let Some((role, text)) = said(&entry.kind)
            && let Some(excerpt) = excerpt(&text, &wanted)
        {
            found.push(Occurrence { role, excerpt });
        }
    })
    .map_err(StoreError::io("read", path))?;
    Ok(found)
}

/// Writes a copy of a session file that has its pictures inside, for programs that look nowhere
/// else for them.
pub fn copy_with_pictures(path: &Path, out: &mut impl Write) -> Result<(), StoreError> {
    let (file, end) = open_to_read(path)?;
    let reading = || StoreError::io("read", path);
    let blobs = Blobs::of(path);
    let mut lines = LinesForward::until(&file, end);
    while let Some((_, line, _)) = lines.next().map_err(reading())? {
        let whole = with_pictures(line, &blobs)?;
        let copied = out.write_all(whole.as_deref().unwrap_or(line));
        let copied = copied.and_then(|()| out.write_all(b"\n"));
        copied.map_err(StoreError::io("copy", path))?;
    }
    Ok(())
}

/// The line with its pictures in it, if it refers to some.
pub(super) fn with_pictures(line: &[u8], blobs: &Blobs) -> Result<Option<Vec<u8>>, StoreError> {
    if memmem::find(line, REFERENCE.as_bytes()).is_none() {
        return Ok(None);
    }
    let Some(mut entry) = Entry::from_line(line) else {
        return Ok(None);
    };
    let mut pictures = BlobReader::new(blobs);
    pictures.bring_in(&mut entry);
    if !pictures.warnings().is_empty() {
        // A reference can still be found later; a note in its place would be for good.
        return Ok(None);
    }
    let line = entry.to_line().map_err(|source| StoreError::Unwritable {
        id: entry.id.clone(),
        source,
    })?;
    Ok(Some(line.strip_suffix(b"\n").unwrap_or(&line).to_vec()))
}

pub(super) fn open_to_read(path: &Path) -> Result<(File, u64), StoreError> {
    check_regular(path)?;
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    read_preamble(&file, path)?;
    let end = tail_of(&file).map_err(StoreError::io("read", path))?.keep;
    Ok((file, end))
}

/// Who said what in an entry.
fn said(kind: &EntryKind) -> Option<(&'static str, String)> {
    if let Some(name) = kind.session_name() {
        return Some(("name", name.to_owned()));
    }
    let EntryKind::Message { message } = kind else {
        return None;
    };
    match message.as_ref() {
        Message::Known(KnownMessage::User(user)) => Some(("user", user.content.text())),
        Message::Known(KnownMessage::Assistant(answer)) => Some(("assistant", answer.text())),
        Message::Known(KnownMessage::ToolResult(result)) => {
            Some(("tool", crate::message::text_of(&result.content, "\n")))
        }
        Message::Known(KnownMessage::BashExecution(run)) => {
            Some(("user", format!("{}\n{}", run.command, run.output)))
        }
        Message::Known(_) | Message::Other(_) => None,
    }
}

/// The first place of `wanted`, which is in lower case, with what is around it.
fn excerpt(text: &str, wanted: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = lower.find(wanted)?;
    // Lower case may have another length; the number of characters before it is close enough.
    let before = lower.get(..at).unwrap_or_default().chars().count();
    let first = before.saturating_sub(CONTEXT_CHARS);
    let shown = before - first + wanted.chars().count() + CONTEXT_CHARS;
    let piece: String = text.chars().skip(first).take(shown).collect();
    let words: Vec<&str> = piece.split_whitespace().collect();
    let start = if first > 0 { "…" } else { "" };
    let end = if first + shown < text.chars().count() {
        "…"
    } else {
        ""
    };
    Some(format!("{start}{}{end}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_what_is_around_a_match() {
        assert_eq!(
            excerpt("Fix the\n  Parser", "parser").as_deref(),
            Some("Fix the Parser")
        );
        let long = format!("{} needle {}", "a".repeat(200), "b".repeat(200));
        let shown = excerpt(&long, "needle").unwrap();
        assert!(shown.starts_with("…a") && shown.ends_with("b…") && shown.contains("needle"));
        assert_eq!(excerpt("nothing", "needle"), None);
    }
}
