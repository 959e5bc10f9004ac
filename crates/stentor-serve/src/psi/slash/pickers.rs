//! What the user is asked to choose from, and what becomes of the choice:
//! `frontend_action_result` (section 14).
//!
//! The result carries everything; nothing is kept here between the question and the answer, which
//! may come much later or never.

use std::collections::HashMap;
use std::sync::Arc;

use stentor_agent::model::ModelInfo;
use stentor_journal::clock::iso_time;
use stentor_wire::edn::{Fields, Keyword, Value};

use super::{
    Effect, Performed, builtins, effect_of, effect_parts, go_to, result as command_result,
};
use crate::psi::eql::table::path;
use crate::psi::error::OpError;
use crate::psi::item::ItemPart;
use crate::psi::live::PsiSession;
use crate::psi::ops::navigation;
use crate::psi::ops::settings::{self, ModelScope};
use crate::psi::params::{either, missing, word_of};
use crate::psi::payload;
use crate::psi::payload::context::{self, Slot};
use crate::psi::payload::session::{catalog_entry, model_ref};
use crate::psi::request::{OpCall, OpDone, OpResult, RequestAnswerer};
use crate::psi::text;

pub(super) const SELECT_MODEL: &str = "select-model";
pub(super) const SELECT_THINKING: &str = "select-thinking-level";
pub const SELECT_STORED: &str = "select-resume-session";
pub(super) const SELECT_LIVE: &str = "select-session";

/// How much of a message names a place to fork.
const FORK_LABEL_CHARS: usize = 80;

/// A request to choose.
struct Picker {
    action: &'static str,
    prompt: &'static str,
    /// `preserve` when the order of the items must be kept.
    order: &'static str,
    submit: &'static str,
    /// What is said when there is nothing to choose from: the client would show nothing and never
    /// answer.
    nothing: &'static str,
}

const MODELS: Picker = Picker {
    action: SELECT_MODEL,
    prompt: "Select a model",
    order: "default",
    submit: "set-model",
    nothing: "There are no models to choose from.",
};

const THINKING_LEVELS: Picker = Picker {
    action: SELECT_THINKING,
    prompt: "Select a thinking level",
    order: "default",
    submit: "set-thinking-level",
    nothing: "There are no levels.",
};

const STORED_SESSIONS: Picker = Picker {
    action: SELECT_STORED,
    prompt: "Select a session to resume",
    order: "preserve",
    submit: "resume-session-path",
    nothing: "There is nothing to resume.",
};

const LIVE_SESSIONS: Picker = Picker {
    action: SELECT_LIVE,
    prompt: "Select a live session",
    order: "preserve",
    submit: "selector-action",
    nothing: "There are no sessions.",
};

/// One thing to choose.
struct PickerItem {
    id: Value<'static>,
    label: String,
    value: Value<'static>,
    meta: Option<Value<'static>>,
}

pub(super) fn models(asker: &RequestAnswerer) -> Effect {
    let models = asker.shared.models();
    let items = models.iter().map(|model| {
        let ModelInfo { provider, id, .. } = &**model;
        let reasoning = if model.reasoning { " [reasoning]" } else { "" };
        PickerItem {
            label: format!("{provider} {id}{reasoning}"),
            id: Value::vector([provider.clone(), id.clone()]),
            value: model_ref(model),
            meta: Some(catalog_entry(model)),
        }
    });
    MODELS.ask(items.collect(), asker)
}

pub(super) fn thinking_levels(asker: &RequestAnswerer) -> Effect {
    let items = settings::level_names().map(|level| PickerItem {
        id: level.into(),
        label: level.to_owned(),
        value: level.into(),
        meta: None,
    });
    THINKING_LEVELS.ask(items.into(), asker)
}

pub(super) async fn stored_sessions(asker: &RequestAnswerer, live: &PsiSession) -> Effect {
    let listed = asker.shared.stored(&live.origin.cwd).await;
    let listed = listed.unwrap_or_default();
    let items = listed.into_iter().map(|session| {
        let path = session.path.to_string_lossy().into_owned();
        let name = session.name.or(session.first_message);
        let label = name.map(|name| text::one_line(&name, FORK_LABEL_CHARS));
        PickerItem {
            id: path.clone().into(),
            label: label.unwrap_or_else(|| path.clone()),
            value: path.into(),
            meta: None,
        }
    });
    STORED_SESSIONS.ask(items.collect(), asker)
}

