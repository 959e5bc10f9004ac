//! What a person answered with "always", and what it is about.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stentor_text::visible::visible;

use super::command::{CommandParts, SimpleCommand};
use super::protected_paths::ProtectedFolders;
use super::rule::{RuleDecision, Subject};
use super::scope::{AnswerSubject, starts_with_words};
use super::touches::Touches;

/// Stores "always" answers beyond the session they were given in.
pub trait AnswerStore: Send + Sync {
    /// Stores an answer for the sessions to come.
    fn store(&self, answer: &RememberedAnswer) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// An answer that holds from when it was given, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AnswerText", into = "AnswerText")]
pub struct RememberedAnswer {
    tool: String,
    about: AnswerSubject,
    decision: RuleDecision,
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
    /// Everything on that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The call that is described with exactly these words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    decision: RuleDecision,
}

/// An answer that nobody can have given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAnswer {
    #[error(
        "an answer about `{0}` names more than one of command, words, folder, path, host and call"
    )]
    Ambiguous(String),
    #[error("an answer about `{0}` must allow or deny, not ask")]
    Asks(String),
    #[error("an answer about `{tool}` has the relative path {path}", path = path.display())]
    Relative { tool: String, path: PathBuf },
}

impl TryFrom<AnswerText> for RememberedAnswer {
    type Error = InvalidAnswer;

    fn try_from(text: AnswerText) -> Result<Self, InvalidAnswer> {
        let AnswerText {
            tool,
            command,
            words,
            folder,
            path,
            host,
            call,
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
            command.map(AnswerSubject::Command),
            words.map(|words| AnswerSubject::stored_for_words(decision, words)),
            folder.map(AnswerSubject::Folder),
            path.map(AnswerSubject::Path),
            host.map(AnswerSubject::Host),
            call.map(AnswerSubject::Call),
        ];
        let mut named = named.into_iter().flatten();
        let about = named.next().unwrap_or(AnswerSubject::EveryCall);
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

impl From<RememberedAnswer> for AnswerText {
    fn from(answer: RememberedAnswer) -> Self {
        let mut text = Self {
            tool: answer.tool,
            command: None,
            words: None,
            folder: None,
            path: None,
            host: None,
            call: None,
            decision: answer.decision,
        };
        match answer.about {
            AnswerSubject::EveryCall => {}
            AnswerSubject::Command(command) => text.command = Some(command),
            AnswerSubject::Words(words) => text.words = Some(words),
            AnswerSubject::Folder(folder) => text.folder = Some(folder),
            AnswerSubject::Path(path) => text.path = Some(path),
            AnswerSubject::Host(host) => text.host = Some(host),
            AnswerSubject::Call(words) => text.call = Some(words),
        }
        text
    }
}

impl fmt::Display for RememberedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = match self.decision {
            RuleDecision::Allow | RuleDecision::Ask => "allow",
            RuleDecision::Deny => "deny",
        };
        write!(f, "{decision} {}", self.tool)?;
        match &self.about {
            AnswerSubject::EveryCall => Ok(()),
            AnswerSubject::Command(command) => write!(f, " exactly `{command}`"),
            AnswerSubject::Words(words) => write!(f, " commands that start with `{words}`"),
            AnswerSubject::Folder(folder) => write!(f, " in {} and below", folder.display()),
            AnswerSubject::Path(path) => write!(f, " on {}", path.display()),
            AnswerSubject::Host(host) => write!(f, " from {host}"),
            AnswerSubject::Call(words) => write!(f, " exactly `{words}`"),
        }
    }
}

impl RememberedAnswer {
    /// True when nothing is left of an earlier answer once this one is given: it was about the same
    /// calls, or about one of them. A denial of one of them stays.
    pub fn replaces(&self, earlier: &Self) -> bool {
        let covers = match (&self.about, &earlier.about) {
            (AnswerSubject::Words(words), AnswerSubject::Command(command)) => {
                starts_with_words(command, words)
                    && (self.decision == RuleDecision::Deny
                        || earlier.decision == RuleDecision::Allow)
            }
            (about, earlier) => about == earlier,
        };
        self.tool == earlier.tool && covers
    }

