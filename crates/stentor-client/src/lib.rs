//! The other end: starts a coding agent as a child process and drives it over stdin and stdout.
//!
//! Agents speak four dialects; [`Agent`] is the same for all of them. [`Agent::start`] starts the
//! program, shakes hands and opens a session; methods give it prompts and settings; [`Events`] has
//! what it does, in order. What it asks (permissions, questions, files, terminals) goes to a
//! [`Host`]. What a dialect has no words for is [`AgentError::Unsupported`], with the reason; the
//! whole table is [`Feature::support_in`].
//!
//! A child may do anything, so nothing here trusts it: lines have a longest length, queues have
//! bounds, an answer that nobody waits for is dropped, a request that is never answered ends, and
//! what could not be used is counted ([`Agent::lost`]).
//!
//! ```no_run
//! use stentor_client::{Agent, AgentEvent, DenyAll, Dialect, StartOptions};
//!
//! # async fn run() -> Result<(), stentor_client::AgentError> {
//! let options = StartOptions::new(Dialect::Acp, ["goose", "acp"]);
//! let (agent, mut events) = Agent::start(options, DenyAll).await?;
//! agent.prompt("Which tests are slow?").await?;
//! while let Some(event) = events.next().await {
//!     match event {
//!         AgentEvent::Text(text) => eprint!("{text}"),
//!         AgentEvent::TurnEnded(_) => break,
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod agent;
mod capability;
mod codec;
mod connection;
mod dialect;
mod driver;
mod error;
mod event;
mod host;
mod options;
mod process;
mod prompt;

pub use agent::{Agent, Events};
pub use capability::{Feature, Support};
pub use connection::{Limits, Lost, Pipes, Process, ProcessFuture};
pub use dialect::{Dialect, UnknownDialect};
pub use error::AgentError;
pub use event::{
    AgentEvent, ContextUse, Diff, Exit, Location, NoticeLevel, PlanEntry, PlanStatus, ToolCall,
    ToolOutput, TurnEnd, TurnEndReason, TurnUsage,
};
pub use host::{
    Answer, DenyAll, Host, HostFuture, HostRefusal, Offers, OpenCall, Permission, PermissionAnswer,
    PermissionKind, PermissionOption, Question, QuestionKind, Terminal, TerminalExit,
    TerminalOutput,
};
pub use options::{OpenSession, SessionOpened, StartOptions};
pub use prompt::{AgentModel, Picture, Prompt, SessionInfo};
