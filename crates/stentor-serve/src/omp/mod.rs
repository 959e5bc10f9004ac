//! The omp and pi dialect: `--mode rpc` as omp and its parent pi speak it, and `--mode json`.
//!
//! One process, one conversation at a time. Section numbers in comments are those of the
//! protocol's reference. Read in this order: [`args`] is the command line, [`dialect`] owns the
//! conversation, [`commands`] is the way in, [`events`] the way out; [`hosting`] lets the client
//! run tools and resolve addresses.

mod args;
mod commands;
mod connection;
mod dialect;
mod events;
mod filter;
mod framing;
mod hosting;
mod limits;
mod login;
mod long_frame;
mod nested;
mod place;
mod printing;
mod prompt_results;
mod prompts;
mod proxy;
mod reply;
mod running_commands;
mod scoped_models;
mod serving;
mod shapes;
mod subagents;
mod ui;
mod updates;

use std::path::PathBuf;
use std::sync::Arc;

use crate::login::Login;

pub use args::{ConversationToOpen, OmpArgs, OmpArgsError};
pub use printing::{PrintError, print_events};
pub(crate) use proxy::OmpProxy;
pub use serving::serve;
use stentor_agent::agent_folders::in_home;

/// What the dialect is started with. What concerns the agent is in the agent already.
#[derive(Clone)]
pub struct OmpOptions {
    /// The folder to work in.
    pub cwd: PathBuf,
    /// What `~` means in the path of a session.
    pub home: Option<PathBuf>,
    /// The conversation to begin with.
    pub resume: ConversationToOpen,
    /// True when the command line names a model: a resumed conversation then does not bring its own.
    pub model_asked_for: bool,
    /// `--models`: patterns of the models that cycling goes through.
    pub models: Vec<String>,
    /// `--name`.
    pub name: Option<String>,
    /// True when the command line shows that the client takes dialogs.
    pub wants_dialogs: bool,
    /// How one logs in to providers.
    pub login: Arc<dyn Login>,
}

impl OmpOptions {
    /// The file of a session as a client names it.
    fn session_file(&self, named: &str) -> PathBuf {
        let path = in_home(PathBuf::from(named), self.home.as_deref());
        self.cwd.join(path)
    }
}
