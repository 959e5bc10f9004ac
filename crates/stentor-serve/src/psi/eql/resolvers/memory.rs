//! The notes kept across sessions.

use std::sync::Arc;

use stentor_agent::memory::{MemoryError, MemoryStatus, MemoryStore, Note};
use stentor_wire::edn::{Map, Value};
use stentor_wire::eql::Params;

use super::{attributes, strings};
use crate::psi::eql::{EqlError, Known};
use crate::psi::shared::Shared;

/// Notes in a list of recent ones.
const RECENT: usize = 20;
/// Notes a search finds unless it says how many.
const FOUND: usize = 20;

/// Everything about the notes. `(:psi.memory/search-results {:query "words"})` searches.
pub(in crate::psi::eql) async fn memory(
    shared: &Arc<Shared>,
    params: Option<&Params>,
) -> Result<Known, EqlError> {
    let Some(store) = shared.options.memory.clone() else {
        return Ok(describe(&unavailable(), Notes::default()));
    };
    let text = |key: &str| {
        params
            .and_then(|params| params.get(key))
            .and_then(Value::as_str)
    };
    let query = text("query").unwrap_or_default().to_owned();
    let limit = params
        .and_then(|params| params.get("limit"))
        .and_then(Value::as_i64);
    let limit = limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(FOUND);
    let read = move || -> Result<Known, MemoryError> {
        let status = store.status();
        if !status.ready {
            // How it is can be said; what is in it cannot.
            return Ok(describe(&status, Notes::default()));
        }
        Ok(describe(&status, Notes::read(&store, &query, limit)?))
    };
    Ok(tokio::task::spawn_blocking(read).await??)
}

#[derive(Default)]
struct Notes {
    all: Vec<Note>,
    recent: Vec<Note>,
    found: Vec<Note>,
    tags: Vec<(String, usize)>,
}

impl Notes {
    fn read(store: &MemoryStore, query: &str, limit: usize) -> Result<Self, MemoryError> {
        Ok(Self {
            all: store.notes()?,
            recent: store.recent(RECENT)?,
            found: if query.is_empty() {
                Vec::new()
            } else {
                store.search(query, limit)?
            },
            tags: store.by_tag()?.into_iter().collect(),
        })
    }
}

fn unavailable() -> MemoryStatus {
    MemoryStatus {
        ready: false,
        notes: 0,
        captures: 0,
        last_capture: None,
        last_error: None,
    }
}

fn describe(status: &MemoryStatus, notes: Notes) -> Known {
    let shown = |notes: &[Note]| Value::Vector(notes.iter().map(entry).collect());
    let state = if status.ready { "ready" } else { "unavailable" };
    let nothing = || Value::Vector(Vec::new());
    let by_tag: Map<'static> = notes
        .tags
        .iter()
        .map(|(tag, count)| (Value::from(tag.clone()), Value::from(*count)))
        .collect();
    let mut known = attributes(
        "psi.memory",
        [
            ("status", Value::keyword(state)),
            ("entry-count", status.notes.into()),
            ("entries", shown(&notes.all)),
            ("recent-entries", shown(&notes.recent)),
            ("search-results", shown(&notes.found)),
            // A file that is only appended to has nothing to recover and no history of its own.
            ("recovery-count", Value::Int(0)),
            ("recoveries", nothing()),
            ("graph-snapshots", nothing()),
            ("graph-deltas", nothing()),
            ("by-tag", Value::Map(by_tag)),
            ("capability-history", nothing()),
            (
                "index-stats",
                Value::map([
                    ("entry-count", Value::from(status.notes)),
                    ("tag-count", Value::from(notes.tags.len())),
                ]),
            ),
        ],
    );
    for (name, value) in attributes(
        "psi.memory.remember",
        [
            ("status", Value::keyword(state)),
            ("captures", status.captures.into()),
            ("last-capture-at", status.last_capture.clone().into()),
            ("last-error", status.last_error.clone().into()),
        ],
    ) {
        known.push(name, value);
    }
    known
}

fn entry(note: &Note) -> Value<'static> {
    Value::map([
        ("id", note.id.clone().into()),
        ("timestamp", note.time.clone().into()),
        ("text", note.text.clone().into()),
        ("tags", strings(&note.tags)),
        ("session-id", note.session.clone().into()),
        ("worktree-path", note.folder.clone().into()),
    ])
}
