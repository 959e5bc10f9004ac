//! `/rewind`, the same in every dialect.

use stentor_text::visible::visible_name;

use super::report::shortened;
use super::{Rewind, RewindError, RewindPoint, RewindScope, RewindTarget, RewindWay};
use crate::session::handle::Session;
use crate::session::own_command::CommandAnswer;

/// The name of the command, without its slash.
pub const REWIND: &str = "rewind";

/// What it is for.
pub const REWIND_ABOUT: &str = "Go back to the point before a message: files, conversation or both";

/// What may follow its name.
pub const REWIND_HINT: &str = "[MESSAGE] [--files|--conversation] [--force], or --undo";

/// What follows `/rewind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindCommand {
    /// Shows the messages.
    List,
    /// Goes back.
    Go {
        /// A message, by the id of its entry, its beginning, or its number in the list; absent when
        /// the last rewind is undone.
        message: Option<String>,
        scope: Option<RewindScope>,
        force: bool,
    },
}

/// Words that mean nothing here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Usage: /{REWIND} {REWIND_HINT}; alone it lists the messages")]
pub struct RewindUsage;

impl RewindCommand {
    /// Reads what follows the name of the command.
    pub fn parse(arguments: &str) -> Result<Self, RewindUsage> {
        let (mut message, mut scope) = (None, None);
        let (mut force, mut undo, mut list) = (false, false, false);
        for word in arguments.split_whitespace() {
            match word {
                "--files" if scope.is_none() => scope = Some(RewindScope::Files),
                "--conversation" if scope.is_none() => scope = Some(RewindScope::Conversation),
                "--both" if scope.is_none() => scope = Some(RewindScope::Both),
                "--force" => force = true,
                "--undo" => undo = true,
                "--list" => list = true,
                word if message.is_none() && !word.starts_with('-') => {
                    message = Some(word.to_owned());
                }
                _ => return Err(RewindUsage),
            }
        }
        match (list, undo, &message) {
            (true, false, None) => Ok(Self::List),
            (false, false, None) if scope.is_none() && !force => Ok(Self::List),
            (false, false, Some(_)) | (false, true, None) => Ok(Self::Go {
                message,
                scope,
                force,
            }),
            _ => Err(RewindUsage),
        }
    }
}

impl Session {
    /// Does what `/rewind` with these arguments is for.
    pub async fn rewind_command(&self, arguments: &str) -> Result<CommandAnswer, RewindError> {
        let command = RewindCommand::parse(arguments)?;
        self.run_rewind(command, &RewindWay::Slash).await
    }

    /// Does what a command that was read is for.
    pub async fn run_rewind(
        &self,
        command: RewindCommand,
        way: &RewindWay,
    ) -> Result<CommandAnswer, RewindError> {
        let points = self.rewind_points().await?;
        let (message, scope, force) = match command {
            RewindCommand::List => {
                return Ok(CommandAnswer {
                    text: listed(&points, way)?,
                    has_moved: false,
                    prompt: None,
                });
            }
            RewindCommand::Go {
                message,
                scope,
                force,
            } => (message, scope, force),
        };
        let target = match message {
            Some(message) => RewindTarget::Message(chosen(&points, message)),
            None => RewindTarget::LastRewind,
        };
        let wanted = Rewind {
            target,
            scope,
            force,
        };
        let report = self.rewind(wanted).await?;
        Ok(CommandAnswer {
            has_moved: report.scope.has_conversation(),
            prompt: report.text.clone(),
            text: report.told(way),
        })
    }
}

/// Numbers have fewer digits than ids.
const NUMBER_DIGITS: usize = 6;

/// The id of a message by its number, or the beginning of its id. What is neither is an id of a
/// message on another branch, or none.
fn chosen(points: &[RewindPoint], wanted: String) -> String {
    if wanted.len() <= NUMBER_DIGITS
        && let Ok(number) = wanted.parse::<usize>()
        && let Some(point) = number.checked_sub(1).and_then(|at| points.get(at))
    {
        return point.id.clone();
    }
    let mut found = points.iter().filter(|point| point.id.starts_with(&wanted));
    match (found.next(), found.next()) {
        (Some(only), None) => only.id.clone(),
        _ => wanted,
    }
}

fn listed(points: &[RewindPoint], way: &RewindWay) -> Result<String, RewindError> {
    if points.is_empty() {
        return Err(RewindError::NothingSaid);
    }
    let mut lines = vec![format!("Messages, the newest first ({way} {REWIND_HINT}):")];
    let numbered = points.iter().enumerate();
    lines.extend(numbered.map(|(at, point)| {
        let files = files_shown(point);
        format!(
            "{:>3}  {}  {}{files}",
            at + 1,
            point.id,
            shortened(&point.text)
        )
    }));
    Ok(lines.join("\n"))
}

/// What changed after a message, in few words.
pub(super) fn files_shown(point: &RewindPoint) -> String {
    const NAMED: usize = 3;
    let named = point.files.iter().take(NAMED);
    let mut parts: Vec<String> = named
        .map(|path| visible_name(&path.to_string_lossy()).into_owned())
        .collect();
    if let more @ 1.. = point.files.len().saturating_sub(NAMED) {
        parts.push(format!("{more} more"));
    }
    if point.is_incomplete {
        parts.push("no checkpoint here".to_owned());
    }
    if point.still_runs {
        parts.push("still running".to_owned());
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("  [{}]", parts.join(", ")),
    }
}

impl RewindPoint {
    /// What changed after it, in few words.
    pub fn files_shown(&self) -> String {
        files_shown(self).trim().to_owned()
    }

    /// The beginning of what it says.
    pub fn text_shown(&self) -> String {
        shortened(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_after_the_command_are_read_in_any_order() {
        let go = |message: Option<&str>, scope, force| {
            Ok(RewindCommand::Go {
                message: message.map(str::to_owned),
                scope,
                force,
            })
        };
        for (words, expected) in [
            ("", Ok(RewindCommand::List)),
            ("--list", Ok(RewindCommand::List)),
            ("2", go(Some("2"), None, false)),
            (
                "--force abcd --files",
                go(Some("abcd"), Some(RewindScope::Files), true),
            ),
            ("--undo", go(None, None, false)),
            (
                "--undo --conversation",
                go(None, Some(RewindScope::Conversation), false),
            ),
            ("1 2", Err(RewindUsage)),
            ("--undo 1", Err(RewindUsage)),
            ("--files", Err(RewindUsage)),
            ("1 --files --both", Err(RewindUsage)),
            ("--what", Err(RewindUsage)),
        ] {
            assert_eq!(RewindCommand::parse(words), expected, "{words}");
        }
    }
}
