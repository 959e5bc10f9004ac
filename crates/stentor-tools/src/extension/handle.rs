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

use super::connection::Connection;
use super::events::EventEncoder;

use super::port::Port;
use super::registered::Registered;
use super::spec::ExtensionSpec;
use super::state::StateStore;
use crate::truncation::cut;

/// One extension of one session.
pub(super) struct Extension {
    pub spec: Arc<ExtensionSpec>,
    pub port: Arc<Port>,
    pub state_store: StateStore,
    pub encode: EventEncoder,
    /// Told when it is needed, so that it is started at once.
    pub needed: Notify,
    /// Fires when the session ends.
    pub over: CancellationToken,
    /// Told when what extensions bring has changed.
    changed: Arc<Notify>,
    state: watch::Sender<State>,
}

/// How an extension is.
#[derive(Clone)]
pub(super) enum State {
    /// It has not been started, or has not registered yet.
    Starting,
    Ready(Arc<Live>),
    /// It failed and will be started again.
    Broken(Arc<str>),
    /// It failed too often.
    Disabled(Arc<str>),
}

/// An extension whose process runs and has registered.
pub(super) struct Live {
    pub connection: Arc<Connection>,
    registered: Mutex<Arc<Registered>>,
}

/// What an extension says to a hook.
pub(super) enum Said<R> {
    /// It does not want to be asked.
    NotAsked,
    Answer(R),
    /// It should have been asked, or answered.
    Broken(String),
}

impl Live {
    pub fn new(connection: Arc<Connection>, registered: Registered) -> Self {
        Self {
            connection,
            registered: Mutex::new(Arc::new(registered)),
        }
    }

    pub fn registered(&self) -> Arc<Registered> {
        let registered = self.registered.lock();
        Arc::clone(&registered.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Extension {
    pub fn new(
        spec: Arc<ExtensionSpec>,
        port: Arc<Port>,
        encode: EventEncoder,
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
            state: watch::Sender::new(State::Starting),
        }
    }

    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The running extension, if it is ready.
    pub fn live(&self) -> Option<Arc<Live>> {
        match &*self.state.borrow() {
            State::Ready(live) => Some(Arc::clone(live)),
            State::Starting | State::Broken(_) | State::Disabled(_) => None,
        }
    }

    /// True while it is not known what it brings.
    pub fn is_starting(&self) -> bool {
        matches!(&*self.state.borrow(), State::Starting)
    }

    pub fn set_state(&self, state: State) {
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
    pub fn tell_problems(&self, registered: &Registered) {
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
        let settled = state.wait_for(|state| !matches!(state, State::Starting));
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
    ) -> Said<R> {
        let state = self.state.borrow().clone();
        let live = match state {
            State::Ready(live) => live,
            State::Starting => return Said::Broken("it has not started yet".to_owned()),
            State::Broken(why) | State::Disabled(why) => return Said::Broken(why.to_string()),
        };
        if !live.registered().hooks.contains(&hook) {
            return Said::NotAsked;
        }
        let limit = Some(self.spec.timeout);
        match live.connection.request(hook.as_str(), params, limit).await {
            Ok(answer) => Said::Answer(answer),
            Err(fault) => {
                let why = fault.to_string();
                self.failed(hook.as_str(), &why);
                Said::Broken(why)
            }
        }
    }
}
