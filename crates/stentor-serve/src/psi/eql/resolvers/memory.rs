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

/// How the store of notes is.
pub(in crate::psi::eql) async fn status(shared: &Arc<Shared>) -> Result<Known, EqlError> {
    let status = match shared.options.memory.clone() {
        Some(store) => tokio::task::spawn_blocking(move || store.status()).await?,
        None => MemoryStatus {
            ready: false,
            notes: 0,
            captures: 0,
            last_capture: None,
            last_error: None,
        },
    };
    let state = if status.ready { "ready" } else { "unavailable" };
    let nothing = || Value::Vector(Vec::new());
    let mut known = attributes(
        "psi.memory",
        [
            ("status", Value::keyword(state)),
            ("entry-count", status.notes.into()),
            // A file that is only appended to has nothing to recover and no history of its own.
            ("recovery-count", Value::Int(0)),
            ("recoveries", nothing()),
            ("graph-snapshots", nothing()),
            ("graph-deltas", nothing()),
            ("capability-history", nothing()),
        ],
    );
    for (name, value) in attributes(
        "psi.memory.remember",
        [
            ("status", Value::keyword(state)),
            ("captures", status.captures.into()),
            ("last-capture-at", status.last_capture.into()),
            ("last-error", status.last_error.into()),
        ],
    ) {
        known.push(name, value);
    }
    Ok(known)
}

/// What is in it; `(:psi.memory/search-results {:query "words"})` searches. Notes that cannot be
/// read are an error: none would be a lie.
pub(in crate::psi::eql) async fn notes(
    shared: &Arc<Shared>,
    params: Option<&Params>,
) -> Result<Known, EqlError> {
    let Some(store) = shared.options.memory.clone() else {
        return Ok(describe(&Notes::default()));
    };
    let given = |key: &str| params.and_then(|params| params.get(key));
    let query = given("query").and_then(Value::as_str);
    let query = query.unwrap_or_default().to_owned();
    let limit = given("limit").and_then(Value::as_i64);
    let limit = limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(FOUND);
    let read = move || Notes::read(&store, &query, limit);
    Ok(describe(&tokio::task::spawn_blocking(read).await??))
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

fn describe(notes: &Notes) -> Known {
    let shown = |notes: &[Note]| Value::Vector(notes.iter().map(entry).collect());
    let by_tag: Map<'static> = notes
        .tags
        .iter()
        .map(|(tag, count)| (Value::from(tag.clone()), Value::from(*count)))
        .collect();
    attributes(
        "psi.memory",
        [
            ("entries", shown(&notes.all)),
            ("recent-entries", shown(&notes.recent)),
            ("search-results", shown(&notes.found)),
            ("by-tag", Value::Map(by_tag)),
            (
                "index-stats",
                Value::map([
                    ("entry-count", Value::from(notes.all.len())),
                    ("tag-count", Value::from(notes.tags.len())),
                ]),
            ),
        ],
    )
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
