//! The notes kept across sessions.

use stentor_agent::memory::{MemoryError, MemoryStatus, MemoryStore, Note};
use stentor_agent::tasks;
use stentor_wire::edn::Value;
use stentor_wire::eql::Params;

use super::EqlError;
use super::graph::OF_NOTHING;
use super::table::{Fact, FactTable, strings, vector};
use crate::psi::shared::PsiShared;

/// Notes in a list of recent ones.
const RECENT: usize = 20;
/// Notes a search finds unless it says how many.
const FOUND: usize = 20;

/// How the store of notes is.
pub(super) async fn status(shared: &PsiShared) -> Result<MemoryStatus, EqlError> {
    Ok(match shared.options.memory.clone() {
        Some(store) => tasks::spawn_blocking(move || store.status()).await?,
        None => MemoryStatus::default(),
    })
}

#[rustfmt::skip]
pub(super) static MEMORY: FactTable<MemoryStatus> = FactTable {
    symbol: "psi.memory/state",
    domain: "memory",
    input: OF_NOTHING,
    namespace: "psi.memory",
    facts: &[
        Fact("status", readiness),
        Fact("entry-count", |status| status.notes.into()),
        // A file that is only appended to has nothing to recover and no history of its own.
        Fact("recovery-count", |_| Value::Int(0)),
        Fact("recoveries", nothing),
        Fact("graph-snapshots", nothing),
        Fact("graph-deltas", nothing),
        Fact("capability-history", nothing),
        Fact("psi.memory.remember/status", readiness),
        Fact("psi.memory.remember/captures", |status| status.captures.into()),
        Fact("psi.memory.remember/last-capture-at", |status| status.last_capture.clone().into()),
        Fact("psi.memory.remember/last-error", |status| status.last_error.clone().into()),
    ],
};

fn readiness(status: &MemoryStatus) -> Value<'static> {
    Value::keyword(if status.ready { "ready" } else { "unavailable" })
}

fn nothing(_: &MemoryStatus) -> Value<'static> {
    Value::Vector(Vec::new())
}

/// What is in it; `(:psi.memory/search-results {:query "words"})` searches. Notes that cannot be
/// read are an error: none would be a lie.
pub(super) async fn notes(
    shared: &PsiShared,
    params: Option<&Params>,
) -> Result<MemoryNotes, EqlError> {
    let Some(store) = shared.options.memory.clone() else {
        return Ok(MemoryNotes::default());
    };
    let given = |key: &str| params.and_then(|params| params.get(key));
    let query = given("query").and_then(Value::as_str);
    let query = query.unwrap_or_default().to_owned();
    let limit = given("limit").and_then(Value::as_i64);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let read = move || MemoryNotes::read(&store, &query, limit.unwrap_or(FOUND));
    Ok(tasks::spawn_blocking(read).await??)
}

pub(super) static NOTES: FactTable<MemoryNotes> = FactTable {
    symbol: "psi.memory/notes",
    domain: "memory",
    input: OF_NOTHING,
    namespace: "psi.memory",
    facts: &[
        Fact("entries", |notes| vector(&notes.all, entry)),
        Fact("recent-entries", |notes| vector(&notes.recent, entry)),
        Fact("search-results", |notes| vector(&notes.found, entry)),
        Fact("by-tag", |notes| {
            let counts = notes.tags.iter();
            let counts = counts.map(|(tag, count)| (tag.clone().into(), (*count).into()));
            Value::Map(counts.collect())
        }),
        Fact("index-stats", |notes| {
            Value::map([
                ("entry-count", notes.all.len().into()),
                ("tag-count", notes.tags.len().into()),
            ])
        }),
    ],
};

#[derive(Default)]
pub(super) struct MemoryNotes {
    all: Vec<Note>,
    recent: Vec<Note>,
    found: Vec<Note>,
    tags: Vec<(String, usize)>,
}

impl MemoryNotes {
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
