//! What a person answered with "always", and what it is about.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::command::{self, Part, Parts};
use super::location::resolve;
use super::rule::{RuleDecision, Subject};
use crate::permission::PermissionRequest;

/// Keeps "always" answers beyond the session they were given in.
pub trait AnswerKeeper: Send + Sync {
    /// Keeps an answer for the sessions to come. The error is text for a person.
    fn keep(&self, answer: &Remembered) -> Result<(), String>;
}

/// An answer that holds from when it was given, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AnswerText", into = "AnswerText")]
pub struct Remembered {
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

/// An answer as it is written down.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerText {
    tool: String,
    /// This command and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Commands that start with these words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    /// Everything in the folder and below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    decision: RuleDecision,
}

/// An answer that nobody can have given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAnswer {
    #[error("an answer about `{0}` names more than one of command, words, folder and path")]
    Ambiguous(String),
    #[error("an answer about `{0}` allows or denies, it does not ask")]
    Asks(String),
    #[error("an answer about `{tool}` has the relative path {path}", path = path.display())]
    Relative { tool: String, path: PathBuf },
}

impl TryFrom<AnswerText> for Remembered {
    type Error = InvalidAnswer;

    fn try_from(text: AnswerText) -> Result<Self, InvalidAnswer> {
        let AnswerText {
            tool,
            command,
            words,
            folder,
            path,
            decision,
        } = text;
        if decision == RuleDecision::Ask {
            return Err(InvalidAnswer::Asks(tool));
        }
        if let Some(path) = folder.iter().chain(&path).find(|path| !path.is_absolute()) {
            let path = path.clone();
            return Err(InvalidAnswer::Relative { tool, path });
        }
        let named = [
            command.map(About::Command),
            words.map(About::Words),
            folder.map(About::Folder),
            path.map(About::Path),
        ];
        let mut named = named.into_iter().flatten();
        let about = named.next().unwrap_or(About::EveryCall);
        match named.next() {
            Some(_) => Err(InvalidAnswer::Ambiguous(tool)),
            None => Ok(Self {
                tool,
                about,
                decision,
            }),
        }
    }
}

impl From<Remembered> for AnswerText {
    fn from(answer: Remembered) -> Self {
        let mut text = Self {
            tool: answer.tool,
            command: None,
            words: None,
            folder: None,
            path: None,
            decision: answer.decision,
        };
        match answer.about {
            About::EveryCall => {}
            About::Command(command) => text.command = Some(command),
            About::Words(words) => text.words = Some(words),
            About::Folder(folder) => text.folder = Some(folder),
            About::Path(path) => text.path = Some(path),
        }
        text
    }
}

impl fmt::Display for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = match self.decision {
            RuleDecision::Allow | RuleDecision::Ask => "allow",
            RuleDecision::Deny => "deny",
        };
        write!(f, "{decision} {}", self.tool)?;
        match &self.about {
            About::EveryCall => Ok(()),
            About::Command(command) => write!(f, " exactly `{command}`"),
            About::Words(words) => write!(f, " commands that start with `{words}`"),
            About::Folder(folder) => write!(f, " in {} and below", folder.display()),
            About::Path(path) => write!(f, " on {}", path.display()),
        }
    }
}

/// Programs that run whatever they are given, so that their first words say nothing.
const RUN_OTHERS: [&str; 26] = [
    "bash", "sh", "zsh", "dash", "fish", "ksh", "sudo", "su", "doas", "env", "exec", "eval",
    "command", "builtin", "xargs", "nohup", "time", "timeout", "nice", "setsid", "ssh", "python",
    "python3", "node", "perl", "ruby",
];

impl Remembered {
    /// True when both are about the same calls, whatever they say about them.
    pub fn is_about_the_same_as(&self, other: &Self) -> bool {
        self.tool == other.tool && self.about == other.about
    }

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
            About::Words(words) => part.is_some_and(|part| match is_denial {
                true => [&part.text, &part.plain]
                    .into_iter()
                    .any(|text| starts_with_words(text, words)),
                false => !part.redirects_to_file && starts_with_words(&part.text, words),
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
