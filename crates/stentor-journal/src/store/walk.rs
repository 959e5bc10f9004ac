//! Following the parent links from an entry back to the root.
//!
//! The file is read backwards, once. A parent id means the nearest entry before with that id: a
//! cycle is impossible then, and an id that was given twice does no harm.
//!
//! An entry whose line cannot be read breaks the path. When its id is found nowhere, the path goes
//! on with the entry right before that line: sessions grow line by line, so that is its parent in
//! all but the rarest of files, and one bad line costs that line and nothing before it. The same
//! holds for a parent that is not in the file at all: the path goes on with the entry right before
//! the one that names it.

use std::borrow::Cow;
use std::io;

use serde::Deserialize;

use super::bytes::{Bytes, LineSpan, LinesBackward};
use super::entry::Entry;
use super::line::{LineHead, trimmed};

/// How often a walk goes on behind an entry that is missing: each time it has looked for it in all
/// of the rest of the file.
pub(super) const MAX_GAPS: usize = 64;

/// How many lines that cannot be read are described.
const DESCRIBED_LINES: usize = 3;

/// How much of a line or an id is repeated in a warning.
const SHOWN_CHARS: usize = 60;

/// A walk along the path, line by line.
pub(super) struct Walk<'a, B: ?Sized> {
    bytes: &'a B,
    lines: LinesBackward<'a, B>,
    wanted: WantedEntry,
    /// The last entry on the path that was found.
    last: Option<LineSpan>,
    /// The nearest line before the last entry on the path that cannot be read.
    gap: Option<LineSpan>,
    gaps: usize,
    unreadable: UnreadableLines,
    /// Of entries whose parent is not in the file, the first ones in words.
    orphans: Vec<String>,
}

/// The lines that could not be read so far.
#[derive(Default)]
struct UnreadableLines {
    described: Vec<String>,
    /// Those beyond the described ones.
    others: u64,
    /// Lines from here on have been counted.
    counted_from: Option<u64>,
}

/// What a step came across.
#[derive(Debug)]
pub(super) enum WalkStep {
    OnPath(LineSpan, Box<Entry>),
    /// An entry off the path that names the session: names hold for all branches.
    Naming(Box<Entry>),
    /// A line nobody can read, in the place of an entry on the path.
    Gap(LineSpan),
    /// An entry of another branch, a header, a line nobody can read, or nothing in the place of an
    /// entry on the path.
    Other,
}

enum WantedEntry {
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
            bytes,
            lines: LinesBackward::before(bytes, end),
            wanted: WantedEntry::Leaf,
            last: None,
            gap: None,
            gaps: 0,
            unreadable: UnreadableLines::default(),
            orphans: Vec::new(),
        }
    }

    /// Starts at the last entry before `end` that has this id.
    pub(super) fn from_entry(bytes: &'a B, end: u64, id: &str) -> Self {
        Self {
            wanted: WantedEntry::Id(id.to_owned()),
            ..Self::from_leaf(bytes, end)
        }
    }

    /// Looks at one more line; `None` at the beginning of the file.
    pub(super) fn step(&mut self) -> io::Result<Option<WalkStep>> {
        let Some((span, line)) = self.lines.next()? else {
            return Ok(self.go_on_behind_gap());
        };
        let head = match LineHead::of(line) {
            LineHead::Entry(head) => head,
            LineHead::Preamble => return Ok(Some(WalkStep::Other)),
            LineHead::Unreadable => {
                self.unreadable.note(span, line);
                if self.last.is_some() {
                    self.gap.get_or_insert(span);
                }
                return Ok(Some(WalkStep::Other));
            }
        };
        let on_path = match &self.wanted {
            WantedEntry::Leaf => true,
            WantedEntry::Id(wanted) => *wanted == head.id,
            WantedEntry::Nothing => false,
        };
        let naming = matches!(head.kind.as_ref(), "session_info" | "title_change");
        if !on_path && !naming {
            return Ok(Some(WalkStep::Other));
        }
        let entry = Entry::whole(&head, line);
        if entry.as_ref().is_none_or(Entry::lacks_its_message) {
            self.unreadable.note(span, line);
        }
        let entry = entry.unwrap_or_else(|| Entry::placeholder(&head));
        let entry = Box::new(entry);
        if !on_path {
            return Ok(Some(WalkStep::Naming(entry)));
        }
        self.last = Some(span);
        self.gap = None;
        self.wanted = match &entry.parent_id {
            Some(parent) => WantedEntry::Id(parent.clone()),
            None => WantedEntry::Nothing,
        };
        Ok(Some(WalkStep::OnPath(span, entry)))
    }

    /// True when the root has been reached; later steps are never on the path.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.wanted, WantedEntry::Nothing)
    }

    /// Everything from here to the end of the file has been looked at.
    pub(super) fn position(&self) -> u64 {
        self.lines.position()
    }

    /// What is left out because it cannot be read, for people.
    pub(super) fn left_out(&self) -> Vec<String> {
        let mut left_out = self.unreadable.described.clone();
        left_out.extend(self.orphans.iter().cloned());
        if self.unreadable.others > 0 {
            let others = self.unreadable.others;
            left_out.push(format!("skipped {others} more unreadable lines"));
        }
        left_out
    }

    /// At the beginning of the file: an entry that was not found may be the line nobody can read, or
    /// one that is gone.
    pub(super) fn goes_on_behind_gap(&self) -> bool {
        let looks_for_parent = matches!(self.wanted, WantedEntry::Id(_));
        let may = self.last.is_some() && self.gaps < MAX_GAPS;
        self.position() == 0 && looks_for_parent && may
    }

    fn go_on_behind_gap(&mut self) -> Option<WalkStep> {
        if !self.goes_on_behind_gap() {
            return None;
        }
        self.gaps += 1;
        let wanted = std::mem::replace(&mut self.wanted, WantedEntry::Leaf);
        if let Some(gap) = self.gap.take() {
            self.lines = LinesBackward::before(self.bytes, gap.offset);
            return Some(WalkStep::Gap(gap));
        }
        let LineSpan { offset, .. } = self.last?;
        self.lines = LinesBackward::before(self.bytes, offset);
        if let WantedEntry::Id(parent) = wanted
            && self.orphans.len() < DESCRIBED_LINES
        {
            let parent: String = parent.chars().take(SHOWN_CHARS).collect();
            self.orphans.push(format!(
                "the parent {parent:?} of the entry at byte {offset} is not in the session file: \
                 using the entry before it instead"
            ));
        }
        Some(WalkStep::Other)
    }
}

