//! What a person answered with "always", and what it is about.

use std::path::{Path, PathBuf};

use super::command::{self, Part, Parts};
use super::location::resolve;
use super::rule::{RuleDecision, Subject};
use crate::permission::PermissionRequest;

/// An answer that holds for the rest of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remembered {
    tool: String,
    about: About,
    decision: RuleDecision,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    EveryCall,
    /// This command and no other.
    Command(String),
    /// Commands that start with these words.
    Words(String),
    /// Everything in the folder and below.
    Folder(PathBuf),
    Path(PathBuf),
}

/// Programs that run whatever they are given, so that their first words say nothing.
const RUN_OTHERS: [&str; 26] = [
    "bash", "sh", "zsh", "dash", "fish", "ksh", "sudo", "su", "doas", "env", "exec", "eval",
    "command", "builtin", "xargs", "nohup", "time", "timeout", "nice", "setsid", "ssh", "python",
    "python3", "node", "perl", "ruby",
];

impl Remembered {
    pub(super) fn new(request: &PermissionRequest, decision: RuleDecision, cwd: &Path) -> Self {
        let about = match (&request.command, request.paths.first()) {
            (Some(command), _) => about_command(command),
            (None, Some(path)) => about_path(path, cwd),
            (None, None) => About::EveryCall,
        };
        Self {
            tool: request.call.name.clone(),
            about,
            decision,
        }
    }

    /// True when the answer was about a call like this, or like this part of it.
    fn matches(&self, subject: &Subject<'_>, part: Option<&Part>) -> bool {
        if self.tool != subject.tool {
            return false;
        }
        let is_denial = self.decision == RuleDecision::Deny;
        let covers = |test: &dyn Fn(&Path) -> bool| {
            let mut resolved = subject
                .paths
                .iter()
                .map(|path| path.resolved.as_deref().is_some_and(test));
            match is_denial {
                true => resolved.any(|covered| covered),
                false => !subject.paths.is_empty() && resolved.all(|covered| covered),
            }
        };
        match &self.about {
            About::EveryCall => subject.paths.is_empty() && subject.command.is_none(),
            About::Command(command) => subject.command == Some(command),
            About::Words(words) => part.is_some_and(|part| {
                (is_denial || !part.redirects_to_file) && starts_with_words(&part.text, words)
            }),
            About::Folder(folder) => covers(&|path| path.starts_with(folder)),
            About::Path(only) => covers(&|path| path == only),
        }
    }
}

/// What was answered about calls like this one. Every part of a command must have been allowed;
/// one that was denied is enough.
pub(super) fn recall(remembered: &[Remembered], subject: &Subject<'_>) -> Option<RuleDecision> {
    let parts: Vec<Option<&Part>> = match &subject.parts {
        Some(Parts::Clear(parts)) if !parts.is_empty() => parts.iter().map(Some).collect(),
        Some(Parts::Clear(_) | Parts::Unclear) | None => vec![None],
    };
    let answer = |part: Option<&Part>| {
        remembered
            .iter()
            .filter(|answer| answer.matches(subject, part))
            .map(|answer| answer.decision)
            .max()
    };
    // In the order of decisions nothing comes before allow, and deny comes last.
    let answers: Vec<Option<RuleDecision>> = parts.into_iter().map(answer).collect();
    match answers.iter().max() {
        Some(Some(RuleDecision::Deny)) => Some(RuleDecision::Deny),
        _ => answers.into_iter().min().flatten(),
    }
}

fn about_command(command: &str) -> About {
    let exactly = || About::Command(command.to_owned());
    let Parts::Clear(parts) = command::parts(command) else {
        return exactly();
    };
    let [only] = parts.as_slice() else {
        return exactly();
    };
    let mut words = only.text.split_whitespace();
    let Some(program) = words.next() else {
        return exactly();
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_plain = |word: &str| !word.contains(['\'', '"', '\\', '$', '`', '=']);
    if only.redirects_to_file || RUN_OTHERS.contains(&name) || !is_plain(program) {
        return exactly();
    }
    match words.next() {
        Some(second) if !is_plain(second) => exactly(),
        Some(second) => About::Words(format!("{program} {second}")),
        None => exactly(),
    }
}

fn about_path(path: &Path, cwd: &Path) -> About {
    let path = resolve(path).unwrap_or_else(|| path.to_owned());
    let folder = match path.is_dir() {
        true => Some(path.as_path()),
        false => path.parent(),
    };
    let cwd = resolve(cwd).unwrap_or_else(|| cwd.to_owned());
    let home = std::env::home_dir().and_then(|home| resolve(&home));
    match folder {
        Some(folder) if folder == cwd => About::Folder(cwd),
        // Too much would be allowed at once.
        Some(folder) if cwd.starts_with(folder) || home.as_deref() == Some(folder) => {
            About::Path(path)
        }
        Some(folder) => About::Folder(folder.to_owned()),
        None => About::Path(path),
    }
}

fn starts_with_words(command: &str, words: &str) -> bool {
    let mut given = command.split_whitespace();
    words
        .split_whitespace()
        .all(|word| given.next() == Some(word))
}