pub(super) async fn live_sessions(call: &OpCall<'_>, target: &Arc<PsiSession>) -> Effect {
    let mut slots = context::slots_as_they_came(call.shared()).await;
    slots.extend(call.shared().elsewhere().await);
    let sorted = context::sorted_by_tree(&slots);
    let forks = target.session.user_messages().await.unwrap_or_default();
    let subtree = subtree_of(&sorted, target);
    let active = call.connection.focus.as_ref();
    let active = active.map(|live| Arc::clone(&live.id));
    let mut items = Vec::new();
    for (place, slot) in sorted.iter().enumerate() {
        items.push(session_item(slot, active.as_deref()));
        if place + 1 == subtree {
            let prompts = forks.iter();
            let prompts = prompts.filter(|(_, text)| !text.trim_start().starts_with('/'));
            items.extend(prompts.map(|(entry_id, text)| fork_item(target, entry_id, text)));
        }
    }
    LIVE_SESSIONS.ask(items, &call.answerer)
}

/// How many of the sorted sessions come up to the end of a session's own subtree.
fn subtree_of(sorted: &[&Slot], target: &PsiSession) -> usize {
    let Some(at) = sorted.iter().position(|slot| slot.id == target.id) else {
        return sorted.len();
    };
    let mut family = vec![&target.id];
    let mut end = at + 1;
    for slot in sorted.iter().skip(at + 1) {
        match &slot.origin.parent {
            Some(parent) if family.contains(&parent) => family.push(&slot.id),
            _ => break,
        }
        end += 1;
    }
    end
}

fn session_item(slot: &Slot, active: Option<&str>) -> PickerItem {
    let label = slot.label();
    let action = Value::map([
        ("action/kind", Value::keyword("switch-session")),
        ("action/session-id", slot.id.to_string().into()),
    ]);
    let parent = slot.origin.parent.as_deref();
    let meta = Value::map([
        ("item/id", place("session", &slot.id)),
        ("item/kind", Value::keyword("session")),
        (
            "item/parent-id",
            parent.map(|id| place("session", id)).into(),
        ),
        ("item/session-id", slot.id.to_string().into()),
        ("item/display-name", label.clone().into()),
        ("item/default-label", label.clone().into()),
        ("item/is-active", (active == Some(&*slot.id)).into()),
        ("item/is-streaming", slot.is_streaming.into()),
        ("item/worktree-path", path(&slot.origin.cwd)),
        ("item/created-at", iso_time(slot.origin.created_ms).into()),
        ("item/updated-at", slot.updated_ms.map(iso_time).into()),
        ("item/action", action.clone()),
    ]);
    PickerItem {
        id: slot.id.to_string().into(),
        label,
        value: action,
        meta: Some(meta),
    }
}

fn fork_item(target: &PsiSession, entry_id: &str, message: &str) -> PickerItem {
    let label = format!("⎇ {}", text::one_line(message, FORK_LABEL_CHARS));
    let action = Value::map([
        ("action/kind", Value::keyword("fork-session")),
        ("action/session-id", target.id.to_string().into()),
        ("action/entry-id", entry_id.to_owned().into()),
    ]);
    let meta = Value::map([
        ("item/id", place("fork-point", entry_id)),
        ("item/kind", Value::keyword("fork-point")),
        ("item/parent-id", place("session", &target.id)),
        ("item/session-id", target.id.to_string().into()),
        ("item/entry-id", entry_id.to_owned().into()),
        ("item/display-name", label.clone().into()),
        ("item/default-label", label.clone().into()),
        ("item/is-active", false.into()),
        ("item/is-streaming", false.into()),
        ("item/action", action.clone()),
    ]);
    PickerItem {
        id: entry_id.to_owned().into(),
        label,
        value: action,
        meta: Some(meta),
    }
}

