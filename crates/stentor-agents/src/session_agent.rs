//! An agent as one session has it.

use std::sync::Arc;

use stentor_agent::model::ModelInfo;

use crate::configured::ConfiguredAgent;
use crate::form::AgentVariant;
use crate::inbox::ChildShared;

/// An agent in the form that a session has chosen. Clones have the same child.
#[derive(Clone)]
pub(crate) struct SessionAgent {
    /// What the session knows of it.
    pub info: Arc<ModelInfo>,
    pub configured: Arc<ConfiguredAgent>,
    /// Which of its own models it shall use and in which mode, if somebody chose them.
    pub form: AgentVariant,
    pub shared: Arc<ChildShared>,
}

impl SessionAgent {
    /// `agent/NAME`, or with one of its models and modes.
    pub fn name(&self) -> String {
        self.info.full_name()
    }

    /// The same agent in another form.
    pub fn in_form(&self, info: Arc<ModelInfo>, form: AgentVariant) -> Self {
        Self {
            info,
            form,
            configured: Arc::clone(&self.configured),
            shared: Arc::clone(&self.shared),
        }
    }
}
