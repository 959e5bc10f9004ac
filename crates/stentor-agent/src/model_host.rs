//! What a model that is an agent of its own may ask of the session it answers in.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use stentor_journal::message::ToolCall;
use stentor_policy::Touches;

use crate::dialog::{Dialog, DialogAnswer};
use crate::plan::Plan;
use crate::tool_spec::ToolSpec;

/// The session a model answers in, for a model that works by itself: one that runs tools of its own
/// has questions of its own. A model that only answers has no use for it.
pub trait ModelHost: Send + Sync {
    /// The folder of the session.
    fn cwd(&self) -> Arc<Path>;

    /// Asks the session's permission policy, and through it perhaps a person, whether a call may
    /// run. The error is the reason, for the model.
    fn permit(
        &self,
        call: Arc<ToolCall>,
        spec: ToolSpec,
        touches: Touches,
    ) -> ModelHostFuture<Result<(), String>>;

    /// Asks a person. [`DialogAnswer::Nothing`] when nobody can be asked.
    fn ask(&self, dialog: Dialog) -> ModelHostFuture<DialogAnswer>;

    /// Replaces the plan of the session.
    fn set_plan(&self, plan: Plan);

    /// Warns whoever watches the session.
    fn warn(&self, text: String);
}

/// An answer of a session that is being found.
pub type ModelHostFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl fmt::Debug for dyn ModelHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelHost")
    }
}
