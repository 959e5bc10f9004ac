//! Rules of the configuration, and which of them decides.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use super::command::{self, CommandParts, SimpleCommand};
use super::host_pattern;
use super::look_through::{self, InnerCommands};
use super::pattern::Wildcard;
use super::resolve::resolve;
use super::touches::{ToolEffect, Touches, WebAddress};

/// One rule, as it is written in the configuration:
/// `{ tool = "bash", command = "git *", decision = "allow" }`.
///
/// What a rule does not mention it does not ask for. A rule that asks for a path or a command is
/// never about calls without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuleText", into = "RuleText")]
pub struct Rule {
    text: RuleText,
}

/// What a rule says about the calls it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    Allow,
    Ask,
    Deny,
}

/// A rule that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    #[error("the {0} of a permission rule is empty: leave it out to match every call")]
    Empty(&'static str),
    #[error("`{pattern}` is not a valid path pattern: {problem}")]
    Path { pattern: String, problem: String },
    #[error(
        "`{0}` is not the host of any address: write the name alone, or with a port, as addresses \
         have it (`example.org`, `*.example.org:8080`, `127.0.0.1`, `[::1]`, `xn--…`)"
    )]
    Host(String),
}

/// A rule as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    /// The tool's name; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effect: Option<ToolEffect>,
    /// A glob, relative to the working folder unless it starts with `/` or `~/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The shell command; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The host on the web; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    decision: RuleDecision,
}

impl TryFrom<RuleText> for Rule {
    type Error = InvalidRule;

    fn try_from(text: RuleText) -> Result<Self, InvalidRule> {
        for (name, value) in [
            ("tool", &text.tool),
            ("path", &text.path),
            ("command", &text.command),
            ("host", &text.host),
        ] {
            if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
                return Err(InvalidRule::Empty(name));
            }
        }
        if let Some(pattern) = &text.path {
            glob(pattern).map_err(|error| InvalidRule::Path {
                pattern: pattern.clone(),
                problem: error.kind().to_string(),
            })?;
        }
        // A rule to deny that never matches would be worse than none.
        match text
            .host
            .as_deref()
            .filter(|host| !host_pattern::is_sound(host))
        {
            Some(host) => Err(InvalidRule::Host(host.to_owned())),
            None => Ok(Self { text }),
        }
    }
}

impl From<Rule> for RuleText {
    fn from(rule: Rule) -> Self {
        rule.text
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut named = Vec::new();
        let mut name = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                named.push(format!("{key} = {value:?}"));
            }
        };
        let effect = self.text.effect.map(effect_name);
        name("tool", self.text.tool.as_deref());
        name("effect", effect);
        name("path", self.text.path.as_deref());
        name("command", self.text.command.as_deref());
        name("host", self.text.host.as_deref());
        name("decision", Some(decision_name(self.text.decision)));
        write!(f, "{{ {} }}", named.join(", "))
    }
}

/// A call, looked at closely once.
pub(super) struct Subject<'a> {
    pub tool: &'a str,
    pub effect: ToolEffect,
    pub cwd: &'a Path,
    pub paths: Vec<TouchedPath>,
    pub command: Option<&'a str>,
    pub parts: Option<CommandParts>,
    /// The parts of text for a program that runs, if that is a shell. They only make it stricter.
    pub input_parts: Vec<SimpleCommand>,
    /// The commands that the command runs through others.
    pub inside: InnerCommands,
    pub web: &'a [WebAddress],
    pub claims_to_read: bool,
    pub words: Option<&'a str>,
}

