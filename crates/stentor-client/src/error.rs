//! What can go wrong between a parent and its child.

use std::io;

use crate::capability::Feature;
use crate::dialect::AgentDialect;

/// Why something was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChildAgentError {
    /// The program could not be started.
    #[error("the agent could not be started: {program}: {error}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// Why it was not.
        #[source]
        error: std::sync::Arc<io::Error>,
    },
    /// It did not shake hands: what happened instead.
    #[error("the agent did not become ready: {0}")]
    NotReady(String),
    /// It must be logged in first.
    #[error("the agent requires a login: {0}")]
    NeedsLogin(String),
    /// It answered with an error.
    #[error("the agent refused: {0}")]
    Refused(String),
    /// It answered in a way that makes no sense.
    #[error("the agent's answer to {what} cannot be read: {why}")]
    BadAnswer {
        /// What it was asked.
        what: &'static str,
        /// What is wrong with the answer.
        why: String,
    },
    /// The dialect, or this agent, has no words for it.
    #[error("the agent cannot {feature}: {reason}", feature = .feature.phrase())]
    Unsupported {
        /// What was wanted.
        feature: Feature,
        /// Whose dialect it is.
        dialect: AgentDialect,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// No answer came in time.
    #[error("the agent has not answered {0} in time")]
    NoAnswer(&'static str),
    /// It does not read what is written to it.
    #[error("the agent no longer reads its input")]
    NotReading,
    /// The message would be longer than a line of the dialect may be.
    #[error("the message has {bytes} bytes; a line may have at most {limit}")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// What it may have.
        limit: usize,
    },
    /// A picture could not be handed over.
    #[error("a picture could not be given to the agent: {0}")]
    Picture(String),
    /// A turn is going on already.
    #[error("the agent is still at work on the previous prompt")]
    Busy,
    /// It is gone; the text says how it ended.
    #[error("{0}")]
    Ended(String),
}
