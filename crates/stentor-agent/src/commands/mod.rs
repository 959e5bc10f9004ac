//! Slash commands: who brings them, how they are listed, and what they mean.
//!
//! People write them as Markdown files in their own folders and in those of the project: a prompt
//! template is `prompts/NAME.md` or `commands/NAME.md`, whose text, with the arguments filled in,
//! is what the agent is asked; a skill is `skills/NAME/SKILL.md`, knowledge that goes in front of
//! what the user says and that the model is told of; an agent is `agents/NAME.md`, whom tasks can
//! be given to. [`folders`] says where they are looked for, [`scan`] which files there are,
//! [`file`] reads one, [`book`] is what all of them say, [`command_cache`] keeps it fresh, and
//! [`arguments`] fills in the arguments.
//!
//! Extensions bring commands through the session's hooks, MCP servers through [`prompts`].
//! [`slash`] puts all of them together for one session.

pub mod arguments;
pub mod book;
pub mod command_cache;
pub mod file;
pub mod folders;
mod front_matter;
pub mod prompts;
mod scan;
mod skill_list;
pub mod slash;

#[cfg(test)]
mod tests;

pub use book::{AgentDefinition, CommandBook, Skill, Template};
pub use command_cache::CommandCache;
pub use folders::CommandFolders;
pub use prompts::{PromptFuture, PromptSource};
pub use slash::{CalledCommand, ExpandError, ExpandedCommand, READ_TOOL, SlashCommands};

/// Commands of each kind that are kept; files beyond it are left out with a warning.
pub const MAX_COMMANDS: usize = 500;

/// The name of the tool that gives tasks to agents. Where it is missing, no agents are listed.
pub const SUBAGENT_TOOL: &str = "subagent";
