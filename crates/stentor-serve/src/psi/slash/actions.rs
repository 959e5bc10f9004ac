//! What becomes of a choice: `frontend_action_result` (section 14).
//!
//! The result carries everything; nothing is kept here between the question and the answer, which
//! may come much later or never.

use std::sync::Arc;

use stentor_wire::edn::Value;

use super::pickers::{SELECT_LIVE, SELECT_MODEL, SELECT_STORED, SELECT_THINKING};
use super::{Performed, builtins, effect_of, effect_parts, go_to, result as command_result};
use crate::psi::error::OpError;
use crate::psi::item::ItemPart;
use crate::psi::live::PsiSession;
use crate::psi::ops::navigation;
use crate::psi::ops::settings::{self, ModelScope};
use crate::psi::params::{either, missing, word_of};
use crate::psi::request::{OpCall, OpDone, OpResult};

pub async fn result(call: &mut OpCall<'_>) -> OpResult {
    let request_id = call.params.filled("request-id")?;
    let name = action_name(call)?;
    let status = call.params.word("status")?;
    let status = status.ok_or_else(|| missing("status"))?;
    let live = call.target().await?;
    let (done, parts) = match status {
        "cancelled" => {
            let text = format!("Cancelled {name}.");
            let result = command_result("text", Some(&text));
            (OpDone::accepted(), vec![result])
        }
        "failed" => {
            let text = call.params.text("error-message")?;
            let text = text.filter(|text| !text.trim().is_empty());
            let usual = format!("{name} failed.");
            let result = command_result("error", Some(text.unwrap_or(&usual)));
            (OpDone::accepted(), vec![result])
        }
        "submitted" => {
            let parts = submitted(call, &live, name).await;
            (
                OpDone::map(&[("accepted", &true), ("request-id", &request_id)]),
                parts,
            )
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
    use stentor_wire::edn;

    use super::*;

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