    /// What it is about, as the choice that gives it says.
    pub fn scope(&self) -> String {
        let tool = &self.tool;
        let scope = match &self.about {
            AnswerSubject::EveryCall => format!("every call of {tool}"),
            AnswerSubject::Command(_) => "exactly this command".to_owned(),
            AnswerSubject::Words(words) => format!("commands that start with `{words}`"),
            AnswerSubject::Folder(folder) => format!("{tool} in {} and below", folder.display()),
            AnswerSubject::Path(path) => format!("{tool} on {}", path.display()),
            AnswerSubject::Host(host) => format!("{tool} from {host}"),
            AnswerSubject::Call(_) => "exactly this call".to_owned(),
        };
        visible(&scope).into_owned()
    }

    /// True when the answer was about a call like this, or like this part of it.
    fn matches(
        &self,
        subject: &Subject<'_>,
        protected: ProtectedFolders<'_>,
        part: Option<&SimpleCommand>,
    ) -> bool {
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
            AnswerSubject::EveryCall => {
                let is_plain =
                    subject.paths.is_empty() && subject.command.is_none() && subject.web.is_empty();
                // One that only its words describe was not meant by a yes to others.
                is_plain && (is_denial || subject.words.is_none())
            }
            AnswerSubject::Call(words) => subject.words == Some(words),
            // A path alone does not say what it does there.
            AnswerSubject::Folder(_) | AnswerSubject::Path(_)
                if !is_denial && subject.words.is_some() =>
            {
                false
            }
            AnswerSubject::Command(command) => subject.command == Some(command),
            AnswerSubject::Words(words) if is_denial => {
                let spelled = part.into_iter().flat_map(|part| [&part.text, &part.plain]);
                let mut all = spelled.chain(&subject.inside.commands);
                all.any(|text| starts_with_words(text, words))
            }
            AnswerSubject::Words(words) => part.is_some_and(|part| {
                !part.redirects && !part.is_arithmetic && starts_with_words(&part.text, words)
            }),
            AnswerSubject::Folder(folder) => {
                covers(&|path| path.starts_with(folder))
                    && (is_denial || !protected.need_their_own_permission(subject))
            }
            AnswerSubject::Path(only) => covers(&|path| path == only),
            AnswerSubject::Host(only) => {
                let mut same = subject.web.iter().map(|address| address.host == *only);
                match is_denial {
                    true => same.any(|same| same),
                    false => !subject.web.is_empty() && same.all(|same| same),
                }
            }
        }
    }
}

/// What is remembered of a call when a person says "always", either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlwaysAnswers {
    pub allow: RememberedAnswer,
    pub reject: RememberedAnswer,
}

impl AlwaysAnswers {
    /// The same for a call of `tool` that touches this, links resolved.
    pub fn about(tool: &str, touches: &Touches, cwd: &Path) -> Self {
        let answer = |decision| RememberedAnswer {
            tool: tool.to_owned(),
            about: AnswerSubject::of(decision, touches, cwd),
            decision,
        };
        Self {
            allow: answer(RuleDecision::Allow),
            reject: answer(RuleDecision::Deny),
        }
    }

    /// The same, where a yes is about this path and no other.
    #[must_use]
    pub(super) fn allowing_only(mut self, path: PathBuf) -> Self {
        self.allow.about = AnswerSubject::Path(path);
        self
    }
}

/// What was answered about calls like this one. Every part of a command must have been allowed;
/// one that was denied is enough.
pub(super) fn recall(
    remembered: &[RememberedAnswer],
    subject: &Subject<'_>,
    protected: ProtectedFolders<'_>,
) -> Option<RuleDecision> {
    let parts: Vec<Option<&SimpleCommand>> = match &subject.parts {
        Some(CommandParts::Clear(parts)) if !parts.is_empty() => parts.iter().map(Some).collect(),
        Some(CommandParts::Clear(_) | CommandParts::Unclear) | None => vec![None],
    };
    let answer = |part: Option<&SimpleCommand>| {
        remembered
            .iter()
            .filter(|answer| answer.matches(subject, protected, part))
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
