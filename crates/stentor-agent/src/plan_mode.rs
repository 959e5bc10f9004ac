//! Plan mode, as a model is told of it.

use crate::tool_spec::ToolSpec;

/// The tool with which a model presents its plan.
pub const EXIT_PLAN_MODE: &str = "exit_plan_mode";

/// What a model is told in plan mode.
pub const IN_PLAN_MODE: &str = "Plan mode is on: look, and change nothing. Reading and searching \
    are allowed; calls that change files or run programs are refused until the user has accepted a \
    plan, and so are those of subagents. Find out what is needed for a plan that somebody could \
    carry out step by step: which files change and how, and how you will check the result.";

/// How a plan is presented where somebody can accept it.
const PRESENT: &str = "When the plan is complete, present it with exit_plan_mode; do not ask \
    for acceptance in any other way. Whatever the user would change comes back as its result.";

/// The same where nobody can.
const ANSWER: &str = "Nobody can accept it now: end with the plan, in Markdown.";

/// The system prompt in plan mode, for a model with these tools.
pub(crate) fn in_plan_mode(prompt: &str, tools: &[ToolSpec]) -> String {
    let can_present = tools.iter().any(|tool| tool.name == EXIT_PLAN_MODE);
    let how = if can_present { PRESENT } else { ANSWER };
    let before = if prompt.is_empty() { "" } else { "\n\n" };
    format!("{prompt}{before}{IN_PLAN_MODE} {how}")
}
