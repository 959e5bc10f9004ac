//! Extensions: programs in any language that add tools, commands and hooks to a session.
//!
//! Each session has processes of its own, so an extension need not know about sessions. A process
//! runs in its own process group, is spoken to over its pipes (`stentor_wire::extension` has the
//! messages), and can do no harm but to itself:
//!
//! - nothing waits for it without a limit but what it was asked to do, which the user can abort;
//! - everything on its way to it and from it is bounded, and it is read no faster than a person
//!   could make use of (`limits` has the numbers);
//! - when it fails, [`ExtensionFailed`](stentor_agent::event::EventKind::ExtensionFailed) says at
//!   what, and it is started again or disabled, as its [`RestartPolicy`] says.
//!
//! `session` is what a session sees of all this, `runner` keeps one extension running, `connection`
//! is how its process is asked, and `incoming` what it sends; the process itself and the messages in
//! both directions are those of a `json_rpc_child`.

mod connection;
mod content;
mod events;
mod handle;
mod incoming;
mod limits;
mod ordered_output;
mod port;
mod probe;
mod registered;
mod requests;
mod runner;
mod session;
mod spec;
mod state;
mod tool;
mod ui;

use std::sync::Arc;

use stentor_agent::hooks::Hooks;
use stentor_agent::session::{HookSource, HookedSession};

pub use crate::json_rpc_child::RestartPolicy;
pub use events::{EventToJson, event_name};
pub use probe::{ProbeError, ProbedExtension, probe};
pub use spec::{ExtensionSpec, WhenBroken};

/// The extensions that sessions are given.
pub struct Extensions {
    specs: Vec<Arc<ExtensionSpec>>,
    encode: EventToJson,
}

impl Extensions {
    /// Extensions, asked in this order. `encode` is how events are written for them.
    pub fn new(specs: Vec<ExtensionSpec>, encode: EventToJson) -> Self {
        Self {
            specs: specs.into_iter().map(Arc::new).collect(),
            encode,
        }
    }
}

impl HookSource for Extensions {
    fn attach(&self, session: HookedSession) -> Arc<dyn Hooks> {
        Arc::new(session::SessionExtensions::attach(
            &self.specs,
            self.encode,
            session,
        ))
    }
}
