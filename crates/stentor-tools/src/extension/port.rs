//! What an extension sees of its session.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use stentor_agent::dialog::{Dialog, DialogAnswer};
use stentor_agent::event::EventKind;
use stentor_agent::hub::Subscription;
use stentor_agent::session::{Delivery, Injected, Session, SessionError, WeakSession};
use stentor_journal::store::EntryKind;

/// Why a session did not do what an extension asked. The texts are for the extension.
#[derive(Debug, thiserror::Error)]
pub(super) enum PortError {
    #[error("there is no session to {0}")]
    NoSession(&'static str),
    /// The general text names a field that only clients have.
    #[error(
        "Agent is already processing. Specify deliverAs ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    #[error("too many messages are already queued")]
    TooMuch,
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The session of an extension, or, when one is only tried out, nobody.
pub(super) struct SessionPort {
    session: Option<WeakSession>,
    pub session_id: Arc<str>,
    pub cwd: Arc<Path>,
    pub resumed: bool,
}

impl SessionPort {
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
    pub async fn wait_for_capacity(&self) {
        if let Some(session) = &self.session {
            session.wait_for_capacity().await;
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

    /// Puts a message into the conversation.
    pub async fn inject(&self, injected: Injected, delivery: Delivery) -> Result<(), PortError> {
        let session = self.session_to("say it in")?;
        let injected = session.inject(injected, delivery).await;
        injected.map_err(|error| match error {
            SessionError::Busy => PortError::Busy,
            error => error.into(),
        })
    }

    /// Has the program end when nothing runs any more.
    pub async fn shut_down(&self) -> Result<(), PortError> {
        Ok(self.session_to("end")?.ask_for_shutdown().await?)
    }

    /// Records an entry in the session. Returns its id.
    pub async fn append(&self, custom_type: &str, data: Value) -> Result<String, PortError> {
        let session = self.session_to("keep it in")?;
        let appended = session.append_custom(custom_type.to_owned(), Some(data));
        Ok(appended.await?)
    }

    fn session_to(&self, what: &'static str) -> Result<Session, PortError> {
        let session = self.session.as_ref().and_then(WeakSession::upgrade);
        session.ok_or(PortError::NoSession(what))
    }

    /// The entries of a type, oldest first.
    pub async fn entries(&self, custom_type: &str) -> Result<Vec<Value>, PortError> {
        let Some(session) = self.session.as_ref().and_then(WeakSession::upgrade) else {
            return Ok(Vec::new());
        };
        let (_, entries) = session.entries().await?;
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
