//! How hooks reach a session.

use std::path::Path;
use std::sync::Arc;

use super::weak::WeakSession;
use crate::hooks::Hooks;

/// Gives each session its hooks.
pub trait HookSource: Send + Sync {
    /// Attaches to a session that begins. Returns at once; what takes long happens in a task of its own.
    fn attach(&self, session: HookedSession) -> Arc<dyn Hooks>;
}

/// The session that hooks are attached to.
#[derive(Clone)]
pub struct HookedSession {
    /// Does not keep the session alive.
    pub session: WeakSession,
    pub cwd: Arc<Path>,
    /// True when the session goes on from a file.
    pub resumed: bool,
    /// The names of the servers that bring it tools.
    pub servers: Arc<[String]>,
}
