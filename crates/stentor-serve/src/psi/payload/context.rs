//! The live sessions: `context/updated` and the widget that shows them (sections 10.4, 11.3, 16),
//! what queries find of them and of stored ones.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use stentor_agent::tasks;
use stentor_journal::clock::iso_time;
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::store::{self, EntryKind, ListedSession};
use stentor_wire::edn::{EdnWriter, Value, WriteEdn};

use crate::psi::eql::EqlError;
use crate::psi::eql::graph::{OF_NOTHING, OF_SESSION, OF_STORED};
use crate::psi::eql::table::{Fact, FactTable, entity, facts_of, path, vector};
use crate::psi::limits::SHORT_ID_CHARS;
use crate::psi::live::{LiveSnapshot, PsiSession, SessionOrigin, SessionPhase};
use crate::psi::loading::KnownPsiSession;
use crate::psi::shared::PsiShared;
use crate::psi::text;

/// The live sessions at one moment, and which is focused.
pub struct ContextPayload {
    active: Option<Arc<str>>,
    slots: Vec<Slot>,
    time_zone: TimeZone,
}

/// A session of this process as lists show it, loaded or not.
#[derive(Debug, Clone)]
pub struct Slot {
    pub id: Arc<str>,
    pub origin: SessionOrigin,
    pub name: Option<String>,
    pub display_name: Option<String>,
    pub file: Option<PathBuf>,
    pub runtime_state: &'static str,
    pub is_streaming: bool,
    pub updated_ms: Option<u64>,
}

impl Slot {
    pub fn of(
        id: &Arc<str>,
        origin: SessionOrigin,
        view: &LiveSnapshot,
        phase: &SessionPhase,
    ) -> Self {
        Self {
            id: Arc::clone(id),
            origin,
            name: view.state.name.clone(),
            display_name: view.display_name.clone(),
            file: view.state.file.clone(),
            runtime_state: phase.runtime_state(),
            is_streaming: phase.running,
            updated_ms: view.updated_ms(),
        }
    }

    /// The same session, now that it does something else.
    pub fn in_phase(self, phase: &SessionPhase) -> Self {
        Self {
            runtime_state: phase.runtime_state(),
            is_streaming: phase.running,
            ..self
        }
    }

    /// What a session is called where it must be called something.
    pub fn label(&self) -> String {
        let name = self.display_name.clone().or_else(|| self.name.clone());
        name.unwrap_or_else(|| format!("(session {})", self.short_id()))
    }

    /// The beginning of the id, which is what people see of it.
    pub fn short_id(&self) -> &str {
        text::prefix(&self.id, SHORT_ID_CHARS)
    }

    /// Writes some of [`SLOT`].
    pub fn write(&self, map: &mut EdnWriter<'_>, names: &str) {
        for (name, value) in facts_of(SLOT, self, names) {
            map.field(name, &value);
        }
    }
}

/// What lists show of a session.
#[rustfmt::skip]
static SLOT: &[Fact<Slot>] = &[
    Fact("id", |slot| slot.id.to_string().into()),
    Fact("file", |slot| slot.file.as_deref().map(path).into()),
    Fact("name", |slot| slot.name.clone().into()),
    Fact("display-name", |slot| slot.display_name.clone().into()),
    Fact("worktree-path", |slot| path(&slot.origin.cwd)),
    Fact("runtime-state", |slot| slot.runtime_state.into()),
    Fact("is-streaming", |slot| slot.is_streaming.into()),
    Fact("parent-session-id", |slot| slot.origin.parent.as_deref().map(str::to_owned).into()),
    Fact("parent-session-path", |slot| slot.origin.parent_path.clone().into()),
    Fact("created-at", |slot| iso_time(slot.origin.created_ms).into()),
    Fact("updated-at", |slot| slot.updated_ms.map(iso_time).into()),
];

/// The sessions, in the order they came. One that has just ended is left out.
pub async fn slots_as_they_came(shared: &PsiShared) -> Vec<Slot> {
    let mut slots = Vec::new();
    for known in shared.known() {
        match known {
            KnownPsiSession::Live(live) => slots.extend(live.slot().await),
            KnownPsiSession::Unloaded(unloaded) => slots.push(unloaded.slot.clone()),
        }
    }
    slots
}

/// The sessions, sorted as lists show them.
pub async fn slots(shared: &PsiShared) -> Vec<Slot> {
    let mut slots = slots_as_they_came(shared).await;
    slots.extend(shared.elsewhere().await);
    slots.sort_by(|one, other| (one.updated_ms, &one.id).cmp(&(other.updated_ms, &other.id)));
    slots
}

