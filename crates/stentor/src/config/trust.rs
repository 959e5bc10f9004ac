//! What a project's own file may say before its folder is trusted.
//!
//! Whoever wrote a repository wrote its `.stentor/config.toml`, and cloning it must not be enough to
//! run commands, redirect keys, loosen permissions or spend more. Until the user lists the folder
//! under `trusted_projects`, such a file may choose among what the user has set up and make things
//! stricter; everything else in it is left out with a warning.

use stentor_agent::permission::PermissionMode;
use stentor_agent::policy::RuleDecision;
use stentor_agent::sandbox::SandboxMode;

use super::error::Warning;
use super::file::FileContent;
use super::source::{Location, Source, Sourced};

/// Removes from `project` what only a trusted project may say, given what the user's file says.
pub fn restrict(project: &mut FileContent, user_file: &FileContent) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let layer = &mut project.layer;
    for raw in project.providers.drain(..) {
        let what = format!("[providers.{}] could send your keys elsewhere", raw.name);
        warnings.push(left_out(raw.at, &what));
    }
    for raw in project.models.drain(..) {
        let what = format!("[models.{}] could send your keys elsewhere", raw.name);
        warnings.push(left_out(raw.at, &what));
    }
    for raw in project.extensions.drain(..) {
        let what = format!("[extensions.{}] would run a program", raw.name);
        warnings.push(left_out(raw.at, &what));
    }
    for raw in project.mcp_servers.drain(..) {
        let what = format!(
            "[mcp_servers.{}] would run a program or call a server",
            raw.name
        );
        warnings.push(left_out(raw.at, &what));
    }
    let user_denies = user_file
        .permissions
        .iter()
        .any(|rule| rule.value.decision() == RuleDecision::Deny);
    project.permissions.retain(|rule| {
        let danger = match rule.value.decision() {
            RuleDecision::Allow => "a rule that allows would loosen permissions",
            // The more specific rule decides, so it could stand in for a denial.
            RuleDecision::Ask if user_denies => {
                "a rule that asks could take the place of one of yours that denies"
            }
            RuleDecision::Ask | RuleDecision::Deny => return true,
        };
        refuse(rule, danger, &mut warnings);
        false
    });
    let user = &user_file.layer;
    let scripted = |name: &str| name == "script" || name.starts_with("script/");
    drop_if(
        &mut layer.provider,
        |name| scripted(&name.0),
        SCRIPT,
        &mut warnings,
    );
    drop_if(
        &mut layer.model,
        |name| scripted(&name.0),
        SCRIPT,
        &mut warnings,
    );
    let runs = "it would run a program";
    drop_if(&mut layer.extension_files, |_| true, runs, &mut warnings);
    let unguarded = "it would leave out extensions that may guard you";
    drop_if(
        &mut layer.use_extensions,
        |on| !*on,
        unguarded,
        &mut warnings,
    );
    drop_if(&mut layer.data_dir, |_| true, MOVES, &mut warnings);
    drop_if(&mut layer.session_dir, |_| true, MOVES, &mut warnings);
    drop_if(&mut layer.session_folders, |_| true, MOVES, &mut warnings);
    drop_if(&mut layer.share_sessions, |_| true, MOVES, &mut warnings);
    let tools = user.tools.as_ref();
    drop_if(
        &mut layer.tools,
        |names| tools.is_some_and(|have| names.iter().any(|name| !have.value.contains(name))),
        "`tools` would add tools that your own file leaves out",
        &mut warnings,
    );
    lower_only(&mut layer.budget_tokens, &user.budget_tokens, &mut warnings);
    lower_only(&mut layer.budget_cost, &user.budget_cost, &mut warnings);
    lower_only(&mut layer.budget_turns, &user.budget_turns, &mut warnings);
    warnings
}

/// Removes what no project may say, trusted or not, given what the user's file says.
///
/// A command in the sandbox may write the project's folder, and with it the project's file: what
/// that says must never be a way out of the sandbox.
pub fn restrict_always(project: &mut FileContent, user_file: &FileContent) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let layer = &mut project.layer;
    let user = &user_file.layer;
    let mode = user.sandbox_mode.as_ref();
    never_if(
        &mut layer.sandbox_mode,
        |asked| mode.is_some_and(|set| is_looser(*asked, set.value)),
        &mut warnings,
    );
    never_if(&mut layer.sandbox_network, |on| *on, &mut warnings);
    never_if(&mut layer.sandbox_required, |on| !*on, &mut warnings);
    never_if(&mut layer.sandbox_writable, |_| true, &mut warnings);
    never_if(&mut layer.sandbox_unreadable, |_| true, &mut warnings);
    let trusted = project.layer.trusted_projects.take().map(|set| set.source);
    let passed = project.layer.pass_env.take().map(|set| set.source);
    for (key, source) in [("trusted_projects", trusted), ("pass_env", passed)] {
        if let Some(Source::File(at)) = source {
            warnings.push(Warning {
                at,
                message: format!("left out: `{key}` counts only in your own file"),
            });
        }
    }
    warnings
}

/// True when `a` lets less through than `b`.
pub fn is_stricter(a: PermissionMode, b: PermissionMode) -> bool {
    // ALL lists the modes most careful first.
    let place = |mode| PermissionMode::ALL.iter().position(|known| *known == mode);
    place(a) < place(b)
}

fn is_looser(a: SandboxMode, b: SandboxMode) -> bool {
    // ALL lists the modes strictest first.
    let place = |mode| SandboxMode::ALL.iter().position(|known| *known == mode);
    place(a) > place(b)
}

fn never_if<T>(
    field: &mut Option<Sourced<T>>,
    opens: impl FnOnce(&T) -> bool,
    warnings: &mut Vec<Warning>,
) {
    let dropped = field.take_if(|set| opens(&set.value));
    if let Some(Source::File(at)) = dropped.map(|set| set.source) {
        warnings.push(Warning {
            at,
            message: "left out: a project's file can close the sandbox, never open it".to_owned(),
        });
    }
}

const SCRIPT: &str = "a scripted model could run commands";
const MOVES: &str = "it would move where your conversations are kept";

fn drop_if<T>(
    field: &mut Option<Sourced<T>>,
    dangerous: impl FnOnce(&T) -> bool,
    why: &str,
    warnings: &mut Vec<Warning>,
) {
    if let Some(set) = field.take_if(|set| dangerous(&set.value)) {
        refuse(&set, why, warnings);
    }
}

fn lower_only<T: PartialOrd>(
    field: &mut Option<Sourced<T>>,
    user: &Option<Sourced<T>>,
    warnings: &mut Vec<Warning>,
) {
    let raises = |value: &T| user.as_ref().is_some_and(|set| *value > set.value);
    drop_if(field, raises, "it would raise your own budget", warnings);
}

fn refuse<T>(set: &Sourced<T>, why: &str, warnings: &mut Vec<Warning>) {
    if let Source::File(at) = &set.source {
        warnings.push(left_out(at.clone(), why));
    }
}

fn left_out(at: Location, why: &str) -> Warning {
    Warning {
        at,
        message: format!(
            "left out: {why}; list the folder under `trusted_projects` in your own file to trust it"
        ),
    }
}
