//! What stands beside the conversation: plan, queue, choices.

use std::sync::Arc;

use stentor_agent::event::Queues;
use stentor_agent::model::{ModelInfo, ThinkingLevel};
use stentor_agent::tool::{Plan, PlanStatus};
use stentor_journal::export::Html;
use stentor_policy::PermissionMode;

/// The plan.
pub(super) fn plan(plan: &Plan) -> String {
    let mut html = Html::new();
    let phases = plan.phases.iter().filter(|phase| !phase.tasks.is_empty());
    for phase in phases {
        html.element("h3", "", &phase.name).raw("<ul>");
        for task in &phase.tasks {
            let (class, said) = match task.status {
                PlanStatus::Pending => ("pending", "to do"),
                PlanStatus::InProgress => ("current", "in progress"),
                PlanStatus::Completed => ("done", "done"),
                PlanStatus::Abandoned => ("abandoned", "abandoned"),
                PlanStatus::Blocked => ("blocked", "blocked"),
            };
            html.raw(&format!("<li class=\"{class}\">"))
                .text(&task.content)
                .raw(&format!(" <span class=\"said\">({said})</span></li>"));
        }
        html.raw("</ul>");
    }
    html.finish()
}

/// The messages that wait.
pub(super) fn queues(queues: &Queues) -> String {
    let mut html = Html::new();
    let kinds = [
        ("Steering", &queues.steering),
        ("Follow-up", &queues.follow_up),
    ];
    for (label, messages) in kinds {
        for message in messages {
            html.raw("<li>")
                .element("b", "", label)
                .raw(" ")
                .text(message)
                .raw("</li>");
        }
    }
    html.finish()
}

/// The models to choose from: those that are available, and those that the session has used or
/// uses, which nobody need have described.
pub(super) fn models(
    available: &[Arc<ModelInfo>],
    used: &[Arc<ModelInfo>],
    current: Option<&ModelInfo>,
) -> String {
    let current = current.map(ModelInfo::full_name);
    let available: Vec<String> = available.iter().map(|info| info.full_name()).collect();
    let used = used.iter().map(|info| info.full_name());
    let mut names: Vec<String> = Vec::new();
    for name in current.iter().cloned().chain(used) {
        if !available.contains(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names.extend(available);
    options(names.iter().map(String::as_str), current.as_deref())
}

/// The levels the model has.
pub(super) fn levels(model: Option<&ModelInfo>, current: ThinkingLevel) -> String {
    let levels = model.map(ModelInfo::levels).unwrap_or_default();
    let levels = levels.iter().map(|level| level.as_str());
    options(levels, Some(current.as_str()))
}

/// The permission modes.
pub(super) fn modes(current: PermissionMode) -> String {
    let modes = PermissionMode::ALL.iter().map(|mode| mode.as_str());
    options(modes, Some(current.as_str()))
}

fn options<'a>(values: impl Iterator<Item = &'a str>, current: Option<&str>) -> String {
    let mut html = Html::new();
    for value in values {
        let selected = match current == Some(value) {
            true => "<option selected>",
            false => "<option>",
        };
        html.raw(selected).text(value).raw("</option>");
    }
    html.finish()
}

/// Where a session can be forked: before each of its prompts, by their entries, and at its end.
pub(super) fn forks(prompts: &[(String, String)]) -> String {
    const LONGEST: usize = 120;
    let mut html = Html::new();
    for (entry, text) in prompts.iter().rev() {
        let line = text.lines().find(|line| !line.trim().is_empty());
        let line = line.unwrap_or_default();
        let cut = line.floor_char_boundary(LONGEST);
        html.raw("<li><button type=\"button\" data-do=\"fork\" data-entry=\"")
            .text(entry)
            .raw("\">Before: ")
            .text(line.get(..cut).unwrap_or_default())
            .raw("</button></li>");
    }
    html.raw("<li><button type=\"button\" data-do=\"fork\">At the end</button></li>");
    html.finish()
}
