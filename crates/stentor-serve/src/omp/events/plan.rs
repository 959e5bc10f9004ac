//! What keeps the agent to its task: reminders of the plan, and rules.

use stentor_agent::event::AnswerRule;
use stentor_agent::tool::{Plan, PlanStatus};
use stentor_wire::omp::frame::{self, Frame, ReminderItem, RuleSource};

use super::OmpEncoder;

impl OmpEncoder {
    pub(super) fn plan_reminder(
        &self,
        frames: &mut Vec<u8>,
        plan: &Plan,
        attempt: u32,
        max_attempts: u32,
    ) {
        let open = plan.tasks().zip(1..).map(|(task, number)| ReminderItem {
            id: format!("task-{number}"),
            content: &task.content,
            status: status_word(task.status),
        });
        let frame = Frame::TodoReminder {
            todos: open.filter(|item| is_open(item.status)).collect(),
            attempt,
            max_attempts,
        };
        self.event(frames, "todo_reminder", &frame);
    }

    pub(super) fn rules_triggered(&self, frames: &mut Vec<u8>, rules: &[AnswerRule]) {
        let paths: Vec<String> = rules
            .iter()
            .map(|rule| rule.path.to_string_lossy().into_owned())
            .collect();
        let rules = rules.iter().zip(&paths).map(|(rule, path)| frame::Rule {
            name: &rule.name,
            path,
            content: &rule.content,
            description: rule.description.as_deref(),
            condition: &rule.condition,
            source: RuleSource {
                provider: "stentor",
                provider_name: "Stentor",
                path,
                level: "project",
            },
        });
        let rules = rules.collect();
        self.event(frames, "ttsr_triggered", &Frame::TtsrTriggered { rules });
    }
}

/// The word for how far a thing to do is.
fn status_word(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "completed",
        PlanStatus::Abandoned => "abandoned",
        PlanStatus::Blocked => "blocked",
    }
}

fn is_open(status: &str) -> bool {
    status == "pending" || status == "in_progress"
}
