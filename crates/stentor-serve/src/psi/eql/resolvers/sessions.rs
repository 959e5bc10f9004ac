//! Live and stored sessions.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_journal::clock::iso_time;
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::store::{self, EntryKind, Listed};
use stentor_wire::edn::Value;

use super::{attributes, entity};
use crate::psi::eql::{EqlError, Known};
use crate::psi::live::Live;
use crate::psi::payload::context;
use crate::psi::shared::Shared;

pub(in crate::psi::eql) async fn context(shared: &Shared, focus: Option<&Arc<Live>>) -> Known {
    let slots = context::slots(shared).await;
    let sessions = slots.iter().map(|slot| {
        entity(
            "psi.session-info",
            [
                ("id", slot.id.to_string().into()),
                ("path", slot.file_text().into()),
                (
                    "worktree-path",
                    slot.cwd.to_string_lossy().into_owned().into(),
                ),
                ("name", slot.name.clone().into()),
                ("display-name", slot.display_name.clone().into()),
                (
                    "parent-session-id",
                    slot.parent.as_ref().map(|id| id.to_string()).into(),
                ),
                ("parent-session-path", slot.parent_path.clone().into()),
                ("created", iso_time(slot.created_ms).into()),
                ("modified", slot.updated_ms.map(iso_time).into()),
            ],
        )
    });
    attributes(
        "psi.agent-session",
        [
            (
                "context-active-session-id",
                focus.map(|live| live.id.to_string()).into(),
            ),
            ("context-session-count", slots.len().into()),
            ("context-sessions", Value::Vector(sessions.collect())),
        ],
    )
}

/// The stored sessions of the session's folder, newest first, under both of their names.
pub(in crate::psi::eql) async fn stored(
    shared: &Shared,
    live: &Arc<Live>,
) -> Result<Known, EqlError> {
    let listed = shared.stored(&live.cwd).await?;
    let sessions: Vec<Value<'static>> = listed.into_iter().map(info).collect();
    let names = ["psi.session/list", "psi.persisted-session/list"];
    Ok(names
        .into_iter()
        .map(|name| (Value::keyword(name), Value::Vector(sessions.clone())))
        .collect())
}

/// Everything that was said in a stored session, a line break between messages.
pub(in crate::psi::eql) async fn stored_text(path: &str) -> Result<Value<'static>, EqlError> {
    let path = PathBuf::from(path);
    let read = move || store::view(&path);
    let stored = tokio::task::spawn_blocking(read).await??;
    let said: Vec<String> = stored
        .entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::Message { message } => match &**message {
                Message::Known(KnownMessage::User(user)) => Some(user.content.text()),
                Message::Known(KnownMessage::Assistant(answer)) => Some(answer.text()),
                _ => None,
            },
            _ => None,
        })
        .filter(|text| !text.trim().is_empty())
        .collect();
    Ok(said.join("\n").into())
}

fn info(session: Listed) -> Value<'static> {
    entity(
        "psi.session-info",
        [
            ("id", session.id.into()),
            ("path", session.path.to_string_lossy().into_owned().into()),
            ("worktree-path", session.cwd.into()),
            ("name", session.name.into()),
            ("first-message", session.first_message.into()),
            ("message-count", session.message_count.into()),
            ("parent-session-path", session.parent_session.into()),
            ("created", session.created.into()),
            ("modified", iso_time(session.modified_ms).into()),
        ],
    )
}
