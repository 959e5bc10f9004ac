//! The conversation and the entries it is recorded as.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use stentor_journal::clock::{SharedClock, iso_time};
use stentor_journal::conversation::{Conversation, ConversationItem};
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::store::{
    self, Entry, EntryKind, Journal, JournalReader, Reservation, SessionHeader, StoreError,
};

use crate::event::EventKind;
use crate::hub::Hub;
use crate::model::{ModelInfo, ThinkingLevel};
use crate::session::options::{Environment, SessionOptions, Storage};
use crate::session::record::Record;
use crate::undo::Undo;

/// How the types of entries begin that a session makes for itself.
const OWN_TYPES: &str = "stentor.";

/// What was said, in the conversation and in the journal. Every entry of the session is made here.
pub(super) struct SessionLog {
    hub: Hub,
    clock: SharedClock,
    record: Record,
    conversation: Conversation,
    /// The entry that the next one follows.
    leaf: Option<String>,
    name: Option<String>,
    /// Ids of entries that are yet to come: messages that wait are noted with theirs.
    reserved: HashSet<String>,
    /// The id of the next answer, once it was asked for.
    answer_id: Option<Arc<str>>,
    /// Has a checkpoint for each message of the user.
    undo: Option<Arc<Undo>>,
}

/// A record for a new session.
pub(super) fn new_record(
    environment: &Environment,
    options: &SessionOptions,
    reserved: Option<Box<dyn Reservation>>,
) -> Result<Record, StoreError> {
    let id = options.id.clone();
    let header = SessionHeader {
        version: store::CURRENT_VERSION,
        id: id.unwrap_or_else(|| environment.clock.session_id()),
        timestamp: iso_time(environment.clock.now_ms()),
        cwd: options.cwd.to_string_lossy().into_owned(),
        parent_session: options.parent_session.clone(),
        title: None,
    };
    let journals = || Arc::clone(&environment.journals);
    match &options.storage {
        Storage::Memory => Ok(Record::Open(store::memory(header))),
        Storage::Folder(folder) | Storage::FolderAtOnce(folder) => {
            Record::planned(journals(), folder.clone(), header, reserved)
        }
        Storage::File(path) => Record::planned_at(journals(), path.clone(), header),
    }
}

impl SessionLog {
    /// A log without messages that goes on after `leaf`.
    pub fn new(hub: Hub, clock: SharedClock, record: Record, leaf: Option<String>) -> Self {
        Self {
            hub,
            clock,
            record,
            conversation: Conversation::default(),
            leaf,
            name: None,
            reserved: HashSet::new(),
            answer_id: None,
            undo: None,
        }
    }

    /// Has `undo` begin anew with each message of the user.
    pub fn set_undo(&mut self, undo: Arc<Undo>) {
        self.undo = Some(undo);
    }

    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn header(&self) -> &SessionHeader {
        self.record.header()
    }

    /// The file, or where it will be; `None` when there will never be one.
    pub fn path(&self) -> Option<&Path> {
        self.record.path()
    }

    pub fn leaf(&self) -> Option<&String> {
        self.leaf.as_ref()
    }

    pub fn name(&self) -> Option<&String> {
        self.name.as_ref()
    }

    /// The journal, once there is one.
    pub fn journal(&self) -> Option<&dyn Journal> {
        self.record.journal()
    }