/// A path a call names, and where it really is.
pub(super) struct TouchedPath {
    pub given: PathBuf,
    pub resolved: Option<PathBuf>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        tool: &'a str,
        effect: ToolEffect,
        touches: &'a Touches,
        cwd: &'a Path,
    ) -> Self {
        let command = touches.command.as_deref();
        let (parts, input_parts) = match (touches.is_input, command.map(command::parts)) {
            (true, Some(CommandParts::Clear(parts))) => (Some(CommandParts::Unclear), parts),
            (_, parts) => (parts, Vec::new()),
        };
        Self {
            tool,
            effect,
            cwd,
            paths: touches
                .paths
                .iter()
                .enumerate()
                .map(|(index, path)| {
                    let given = cwd.join(path);
                    let settled = touches.settled.as_ref().and_then(|all| all.get(index));
                    let resolved = match settled {
                        Some(settled) => settled.clone(),
                        None => resolve(&given),
                    };
                    TouchedPath { given, resolved }
                })
                .collect(),
            command,
            parts,
            input_parts,
            inside: command.map(look_through::inside).unwrap_or_default(),
            web: &touches.web,
            claims_to_read: touches.claims_to_read,
            words: touches.words.as_deref(),
        }
    }
}

/// What of a call a rule is held against.
#[derive(Clone, Copy)]
enum RuleSubject<'a> {
    /// The whole: it has no command, or none that is understood.
    Call,
    Part(&'a SimpleCommand),
    /// A command that its command runs through another.
    Inside(&'a str),
    /// What its command runs and nobody could look at.
    Unseen,
}

/// The rule that decides about the call, if one does.
///
/// Each part of a command is decided by itself. Then the strictest counts, and the whole is
/// allowed only if every part is. What a command runs through others can only make it stricter.
pub(super) fn strongest<'r>(rules: &'r [Rule], subject: &Subject<'_>) -> Option<&'r Rule> {
    let pieces: Vec<RuleSubject<'_>> = match &subject.parts {
        Some(CommandParts::Clear(parts)) if !parts.is_empty() => {
            parts.iter().map(RuleSubject::Part).collect()
        }
        Some(CommandParts::Clear(_) | CommandParts::Unclear) | None => vec![RuleSubject::Call],
    };
    let decided: Vec<Option<&Rule>> = pieces
        .into_iter()
        .map(|piece| most_specific(rules, subject, piece))
        .collect();
    let commands = subject.inside.commands.iter();
    let unseen = subject.inside.has_more.then_some(RuleSubject::Unseen);
    let inside = commands
        .map(|command| RuleSubject::Inside(command))
        .chain(unseen)
        .chain(subject.input_parts.iter().map(RuleSubject::Part))
        .filter_map(|piece| most_specific(rules, subject, piece));
    let strictest = decided
        .iter()
        .copied()
        .flatten()
        .chain(inside.filter(|rule| rule.text.decision > RuleDecision::Allow))
        .max_by_key(|rule| rule.text.decision);
    match strictest {
        Some(rule) if rule.text.decision > RuleDecision::Allow => Some(rule),
        _ if decided.iter().any(Option::is_none) => None,
        strictest => strictest,
    }
}

/// The rule about commands that nobody can hold against this one, because it runs what only a
/// shell knows: such a command is asked about, unless a rule has it word for word.
pub(super) fn unable_to_look<'r>(rules: &'r [Rule], subject: &Subject<'_>) -> Option<&'r Rule> {
    let is_named = |rule: &Rule| rule.text.command.as_deref() == subject.command;
    if !subject.inside.runs_unknown || rules.iter().any(is_named) {
        return None;
    }
    rules
        .iter()
        .filter(|rule| rule.text.decision > RuleDecision::Allow)
        .filter(|rule| rule.matches(subject, RuleSubject::Unseen))
        .max_by_key(|rule| (rule.text.decision, rule.specificity()))
}

fn most_specific<'r>(
    rules: &'r [Rule],
    subject: &Subject<'_>,
    piece: RuleSubject<'_>,
) -> Option<&'r Rule> {
    rules
        .iter()
        .filter(|rule| rule.matches(subject, piece))
        .max_by_key(|rule| (rule.specificity(), rule.text.decision))
}

impl Rule {
    /// What it says about the calls it matches.
    pub fn decision(&self) -> RuleDecision {
        self.text.decision
    }

