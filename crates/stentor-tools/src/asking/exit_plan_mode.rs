//! `exit_plan_mode`: presents a plan. Plan mode ends when the person accepts it.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::dialog::{DialogKind, DialogOption, KEEP_PLANNING, PresentedPlan};
use stentor_agent::plan_mode::EXIT_PLAN_MODE;
use stentor_agent::tool::{
    Circumstances, Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_policy::PermissionMode;

use super::{own_words, put};
use crate::tool_call;
use crate::tool_error::ToolError;

/// Nobody reads a longer plan before accepting it.
const PLAN_CHARS: usize = 50_000;

/// What became of a plan when the user ended plan mode by hand.
const ENDED_MEANWHILE: &str = "the user ended it while this plan was presented, which was neither \
    accepted nor refused";

/// Presents a plan.
pub(crate) struct ExitPlanMode {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    plan: String,
}

impl Default for ExitPlanMode {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: EXIT_PLAN_MODE.into(),
                label: EXIT_PLAN_MODE.into(),
                description: "Present your plan to the user, who accepts it or says what should \
                    be different. Plan mode ends only when it is accepted."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "plan": { "type": "string", "description": "The whole plan, in Markdown" }
                    },
                    "required": ["plan"]
                })
                .into(),
                effect: ToolEffect::Nothing,
            },
        }
    }
}

impl Tool for ExitPlanMode {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn is_offered(&self, now: Circumstances) -> bool {
        now.somebody_answers && now.mode == PermissionMode::Plan
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let Arguments { plan } = tool_call::arguments(EXIT_PLAN_MODE, arguments)?;
            present(&plan, &context).await
        })
    }
}

async fn present(plan: &str, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    must_plan(context, "there is no plan to accept")?;
    if plan.trim().is_empty() {
        return Err(ToolError::refused("The plan is empty."));
    }
    if plan.chars().nth(PLAN_CHARS).is_some() {
        return Err(ToolError::refused(format!(
            "A plan has at most {PLAN_CHARS} characters: leave out what does not decide anything."
        )));
    }
    let modes = modes_after(context.host.mode_before_plan());
    let presented = PresentedPlan {
        plan: plan.to_owned(),
        call_id: context.call_id.clone(),
        options: options(&modes),
    };
    let title = "Accept this plan?".to_owned();
    let reply = put(context, title, DialogKind::Plan(presented)).await?;
    let chosen = reply.text().unwrap_or_default();
    if let Some(mode) = modes.into_iter().find(|mode| mode.as_str() == chosen) {
        if !context.host.leave_plan_mode(mode).await {
            must_plan(context, ENDED_MEANWHILE)?;
            return Err(ToolError::refused("Plan mode could not be left."));
        }
        let text = format!(
            "The user has accepted the plan. Plan mode is off, and the permission mode is {mode}: \
             carry out the plan."
        );
        let details = json!({ "accepted": true, "mode": mode });
        return Ok(ToolOutput::text(text).with_details(details));
    }
    let words = match chosen.as_str() {
        "" => None,
        KEEP_PLANNING => own_words(context, "What should be different?".to_owned()).await?,
        words => Some(words.to_owned()),
    };
    must_plan(context, ENDED_MEANWHILE)?;
    let text = match &words {
        Some(words) => format!(
            "The user has not accepted the plan, and says: {words}\n\nPlan mode goes on: change \
             the plan and present it again."
        ),
        None => "The user has not accepted the plan. Plan mode goes on: ask in your message what \
                 should be different, and end your turn."
            .to_owned(),
    };
    let mut output = ToolOutput::error(text);
    output.details = Some(json!({ "accepted": false }));
    Ok(output)
}

/// Fails where nothing plans, or nothing does any more.
fn must_plan(context: &ToolContext, why_not: &str) -> Result<(), ToolError> {
    match context.host.permission_mode() {
        PermissionMode::Plan => Ok(()),
        mode => Err(ToolError::refused(format!(
            "Plan mode is off, and the permission mode is {mode}: {why_not}."
        ))),
    }
}

/// The modes in which it can go on, the one it was in before first: what comes first is chosen by
/// whoever chooses without looking. Everything without asking is never that.
fn modes_after(before: Option<PermissionMode>) -> Vec<PermissionMode> {
    let before = before.filter(|mode| *mode != PermissionMode::All);
    let mut modes = vec![
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::All,
    ];
    modes.sort_by_key(|mode| Some(*mode) != before);
    modes
}

fn options(modes: &[PermissionMode]) -> Vec<DialogOption> {
    let option = |value: &str, label: &str| DialogOption {
        value: value.to_owned(),
        label: label.to_owned(),
        description: None,
        permission: None,
    };
    let accepted = modes.iter().map(|mode| option(mode.as_str(), label(*mode)));
    let kept = option(KEEP_PLANNING, "No, keep planning");
    accepted.chain([kept]).collect()
}

fn label(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Ask => "Yes, and ask before each change",
        PermissionMode::AcceptEdits => "Yes, and change files without asking",
        PermissionMode::All => "Yes, and do everything without asking",
        PermissionMode::ReadOnly | PermissionMode::Plan => "No",
    }
}