    /// Reads the entries made so far, for a thread that may block.
    pub fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        self.record.reader()
    }

    /// Whether what was appended survives the end of this process.
    pub fn survives_process(&self) -> bool {
        self.record.survives_process()
    }

    /// Makes everything appended so far survive the end of this process, unless it does already.
    pub fn outlives(&self) -> Option<BoxFuture<'static, Result<(), StoreError>>> {
        (!self.survives_process()).then(|| self.sync())
    }

    /// Makes everything appended so far survive a power cut.
    pub fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        self.record.sync()
    }

    /// What is added from here on was not made by opening the session.
    pub fn restored(&mut self) {
        self.record.restored();
    }

    /// Finds the entry in the file that an entry goes back to: nothing else can be copied from there.
    pub fn stored_ancestor(&self) -> impl Fn(String) -> Option<String> + Send + use<> {
        self.record.stored_ancestor()
    }

    /// Makes the file, if there is to be one and it is not there yet.
    pub fn make_file(&mut self) -> Result<(), StoreError> {
        self.record.make_file(&*self.clock)
    }

    /// Adds an entry after the newest one. With `must_last` it is in the file when this returns.
    pub fn append(&mut self, kind: EntryKind, must_last: bool) -> Result<String, StoreError> {
        let id = self.new_entry_id();
        let now_ms = self.clock.now_ms();
        self.append_at(id, now_ms, kind, must_last)
    }

    /// The same with an id and a time that are known already.
    pub fn append_at(
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
        self.record.append(&entry, must_last, &*self.clock)?;
        self.reserved.remove(&id);
        self.answer_id.take_if(|answer| **answer == *id);
        self.leaf = Some(id.clone());
        let is_shown = match &entry.kind {
            EntryKind::Custom { custom_type, .. } => !custom_type.starts_with(OWN_TYPES),
            EntryKind::ContextEdit { .. } => true,
            // No other event carries it.
            EntryKind::Message { message } => is_shell_command(message),
            _ => false,
        };
        self.hub.publish(EventKind::EntryAppended {
            id: id.clone(),
            entry: is_shown.then(|| Arc::new(entry)),
        });
        Ok(id)
    }

    /// Adds a message to the conversation and to the file.
    pub fn append_message(&mut self, id: String, message: Arc<Message>) -> Result<(), StoreError> {
        let kind = EntryKind::Message {
            message: Arc::clone(&message),
        };
        let now_ms = self.clock.now_ms();
        let id = self.append_at(id, now_ms, kind, true)?;
        if let (Some(undo), Some(_)) = (&self.undo, message.as_user()) {
            undo.message_came();
        }
        self.conversation.push(id, message);
        Ok(())
    }

    /// Goes on from another entry, with no messages in context.
    pub fn move_to(&mut self, leaf: Option<String>) {
        self.leaf = leaf;
        self.conversation = Conversation::default();
    }

    /// Adds a message whose entry is there already.
    pub fn push(&mut self, id: String, message: Arc<Message>) {
        self.conversation.push(id, message);
    }

    /// Replaces everything before the item at `first_kept` by a summary.
    pub fn compact(&mut self, summary: ConversationItem, first_kept: usize) {
        self.conversation.compact(summary, first_kept);
    }

    /// Notes something that only this program reads.
    pub fn note(
        &mut self,
        custom_type: &str,
        data: &impl Serialize,
        must_last: bool,
    ) -> Result<(), StoreError> {
        let kind = EntryKind::Custom {
            custom_type: custom_type.to_owned(),
            data: serde_json::to_value(data).ok(),
        };
        self.append(kind, must_last).map(|_| ())
    }

    pub fn note_model(&mut self, info: &ModelInfo, must_last: bool) -> Result<(), StoreError> {
        let (provider, model_id) = (info.provider.clone(), info.id.clone());
        let kind = EntryKind::ModelChange { provider, model_id };
        self.append(kind, must_last).map(|_| ())
    }

    pub fn note_thinking(
        &mut self,
        level: ThinkingLevel,
        must_last: bool,
    ) -> Result<(), StoreError> {
        let thinking_level = Some(level.to_string());
        let kind = EntryKind::ThinkingLevelChange { thinking_level };
        self.append(kind, must_last).map(|_| ())
    }

    /// Notes the session's name, where it has one.
    pub fn note_name(&mut self, must_last: bool) -> Result<(), StoreError> {
        let Some(name) = self.name.clone() else {
            return Ok(());
        };
        let kind = EntryKind::SessionInfo { name };
        self.append(kind, must_last).map(|_| ())
    }

    /// Takes over a name. It is on disk already, or [`SessionLog::note_name`] puts it there.
    pub fn set_name(&mut self, name: Option<String>) {
        self.name = name;
    }

    /// Gives the session another name.
    pub fn rename(&mut self, name: String) -> Result<(), StoreError> {
        let kind = EntryKind::SessionInfo { name: name.clone() };
        self.append(kind, false)?;
        self.name = Some(name);
        Ok(())
    }

    /// Takes an answer, and the results of its calls, out of the context. The edits let a resumed
    /// session do the same.
    pub fn forget(&mut self, entry_id: &str) {
        for target_id in self.conversation.forget(entry_id) {
            self.note_edit(target_id);
        }
    }

    /// Takes back a message that was refused because it would not survive a power cut: what comes
    /// next goes on from before it, also in a resumed session.
    pub fn take_back(&mut self, id: String, before: Option<String>) {
        self.conversation.forget(&id);
        self.leaf = before;
        self.note_edit(id);
    }

    /// Notes that an entry is in the context no more.
    fn note_edit(&mut self, target_id: String) {
        let kind = EntryKind::ContextEdit {
            target_id,
            replacement: None,
        };
        if let Err(error) = self.append(kind, true) {
            tracing::warn!(%error, "a message will be in context again when the session is resumed");
        }
    }

    /// Takes a message out of the conversation that an earlier version noted as forgotten.
    pub fn forget_restored(&mut self, entry_id: &str) {
        self.conversation.forget(entry_id);
    }

    pub fn new_entry_id(&self) -> String {
        // The ids in context are the ones a new entry could be confused with in practice; the
        // reader resolves a parent to the nearest entry before, so older ones do no harm.
        store::new_entry_id(&*self.clock, |id| {
            self.leaf.as_deref() == Some(id)
                || self.reserved.contains(id)
                || self
                    .conversation
                    .items()
                    .iter()
                    .any(|item| item.entry_id == id)
        })
    }

    /// An id for an entry that is yet to come.
    pub fn reserve_entry_id(&mut self) -> String {
        let id = self.new_entry_id();
        self.reserve(id.clone());
        id
    }

    /// The id that the next answer gets, so that it has one while it is written. It stays the same
    /// until an answer is recorded with it.
    pub fn answer_entry_id(&mut self) -> Arc<str> {
        if let Some(id) = &self.answer_id {
            return Arc::clone(id);
        }
        let id: Arc<str> = self.reserve_entry_id().into();
        self.answer_id = Some(Arc::clone(&id));
        id
    }

    pub fn reserve(&mut self, id: String) {
        self.reserved.insert(id);
    }

    /// The entry will not come after all.
    pub fn release(&mut self, id: &str) {
        self.reserved.remove(id);
    }
}

fn is_shell_command(message: &Message) -> bool {
    matches!(message, Message::Known(KnownMessage::BashExecution(_)))
}
