//! A handle that does not keep its session alive.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::command::Command;
use super::dialogs::Dialogs;
use super::handle::Session;
use crate::commands::SlashCommands;
use crate::dialog::{Dialog, DialogAnswer};
use crate::event::EventKind;
use crate::hub::{Hub, Subscription};
use crate::jobs::Jobs;
use crate::left_running::LeftRunning;
use crate::subagents::Subagents;

/// A session, for those who serve it and must not keep it alive.
#[derive(Clone)]
pub struct WeakSession {
    id: Arc<str>,
    commands: mpsc::WeakSender<Command>,
    hub: Hub,
    dialogs: Arc<Dialogs>,
    jobs: Arc<Jobs>,
    left_running: Arc<LeftRunning>,
    subagents: Arc<Subagents>,
    slash: Arc<SlashCommands>,
}

impl Session {
    /// A handle that does not keep the session alive.
    pub fn downgrade(&self) -> WeakSession {
        WeakSession {
            id: Arc::clone(&self.id),
            commands: self.commands.downgrade(),
            hub: self.hub.clone(),
            dialogs: Arc::clone(&self.dialogs),
            jobs: Arc::clone(&self.jobs),
            left_running: Arc::clone(&self.left_running),
            subagents: Arc::clone(&self.subagents),
            slash: Arc::clone(&self.slash),
        }
    }
}

impl WeakSession {
    /// The session, unless it is gone. Do not hold on to it.
    pub fn upgrade(&self) -> Option<Session> {
        Some(Session {
            id: Arc::clone(&self.id),
            commands: self.commands.upgrade()?,
            hub: self.hub.clone(),
            dialogs: Arc::clone(&self.dialogs),
            jobs: Arc::clone(&self.jobs),
            left_running: Arc::clone(&self.left_running),
            subagents: Arc::clone(&self.subagents),
            slash: Arc::clone(&self.slash),
        })
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The number of the newest event.
    pub fn seq(&self) -> u64 {
        self.hub.seq()
    }

    /// Subscribes to what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.hub.subscribe()
    }

    /// Tells every subscriber something.
    pub fn publish(&self, event: EventKind) {
        self.hub.publish(event);
    }

    /// Waits until the slowest subscriber has room for more, so that who has much to say is slowed
    /// down instead of filling the memory.
    pub async fn room(&self) {
        self.hub.room().await;
    }

    /// The slash commands may have changed: everybody is told if they did.
    pub async fn commands_changed(&self) {
        self.slash.refresh().await;
    }

    /// True when a person can be asked.
    pub fn can_ask(&self) -> bool {
        self.dialogs.can_ask()
    }

    /// Asks a person, as [`Session::ask_dialog`] does.
    pub async fn ask_dialog(&self, dialog: Dialog) -> DialogAnswer {
        Arc::clone(&self.dialogs).ask(dialog).await
    }
}
