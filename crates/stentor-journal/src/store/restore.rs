//! Rebuilding from a file what a session needs to go on: its context and its settings.

use std::io;

use super::bytes::{Bytes, LineSpan, LinesForward, read_range};
use super::entry::{Entry, EntryKind};
use super::walk::{Walk, WalkStep};

/// How far before the context the settings are looked for.
const SEARCH_BYTES: u64 = 1024 * 1024;
/// How much of the beginning of the file is looked at when they were not found there.
const HEAD_BYTES: u64 = 64 * 1024;

/// What a session goes on with. See [`Opened`](super::Opened) for the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub context: Vec<Entry>,
    pub leaf: Option<String>,
    /// The last name an entry gave; `Some("")` when an entry took the name away.
    pub name: Option<String>,
    pub model: Option<(String, String)>,
    pub thinking_level: Option<String>,
    pub warnings: Vec<String>,
}

/// Reads backwards from `end` as far as the context goes, then a bounded bit for the settings.
pub(super) fn restore<B: Bytes + ?Sized>(bytes: &B, end: u64) -> io::Result<Restored> {
    let mut walk = Walk::from_leaf(bytes, end);
    let mut settings = StoredSettings::default();
    let mut warnings = Vec::new();
    let context = read_context(bytes, &mut walk, &mut settings, &mut warnings)?;
    search_settings(bytes, &mut walk, &mut settings)?;
    warnings.extend(walk.left_out());
    Ok(Restored {
        leaf: context.last().map(|entry| entry.id.clone()),
        context,
        name: settings.name,
        model: settings.model,
        thinking_level: settings.thinking_level.flatten(),
        warnings,
    })
}

/// What of a whole path is in context, as [`Opened::context`](super::Opened::context) has it.
pub fn in_context(mut path: Vec<Entry>) -> Vec<Entry> {
    let newest_first = path.iter().enumerate().rev();
    let mut compactions = newest_first.filter_map(|(at, entry)| match &entry.kind {
        EntryKind::Compaction(compaction) => Some((at, compaction)),
        _ => None,
    });
    let Some((at, compaction)) = compactions.next() else {
        return path;
    };
    let before = path.iter().take(at);
    let first_kept = before
        .clone()
        .rposition(|entry| entry.id == compaction.first_kept_entry_id);
    path.split_off(first_kept.unwrap_or(at))
}

/// The newest settings; the walk meets the newest first.
#[derive(Default)]
struct StoredSettings {
    name: Option<String>,
    model: Option<(String, String)>,
    thinking_level: Option<Option<String>>,
}

impl StoredSettings {
    fn note_on_path(&mut self, entry: &Entry) {
        self.note_name(entry);
        if self.model.is_none() {
            self.model = entry.kind.model();
        }
        if let EntryKind::ThinkingLevelChange { thinking_level } = &entry.kind {
            self.thinking_level
                .get_or_insert_with(|| thinking_level.clone());
        }
    }

    fn note_name(&mut self, entry: &Entry) {
        if self.name.is_none() {
            self.name = entry.kind.session_name().map(str::to_owned);
        }
    }

    /// Fills what is missing from older settings. Off the path only names count.
    fn fill_from(&mut self, older: StoredSettings, path_is_complete: bool) {
        self.name = self.name.take().or(older.name);
        if !path_is_complete {
            self.model = self.model.take().or(older.model);
            self.thinking_level = self.thinking_level.take().or(older.thinking_level);
        }
    }

    fn is_found(&self, path_is_complete: bool) -> bool {
        let on_path = self.model.is_some() && self.thinking_level.is_some();
        self.name.is_some() && (path_is_complete || on_path)
    }
}

fn read_context<B: Bytes + ?Sized>(
    bytes: &B,
    walk: &mut Walk<'_, B>,
    settings: &mut StoredSettings,
    warnings: &mut Vec<String>,
) -> io::Result<Vec<Entry>> {
    let mut context = Vec::new();
    while !walk.is_complete() {
        match walk.step()? {
            None => break,
            Some(WalkStep::Gap(_) | WalkStep::Other) => {}
            Some(WalkStep::Naming(entry)) => settings.note_name(&entry),
            Some(WalkStep::OnPath(_, entry)) => {
                settings.note_on_path(&entry);
                let first_kept = match &entry.kind {
                    EntryKind::Compaction(compaction) => {
                        Some(compaction.first_kept_entry_id.clone())
                    }
                    _ => None,
                };
                let id = entry.id.clone();
                context.push(*entry);
                if let Some(first_kept) = first_kept {
                    // A compaction that keeps nothing names nothing, or itself.
                    if !first_kept.is_empty() && first_kept != id {
                        let kept = read_kept(bytes, walk, settings, &first_kept, warnings)?;
                        context.extend(kept);
                    }
                    break;
                }
            }
        }
    }
    context.reverse();
    Ok(context)
}

/// The entries from `first_kept` up to the compaction, newest first. Until the first kept one is
/// found only places are remembered: if it is missing, this must not have read all history.
fn read_kept<B: Bytes + ?Sized>(
    bytes: &B,
    walk: &mut Walk<'_, B>,
    settings: &mut StoredSettings,
    first_kept: &str,
    warnings: &mut Vec<String>,
) -> io::Result<Vec<Entry>> {
    let mut spans: Vec<LineSpan> = Vec::new();
    while !walk.is_complete() {
        match walk.step()? {
            None => break,
            Some(WalkStep::Gap(_) | WalkStep::Other) => {}
            Some(WalkStep::Naming(entry)) => settings.note_name(&entry),
            Some(WalkStep::OnPath(span, entry)) => {
                settings.note_on_path(&entry);
                spans.push(span);
                if entry.id == first_kept {
                    return read_spans(bytes, &spans);
                }
            }
        }
    }
    warnings.push(format!(
        "the last compaction keeps entries from `{first_kept}` on, which is not before it; only its \
         summary is in context"
    ));
    Ok(Vec::new())
}

fn read_spans<B: Bytes + ?Sized>(bytes: &B, spans: &[LineSpan]) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(spans.len());
    for span in spans {
        entries.extend(Entry::from_line(&read_range(
            bytes,
            span.offset,
            span.length,
        )?));
    }
    Ok(entries)
}

/// Looks for settings that were not in context: a bounded way back, then in the file's head, where
/// a session's first model and level are.
fn search_settings<B: Bytes + ?Sized>(
    bytes: &B,
    walk: &mut Walk<'_, B>,
    settings: &mut StoredSettings,
) -> io::Result<()> {
    let stop = walk.position().saturating_sub(SEARCH_BYTES);
    while (walk.position() > stop || walk.goes_on_behind_gap())
        && !settings.is_found(walk.is_complete())
    {
        match walk.step()? {
            None => return Ok(()),
            Some(WalkStep::Gap(_) | WalkStep::Other) => {}
            Some(WalkStep::Naming(entry)) => settings.note_name(&entry),
            Some(WalkStep::OnPath(_, entry)) => settings.note_on_path(&entry),
        }
    }
    if walk.position() == 0 || settings.is_found(walk.is_complete()) {
        return Ok(());
    }
    let mut early = Vec::new();
    let mut lines = LinesForward::until(bytes, HEAD_BYTES.min(walk.position()));
    while let Some((_, line, _)) = lines.next()? {
        early.extend(Entry::from_line(line));
    }
    let mut older = StoredSettings::default();
    for entry in early.iter().rev() {
        older.note_on_path(entry);
    }
    settings.fill_from(older, walk.is_complete());
    Ok(())
}
