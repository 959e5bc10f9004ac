//! How an agent is started, and what is known of its session then.

use std::path::PathBuf;

use crate::capability::Feature;
use crate::connection::AgentLimits;
use crate::dialect::AgentDialect;

/// How an agent is started.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it speaks.
    pub dialect: AgentDialect,
    /// The folder it works in; ours when absent.
    pub cwd: Option<PathBuf>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// The session it begins with.
    pub session: InitialSession,
    /// How we call ourselves.
    pub client_name: String,
    /// What it may cost us.
    pub limits: AgentLimits,
}

/// The session an agent begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InitialSession {
    /// A new one.
    #[default]
    New,
    /// One that it has stored, by what [`SessionOpened::resume_id`] said.
    Resume(String),
}

/// What is known once an agent is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionOpened {
    /// The session's id, as the agent names it.
    pub id: Option<String>,
    /// What to resume it with later; none when the agent cannot, or stores nothing.
    pub resume_id: Option<String>,
    /// The model it uses.
    pub model: Option<String>,
    /// The mode it is in.
    pub mode: Option<String>,
    /// The modes it has: id and name.
    pub modes: Vec<(String, String)>,
    /// The program's own name and version.
    pub agent: Option<String>,
    /// What it has of what its dialect has only if it is announced.
    pub announced: Vec<Feature>,
}

impl StartOptions {
    /// This program in our folder, with a new session.
    pub fn new<T: Into<String>>(
        dialect: AgentDialect,
        command: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            dialect,
            cwd: None,
            env: Vec::new(),
            session: InitialSession::New,
            client_name: "stentor".to_owned(),
            limits: AgentLimits::default(),
        }
    }

    /// The arguments with which the program opens its session, for the dialect that has no command
    /// for it. Whoever starts the program by other means adds them to its arguments.
    pub fn session_arguments(&self) -> Vec<String> {
        match (&self.session, self.dialect) {
            (InitialSession::Resume(id), AgentDialect::Synaps) => {
                vec!["--continue".to_owned(), id.clone()]
            }
            _ => Vec::new(),
        }
    }
}
