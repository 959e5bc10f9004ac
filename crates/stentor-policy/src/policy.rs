//! The policy of a session: what it is made of, and how it decides.

use std::path::{Path, PathBuf};

use crate::location::CallLocation;
use crate::memory::{self, AlwaysAnswers, RememberedAnswer};
use crate::path_guard::PathGuard;
use crate::path_rules::PathRules;
use crate::permission::{Decision, PermissionAnswer, PermissionMode};
use crate::protected_paths::ProtectedFolders;
use crate::rule::{self, Rule, RuleDecision, Subject};
use crate::touches::{ToolEffect, Touches};
use crate::{reasons, scope};

/// Decides about tool calls.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    mode: PermissionMode,
    rules: Vec<Rule>,
    /// Folders that count as the working folder does.
    roots: Vec<PathBuf>,
    /// Folders in which reading is as free as in the working folder.
    readable: Vec<PathBuf>,
    /// The program's own folders.
    own: Vec<PathBuf>,
    remembered: Vec<RememberedAnswer>,
    path_guard: PathGuard,
    /// The rules about paths, if they are another policy's.
    path_rules: Option<PathRules>,
}

impl Policy {
    /// A policy with the configured rules.
    pub fn new(mode: PermissionMode, rules: Vec<Rule>) -> Self {
        Self {
            mode,
            rules,
            ..Self::default()
        }
    }

    /// A policy that allows everything, for a session whose calls another policy decides about. Of
    /// that one it needs the rules about paths, for the tools that walk folders.
    pub fn decided_elsewhere(path_rules: PathRules) -> Self {
        Self {
            path_rules: Some(path_rules),
            ..Self::default()
        }
    }

    /// The rules about paths, for tools that look at more than their call names.
    pub fn path_rules(&self) -> PathRules {
        let own = || PathRules::of(&self.rules);
        self.path_rules.clone().unwrap_or_else(own)
    }

    /// The same with further folders that count as the working folder does.
    #[must_use]
    pub fn with_roots(mut self, roots: Vec<PathBuf>) -> Self {
        self.roots = roots;
        self
    }

    /// The same with further folders that may be read like the working folder, such as the one
    /// where long outputs are kept.
    #[must_use]
    pub fn with_readable(mut self, readable: Vec<PathBuf>) -> Self {
        self.readable = readable;
        self
    }

    /// The same with the folders that hold the program's own configuration and data: writing there
    /// needs a permission that names the file.
    #[must_use]
    pub fn with_own_folders(mut self, own: Vec<PathBuf>) -> Self {
        self.own = own;
        self
    }

    /// The same with answers that were kept from sessions before.
    #[must_use]
    pub fn with_remembered(mut self, remembered: Vec<RememberedAnswer>) -> Self {
        self.remembered = remembered;
        self
    }

    /// The same with a guard over paths that no rule, answer or mode opens.
    #[must_use]
    pub fn with_path_guard(mut self, path_guard: PathGuard) -> Self {
        self.path_guard = path_guard;
        self
    }

    /// The stance where no rule decides.
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// Changes the stance. Rules and answers stay.
    pub fn set_mode(&mut self, mode: PermissionMode) {
        self.mode = mode;
    }

    /// What the policy says about a call of `tool`.
    pub fn decide(
        &self,
        tool: &str,
        effect: ToolEffect,
        touches: &Touches,
        cwd: &Path,
    ) -> Decision {
        self.decide_in(self.mode, tool, effect, touches, cwd)
    }

    /// What it would say with another stance.
    pub fn decide_in(
        &self,
        mode: PermissionMode,
        tool: &str,
        effect: ToolEffect,
        touches: &Touches,
        cwd: &Path,
    ) -> Decision {
        let subject = Subject::new(tool, effect, touches, cwd);
        let configured = rule::strongest(&self.rules, &subject);
        let says = configured.map(Rule::decision);
        if let Some(rule) = configured
            && rule.decision() == RuleDecision::Deny
        {
            return Decision::Deny(reasons::denied_by_rule(&subject, rule));
        }
        if let Some(why) = self.path_guard.stops(&subject, &self.roots) {
            return Decision::Deny(reasons::denied_by_path_guard(&subject, &why));
        }
        let location = CallLocation::of(&subject, &self.roots, &self.readable);
        match mode {
            PermissionMode::ReadOnly => {
                return decide_read_only(&subject, &location, says == Some(RuleDecision::Ask));
            }
            PermissionMode::Plan if !only_reads(&subject) => {
                return Decision::Deny(reasons::denied_by_plan(&subject));
            }
            PermissionMode::Plan
            | PermissionMode::Ask
            | PermissionMode::AcceptEdits
            | PermissionMode::All => {}
        }
        if let Some(answer) = memory::recall(&self.remembered, &subject, self.protected()) {
            return match answer {
                RuleDecision::Deny => Decision::Deny(reasons::denied_before(&subject)),
                RuleDecision::Ask | RuleDecision::Allow => Decision::Allow,
            };
        }
        if says != Some(RuleDecision::Ask)
            && let Some(rule) = rule::unable_to_look(&self.rules, &subject)
        {
            return Decision::Ask(reasons::asked_as_unknown(&subject, rule));
        }
        match configured {
            Some(rule) if rule.decision() == RuleDecision::Allow => Decision::Allow,
            Some(rule) => Decision::Ask(reasons::asked_by_rule(&subject, rule)),
            None => {
                // Last, and not for a rule or an answer: those were about it by name.
                let protected = self.protected().touched_by(&subject);
                match (decide_by_mode(mode, &subject, &location), protected) {
                    (Decision::Allow, Some((path, why)))
                        if mode == PermissionMode::AcceptEdits && effect == ToolEffect::Writes =>
                    {
                        Decision::Ask(reasons::asked_for_protected(&subject, path, why))
                    }
                    (decision, _) => decision,
                }
            }
        }
    }

