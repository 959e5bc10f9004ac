//! `/rewind` in the conversation: which message, what goes back, and what that changes.

use stentor_agent::session::{
    CommandAnswer, Rewind, RewindCommand, RewindError, RewindScope, RewindTarget, RewindWay,
    Session,
};
use stentor_checkpoint::rewind::{RewindPlan, RewindStep};

use super::actions::{ActionOutcome, ActionResult, MenuPurpose};
use super::menu::{Menu, MenuItem};
use super::styled::{Row, TextStyle};

/// Files that are named one by one.
const NAMED: usize = 5;

/// Asks which message.
pub(super) async fn messages(session: &Session) -> ActionResult {
    let points = session.rewind_points().await?;
    if points.is_empty() {
        return Err(RewindError::NothingSaid.into());
    }
    let items = points.iter().map(|point| MenuItem {
        label: point.text_shown(),
        detail: point.files_shown(),
    });
    let menu = Menu::new("Go back to before which message?", items.collect());
    let ids = points.into_iter().map(|point| point.id).collect();
    Ok(ActionOutcome::Choose(menu, MenuPurpose::RewindTo(ids)))
}

/// Asks what goes back, and shows what that changes.
pub(super) async fn scopes(session: &Session, id: String) -> ActionResult {
    let target = RewindTarget::Message(id);
    let plan = match session.rewind_plan(target.clone()).await {
        Ok(plan) => Some(plan),
        Err(RewindError::Off) => None,
        Err(error) => return Err(error.into()),
    };
    let mut ways = Vec::new();
    let mut items = Vec::new();
    let mut way = |scope: RewindScope, force: bool, label: &str, detail: String| {
        ways.push(Rewind {
            target: target.clone(),
            scope: Some(scope),
            force,
        });
        items.push(MenuItem {
            label: label.to_owned(),
            detail,
        });
    };
    if let Some(plan) = &plan {
        let (both, files) = (RewindScope::Both, RewindScope::Files);
        way(both, false, "files and conversation", changes(plan));
        way(files, false, "only files", changes(plan));
        if !plan.changed.is_empty() {
            let theirs = format!("overwrites {}", named(&plan.changed));
            way(both, true, "both, also what changed since", theirs);
        }
    }
    let conversation = RewindScope::Conversation;
    way(conversation, false, "only conversation", String::new());
    let menu = Menu::new("What goes back?", items);
    Ok(ActionOutcome::Choose(menu, MenuPurpose::Rewind(ways)))
}

/// Goes back.
pub(super) async fn go(session: &Session, wanted: Rewind) -> ActionResult {
    let report = session.rewind(wanted).await?;
    Ok(outcome(CommandAnswer {
        text: report.told(&RewindWay::Slash),
        has_moved: report.scope.has_conversation(),
        prompt: report.text,
    }))
}

/// Does what was typed.
pub(super) async fn run(session: &Session, command: RewindCommand) -> ActionResult {
    Ok(outcome(
        session.run_rewind(command, &RewindWay::Slash).await?,
    ))
}

fn outcome(answer: CommandAnswer) -> ActionOutcome {
    let rows = answer
        .text
        .lines()
        .map(|line| Row::of(line, TextStyle::DIM));
    let prompt = answer.prompt.filter(|_| answer.has_moved);
    ActionOutcome::Rewound(rows.collect(), prompt)
}

fn changes(plan: &RewindPlan) -> String {
    let mut parts = Vec::new();
    if plan.steps.is_empty() {
        parts.push("changes no file".to_owned());
    } else {
        parts.push(format!("restores {}", named(&plan.steps)));
    }
    if !plan.changed.is_empty() {
        parts.push(format!("leaves {}, changed since", named(&plan.changed)));
    }
    parts.extend(plan.unknown.iter().map(|what| format!("not known: {what}")));
    let running = plan.running.iter();
    parts.extend(running.map(|job| format!("{job} still runs")));
    if plan.missing > 0 {
        parts.push("no checkpoint here for some runs".to_owned());
    }
    parts.join("; ")
}

fn named(steps: &[RewindStep]) -> String {
    let mut names: Vec<String> = steps.iter().take(NAMED).map(RewindStep::shown).collect();
    if let more @ 1.. = steps.len().saturating_sub(NAMED) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
