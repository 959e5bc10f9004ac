//! Models, the user interface, the repository.

use std::collections::BTreeSet;
use std::sync::Arc;

use stentor_agent::model::ModelInfo;
use stentor_agent::repository::{GitHead, Repository, WorkTree};
use stentor_wire::edn::Value;

use super::graph::{OF_NOTHING, OF_SESSION};
use super::table::{Fact, FactTable, entity, value_of};
use crate::psi::live::PsiSession;
use crate::psi::payload::model::CatalogEntry;
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
        Fact("model-catalog", |models| value_of(&CatalogEntry::all(models))),
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
            ("path", tree.path.to_string_lossy().into_owned().into()),
            ("detached?", branch.is_none().into()),
            ("branch-name", branch.into()),
            ("current?", is_current.into()),
        ],
    )
}
