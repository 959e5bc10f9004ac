//! The other end: starts a coding agent as a child process and drives it over stdin and stdout.
//!
//! Agents speak four dialects; [`ChildAgent`] is the same for all of them. [`ChildAgent::start`] starts the
//! program, shakes hands and opens a session; methods give it prompts and settings; [`Events`] has
//! what it does, in order. What it asks (permissions, questions, files, terminals) goes to a
//! [`Host`]. What a dialect has no words for is [`ChildAgentError::Unsupported`], with the reason; the
//! whole table is [`Feature::support_in`].
//!
//! A child may do anything, so nothing here trusts it: lines have a longest length, queues have
//! bounds, an answer that nobody waits for is dropped, a request that is never answered ends, and
//! what could not be used is counted ([`ChildAgent::lost`]).
//!
//! ```no_run
//! use stentor_client::{AgentDialect, AgentEvent, ChildAgent, DenyAll, StartOptions};
//!
//! # async fn run() -> Result<(), stentor_client::ChildAgentError> {
//! let options = StartOptions::new(AgentDialect::Acp, ["goose", "acp"]);
//! let (agent, mut events) = ChildAgent::start(options, DenyAll).await?;
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

pub use agent::{ChildAgent, Events};
pub use capability::{Feature, FeatureSupport};
pub use connection::{AgentLimits, ChildPipes, LostLines, Process, ProcessFuture};
pub use dialect::{AgentDialect, UnknownDialect};
pub use error::ChildAgentError;
pub use event::{
    AgentCall, AgentContextUse, AgentEvent, AgentLocation, AgentNoticeLevel, AgentPlanStatus,
    CallOutput, Exit, FileDiff, PlanEntry, TurnEnd, TurnEndReason, TurnOrigin, TurnUsage,
};
pub use host::{
    AgentQuestion, DenyAll, Host, HostAnswer, HostFuture, HostOffers, HostPermissionAnswer,
    HostRefusal, OpenCall, Permission, PermissionKind, PermissionOption, QuestionKind,
    TerminalExit, TerminalOutput, TerminalRequest,
};
pub use options::{InitialSession, SessionOpened, StartOptions};
pub use prompt::{AgentPrompt, OfferedModel, PromptPicture, SessionInfo};