/// Which item of the tree it is.
fn place(kind: &'static str, id: &str) -> Value<'static> {
    Value::Vector(vec![Value::keyword(kind), id.to_owned().into()])
}

impl Picker {
    fn ask(&self, mut items: Vec<PickerItem>, asker: &RequestAnswerer) -> Effect {
        if items.is_empty() {
            return self.nothing.into();
        }
        make_distinct(&mut items);
        let name = Keyword(self.action);
        Effect::Picker(payload::map(|data| {
            data.field("request-id", &*asker.id)
                .field("prompt", self.prompt)
                .key("ui/action")
                .map(|action| {
                    action
                        .field("ui/action-id", &name)
                        .field("ui/action-kind", &Keyword("select"))
                        .field("ui/action-name", &name)
                        .field("ui/prompt", self.prompt)
                        .field("ui/order", &Keyword(self.order))
                        .key("ui/items")
                        .maps(&items, |map, item| {
                            map.field("ui.item/id", &item.id)
                                .field("ui.item/label", &item.label)
                                .field("ui.item/value", &item.value)
                                .field_if_some("ui.item/meta", item.meta.as_ref());
                        })
                        .field(
                            "ui/on-submit",
                            &Fields(&[("submit/kind", &Keyword(self.submit))]),
                        );
                });
        }))
    }
}

/// The client finds the chosen value by its label, so labels must differ.
fn make_distinct(items: &mut [PickerItem]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for item in items {
        let count = seen.entry(item.label.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            item.label = format!("{} ({count})", item.label);
        }
    }
}

pub async fn result(call: &mut OpCall<'_>) -> OpResult {
    let request_id = call.params.filled("request-id")?;
    let name = action_name(call)?;
    let status = call.params.word("status")?;
    let status = status.ok_or_else(|| missing("status"))?;
    let live = call.target().await?;
    let mut done = OpDone::accepted();
    let parts = match status {
        "cancelled" => {
            let text = format!("Cancelled {name}.");
            vec![command_result("text", Some(&text))]
        }
        "failed" => {
            let text = call.params.text("error-message")?;
            let text = text.filter(|text| !text.trim().is_empty());
            let usual = format!("{name} failed.");
            vec![command_result("error", Some(text.unwrap_or(&usual)))]
        }
        "submitted" => {
            done = OpDone::map(&[("accepted", &true), ("request-id", &request_id)]);
            submitted(call, &live, name).await
        }
        other => {
            let message = format!(":status must be submitted, cancelled or failed, not {other:?}");
            return Err(OpError::params(message));
        }
    };
    done.of(&live).behind(parts).into()
}

/// The name inside the echoed action, else the one beside it.
fn action_name<'a>(call: &OpCall<'a>) -> Result<&'a str, OpError> {
    let echoed = call.params.get("ui/action");
    let inside = echoed.and_then(|action| action.get("ui/action-name"));
    let name = match inside.and_then(word_of) {
        Some(name) => Some(name),
        None => call.params.word("action-name")?,
    };
    name.ok_or_else(|| missing("action-name"))
}

async fn submitted(call: &mut OpCall<'_>, live: &Arc<PsiSession>, name: &str) -> Vec<ItemPart> {
    // The result comes before the snapshots that show what it changed.
    live.locked().holding_snapshots += 1;
    let chosen = match call.params.get("value") {
        Some(value) => choose(call, live, name, value).await,
        None => None,
    };
    let is_navigation = matches!(name, SELECT_STORED | SELECT_LIVE);
    let was_chosen = chosen.is_some();
    let parts = chosen.map(|chosen| effect_parts(effect_of(chosen)));
    let mut parts = parts.unwrap_or_default();
    parts.push(ItemPart::SnapshotsHeld(Arc::clone(live)));
    if !(is_navigation && was_chosen) {
        parts.push(ItemPart::Snapshots(Arc::clone(live)));
    }
    parts
}

