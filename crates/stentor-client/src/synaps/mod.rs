//! A parent of a synaps rpc child, as section 18 of the protocol's reference describes one.
//!
//! [`Client::start`] spawns the child and waits for its `ready`. Commands are methods; each waits
//! for its own answer, so several can be under way at once from clones of the [`Client`]. What the
//! child tells besides comes through [`Events`], in order. The child dies with its last handle.

mod client;
mod connection;
mod error;
mod reply;

pub use client::{Client, Events, Ready, StartOptions};
pub use error::ClientError;
pub use reply::{AvailableModel, SessionState, SessionStats, ToolInfo, TurnEnd};