    /// True when the rule is about this piece of the call.
    fn matches(&self, subject: &Subject<'_>, piece: RuleSubject<'_>) -> bool {
        let RuleText {
            tool,
            effect,
            path,
            command,
            host,
            decision,
        } = &self.text;
        let allows = *decision == RuleDecision::Allow;
        tool.as_ref()
            .is_none_or(|tool| Wildcard::new(tool).matches(subject.tool))
            && effect.is_none_or(|effect| effect == subject.effect)
            && path
                .as_ref()
                .is_none_or(|path| PathPattern::new(path, subject.cwd).matches(subject, allows))
            && host
                .as_ref()
                .is_none_or(|host| host_pattern::matches(host, subject.web, allows))
            && match command {
                Some(command) => matches_command(command, subject, piece, allows),
                // It is about whole calls, and was held against this one already.
                None => matches!(piece, RuleSubject::Call | RuleSubject::Part(_)),
            }
    }

    /// True when the rule is about what this tool does to paths, whatever commands it runs.
    pub(super) fn is_about_paths_of(&self, tool: &str, effect: ToolEffect) -> bool {
        let named = self.text.tool.as_ref();
        named.is_none_or(|name| Wildcard::new(name).matches(tool))
            && self.text.effect.is_none_or(|wanted| wanted == effect)
            && self.text.command.is_none()
            && self.text.host.is_none()
    }

    /// The paths it is about, if it is about certain ones.
    pub(super) fn path_pattern(&self, cwd: &Path) -> Option<PathPattern> {
        let path = self.text.path.as_ref()?;
        Some(PathPattern::new(path, cwd))
    }

    /// True when it denies certain paths.
    pub(super) fn denies_paths(&self) -> bool {
        self.text.decision == RuleDecision::Deny && self.text.path.is_some()
    }

    /// The larger, the more a rule asks for.
    pub(super) fn specificity(&self) -> (usize, u8, bool) {
        let letters = |pattern: &Option<String>| {
            pattern.as_ref().map_or(0, |pattern| {
                pattern.chars().filter(|c| !"*?[]{}".contains(*c)).count()
            })
        };
        let tool = match &self.text.tool {
            None => 0,
            Some(name) if Wildcard::new(name).is_anything() => 0,
            Some(name) if name.contains('*') => 1,
            Some(_) => 2,
        };
        let patterns =
            letters(&self.text.path) + letters(&self.text.command) + letters(&self.text.host);
        (patterns, tool, self.text.effect.is_some())
    }
}

/// Allowing needs certainty; denying and asking take every hint.
fn matches_command(
    pattern: &str,
    subject: &Subject<'_>,
    piece: RuleSubject<'_>,
    allows: bool,
) -> bool {
    let Some(whole) = subject.command else {
        return false;
    };
    let wildcard = Wildcard::new(pattern);
    if pattern == whole {
        return true;
    }
    match piece {
        RuleSubject::Call | RuleSubject::Part(_) if wildcard.is_anything() => true,
        RuleSubject::Call => !allows && wildcard.matches_command(whole),
        // A calculation evaluates what its variables hold, whatever they are called.
        RuleSubject::Part(part) if allows => {
            !part.redirects && !part.is_arithmetic && wildcard.matches_command(&part.text)
        }
        RuleSubject::Part(part) => [part.text.as_str(), &part.plain, whole]
            .into_iter()
            .any(|text| wildcard.matches_command(text)),
        RuleSubject::Inside(_) | RuleSubject::Unseen if wildcard.is_anything() => false,
        RuleSubject::Inside(command) => wildcard.matches_command(command),
        RuleSubject::Unseen => !allows,
    }
}

/// A path pattern with its leading folders, up to the first wildcard, resolved.
#[derive(Debug)]
pub(super) struct PathPattern {
    /// The leading folders as written and as they really are.
    starts: Vec<PathBuf>,
    /// The rest, or nothing if the pattern is a plain path: then it is about all below it too.
    rest: Option<GlobMatcher>,
}

