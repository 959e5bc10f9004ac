//! What the policy says: to people why it asks, to the model why it may not.

use std::path::Path;

use stentor_text::visible::visible;

use super::location::CallLocation;
use super::rule::{Rule, Subject};
use super::touches::ToolEffect;

/// A rule of the configuration forbids it.
pub(super) fn denied_by_rule(subject: &Subject<'_>, rule: &Rule) -> String {
    format!(
        "Permission denied: {} is forbidden by the rule {rule}. Do not try to achieve the same in \
         another way. Continue without it, or tell the user what you need and why.",
        call(subject)
    )
}

/// A person said never.
pub(super) fn denied_before(subject: &Subject<'_>) -> String {
    format!(
        "Permission denied: the user rejected calls like {} permanently. Continue without it, or \
         ask the user what to do instead.",
        call(subject)
    )
}

/// The guard over paths forbids it.
pub(super) fn denied_by_path_guard(subject: &Subject<'_>, why: &str) -> String {
    format!(
        "Permission denied: {}: {why}. The user cannot allow it in this session; tell the user \
         what you would need and why.",
        call(subject)
    )
}

/// The session only reads.
pub(super) fn denied_by_read_only(subject: &Subject<'_>, location: &CallLocation) -> String {
    let why = match (subject.effect, location.outside()) {
        (ToolEffect::Reads, Some(path)) => format!(
            "{} is outside the working folder, and this session may only read inside it",
            shown(path)
        ),
        (ToolEffect::Writes, _) => "this session is read-only and may not change files".to_owned(),
        (ToolEffect::Executes, _) if !subject.web.is_empty() => {
            "this session is read-only and may not use the network".to_owned()
        }
        (ToolEffect::Executes, _) => {
            "this session is read-only and may not run commands".to_owned()
        }
        (ToolEffect::Reads | ToolEffect::Nothing, _) => {
            "a rule requires asking, and a read-only session never asks".to_owned()
        }
    };
    format!(
        "Permission denied: {}: {why}. You can read files in {}; describe to the user what you \
         would do beyond that.",
        call(subject),
        subject.cwd.display()
    )
}

/// No plan has been accepted yet.
pub(super) fn denied_by_plan(subject: &Subject<'_>) -> String {
    let why = match subject.effect {
        ToolEffect::Executes if subject.command.is_none() => {
            "tools like this one may run only if they declare that they change nothing,"
        }
        ToolEffect::Executes => "only commands that are known to change nothing may run",
        ToolEffect::Nothing | ToolEffect::Reads | ToolEffect::Writes => "nothing may be changed",
    };
    format!(
        "Permission denied: {}: the session is in plan mode, in which {why} until the user has \
         accepted a plan. Put it into the plan.",
        call(subject)
    )
}

/// A rule of the configuration wants it asked.
pub(super) fn asked_by_rule(subject: &Subject<'_>, rule: &Rule) -> String {
    format!(
        "{} needs permission because of the rule {rule}",
        call(subject)
    )
}

/// A rule is about commands, and this one does not say which it runs.
pub(super) fn asked_as_unknown(subject: &Subject<'_>, rule: &Rule) -> String {
    format!(
        "it is not clear from {} what it runs, so the rule {rule} may apply; a command that \
         spells out its programs does not cause this question",
        call(subject)
    )
}

/// Edits are free, but not of this.
pub(super) fn asked_for_protected(subject: &Subject<'_>, path: &Path, why: &str) -> String {
    format!(
        "{} changes {}, which needs permission even in accept-edits mode: {why}",
        subject.tool,
        path.display()
    )
}

/// The mode wants it asked.
pub(super) fn asked_by_mode(subject: &Subject<'_>, location: &CallLocation) -> String {
    if let Some(path) = location.outside() {
        return format!(
            "{} touches {}, which is outside the working folder",
            subject.tool,
            shown(path)
        );
    }
    let does = match subject.effect {
        ToolEffect::Nothing | ToolEffect::Reads if subject.claims_to_read => {
            "says that it changes nothing, which nothing shows"
        }
        ToolEffect::Nothing => "touches nothing",
        ToolEffect::Reads => "reads files",
        ToolEffect::Writes => "changes files",
        ToolEffect::Executes if !subject.web.is_empty() => "uses the network",
        ToolEffect::Executes => "runs programs",
    };
    format!("{} {does}", call(subject))
}

/// The call in one line.
fn call(subject: &Subject<'_>) -> String {
    const MOST_CHARS: usize = 200;
    if let Some(command) = subject.command {
        let command = visible(command);
        let line: String = command.chars().take(MOST_CHARS).collect();
        let dots = if line.len() < command.len() {
            "…"
        } else {
            ""
        };
        return format!("{} `{line}{dots}`", subject.tool);
    }
    if let Some(address) = subject.web.first() {
        return format!("{} from {}", subject.tool, visible(&address.host));
    }
    match subject.paths.first() {
        Some(path) => format!("{} on {}", subject.tool, shown(&path.given)),
        None => subject.tool.to_owned(),
    }
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}
