//! A handle that does not keep its session alive.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::command::ActorCommand;
use super::handle::{Session, SessionShared};
use crate::dialog::{Dialog, DialogAnswer};
use crate::event::EventKind;
use crate::hub::Subscription;

/// A session, for those who serve it and must not keep it alive.
#[derive(Clone)]
pub struct WeakSession {
    commands: mpsc::WeakSender<ActorCommand>,
    shared: Arc<SessionShared>,
}

impl Session {
    /// A handle that does not keep the session alive.
    pub fn downgrade(&self) -> WeakSession {
        WeakSession {
            commands: self.commands.downgrade(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl WeakSession {
    /// The session, unless it is gone. Do not hold on to it.
    pub fn upgrade(&self) -> Option<Session> {
        Some(Session {
            commands: self.commands.upgrade()?,
            shared: Arc::clone(&self.shared),
            attachment: None,
        })
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.shared.id
    }

    /// The folder it works in.
    pub fn cwd(&self) -> &Path {
        &self.shared.cwd
    }

    /// Where it is stored, or will be when something is said in it.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_deref()
    }

    /// The number of the newest event.
    pub fn seq(&self) -> u64 {
        self.shared.hub.seq()
    }

    /// Subscribes to what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.shared.hub.subscribe()
    }

    /// Publishes an event to every subscriber.
    pub fn publish(&self, event: EventKind) {
        self.shared.hub.publish(event);
    }

    /// Waits until the slowest subscriber has room for more, so that who has much to say is slowed
    /// down instead of filling the memory.
    pub async fn wait_for_capacity(&self) {
        self.shared.hub.wait_for_capacity().await;
    }

    /// The slash commands may have changed: they are published if they did.
    pub async fn commands_changed(&self) {
        self.shared.slash.refresh().await;
    }

    /// True when a person can be asked.
    pub fn can_ask(&self) -> bool {
        self.shared.dialogs.can_ask()
    }

    /// Asks a person, as [`Session::ask_dialog`] does.
    pub async fn ask_dialog(&self, dialog: Dialog) -> DialogAnswer {
        Arc::clone(&self.shared.dialogs).ask(dialog).await
    }
}