impl PathPattern {
    fn new(pattern: &str, cwd: &Path) -> Self {
        let (base, pattern) = match (pattern.strip_prefix("~/"), pattern.strip_prefix('/')) {
            (Some(rest), _) => (std::env::home_dir().unwrap_or_default(), rest),
            (None, Some(rest)) => (PathBuf::from("/"), rest),
            (None, None) => (cwd.to_owned(), pattern),
        };
        let names: Vec<&str> = pattern
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".")
            .collect();
        let plain = names
            .iter()
            .take_while(|name| !name.contains(['*', '?', '[', '{', '\\']))
            .count();
        let (plain, rest) = names.split_at(plain);
        let start = plain.iter().fold(base, |path, name| path.join(name));
        let rest = (!rest.is_empty()).then(|| rest.join("/"));
        Self {
            starts: resolve(&start).into_iter().chain([start]).collect(),
            // It was checked when the rule was made.
            rest: rest.and_then(|rest| glob(&rest).ok()),
        }
    }

    fn matches(&self, subject: &Subject<'_>, allows: bool) -> bool {
        if subject.paths.is_empty() {
            return false;
        }
        let resolved = |path: &TouchedPath| {
            path.resolved
                .as_ref()
                .is_some_and(|path| self.matches_path(path))
        };
        match allows {
            true => subject.paths.iter().all(resolved),
            false => subject
                .paths
                .iter()
                .any(|path| resolved(path) || self.matches_path(&path.given)),
        }
    }

    pub(super) fn matches_path(&self, path: &Path) -> bool {
        self.starts
            .iter()
            .filter_map(|start| path.strip_prefix(start).ok())
            .any(|below| self.rest.as_ref().is_none_or(|rest| rest.is_match(below)))
    }
}

fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()?
        .compile_matcher())
}

pub(super) fn effect_name(effect: ToolEffect) -> &'static str {
    match effect {
        ToolEffect::Nothing => "nothing",
        ToolEffect::Reads => "reads",
        ToolEffect::Writes => "writes",
        ToolEffect::Executes => "executes",
    }
}

fn decision_name(decision: RuleDecision) -> &'static str {
    match decision {
        RuleDecision::Allow => "allow",
        RuleDecision::Ask => "ask",
        RuleDecision::Deny => "deny",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rule, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_rule_is_read_from_the_configuration_and_shown_as_written() {
        let rule = read("tool = \"bash\"\ncommand = \"git *\"\ndecision = \"allow\"").unwrap();
        assert_eq!(
            rule.to_string(),
            "{ tool = \"bash\", command = \"git *\", decision = \"allow\" }"
        );
        let rule = read("host = \"*.rs\"\ndecision = \"deny\"").unwrap();
        assert_eq!(rule.to_string(), "{ host = \"*.rs\", decision = \"deny\" }");
        let rule = read("effect = \"writes\"\npath = \"src/**\"\ndecision = \"ask\"").unwrap();
        assert_eq!(
            rule.to_string(),
            "{ effect = \"writes\", path = \"src/**\", decision = \"ask\" }"
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, expected) in [
            ("tool = \"bash\"", "missing field `decision`"),
            (
                "decision = \"maybe\"",
                "unknown variant `maybe`, expected one of `allow`, `ask`, `deny`",
            ),
            (
                "decision = \"ask\"\ncomand = \"x\"",
                "unknown field `comand`, expected one of `tool`, `effect`, `path`, `command`, \
                 `host`, `decision`",
            ),
            (
                "decision = \"ask\"\neffect = \"flies\"",
                "unknown variant `flies`, expected one of `nothing`, `reads`, `writes`, `executes`",
            ),
            (
                "decision = \"ask\"\ntool = \" \"",
                "the tool of a permission rule is empty: leave it out to match every call",
            ),
            (
                "decision = \"ask\"\npath = \"a[\"",
                "`a[` is not a valid path pattern: unclosed character class; missing ']'",
            ),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()));
        }
    }
}
