//! What becomes of a choice: `frontend_action_result` (section 14).
//!
//! The result carries everything; nothing is kept here between the question and the answer, which
//! may come much later or never.

use std::sync::Arc;

use stentor_wire::edn::Value;

use super::pickers::{SELECT_LIVE, SELECT_MODEL, SELECT_STORED, SELECT_THINKING};
use super::{effect_parts, go_to, result as command_result};
use crate::psi::connection::Connection;
use crate::psi::error::OpError;
use crate::psi::item::{Cause, Part};
use crate::psi::live::Live;
use crate::psi::ops::navigation;
use crate::psi::ops::settings::{self, ModelScope};
use crate::psi::params::{either, word_of};
use crate::psi::payload;
use crate::psi::request::{Call, Done, Handled};
use crate::psi::shared::Shared;

pub(in crate::psi) async fn result(call: &mut Call<'_>) -> Handled {
    let request_id = call.params.filled("request-id")?;
    let name = action_name(call)?;
    let status = call.params.word("status")?;
    let status = status.ok_or_else(|| OpError::params(":status is missing"))?;
    let live = call.target().await?;
    let cause = call.answerer.cause();
    match status {
        "cancelled" => {
            let text = format!("Cancelled {name}.");
            let parts = vec![command_result("text", Some(&text), &cause)];
            Done::accepted().of(&live).behind(parts).into()
        }
        "failed" => {
            let text = call.params.text("error-message")?;
            let usual = format!("{name} failed.");
            let text = text
                .filter(|text| !text.trim().is_empty())
                .unwrap_or(&usual);
            let parts = vec![command_result("error", Some(text), &cause)];
            Done::accepted().of(&live).behind(parts).into()
        }
        "submitted" => {
            let parts = submitted(call, &live, name, &cause).await;
            Done::data(payload::map(|data| {
                data.field("accepted", &true)
                    .field("request-id", request_id);
            }))
            .of(&live)
            .behind(parts)
            .into()
        }
        other => Err(OpError::params(format!(
            ":status must be submitted, cancelled or failed, not {other:?}"
        ))),
    }
}

/// The name inside the echoed action, else the one beside it.
fn action_name<'a>(call: &Call<'a>) -> Result<&'a str, OpError> {
    let echoed = call.params.get("ui/action");
    let inside = echoed
        .and_then(|action| action.get("ui/action-name"))
        .and_then(word_of);
    match inside {
        Some(name) => Ok(name),
        None => call
            .params
            .word("action-name")?
            .ok_or_else(|| OpError::params(":action-name is missing")),
    }
}

async fn submitted(call: &mut Call<'_>, live: &Arc<Live>, name: &str, cause: &Cause) -> Vec<Part> {
    let value = call.params.get("value");
    // The result comes before the snapshots that show what it changed.
    live.hold_snapshots();
    let chosen = match (name, value) {
        (SELECT_MODEL, Some(value)) => {
            choose_model(&call.connection.shared, live, value, cause).await
        }
        (SELECT_THINKING, Some(value)) => choose_thinking(live, value, cause).await,
        (SELECT_STORED, Some(value)) => match word_of(value) {
            Some(path) => choose_stored(call.connection, path, cause).await,
            None => None,
        },
        (SELECT_LIVE, Some(value)) => choose_live(call.connection, live, value, cause).await,
        _ => None,
    };
    let is_navigation = matches!(name, SELECT_STORED | SELECT_LIVE);
    let was_chosen = chosen.is_some();
    let mut parts = chosen.unwrap_or_default();
    parts.push(Part::SnapshotsHeld(Arc::clone(live)));
    if !(is_navigation && was_chosen) {
        parts.push(Part::Snapshots(Arc::clone(live), cause.clone()));
    }
    parts
}

async fn choose_model(
    shared: &Shared,
    live: &Live,
    value: &Value<'_>,
    cause: &Cause,
) -> Option<Vec<Part>> {
    let provider = either(value, "provider").and_then(word_of)?;
    let id = either(value, "id").and_then(word_of)?;
    let chosen = settings::choose_model(shared, live, provider, id, ModelScope::Session).await;
    // That a model cannot be had is seen in the unchanged snapshots only.
    let model = chosen.ok()?.model;
    let text = format!("✓ Model set to {} {}", model.provider, model.id);
    Some(vec![command_result("text", Some(&text), cause)])
}

async fn choose_thinking(live: &Live, value: &Value<'_>, cause: &Cause) -> Option<Vec<Part>> {
    let level = settings::parse_level(value)?;
    let level = live.session.set_thinking(level).await;
    let text = match level {
        Ok(level) => format!("✓ Thinking level set to {level}"),
        Err(error) => OpError::from(error).message,
    };
    Some(vec![command_result("text", Some(&text), cause)])
}

async fn choose_stored(
    connection: &mut Connection,
    path: &str,
    cause: &Cause,
) -> Option<Vec<Part>> {
    let (live, is_new) = navigation::resume(connection, path).await.ok()?;
    Some(effect_parts(
        go_to(connection, live, is_new, cause, None).await,
        cause,
    ))
}

/// What a choice of a live session means.
enum Choice<'a> {
    Switch(&'a str),
    Fork {
        session: Option<&'a str>,
        entry: &'a str,
    },
}

async fn choose_live(
    connection: &mut Connection,
    target: &Arc<Live>,
    value: &Value<'_>,
    cause: &Cause,
) -> Option<Vec<Part>> {
    let (live, is_new) = match read_choice(value)? {
        Choice::Switch(id) => (connection.shared.live(id).await.ok()??, false),
        Choice::Fork { session, entry } => {
            let source = match session {
                Some(id) => connection.shared.live(id).await.ok()??,
                None => Arc::clone(target),
            };
            let forked = navigation::fork_at(&connection.shared, &source, entry).await;
            (forked.ok()?, true)
        }
    };
    Some(effect_parts(
        go_to(connection, live, is_new, cause, None).await,
        cause,
    ))
}

/// Clients write it in several ways (section 14).
fn read_choice<'v>(value: &'v Value<'_>) -> Option<Choice<'v>> {
    if let Some(id) = value.as_str() {
        return Some(Choice::Switch(id));
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
            Some(Choice::Fork { session, entry })
        }
        (Some("switch-session" | "switch_session") | None, _, Some(id)) => Some(Choice::Switch(id)),
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
                Some(Choice::Switch(id)) => format!("switch {id}"),
                Some(Choice::Fork { session, entry }) => format!("fork {session:?} {entry}"),
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
