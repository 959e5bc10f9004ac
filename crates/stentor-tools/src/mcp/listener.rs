//! What a server may tell us.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::{Notify, watch};

use super::limits::EARLY_REPORTS;

/// Listens to one connection with a server.
#[derive(Clone, Default)]
pub(super) struct Listener {
    /// Told when one of the server's lists is another now.
    pub lists_changed: Arc<Notify>,
    calls: Arc<Mutex<Calls>>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HowFar {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// The reports about one call, as long as it is held.
pub(super) struct Reports {
    token: ProgressToken,
    calls: Arc<Mutex<Calls>>,
    newest: watch::Receiver<Option<HowFar>>,
}

#[derive(Default)]
struct Calls {
    listened: HashMap<ProgressToken, watch::Sender<Option<HowFar>>>,
    /// Reports that came before their call was listened for, which is a moment after it was sent.
    early: VecDeque<(ProgressToken, HowFar)>,
}

impl Listener {
    /// Listens for the reports about a call.
    pub fn reports(&self, token: ProgressToken) -> Reports {
        let mut calls = self.lock();
        let early = calls.early.iter().rposition(|(early, _)| *early == token);
        let first = early.and_then(|at| calls.early.remove(at));
        let (sender, newest) = watch::channel(None);
        if let Some((_, how_far)) = first {
            sender.send_replace(Some(how_far));
        }
        calls.listened.insert(token.clone(), sender);
        Reports {
            token,
            calls: Arc::clone(&self.calls),
            newest,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reports {
    /// The next report that differs from the last. Reports that come faster than they are asked for
    /// replace each other.
    pub async fn next(&mut self) -> Option<HowFar> {
        self.newest.changed().await.ok()?;
        self.newest.borrow_and_update().clone()
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.listened.remove(&self.token);
    }
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let stentor = Implementation::new("stentor", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), stentor)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let how_far = HowFar {
            done: report.progress,
            total: report.total,
            message: report.message,
        };
        let mut calls = self.lock();
        match calls.listened.get(&report.progress_token) {
            Some(listening) => drop(listening.send_replace(Some(how_far))),
            None => {
                calls.early.push_back((report.progress_token, how_far));
                if calls.early.len() > EARLY_REPORTS {
                    calls.early.pop_front();
                }
            }
        }
    }
}
