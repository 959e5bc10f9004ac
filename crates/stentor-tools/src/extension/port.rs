//! What an extension sees of its session.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use stentor_agent::dialog::{Dialog, DialogAnswer};
use stentor_agent::event::EventKind;
use stentor_agent::hub::Subscription;
use stentor_agent::session::{Delivery, Injected, SessionError, WeakSession};
use stentor_journal::store::EntryKind;

/// Why something is not said in the name of the user while a run goes on.
const BUSY: &str =
    "Agent is already processing. Specify deliverAs ('steer' or 'followUp') to queue the message.";

/// The session of an extension, or, when one is only tried out, nobody.
pub(super) struct Port {
    session: Option<WeakSession>,
    pub session_id: Arc<str>,
    pub cwd: Arc<Path>,
    pub resumed: bool,
}

impl Port {
    /// The port to a session.
    pub fn to_session(session: WeakSession, cwd: Arc<Path>, resumed: bool) -> Self {
        Self {
            session_id: Arc::clone(session.id()),
            session: Some(session),
            cwd,
            resumed,
        }
    }

    /// A port to nobody: nothing is shown, kept or answered.
    pub fn to_nobody(cwd: Arc<Path>) -> Self {
        Self {
            session: None,
            session_id: Arc::from("none"),
            cwd,
            resumed: false,
        }
    }

    pub fn publish(&self, event: EventKind) {
        if let Some(session) = &self.session {
            session.publish(event);
        }
    }

    /// The commands that extensions bring have changed.
    pub async fn commands_changed(&self) {
        if let Some(session) = &self.session {
            session.commands_changed().await;
        }
    }

    /// Waits until the slowest client has room.
    pub async fn room(&self) {
        if let Some(session) = &self.session {
            session.room().await;
        }
    }

    pub fn subscribe(&self) -> Option<Subscription> {
        self.session.as_ref().map(WeakSession::subscribe)
    }

    /// True when a person can be asked.
    pub fn can_ask(&self) -> bool {
        self.session.as_ref().is_some_and(WeakSession::can_ask)
    }

    pub async fn ask(&self, dialog: Dialog) -> DialogAnswer {
        match &self.session {
            Some(session) => session.ask_dialog(dialog).await,
            None => DialogAnswer::Nothing,
        }
    }

    /// Puts a message into the conversation. The error is text for the extension.
    pub async fn inject(&self, injected: Injected, delivery: Delivery) -> Result<(), String> {
        let session = self.session.as_ref().and_then(WeakSession::upgrade);
        let session = session.ok_or("there is no session to say it in")?;
        let said = session.inject(injected, delivery).await;
        said.map_err(|error| match error {
            // The general text names a field that only clients have.
            SessionError::Busy => BUSY.to_owned(),
            error => error.to_string(),
        })
    }

    /// Has the program end when nothing runs any more. The error is text for the extension.
    pub async fn shut_down(&self) -> Result<(), String> {
        let session = self.session.as_ref().and_then(WeakSession::upgrade);
        let session = session.ok_or("there is no session to end")?;
        let asked = session.ask_for_shutdown().await;
        asked.map_err(|error| error.to_string())
    }

    /// Keeps an entry in the session. The error is text for the extension.
    pub async fn append(&self, custom_type: &str, data: Value) -> Result<String, String> {
        let session = self.session.as_ref().and_then(WeakSession::upgrade);
        let session = session.ok_or("there is no session to keep it in")?;
        let appended = session.append_custom(custom_type.to_owned(), Some(data));
        appended.await.map_err(|error| error.to_string())
    }

    /// The entries of a type, oldest first. The error is text for the extension.
    pub async fn entries(&self, custom_type: &str) -> Result<Vec<Value>, String> {
        let Some(session) = self.session.as_ref().and_then(WeakSession::upgrade) else {
            return Ok(Vec::new());
        };
        let (_, entries) = session.entries().await.map_err(|error| error.to_string())?;
        let ours = entries.into_iter().filter_map(|entry| match entry.kind {
            EntryKind::Custom {
                custom_type: found,
                data,
            } if found == custom_type => data,
            _ => None,
        });
        Ok(ours.collect())
    }
}
