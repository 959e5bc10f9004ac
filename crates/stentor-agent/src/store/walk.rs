//! Following the parent links from an entry back to the root.
//!
//! The file is read backwards, once. A parent id means the nearest entry before with that id: a
//! cycle is impossible then, and an id that was given twice does no harm.

use std::io;

use super::bytes::{Bytes, LinesBackward, Span};
use super::entry::Entry;
use super::line::LineHead;

/// A walk along the path, line by line.
pub(super) struct Walk<'a, B: ?Sized> {
    lines: LinesBackward<'a, B>,
    wanted: Wanted,
    unreadable: u64,
}

/// What a step came across.
#[derive(Debug)]
pub(super) enum Seen {
    OnPath(Span, Box<Entry>),
    /// An entry off the path that names the session: names hold for all branches.
    Naming(Box<Entry>),
    /// An entry of another branch, a header, or a line nobody can read.
    Other,
}

enum Wanted {
    /// The last entry there is.
    Leaf,
    Id(String),
    /// The path is complete.
    Nothing,
}

impl<'a, B: Bytes + ?Sized> Walk<'a, B> {
    /// Starts at the last entry before `end`.
    pub(super) fn from_leaf(bytes: &'a B, end: u64) -> Self {
        Self {
            lines: LinesBackward::before(bytes, end),
            wanted: Wanted::Leaf,
            unreadable: 0,
        }
    }

    /// Starts at the last entry before `end` that has this id.
    pub(super) fn from_entry(bytes: &'a B, end: u64, id: &str) -> Self {
        Self {
            wanted: Wanted::Id(id.to_owned()),
            ..Self::from_leaf(bytes, end)
        }
    }

    /// Looks at one more line; `None` at the beginning of the file.
    pub(super) fn step(&mut self) -> io::Result<Option<Seen>> {
        let Some((span, line)) = self.lines.next()? else {
            return Ok(None);
        };
        let head = match LineHead::of(line) {
            LineHead::Entry(head) => head,
            LineHead::Preamble => return Ok(Some(Seen::Other)),
            LineHead::Unreadable => {
                self.unreadable += 1;
                return Ok(Some(Seen::Other));
            }
        };
        let on_path = match &self.wanted {
            Wanted::Leaf => true,
            Wanted::Id(wanted) => *wanted == head.id,
            Wanted::Nothing => false,
        };
        let naming = matches!(head.kind.as_ref(), "session_info" | "title_change");
        if !on_path && !naming {
            return Ok(Some(Seen::Other));
        }
        let entry = Entry::whole(&head, line).unwrap_or_else(|| {
            self.unreadable += 1;
            Entry::placeholder(&head)
        });
        let entry = Box::new(entry);
        if !on_path {
            return Ok(Some(Seen::Naming(entry)));
        }
        self.wanted = match &entry.parent_id {
            Some(parent) => Wanted::Id(parent.clone()),
            None => Wanted::Nothing,
        };
        Ok(Some(Seen::OnPath(span, entry)))
    }

    /// True when the root has been reached; later steps are never on the path.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.wanted, Wanted::Nothing)
    }

    /// Everything from here to the end of the file has been looked at.
    pub(super) fn position(&self) -> u64 {
        self.lines.position()
    }

    /// How many lines could not be read so far.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

/// Where the lines of the path to `entry` (`None`: to the last entry) are, the root's first, in a
/// few bytes per entry. Empty when there is no such entry.
pub(super) fn path_spans<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    entry: Option<&str>,
) -> io::Result<Vec<Span>> {
    let mut walk = match entry {
        Some(id) => Walk::from_entry(bytes, end, id),
        None => Walk::from_leaf(bytes, end),
    };
    let mut spans = Vec::new();
    while !walk.is_complete() {
        match walk.step()? {
            Some(Seen::OnPath(span, _)) => spans.push(span),
            Some(Seen::Naming(_) | Seen::Other) => {}
            None => break,
        }
    }
    spans.reverse();
    Ok(spans)
}
