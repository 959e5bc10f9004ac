//! Models, the user interface, the repository, the notes kept across sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use stentor_agent::memory::{MemoryError, MemoryStatus, MemoryStore, Note};
use stentor_agent::model::ModelInfo;
use stentor_agent::repository::{GitHead, Repository, WorkTree};
use stentor_agent::tasks;
use stentor_wire::edn::Value;
use stentor_wire::eql::Params;

use super::EqlError;
use super::graph::{OF_NOTHING, OF_SESSION};
use super::table::{Fact, FactTable, entity, path, strings, value_of, vector};
use crate::psi::live::PsiSession;
use crate::psi::payload::session::catalog;
use crate::psi::shared::PsiShared;
use crate::psi::ui::{AskedDialog, Notification, Panel, Statuses, Widgets};

/// The models there are, sorted.
#[rustfmt::skip]
pub(super) static MODELS: FactTable<Vec<Arc<ModelInfo>>> = FactTable {
    symbol: "psi.ai/models",
    domain: "ai",
    input: OF_NOTHING,
    namespace: "psi.agent-session",
    facts: &[
        Fact("model-catalog", |models| catalog(models)),
        Fact("authenticated-providers", |models| {
            let names: BTreeSet<String> = models.iter().map(|model| model.provider.clone()).collect();
            Value::vector(names)
        }),
    ],
};

/// What is shown for a session.
pub(super) struct UiFacts {
    panel: Panel,
    dialog: Option<AskedDialog>,
    waiting_dialogs: usize,
    notifications: Vec<Notification>,
}

impl UiFacts {
    pub fn look(shared: &PsiShared, live: &PsiSession) -> Self {
        let now_ms = shared.clock().now_ms();
        let state = shared.ui();
        Self {
            panel: state.panel(&live.id),
            dialog: state.open_dialog().cloned(),
            waiting_dialogs: state.waiting_dialogs(),
            notifications: state.visible(now_ms),
        }
    }
}

#[rustfmt::skip]
pub(super) static UI: FactTable<UiFacts> = FactTable {
    symbol: "psi.ui/state",
    domain: "ui",
    input: OF_SESSION,
    namespace: "psi.ui",
    facts: &[
        Fact("active-dialog", |f| {
            let dialog = f.dialog.as_ref();
            dialog.map_or(Value::Nil, value_of)
        }),
        Fact("pending-dialog-count", |f| f.waiting_dialogs.into()),
        Fact("dialog-queue-empty?", |f| (f.waiting_dialogs == 0).into()),
        Fact("widgets", |f| value_of(&Widgets(&f.panel))),
        // Nothing here declares widgets.
        Fact("widget-specs", |_| Value::Vector(Vec::new())),
        Fact("statuses", |f| value_of(&Statuses(&f.panel))),
        Fact("visible-notifications", |f| value_of(&f.notifications)),
    ],
};

/// The repository the session's folder is in.
pub(super) static GIT: FactTable<Option<Repository>> = FactTable {
    symbol: "git.worktree/state",
    domain: "git",
    input: OF_SESSION,
    namespace: "git.worktree",
    facts: &[
        Fact("psi.agent-session/git-branch", |found| {
            let head = found.as_ref().and_then(|found| found.head.as_ref());
            head.map(|head| head.label().to_owned()).into()
        }),
        Fact("list", |found| Value::Vector(work_trees(found))),
        Fact("current", |found| {
            let current = found.as_ref().and_then(|found| found.current);
            let current = current.and_then(|place| work_trees(found).into_iter().nth(place));
            current.into()
        }),
        Fact("count", |found| work_trees(found).len().into()),
        Fact("inside-repo?", |found| found.is_some().into()),
    ],
};

fn work_trees(found: &Option<Repository>) -> Vec<Value<'static>> {
    let Some(found) = found else {
        return Vec::new();
    };
    let trees = found.trees.iter().enumerate();
    let trees = trees.map(|(place, tree)| work_tree(tree, found.current == Some(place)));
    trees.collect()
}

fn work_tree(tree: &WorkTree, is_current: bool) -> Value<'static> {
    let branch = match &tree.head {
        GitHead::Branch(name) => Some(name.clone()),
        GitHead::Detached => None,
    };
    entity(
        "git.worktree",
        [
            ("path", path(&tree.path)),
            ("detached?", branch.is_none().into()),
            ("branch-name", branch.into()),
            ("current?", is_current.into()),
        ],
    )
}

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
