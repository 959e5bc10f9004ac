//! Models, the user interface, the repository.

use std::collections::BTreeSet;
use std::sync::Arc;

use stentor_wire::edn::Value;

use super::{attributes, entity, value_of, written};
use crate::psi::eql::Known;
use crate::psi::git::{self, Head, WorkTree};
use crate::psi::live::Live;
use crate::psi::payload::model::CatalogEntry;
use crate::psi::payload::ui;
use crate::psi::shared::Shared;

pub(in crate::psi::eql) fn models(shared: &Shared) -> Known {
    let mut models = shared.agent.models().available();
    models.sort_by(|one, other| (&one.provider, &one.id).cmp(&(&other.provider, &other.id)));
    let providers: BTreeSet<&str> = models.iter().map(|model| &*model.provider).collect();
    let providers = providers.into_iter().map(|name| name.to_owned().into());
    let catalog = models.iter().map(|model| value_of(&CatalogEntry(model)));
    attributes(
        "psi.agent-session",
        [
            ("model-catalog", Value::Vector(catalog.collect())),
            (
                "authenticated-providers",
                Value::Vector(providers.collect()),
            ),
        ],
    )
}

pub(in crate::psi::eql) fn ui(shared: &Shared, live: &Arc<Live>) -> Known {
    let now_ms = shared.clock().now_ms();
    let state = shared.ui();
    let panel = state.panel(&live.id);
    let dialog = state.open_dialog();
    let statuses = panel.statuses().map(|(key, text)| {
        Value::map([
            ("extension-id", key.clone().into()),
            ("text", text.clone().into()),
        ])
    });
    let notifications = state
        .visible(now_ms)
        .map(|one| written(|writer| ui::write_notification(writer, one)));
    attributes(
        "psi.ui",
        [
            (
                "active-dialog",
                dialog.map_or(Value::Nil, |dialog| {
                    written(|writer| ui::write_dialog(writer, dialog))
                }),
            ),
            ("pending-dialog-count", state.waiting_dialogs().into()),
            ("dialog-queue-empty?", (state.waiting_dialogs() == 0).into()),
            (
                "widgets",
                written(|writer| ui::write_widget_list(writer, &panel)),
            ),
            // Nothing here declares widgets.
            ("widget-specs", Value::Vector(Vec::new())),
            ("statuses", Value::Vector(statuses.collect())),
            (
                "visible-notifications",
                Value::Vector(notifications.collect()),
            ),
        ],
    )
}

pub(in crate::psi::eql) async fn git(live: &Live) -> Known {
    let repository = git::repository(git::project_of(&live.session, &live.cwd)).await;
    let (root, head, trees) = match repository {
        Some(found) => (Some(found.root), found.head, found.trees),
        None => (None, None, Vec::new()),
    };
    let is_current = |tree: &WorkTree| {
        let resolved = |path: &std::path::Path| path.canonicalize().ok();
        root.as_deref()
            .is_some_and(|root| root == tree.path || resolved(root) == resolved(&tree.path))
    };
    let shown = |tree: &WorkTree| {
        let branch = match &tree.head {
            Head::Branch(name) => Some(name.clone()),
            Head::Detached => None,
        };
        entity(
            "git.worktree",
            [
                ("path", tree.path.to_string_lossy().into_owned().into()),
                ("detached?", branch.is_none().into()),
                ("branch-name", branch.into()),
                ("current?", is_current(tree).into()),
            ],
        )
    };
    let current = trees.iter().find(|tree| is_current(tree)).map(shown);
    let mut known = attributes(
        "git.worktree",
        [
            ("list", Value::Vector(trees.iter().map(shown).collect())),
            ("current", current.unwrap_or(Value::Nil)),
            ("count", trees.len().into()),
            ("inside-repo?", root.is_some().into()),
        ],
    );
    known.push(
        Value::keyword("psi.agent-session/git-branch"),
        head.map(|head| head.label().to_owned()).into(),
    );
    known
}
