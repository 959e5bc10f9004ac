//! The commands of the program itself that are the same in every dialect: a prompt that is one of
//! them is not for the model.

use stentor_policy::PermissionMode;

use super::error::SessionError;
use super::handle::Session;
use super::jobs_command::{JOBS, JOBS_ABOUT, JOBS_HINT};
use super::rewind::{REWIND, REWIND_ABOUT, REWIND_HINT, RewindError};
use crate::event::{CommandInfo, CommandSource};

/// The name of the command that plans, without its slash.
pub const PLAN: &str = "plan";

/// What it is for.
pub const PLAN_ABOUT: &str = "Plan first: only read until you have accepted a plan";

/// What may follow its name.
pub const PLAN_HINT: &str = "[on|off]";

/// A command, with what follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCommand<'a> {
    Plan(&'a str),
    Rewind(&'a str),
    Jobs(&'a str),
}

/// What a command says, and what follows from it.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandAnswer {
    /// For the person who asked.
    pub text: String,
    /// The conversation is another now.
    pub has_moved: bool,
    /// What the message says that the conversation stops before.
    pub prompt: Option<String>,
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OwnCommandError {
    #[error(transparent)]
    Rewind(#[from] RewindError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("Usage: /{PLAN} {PLAN_HINT}; without an argument, it starts or ends plan mode")]
    PlanUsage,
}

impl<'a> OwnCommand<'a> {
    /// The command that a text calls.
    pub fn called(text: &'a str) -> Option<Self> {
        let command = text.trim().strip_prefix('/')?;
        let (name, rest) = match command.split_once(char::is_whitespace) {
            Some((name, rest)) => (name, rest.trim()),
            None => (command, ""),
        };
        match name {
            PLAN => Some(Self::Plan(rest)),
            REWIND => Some(Self::Rewind(rest)),
            JOBS => Some(Self::Jobs(rest)),
            _ => None,
        }
    }

    /// All of them, for clients that list commands.
    pub fn infos() -> Vec<CommandInfo> {
        let info = |name: &str, about: &str, hint: &str| CommandInfo {
            name: name.to_owned(),
            description: Some(about.to_owned()),
            hint: Some(hint.to_owned()),
            source: CommandSource::Builtin,
            path: None,
        };
        vec![
            info(PLAN, PLAN_ABOUT, PLAN_HINT),
            info(REWIND, REWIND_ABOUT, REWIND_HINT),
            info(JOBS, JOBS_ABOUT, JOBS_HINT),
        ]
    }
}

impl Session {
    /// The command that a text calls, unless somebody has written another by that name.
    pub async fn own_command<'a>(&self, text: &'a str) -> Option<OwnCommand<'a>> {
        let command = OwnCommand::called(text)?;
        let slash = self.slash();
        // Not every dialect has read the files before.
        slash.look().await;
        let theirs = slash.called_in_time(text).await;
        theirs.is_none().then_some(command)
    }

    /// Does what a command is for.
    pub async fn run_own(&self, command: OwnCommand<'_>) -> Result<CommandAnswer, OwnCommandError> {
        match command {
            OwnCommand::Rewind(arguments) => Ok(self.rewind_command(arguments).await?),
            OwnCommand::Plan(arguments) => Ok(said(self.plan_command(arguments).await?)),
            OwnCommand::Jobs(arguments) => Ok(said(self.jobs_command(arguments)?)),
        }
    }

    /// Does what `/plan` with these arguments is for: begins or ends plan mode.
    pub async fn plan_command(&self, arguments: &str) -> Result<String, OwnCommandError> {
        let state = self.state().await?;
        let plans = state.permission_mode == PermissionMode::Plan;
        let wanted = match arguments {
            "" => !plans,
            "on" => true,
            "off" => false,
            _ => return Err(OwnCommandError::PlanUsage),
        };
        let mode = match (wanted, plans) {
            (true, _) => PermissionMode::Plan,
            (false, true) => state.mode_before_plan.unwrap_or(PermissionMode::Ask),
            (false, false) => state.permission_mode,
        };
        if mode != state.permission_mode {
            self.set_permission_mode(mode).await?;
        }
        Ok(match wanted {
            true => "Plan mode is on: nothing is changed until you have accepted a plan. /plan \
                     ends it without one."
                .to_owned(),
            false => format!("Plan mode is off; the permission mode is {mode}."),
        })
    }
}

/// An answer from which nothing follows.
fn said(text: String) -> CommandAnswer {
    CommandAnswer {
        text,
        has_moved: false,
        prompt: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_name_after_a_slash_is_a_command() {
        for (text, expected) in [
            ("/plan", Some(OwnCommand::Plan(""))),
            (" /plan off\n", Some(OwnCommand::Plan("off"))),
            ("/rewind 1 --files", Some(OwnCommand::Rewind("1 --files"))),
            ("/jobs stop job-1", Some(OwnCommand::Jobs("stop job-1"))),
            ("/planning", None),
            ("plan", None),
            ("/etc/plan", None),
        ] {
            assert_eq!(OwnCommand::called(text), expected, "{text:?}");
        }
    }
}
