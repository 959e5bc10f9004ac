//! Reminding a model of what it planned and has not done.

use std::sync::Arc;

use stentor_journal::message::Message;

use super::link::RunLink;
use crate::event::EventKind;
use crate::rules::injected;
use crate::tool::{Plan, PlanStatus};

/// The reminders of one run.
#[derive(Default)]
pub(super) struct Reminders {
    made: u32,
    plan: Plan,
}

impl Reminders {
    /// The plan when the model stopped.
    pub fn saw(&mut self, plan: Plan) {
        self.plan = plan;
    }

    /// The next reminder, announced; none when nothing is left to do or enough were made.
    pub fn next(&mut self, link: &RunLink) -> Option<Arc<Message>> {
        let max_attempts = link.watch.plan_reminders;
        if self.made >= max_attempts || !self.plan.is_open() {
            return None;
        }
        self.made += 1;
        link.hub.publish(EventKind::PlanReminder {
            plan: Arc::new(self.plan.clone()),
            attempt: self.made,
            max_attempts,
        });
        let text = text_of(&self.plan, self.made, max_attempts);
        Some(injected(text, link.clock.now_ms()))
    }
}

fn text_of(plan: &Plan, attempt: u32, max_attempts: u32) -> String {
    let mut text = String::from(
        "<system-reminder>\nYou stopped, but these tasks on your list are not done:\n",
    );
    for task in plan.tasks() {
        let mark = match task.status {
            PlanStatus::Pending => "pending",
            PlanStatus::InProgress => "in progress",
            PlanStatus::Completed | PlanStatus::Abandoned | PlanStatus::Blocked => continue,
        };
        text.push_str(&format!("- {} ({mark})\n", task.content));
    }
    text.push_str(&format!(
        "Continue with them, or mark them as done, abandoned or blocked if they are. \
         (Reminder {attempt} of {max_attempts})\n</system-reminder>"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{PlanPhase, PlanTask};

    #[test]
    fn a_reminder_names_what_is_open_and_nothing_else() {
        let task = |content: &str, status| PlanTask {
            content: content.to_owned(),
            status,
        };
        let plan = Plan {
            phases: vec![PlanPhase {
                name: "p".to_owned(),
                tasks: vec![
                    task("one", PlanStatus::Completed),
                    task("two", PlanStatus::InProgress),
                    task("three", PlanStatus::Pending),
                    task("four", PlanStatus::Blocked),
                ],
            }],
        };
        let text = text_of(&plan, 1, 3);
        assert!(
            text.contains("- two (in progress)\n- three (pending)\nContinue"),
            "{text}"
        );
        assert!(text.contains("Reminder 1 of 3"), "{text}");
    }
}
