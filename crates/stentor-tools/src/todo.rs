//! `todo`: the plan the model keeps, for itself and for whoever watches.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    Plan, PlanPhase, PlanStatus, PlanTask, Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput,
    ToolSpec, Touches,
};

use crate::tool_call;
use crate::tool_error::ToolError;

/// Replaces the plan.
pub(crate) struct Todo {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    todos: Option<Vec<PlanTask>>,
    phases: Option<Vec<PlanPhase>>,
}

/// The name of the only phase of a plan that has none.
const ONLY_PHASE: &str = "Tasks";
/// A plan longer than this is no plan any more.
const MAX_TASKS: usize = 500;

impl Default for Todo {
    fn default() -> Self {
        let task = json!({
            "type": "object",
            "properties": {
                "content": { "type": "string", "description": "What is to be done" },
                "status": {
                    "type": "string",
                    "enum": ["pending", "in_progress", "completed", "abandoned", "blocked"]
                }
            },
            "required": ["content", "status"]
        });
        Self {
            spec: ToolSpec {
                name: "todo".into(),
                label: "todo".into(),
                description: "Keep a plan of the work. Give the full list of todos each time: it \
                    replaces the one before. Keep one todo in_progress while you work on it and \
                    mark it completed as soon as it is done. Give phases instead of todos to group \
                    a long plan."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "todos": { "type": "array", "items": task },
                        "phases": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "name": { "type": "string" },
                                    "tasks": { "type": "array", "items": task }
                                },
                                "required": ["name", "tasks"]
                            }
                        }
                    },
                    "required": []
                })
                .into(),
                effect: ToolEffect::Nothing,
            },
        }
    }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let plan = plan(tool_call::arguments("todo", arguments)?)?;
            let output = ToolOutput::text(listing(&plan)).with_details(json!(plan));
            context.host.set_plan(plan);
            Ok(output)
        })
    }
}

fn plan(arguments: Arguments) -> Result<Plan, ToolError> {
    let phases = match (arguments.phases, arguments.todos) {
        (None, None) => {
            return Err(ToolError::refused(
                "todo needs todos: the full list of them.",
            ));
        }
        (Some(phases), None) => phases,
        (None, Some(tasks)) if tasks.is_empty() => Vec::new(),
        (None, Some(tasks)) => vec![PlanPhase {
            name: ONLY_PHASE.into(),
            tasks,
        }],
        (Some(_), Some(_)) => {
            return Err(ToolError::refused("Give either todos or phases, not both."));
        }
    };
    let plan = Plan { phases };
    if plan.tasks().count() > MAX_TASKS {
        return Err(ToolError::refused(format!(
            "A plan has at most {MAX_TASKS} todos."
        )));
    }
    if plan.tasks().any(|task| task.content.trim().is_empty()) {
        return Err(ToolError::refused("Every todo needs a content."));
    }
    Ok(plan)
}

/// The plan in a few lines.
fn listing(plan: &Plan) -> String {
    let total = plan.tasks().count();
    if total == 0 {
        return "The plan is empty.".into();
    }
    let done = plan
        .tasks()
        .filter(|task| task.status == PlanStatus::Completed)
        .count();
    let mut text = format!("Plan: {done} of {total} done.");
    for phase in &plan.phases {
        if plan.phases.len() > 1 || phase.name != ONLY_PHASE {
            text.push_str(&format!("\n{}:", phase.name));
        }
        for task in &phase.tasks {
            text.push_str(&format!("\n{} {}", sign(task.status), task.content));
        }
    }
    text
}

fn sign(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "[ ]",
        PlanStatus::InProgress => "[>]",
        PlanStatus::Completed => "[x]",
        PlanStatus::Abandoned => "[-]",
        PlanStatus::Blocked => "[!]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Workshop, text};
    use stentor_agent::tool::ToolHost;

    #[tokio::test]
    async fn the_list_replaces_the_plan_and_is_told_back() {
        let workshop = Workshop::new();
        for (arguments, expected, phases) in [
            (
                json!({"todos": [
                    {"content": "look", "status": "completed"},
                    {"content": "change", "status": "in_progress"},
                    {"content": "test", "status": "pending"},
                ]}),
                "Plan: 1 of 3 done.\n[x] look\n[>] change\n[ ] test",
                1,
            ),
            (
                json!({"phases": [
                    {"name": "First", "tasks": [{"content": "a", "status": "blocked"}]},
                    {"name": "Then", "tasks": [{"content": "b", "status": "abandoned"}]},
                ]}),
                "Plan: 0 of 2 done.\nFirst:\n[!] a\nThen:\n[-] b",
                2,
            ),
            (json!({"todos": []}), "The plan is empty.", 0),
        ] {
            let output = workshop.run(Todo::default(), arguments).await;
            assert_eq!(text(&output), expected);
            let plan = workshop.desk.plan();
            assert_eq!(plan.phases.len(), phases);
            assert_eq!(output.details, Some(json!(plan)));
        }
    }

    #[tokio::test]
    async fn a_wrong_list_leaves_the_plan_as_it_was() {
        let workshop = Workshop::new();
        let good = json!({"todos": [{"content": "keep", "status": "pending"}]});
        workshop.run(Todo::default(), good).await;
        let before = workshop.desk.plan();
        let many = vec![json!({"content": "x", "status": "pending"}); MAX_TASKS + 1];
        for arguments in [
            json!({}),
            json!({"todos": [], "phases": []}),
            json!({"todos": [{"content": " ", "status": "pending"}]}),
            json!({"todos": [{"content": "x", "status": "soon"}]}),
            json!({"todos": many}),
        ] {
            let output = workshop.run(Todo::default(), arguments).await;
            assert!(output.is_error);
        }
        assert_eq!(workshop.desk.plan(), before);
    }
}
