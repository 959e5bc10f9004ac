//! An agent as one session has it.

use std::sync::Arc;

use stentor_agent::model::ModelInfo;
use stentor_agent::tool::{Plan, PlanPhase, PlanStatus, PlanTask};
use stentor_client::{AgentPlanStatus, PlanEntry};

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

    /// Warns whoever watches the session of something about it.
    pub fn warn(&self, text: &str) {
        self.shared.warn(format!("{}: {text}", self.name()));
    }

    /// Shows the plan of the child as the session's.
    pub fn show_plan(&self, entries: Vec<PlanEntry>) {
        let tasks = entries.into_iter().map(|entry| PlanTask {
            content: entry.text,
            status: match entry.status {
                AgentPlanStatus::Pending => PlanStatus::Pending,
                AgentPlanStatus::InProgress => PlanStatus::InProgress,
                AgentPlanStatus::Completed => PlanStatus::Completed,
            },
        });
        let phase = PlanPhase {
            name: "Plan".to_owned(),
            tasks: tasks.collect(),
        };
        if let Some(host) = self.shared.host() {
            host.set_plan(Plan {
                phases: vec![phase],
            });
        }
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