/// Parents before their children, otherwise in the order given.
pub fn sorted_by_tree(slots: &[Slot]) -> Vec<&Slot> {
    let is_root = |slot: &&Slot| {
        let parent = slot.origin.parent.as_ref();
        parent.is_none_or(|parent| !slots.iter().any(|other| other.id == *parent))
    };
    let mut sorted = Vec::with_capacity(slots.len());
    let mut open: Vec<&Slot> = slots.iter().filter(is_root).rev().collect();
    while let Some(next) = open.pop() {
        sorted.push(next);
        let is_child = |slot: &&Slot| slot.origin.parent.as_ref() == Some(&next.id);
        open.extend(slots.iter().filter(is_child).rev());
    }
    sorted
}

impl ContextPayload {
    pub async fn look(shared: &PsiShared, active: Option<&PsiSession>) -> Self {
        Self {
            active: active.map(|live| Arc::clone(&live.id)),
            slots: slots(shared).await,
            time_zone: shared.time_zone(),
        }
    }

    fn is_active(&self, slot: &Slot) -> bool {
        self.active.as_ref() == Some(&slot.id)
    }

    fn line(&self, slot: &Slot) -> String {
        let parent = slot.origin.parent.as_ref();
        let has_parent =
            parent.is_some_and(|parent| self.slots.iter().any(|other| other.id == *parent));
        let indent = if has_parent { "  " } else { "" };
        let (label, id, state) = (slot.label(), slot.short_id(), slot.runtime_state);
        let created = self.clock_time(slot.origin.created_ms);
        let updated = slot
            .updated_ms
            .map(|ms| format!(" / {}", self.clock_time(ms)));
        let updated = updated.unwrap_or_default();
        let cwd = slot.origin.cwd.display();
        let current = if self.is_active(slot) {
            " ← current"
        } else {
            ""
        };
        format!("{indent}{label} [{id}] — {created}{updated} — {cwd}{current} [{state}]")
    }

    fn clock_time(&self, ms: u64) -> String {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.to_zoned(self.time_zone.clone());
        format!("{:02}:{:02}", time.hour(), time.minute())
    }

    fn write_widget(&self, widget: &mut EdnWriter<'_>) {
        widget
            .field("placement", "left")
            .field("extension-id", "psi-session")
            .field("widget-id", "session-tree")
            .key("content-lines")
            .maps(&self.slots, |line, slot| {
                line.field("text", &self.line(slot))
                    .field("runtime-state", slot.runtime_state)
                    .field("is-current", &self.is_active(slot));
                if !self.is_active(slot) {
                    let command = format!("/tree {}", slot.id);
                    line.key("action").map(|action| {
                        action.fields(&[("type", &"command"), ("command", &command)]);
                    });
                }
            });
    }
}

impl WriteEdn for ContextPayload {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|data| {
            data.field("active-session-id", &self.active.as_deref())
                .key("sessions")
                .maps(&self.slots, |map, slot| {
                    slot.write(map, "id");
                    map.field("item-kind", "session");
                    let state = "name display-name worktree-path runtime-state is-streaming";
                    slot.write(map, state);
                    map.field("is-active", &self.is_active(slot));
                    slot.write(map, "parent-session-id created-at updated-at");
                })
                .key("session-tree-widget")
                .map(|widget| self.write_widget(widget));
        });
    }
}

/// A session in the answer to `list_sessions` (section 9.2).
pub fn write_listed(map: &mut EdnWriter<'_>, slot: &Slot) {
    let names = "session-id=id session-file=file session-name=name display-name worktree-path \
                 parent-session-id parent-session-path created-at updated-at";
    slot.write(map, names);
}

#[rustfmt::skip]
pub static CONTEXT: FactTable<ContextPayload> = FactTable {
    symbol: "psi.agent-session/context",
    domain: "agent-session",
    input: OF_NOTHING,
    namespace: "psi.agent-session",
    facts: &[
        Fact("context-active-session-id", |f| f.active.as_deref().map(str::to_owned).into()),
        Fact("context-session-count", |f| f.slots.len().into()),
        Fact("context-sessions", |f| vector(&f.slots, slot)),
    ],
};

/// The stored sessions of the session's folder, newest first, under both of their names.
pub static STORED: FactTable<Vec<ListedSession>> = FactTable {
    symbol: "psi.session/stored",
    domain: "history",
    input: OF_SESSION,
    namespace: "psi.session",
    facts: &[
        Fact("list", |listed| vector(listed, info)),
        Fact("psi.persisted-session/list", |listed| vector(listed, info)),
    ],
};

pub static STORED_TEXT: FactTable<String> = FactTable {
    symbol: "psi.session/stored-text",
    domain: "history",
    input: OF_STORED,
    namespace: "psi.session-info",
    facts: &[Fact("all-messages-text", |text| text.clone().into())],
};

fn slot(slot: &Slot) -> Value<'static> {
    let names = "id path=file worktree-path name display-name parent-session-id \
                 parent-session-path created=created-at modified=updated-at";
    entity("psi.session-info", facts_of(SLOT, slot, names))
}

/// Everything that was said in a stored session, a line break between messages.
pub async fn stored_text(path: String) -> Result<String, EqlError> {
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
            ("path", path(&session.path)),
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
