//! The plan the model keeps: what is to be done, and how far it is.

use serde::{Deserialize, Serialize};

/// The plan the model keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub phases: Vec<PlanPhase>,
}

/// A named part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPhase {
    pub name: String,
    pub tasks: Vec<PlanTask>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTask {
    pub content: String,
    pub status: PlanStatus,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    Abandoned,
    Blocked,
}

impl Plan {
    /// All tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = &PlanTask> {
        self.phases.iter().flat_map(|phase| &phase.tasks)
    }

    /// True when something is still to be done.
    pub fn is_open(&self) -> bool {
        self.tasks()
            .any(|task| matches!(task.status, PlanStatus::Pending | PlanStatus::InProgress))
    }
}
