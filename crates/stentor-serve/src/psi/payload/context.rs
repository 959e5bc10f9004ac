//! `context/updated`: the live sessions and the widget that shows them (sections 10.4, 11.3, 16).

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use stentor_journal::clock::iso_time;
use stentor_wire::edn::{EdnWriter, WriteEdn};

use crate::psi::limits::SHORT_ID_CHARS;
use crate::psi::live::{Live, View};
use crate::psi::loading::Known;
use crate::psi::shared::{Shared, lock};
use crate::psi::text;

/// The live sessions at one moment.
pub(in crate::psi) struct Context {
    active: Option<Arc<str>>,
    slots: Vec<Slot>,
    time_zone: TimeZone,
}

/// A session of this process as lists show it, loaded or not.
#[derive(Debug, Clone)]
pub(in crate::psi) struct Slot {
    pub id: Arc<str>,
    pub cwd: PathBuf,
    pub created_ms: u64,
    pub parent: Option<Arc<str>>,
    pub parent_path: Option<String>,
    pub name: Option<String>,
    pub display_name: Option<String>,
    pub file: Option<PathBuf>,
    pub runtime_state: &'static str,
    pub is_streaming: bool,
    pub updated_ms: Option<u64>,
}

impl Slot {
    pub fn of(live: &Live, view: &View) -> Self {
        let phase = live.phase();
        Self {
            id: Arc::clone(&live.id),
            cwd: live.cwd.clone(),
            created_ms: live.created_ms,
            parent: live.parent.clone(),
            parent_path: live.parent_path.clone(),
            name: view.state.name.clone(),
            display_name: view.display_name(),
            file: view.state.file.clone(),
            runtime_state: phase.runtime_state(),
            is_streaming: phase.running,
            updated_ms: view.updated_ms(),
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

    pub fn file_text(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(file.to_string_lossy().into_owned())
    }
}

/// The sessions, in the order they came. One that has just ended is left out.
pub(in crate::psi) async fn slots_as_they_came(shared: &Shared) -> Vec<Slot> {
    let mut slots = Vec::new();
    for known in shared.known() {
        match known {
            Known::Live(live) => slots.extend(slot_of(&live).await),
            Known::Unloaded(unloaded) => slots.push(unloaded.slot.clone()),
        }
    }
    slots
}

/// A loaded session as lists show it. It is asked only if something happened in it since it was
/// last shown.
async fn slot_of(live: &Live) -> Option<Slot> {
    let seq = live.session.seq();
    let shown = lock(&live.shown).clone();
    if let Some((at, slot)) = shown
        && at == seq
    {
        let phase = live.phase();
        return Some(Slot {
            runtime_state: phase.runtime_state(),
            is_streaming: phase.running,
            ..slot
        });
    }
    let slot = Slot::of(live, &live.view(false).await.ok()?);
    *lock(&live.shown) = Some((seq, slot.clone()));
    Some(slot)
}

/// The sessions, sorted as lists show them.
pub(in crate::psi) async fn slots(shared: &Shared) -> Vec<Slot> {
    let mut slots = slots_as_they_came(shared).await;
    slots.extend(shared.elsewhere().await);
    slots.sort_by(|one, other| (one.updated_ms, &one.id).cmp(&(other.updated_ms, &other.id)));
    slots
}

/// Parents before their children, otherwise in the order given.
pub(in crate::psi) fn sorted_by_tree(slots: &[Slot]) -> Vec<&Slot> {
    let is_root = |slot: &&Slot| {
        let parent = slot.parent.as_ref();
        parent.is_none_or(|parent| !slots.iter().any(|other| other.id == *parent))
    };
    let mut sorted = Vec::with_capacity(slots.len());
    let mut open: Vec<&Slot> = slots.iter().filter(is_root).rev().collect();
    while let Some(next) = open.pop() {
        sorted.push(next);
        let children = slots
            .iter()
            .filter(|slot| slot.parent.as_ref() == Some(&next.id))
            .rev();
        open.extend(children);
    }
    sorted
}

impl Context {
    pub async fn look(shared: &Shared, active: Option<&Live>) -> Self {
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
        let parent = slot.parent.as_ref();
        let has_parent =
            parent.is_some_and(|parent| self.slots.iter().any(|other| other.id == *parent));
        let mut line = String::new();
        if has_parent {
            line.push_str("  ");
        }
        line.push_str(&slot.label());
        line.push_str(&format!(" [{}]", slot.short_id()));
        line.push_str(&format!(" — {}", self.clock_time(slot.created_ms)));
        if let Some(updated_ms) = slot.updated_ms {
            line.push_str(&format!(" / {}", self.clock_time(updated_ms)));
        }
        line.push_str(&format!(" — {}", slot.cwd.display()));
        if self.is_active(slot) {
            line.push_str(" ← current");
        }
        line.push_str(&format!(" [{}]", slot.runtime_state));
        line
    }

    fn clock_time(&self, ms: u64) -> String {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.to_zoned(self.time_zone.clone());
        format!("{:02}:{:02}", time.hour(), time.minute())
    }

    fn write_widget(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|widget| {
            widget
                .field("placement", "left")
                .field("extension-id", "psi-session")
                .field("widget-id", "session-tree")
                .key("content-lines")
                .vector(|lines| {
                    for slot in &self.slots {
                        lines.map(|line| {
                            line.field("text", &self.line(slot))
                                .field("runtime-state", slot.runtime_state)
                                .field("is-current", &self.is_active(slot));
                            if !self.is_active(slot) {
                                line.key("action").map(|action| {
                                    action
                                        .field("type", "command")
                                        .field("command", &format!("/tree {}", slot.id));
                                });
                            }
                        });
                    }
                });
        });
    }
}

impl WriteEdn for Context {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|data| {
            data.field("active-session-id", &self.active.as_deref())
                .key("sessions")
                .vector(|list| {
                    for slot in &self.slots {
                        list.map(|map| {
                            map.field("id", &*slot.id)
                                .field("item-kind", "session")
                                .field("name", &slot.name)
                                .field("display-name", &slot.display_name)
                                .field("worktree-path", &*slot.cwd.to_string_lossy())
                                .field("runtime-state", slot.runtime_state)
                                .field("is-streaming", &slot.is_streaming)
                                .field("is-active", &self.is_active(slot))
                                .field("parent-session-id", &slot.parent.as_deref())
                                .field("created-at", &iso_time(slot.created_ms))
                                .field("updated-at", &slot.updated_ms.map(iso_time));
                        });
                    }
                })
                .key("session-tree-widget");
            self.write_widget(data);
        });
    }
}

/// A session in the answer to `list_sessions` (section 9.2).
pub(in crate::psi) fn write_listed(writer: &mut EdnWriter<'_>, slot: &Slot) {
    writer.map(|map| {
        map.field("session-id", &*slot.id)
            .field("session-file", &slot.file_text())
            .field("session-name", &slot.name)
            .field("display-name", &slot.display_name)
            .field("worktree-path", &*slot.cwd.to_string_lossy())
            .field("parent-session-id", &slot.parent.as_deref())
            .field("parent-session-path", &slot.parent_path)
            .field("created-at", &iso_time(slot.created_ms))
            .field("updated-at", &slot.updated_ms.map(iso_time));
    });
}
