//! Other agents as models. A session whose model is `agent/NAME` gives its prompts to a child
//! process that is an agent of its own; the child's turn becomes the session's: its text and
//! thinking are answers, its tools are calls that run elsewhere, its questions go through the
//! session's policy. Dialects, journal and replay cannot tell the difference.
//!
//! - `settings`: what a user writes about an agent; `configured`: what else is known of it; `known`:
//!   agents that are found on the `PATH`
//! - `form`: with which of its own models and in which mode; `session_agent`: that of one session
//! - `model`: the model; `starter`: how a prompt reaches its child; `inbox`: the child and what it has
//!   said so far; `steering`: what it is told while it works; `idle`: what it says while nobody asks
//! - `answer`: what the child does, as an answer; `calls`: as calls
//! - `conversation`: what a child must be told that it does not know
//! - `host`: what it asks; `terminals`: the commands that the session runs for it, `command_line` as lines
//!   of a shell

mod answer;
mod calls;
mod check;
mod child;
mod command_line;
mod configured;
mod conversation;
mod form;
mod host;
mod idle;
mod inbox;
mod known;
mod model;
mod session_agent;
mod session_cost;
mod settings;
mod starter;
mod steering;
mod table;
mod terminals;

pub use check::{CheckReport, CheckedTurn, KnownBy, check};
pub use configured::ConfiguredAgent;
pub use form::AgentVariant;
pub use known::{KNOWN, KnownAgent};
pub use model::AgentModel;
pub use settings::{AgentSettings, DialectName};
pub use stentor_client::ChildAgentError;
pub use table::support_table;

/// The provider all agents are models of.
pub const PROVIDER: &str = "agent";

/// The name of their wire.
pub const API: &str = "agent";