/// Does what was chosen; `None` when that is nothing there is.
async fn choose(
    call: &mut OpCall<'_>,
    live: &Arc<PsiSession>,
    name: &str,
    value: &Value<'_>,
) -> Option<Performed> {
    let shared = Arc::clone(call.shared());
    let (live, is_new) = match name {
        SELECT_MODEL => {
            let provider = either(value, "provider").and_then(word_of)?;
            let id = either(value, "id").and_then(word_of)?;
            let scope = ModelScope::Session;
            // That a model cannot be had is seen in the unchanged snapshots only.
            let chosen = settings::choose_model(&shared, live, provider, id, scope)
                .await
                .ok()?;
            return Some(Ok(builtins::model_set(chosen)));
        }
        SELECT_THINKING => {
            let level = settings::parse_level(value)?;
            return Some(builtins::set_thinking(live, level).await);
        }
        SELECT_STORED => navigation::resume(&shared, word_of(value)?).await.ok()?,
        SELECT_LIVE => match read_choice(value)? {
            TreeChoice::Switch(id) => (shared.live(id).await.ok()??, false),
            TreeChoice::Fork { session, entry } => {
                let source = match session {
                    Some(id) => shared.live(id).await.ok()??,
                    None => Arc::clone(live),
                };
                let forked = navigation::fork_at(&shared, &source, entry).await;
                (forked.ok()?, true)
            }
        },
        _ => return None,
    };
    Some(go_to(call, live, is_new, None).await)
}

/// What a choice of a live session means.
enum TreeChoice<'a> {
    Switch(&'a str),
    Fork {
        session: Option<&'a str>,
        entry: &'a str,
    },
}

/// Clients write it in several ways (section 14).
fn read_choice<'v>(value: &'v Value<'_>) -> Option<TreeChoice<'v>> {
    if let Some(id) = value.as_str() {
        return Some(TreeChoice::Switch(id));
    }
    let field = |long: &str, short: &str| {
        either(value, long)
            .or_else(|| either(value, short))
            .and_then(word_of)
    };
    let session = field("action/session-id", "session-id");
    let entry = field("action/entry-id", "entry-id");
    let kind = field("action/kind", "type").or_else(|| field("action/type", "kind"));
    match (kind, entry, session) {
        (Some("fork-session" | "fork_session" | "fork-point"), Some(entry), session) => {
            Some(TreeChoice::Fork { session, entry })
        }
        (Some("switch-session" | "switch_session") | None, _, Some(id)) => {
            Some(TreeChoice::Switch(id))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_the_same_are_made_distinct() {
        let item = |label: &str| PickerItem {
            id: Value::Nil,
            label: label.to_owned(),
            value: Value::Nil,
            meta: None,
        };
        let mut items = [item("a"), item("b"), item("a"), item("a")];
        make_distinct(&mut items);
        let labels: Vec<&str> = items.iter().map(|item| &*item.label).collect();
        assert_eq!(labels, ["a", "b", "a (2)", "a (3)"]);
    }

    use stentor_wire::edn;

    #[test]
    fn a_chosen_session_is_read_however_it_is_written() {
        let shown = |text: &str| {
            let value = edn::read_one(text).unwrap().into_owned();
            match read_choice(&value) {
                Some(TreeChoice::Switch(id)) => format!("switch {id}"),
                Some(TreeChoice::Fork { session, entry }) => format!("fork {session:?} {entry}"),
                None => "none".to_owned(),
            }
        };
        for (text, expected) in [
            (r#""s1""#, "switch s1"),
            (
                r#"{:action/kind :switch-session :action/session-id "s1"}"#,
                "switch s1",
            ),
            (
                r#"{"action/kind" "switch_session" "action/session-id" "s1"}"#,
                "switch s1",
            ),
            (r#"{:type "switch_session" :session-id "s1"}"#, "switch s1"),
            (
                r#"{:action/kind :fork-session :action/session-id "s1" :action/entry-id "e"}"#,
                "fork Some(\"s1\") e",
            ),
            (r#"{:type "fork-point" :entry-id "e"}"#, "fork None e"),
            (r#"{:action/kind :fork-session}"#, "none"),
            (r#"{:action/kind :explode :action/session-id "s"}"#, "none"),
            ("7", "none"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
