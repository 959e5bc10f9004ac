//! Live and stored sessions.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::tasks;
use stentor_journal::clock::iso_time;
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::store::{self, EntryKind, ListedSession};
use stentor_wire::edn::Value;

use super::EqlError;
use super::graph::{OF_NOTHING, OF_SESSION, OF_STORED};
use super::table::{Fact, FactTable, entity, vector};
use crate::psi::live::PsiSession;
use crate::psi::payload::context::Slot;

/// The live sessions, and the focused one.
pub(super) struct ContextFacts {
    pub slots: Vec<Slot>,
    pub active: Option<Arc<PsiSession>>,
}

#[rustfmt::skip]
pub(super) static CONTEXT: FactTable<ContextFacts> = FactTable {
    symbol: "psi.agent-session/context",
    domain: "agent-session",
    input: OF_NOTHING,
    namespace: "psi.agent-session",
    facts: &[
        Fact("context-active-session-id", |f| f.active.as_ref().map(|live| live.id.to_string()).into()),
        Fact("context-session-count", |f| f.slots.len().into()),
        Fact("context-sessions", |f| vector(&f.slots, slot)),
    ],
};

/// The stored sessions of the session's folder, newest first, under both of their names.
pub(super) static STORED: FactTable<Vec<ListedSession>> = FactTable {
    symbol: "psi.session/stored",
    domain: "history",
    input: OF_SESSION,
    namespace: "psi.session",
    facts: &[
        Fact("list", |listed| vector(listed, info)),
        Fact("psi.persisted-session/list", |listed| vector(listed, info)),
    ],
};

pub(super) static STORED_TEXT: FactTable<String> = FactTable {
    symbol: "psi.session/stored-text",
    domain: "history",
    input: OF_STORED,
    namespace: "psi.session-info",
    facts: &[Fact("all-messages-text", |text| text.clone().into())],
};

fn slot(slot: &Slot) -> Value<'static> {
    let parent = slot.origin.parent.as_deref().map(str::to_owned);
    entity(
        "psi.session-info",
        [
            ("id", slot.id.to_string().into()),
            ("path", slot.file_text().into()),
            (
                "worktree-path",
                slot.origin.cwd.to_string_lossy().into_owned().into(),
            ),
            ("name", slot.name.clone().into()),
            ("display-name", slot.display_name.clone().into()),
            ("parent-session-id", parent.into()),
            (
                "parent-session-path",
                slot.origin.parent_path.clone().into(),
            ),
            ("created", iso_time(slot.origin.created_ms).into()),
            ("modified", slot.updated_ms.map(iso_time).into()),
        ],
    )
}

/// Everything that was said in a stored session, a line break between messages.
pub(super) async fn stored_text(path: String) -> Result<String, EqlError> {
    let path = PathBuf::from(path);
    let read = move || store::view(&path);
    let stored = tasks::spawn_blocking(read).await??;
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
    Ok(said.join("\n"))
}

fn info(session: &ListedSession) -> Value<'static> {
    entity(
        "psi.session-info",
        [
            ("id", session.id.clone().into()),
            ("path", session.path.to_string_lossy().into_owned().into()),
            ("worktree-path", session.cwd.clone().into()),
            ("name", session.name.clone().into()),
            ("first-message", session.first_message.clone().into()),
            ("message-count", session.message_count.into()),
            ("parent-session-path", session.parent_session.clone().into()),
            ("created", session.created.clone().into()),
            ("modified", iso_time(session.modified_ms).into()),
        ],
    )
}