    /// What an "always" would be remembered as, to a call of `tool` that touches this, links resolved.
    pub fn always(
        &self,
        tool: &str,
        effect: ToolEffect,
        touches: &Touches,
        cwd: &Path,
    ) -> AlwaysAnswers {
        let always = AlwaysAnswers::about(tool, touches, cwd);
        let is_protected = |path: &&PathBuf| self.protected().contain(path, cwd);
        match touches.paths.iter().find(is_protected) {
            Some(path) if effect == ToolEffect::Writes && touches.command.is_none() => {
                always.allowing_only(path.clone())
            }
            _ => always,
        }
    }

    fn protected(&self) -> ProtectedFolders<'_> {
        ProtectedFolders {
            roots: &self.roots,
            own: &self.own,
        }
    }

    /// Keeps an "always" for the rest of the session, and gives it back to be kept longer if it is
    /// new. Other answers leave nothing behind.
    ///
    /// What a call must be like the one asked about is in [`AlwaysAnswers`], and what the choice said:
    /// - for a command: be that command, or start with the same words if no words that follow can
    ///   do harm (`scope`). Denials reach as far as two words say what is run;
    /// - for paths: all are in the folder of the first one asked about, or below. Where that
    ///   folder contains the working folder, or is the root or the home folder, only the same
    ///   path is like it. Writing what is protected is allowed only by its own path;
    /// - for an address on the web: be on the same host;
    /// - otherwise: be of the same tool.
    pub fn remember(
        &mut self,
        always: &AlwaysAnswers,
        answer: PermissionAnswer,
    ) -> Option<RememberedAnswer> {
        let remembered = match answer {
            PermissionAnswer::AllowAlways => &always.allow,
            PermissionAnswer::RejectAlways => &always.reject,
            PermissionAnswer::AllowOnce
            | PermissionAnswer::RejectOnce
            | PermissionAnswer::Cancelled => return None,
        };
        if self.remembered.contains(remembered) {
            return None;
        }
        self.remembered.push(remembered.clone());
        Some(remembered.clone())
    }
}

fn decide_by_mode(
    mode: PermissionMode,
    subject: &Subject<'_>,
    location: &CallLocation,
) -> Decision {
    let is_free = match (mode, subject.effect) {
        // Nothing shows that it is true.
        (PermissionMode::Plan, _) if subject.claims_to_read => false,
        (PermissionMode::All, _) | (_, ToolEffect::Nothing) => true,
        (
            PermissionMode::Plan | PermissionMode::Ask | PermissionMode::AcceptEdits,
            ToolEffect::Reads,
        ) => location.is_readable(),
        (PermissionMode::Plan, ToolEffect::Executes) => subject.parts.is_some(),
        (PermissionMode::AcceptEdits, ToolEffect::Writes) => location.is_writable(),
        (PermissionMode::Ask, ToolEffect::Writes) => false,
        (PermissionMode::Ask | PermissionMode::AcceptEdits, ToolEffect::Executes) => false,
        (PermissionMode::Plan, ToolEffect::Writes) | (PermissionMode::ReadOnly, _) => false,
    };
    match is_free {
        true => Decision::Allow,
        false => Decision::Ask(reasons::asked_by_mode(subject, location)),
    }
}

fn decide_read_only(subject: &Subject<'_>, location: &CallLocation, would_ask: bool) -> Decision {
    match subject.effect {
        ToolEffect::Nothing if !would_ask => Decision::Allow,
        ToolEffect::Reads if location.is_readable() && !would_ask => Decision::Allow,
        ToolEffect::Nothing | ToolEffect::Reads | ToolEffect::Writes | ToolEffect::Executes => {
            Decision::Deny(reasons::denied_by_read_only(subject, location))
        }
    }
}

/// True for what changes nothing: what only reads, commands that are known to, and what says so of
/// itself, about which somebody is asked.
fn only_reads(subject: &Subject<'_>) -> bool {
    match (subject.effect, &subject.parts) {
        (ToolEffect::Nothing | ToolEffect::Reads, _) => true,
        (ToolEffect::Writes, _) => false,
        (ToolEffect::Executes, Some(parts)) => scope::only_reads(parts),
        (ToolEffect::Executes, None) => !subject.web.is_empty() || subject.claims_to_read,
    }
}

#[cfg(test)]
mod tests;