impl UnreadableLines {
    fn note(&mut self, span: LineSpan, line: &[u8]) {
        // Behind a gap the walk comes by lines it has seen.
        if self.counted_from.is_some_and(|from| span.offset >= from) {
            return;
        }
        self.counted_from = Some(span.offset);
        if self.described.len() == DESCRIBED_LINES {
            self.others += 1;
            return;
        }
        let text = String::from_utf8_lossy(trimmed(line));
        let beginning = match text.is_empty() {
            true => "nothing but NUL bytes".to_owned(),
            false => format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>()),
        };
        let LineSpan { offset, length } = span;
        self.described.push(format!(
            "skipped an unreadable line, {length} bytes at byte {offset} of the session file: \
             {beginning}"
        ));
    }
}

/// Where the lines of the path to `entry` (`None`: to the last entry) are, the root's first, in a
/// few bytes per entry. Empty when there is no such entry.
pub(super) fn path_spans<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    entry: Option<&str>,
) -> io::Result<Vec<LineSpan>> {
    let mut walk = match entry {
        Some(id) => Walk::from_entry(bytes, end, id),
        None => Walk::from_leaf(bytes, end),
    };
    let mut spans = Vec::new();
    while !walk.is_complete() {
        match walk.step()? {
            // A copy of the path must have the gap, too, to be read like this one.
            Some(WalkStep::OnPath(span, _) | WalkStep::Gap(span)) => spans.push(span),
            Some(WalkStep::Naming(_) | WalkStep::Other) => {}
            None => break,
        }
    }
    spans.reverse();
    Ok(spans)
}

/// Whether the newest answer before `end` with this response id is on the path to `leaf`. Reads
/// backwards, and no further than that answer.
pub(super) fn newest_answer_is_on_path<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    leaf: &str,
    response_id: &str,
) -> io::Result<bool> {
    let mut lines = LinesBackward::before(bytes, end);
    let mut wanted = Some(leaf.to_owned());
    while let Some((_, line)) = lines.next()? {
        let LineHead::Entry(head) = LineHead::of(line) else {
            continue;
        };
        let is_on_path = wanted.as_deref() == Some(&*head.id);
        if head.kind == "message" && response_id_of(line).as_deref() == Some(response_id) {
            return Ok(is_on_path);
        }
        if is_on_path {
            wanted = head.parent_id.map(Cow::into_owned);
        }
    }
    Ok(false)
}

/// The response id of an answer, found without building the rest of it.
fn response_id_of(line: &[u8]) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct RawEntry<'a> {
        #[serde(borrow)]
        message: RawAnswer<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RawAnswer<'a> {
        #[serde(borrow, default)]
        response_id: Option<Cow<'a, str>>,
    }
    let raw: RawEntry<'_> = serde_json::from_slice(trimmed(line)).ok()?;
    raw.message.response_id
}
