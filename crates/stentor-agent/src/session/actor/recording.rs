//! Entries: what the session keeps of itself.

use std::sync::Arc;

use stentor_journal::clock::iso_time;
use stentor_journal::message::Message;
use stentor_journal::store::{self, Entry, EntryKind, Header, StoreError};

use super::{Actor, restoring};
use crate::event::{EventKind, StateChange};
use crate::session::error::SessionError;
use crate::session::options::{Environment, SessionOptions, Storage};
use crate::session::record::Record;
use crate::tool::{Plan, ToolHost};

/// How the types of entries begin that a session makes for itself.
const OWN_TYPES: &str = "stentor.";

impl Actor {
    pub(super) fn new_record(
        environment: &Environment,
        options: &SessionOptions,
    ) -> Result<Record, StoreError> {
        let id = options
            .id
            .clone()
            .unwrap_or_else(|| environment.clock.session_id());
        let header = Header {
            version: store::CURRENT_VERSION,
            id,
            timestamp: iso_time(environment.clock.now_ms()),
            cwd: options.cwd.to_string_lossy().into_owned(),
            parent_session: options.parent_session.clone(),
            title: None,
        };
        match &options.storage {
            Storage::Memory => Ok(Record::Kept(store::memory(header))),
            Storage::Folder(folder) | Storage::FolderAtOnce(folder) => {
                Record::planned(folder.clone(), header)
            }
            Storage::File(path) => Ok(Record::planned_at(path.clone(), header)),
        }
    }

    /// A new session's first entries: the model, the thinking level and the name it begins with.
    pub(super) fn note_beginning(&mut self) -> Result<(), StoreError> {
        if let Some(info) = self.settings.info() {
            let (provider, model_id) = (info.provider.clone(), info.id.clone());
            self.append(EntryKind::ModelChange { provider, model_id }, false)?;
        }
        let thinking_level = Some(self.settings.thinking.to_string());
        self.append(EntryKind::ThinkingLevelChange { thinking_level }, false)?;
        if let Some(name) = self.name.clone() {
            self.append(EntryKind::SessionInfo { name }, false)?;
        }
        Ok(())
    }

    /// Adds an entry after the newest one. With `must_last` it is in the file when this returns.
    pub(super) fn append(
        &mut self,
        kind: EntryKind,
        must_last: bool,
    ) -> Result<String, StoreError> {
        let id = self.new_entry_id();
        self.append_as(id, kind, must_last)
    }

    pub(super) fn append_as(
        &mut self,
        id: String,
        kind: EntryKind,
        must_last: bool,
    ) -> Result<String, StoreError> {
        let now_ms = self.environment.clock.now_ms();
        self.append_at(id, now_ms, kind, must_last)
    }

    pub(super) fn append_at(
        &mut self,
        id: String,
        now_ms: u64,
        kind: EntryKind,
        must_last: bool,
    ) -> Result<String, StoreError> {
        let entry = Entry {
            id: id.clone(),
            parent_id: self.leaf.clone(),
            timestamp: iso_time(now_ms),
            kind,
        };
        self.record
            .append(&entry, must_last, &*self.environment.clock)?;
        self.leaf = Some(id.clone());
        let is_told = match &entry.kind {
            EntryKind::Custom { custom_type, .. } => !custom_type.starts_with(OWN_TYPES),
            EntryKind::ContextEdit { .. } => true,
            _ => false,
        };
        self.hub.publish(EventKind::EntryAppended {
            id: id.clone(),
            entry: is_told.then(|| Arc::new(entry)),
        });
        Ok(id)
    }

    /// Adds a message to the conversation and to the file.
    pub(super) fn append_message(
        &mut self,
        id: String,
        message: Arc<Message>,
    ) -> Result<(), StoreError> {
        let kind = EntryKind::Message {
            message: Arc::clone(&message),
        };
        let id = self.append_as(id, kind, true)?;
        self.conversation.push(id, message);
        Ok(())
    }

    pub(super) fn new_entry_id(&self) -> String {
        // The ids in context are the ones a new entry could be confused with in practice; the
        // reader resolves a parent to the nearest entry before, so older ones do no harm.
        store::new_entry_id(&*self.environment.clock, |id| {
            self.leaf.as_deref() == Some(id)
                || self.waiting.all().any(|queued| queued.deliver_as == id)
                || self
                    .conversation
                    .items()
                    .iter()
                    .any(|item| item.entry_id == id)
        })
    }

    /// A plan that a client set is in no tool's result, so it gets an entry of its own.
    pub(super) fn set_plan(&mut self, plan: Plan) {
        if let Err(error) = self.note_plan(&plan) {
            tracing::warn!(%error, "the plan may be an older one when the session is resumed");
        }
        self.host.set_plan(plan);
    }

    /// Notes the permission mode, if one was chosen.
    pub(super) fn note_permission_mode(&mut self) -> Result<(), StoreError> {
        let Some(mode) = self.chosen_mode else {
            return Ok(());
        };
        let kind = EntryKind::Custom {
            custom_type: restoring::PERMISSION_MODE.to_owned(),
            data: Some(serde_json::json!({ "mode": mode })),
        };
        self.append(kind, false).map(|_| ())
    }

    pub(super) fn note_plan(&mut self, plan: &Plan) -> Result<(), StoreError> {
        let kind = EntryKind::Custom {
            custom_type: restoring::PLAN.to_owned(),
            data: serde_json::to_value(plan).ok(),
        };
        self.append(kind, false).map(|_| ())
    }

    pub(super) fn set_name(&mut self, name: &str) -> Result<(), SessionError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(SessionError::EmptyName);
        }
        self.append(
            EntryKind::SessionInfo {
                name: name.to_owned(),
            },
            false,
        )?;
        self.name = Some(name.to_owned());
        self.changed(StateChange::Name(self.name.clone()));
        Ok(())
    }
}
