//! One extension of one session, whether its process runs or not.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stentor_agent::event::EventKind;
use stentor_wire::extension::{HookName, RegisterParams};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connection::ExtensionConnection;
use super::events::EventToJson;

use super::port::SessionPort;
use super::registered::Registration;
use super::spec::ExtensionSpec;
use super::state::StateStore;
use crate::truncation::cut;

/// One extension of one session.
pub(super) struct Extension {
    pub spec: Arc<ExtensionSpec>,
    pub port: Arc<SessionPort>,
    pub state_store: StateStore,
    pub encode: EventToJson,
    /// Told when it is needed, so that it is started at once.
    pub needed: Notify,
    /// Fires when the session ends.
    pub over: CancellationToken,
    /// Told when what extensions bring has changed.
    changed: Arc<Notify>,
    state: watch::Sender<ExtensionState>,
}

/// How an extension is.
#[derive(Clone)]
pub(super) enum ExtensionState {
    /// It has not been started, or has not registered yet.
    Starting,
    Ready(Arc<LiveExtension>),
    /// It failed and will be started again.
    Broken(Arc<str>),
    /// It failed too often.
    Disabled(Arc<str>),
}

/// An extension whose process runs and has registered.
pub(super) struct LiveExtension {
    pub connection: Arc<ExtensionConnection>,
    registered: Mutex<Arc<Registration>>,
}

/// What an extension says to a hook.
pub(super) enum HookReply<R> {
    /// It does not want to be asked.
    NotAsked,
    Answer(R),
    /// It should have been asked, or answered.
    Broken(String),
}

impl LiveExtension {
    pub fn new(connection: Arc<ExtensionConnection>, registered: Registration) -> Self {
        Self {
            connection,
            registered: Mutex::new(Arc::new(registered)),
        }
    }

    pub fn registered(&self) -> Arc<Registration> {
        let registered = self.registered.lock();
        Arc::clone(&registered.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Extension {
    pub fn new(
        spec: Arc<ExtensionSpec>,
        port: Arc<SessionPort>,
        encode: EventToJson,
        over: CancellationToken,
        changed: Arc<Notify>,
    ) -> Self {
        Self {
            state_store: StateStore::of(&spec.name),
            spec,
            port,
            encode,
            needed: Notify::new(),
            over,
            changed,
            state: watch::Sender::new(ExtensionState::Starting),
        }
    }

    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The running extension, if it is ready.
    pub fn live(&self) -> Option<Arc<LiveExtension>> {
        match &*self.state.borrow() {
            ExtensionState::Ready(live) => Some(Arc::clone(live)),
            ExtensionState::Starting | ExtensionState::Broken(_) | ExtensionState::Disabled(_) => {
                None
            }
        }
    }

    /// True while it is not known what it brings.
    pub fn is_starting(&self) -> bool {
        matches!(&*self.state.borrow(), ExtensionState::Starting)
    }

    pub fn set_state(&self, state: ExtensionState) {
        self.state.send_replace(state);
        self.changed.notify_one();
    }

    /// Replaces what the running extension registered.
    pub fn register(&self, params: RegisterParams) {
        if let Some(live) = self.live() {
            let registered = live.registered().with(params);
            self.tell_problems(&registered);
            *live
                .registered
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Arc::new(registered);
            self.changed.notify_one();
        }
    }

    /// Says what of a registration cannot be used.
    pub fn tell_problems(&self, registered: &Registration) {
        for problem in &registered.problems {
            self.failed("register", problem);
        }
    }

    /// Says that it failed, and at what.
    pub fn failed(&self, event: &str, error: &str) {
        tracing::debug!(extension = self.name(), event, error, "an extension failed");
        self.port.publish(EventKind::ExtensionFailed {
            extension: self.name().to_owned(),
            event: cut(event.to_owned(), 64),
            error: cut(error.to_owned(), 4096),
        });
    }

    /// Waits until it is ready or has failed for the first time, but not longer than it may take.
    pub async fn settled(&self) {
        self.needed.notify_one();
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, ExtensionState::Starting));
        // Its start has the same limit and ends with a failure that is told; this is for the case
        // that even that takes long.
        let _ = timeout(self.spec.start_timeout + Duration::from_secs(1), settled).await;
    }

    /// True when it runs and wants to be asked about this.
    pub fn wants(&self, hook: HookName) -> bool {
        self.live()
            .is_some_and(|live| live.registered().hooks.contains(&hook))
    }

    /// Asks it about something, if it wants to be asked.
    pub async fn ask<R: DeserializeOwned + Default>(
        &self,
        hook: HookName,
        params: &impl Serialize,
    ) -> HookReply<R> {
        let state = self.state.borrow().clone();
        let live = match state {
            ExtensionState::Ready(live) => live,
            ExtensionState::Starting => {
                return HookReply::Broken("it has not started yet".to_owned());
            }
            ExtensionState::Broken(why) | ExtensionState::Disabled(why) => {
                return HookReply::Broken(why.to_string());
            }
        };
        if !live.registered().hooks.contains(&hook) {
            return HookReply::NotAsked;
        }
        let limit = Some(self.spec.timeout);
        match live.connection.request(hook.as_str(), params, limit).await {
            Ok(answer) => HookReply::Answer(answer),
            Err(fault) => {
                let why = fault.to_string();
                self.failed(hook.as_str(), &why);
                HookReply::Broken(why)
            }
        }
    }
}
