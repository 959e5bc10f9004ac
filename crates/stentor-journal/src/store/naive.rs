//! The plainest reader there is: everything in memory, front to back. What the real one finds by
//! reading backwards must be the same. Tests and the fuzz target compare with it.

use super::{Entry, EntryKind};

/// As many missing entries are passed over as the real reader passes over.
const MAX_GAPS: usize = 64;

/// What the plain reader found.
#[derive(Debug, Default, PartialEq)]
pub struct PlainReading {
    pub context: Vec<Entry>,
    pub leaf: Option<String>,
    pub name: Option<String>,
    pub model: Option<(String, String)>,
    pub thinking_level: Option<String>,
}

/// Reads a version-3 session.
pub fn read_plainly(bytes: &[u8]) -> PlainReading {
    let solid = bytes.iter().rposition(|byte| *byte != 0);
    let solid = solid.map_or(&[][..], |last| &bytes[..=last]);
    let lines: Vec<Option<Entry>> = solid
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && !is_preamble(line))
        .map(Entry::from_line)
        .collect();
    let path = path_to_last(&lines);
    let entries: Vec<&Entry> = lines.iter().flatten().collect();
    let mut plain = PlainReading {
        leaf: path.last().map(|entry| entry.id.clone()),
        ..PlainReading::default()
    };
    for entry in &entries {
        if let Some(name) = entry.kind.session_name() {
            plain.name = Some(name.to_owned());
        }
    }
    for entry in &path {
        if let Some(model) = entry.kind.model() {
            plain.model = Some(model);
        }
        if let EntryKind::ThinkingLevelChange { thinking_level } = &entry.kind {
            plain.thinking_level.clone_from(thinking_level);
        }
    }
    plain.context = in_context(path);
    plain
}

/// `None` is a line nobody can read.
fn path_to_last(lines: &[Option<Entry>]) -> Vec<&Entry> {
    let mut path = Vec::new();
    let mut gaps = 0;
    let mut at = lines.iter().rposition(Option::is_some);
    while let Some(index) = at {
        let Some(entry) = &lines[index] else { break };
        path.push(entry);
        at = entry.parent_id.as_ref().and_then(|parent| {
            let before = &lines[..index];
            let is_parent = |line: &Option<Entry>| line.as_ref().is_some_and(|e| e.id == *parent);
            before.iter().rposition(is_parent).or_else(|| {
                // It may be a line nobody can read, else it is gone: then what was written before that
                // came before.
                gaps += 1;
                let gap = before.iter().rposition(Option::is_none).unwrap_or(index);
                let before = (gaps <= MAX_GAPS).then_some(&lines[..gap])?;
                before.iter().rposition(Option::is_some)
            })
        });
    }
    path.reverse();
    path
}

fn in_context(path: Vec<&Entry>) -> Vec<Entry> {
    let compaction = path.iter().enumerate().rev().find_map(|(at, entry)| {
        let EntryKind::Compaction(compaction) = &entry.kind else {
            return None;
        };
        Some((at, compaction.first_kept_entry_id.as_str()))
    });
    let start = match compaction {
        None => 0,
        Some((at, "")) => at,
        Some((at, first_kept)) if path[at].id == first_kept => at,
        Some((at, first_kept)) => path[..at]
            .iter()
            .rposition(|entry| entry.id == first_kept)
            .unwrap_or(at),
    };
    path[start..].iter().map(|entry| (*entry).clone()).collect()
}

/// A header or a title line: nothing of the tree.
fn is_preamble(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct NamedKind {
        #[serde(rename = "type")]
        name: String,
    }
    serde_json::from_slice::<NamedKind>(line.trim_ascii())
        .is_ok_and(|kind| kind.name == "session" || kind.name == "title")
}
