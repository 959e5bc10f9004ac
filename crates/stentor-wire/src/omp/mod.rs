//! The frames of the omp and pi dialect: one JSON object a line.
//!
//! **Here:** [`command`] is what clients write, [`response`] and [`frame`] what they read,
//! [`subagent`] what they read of subagents, [`snapshot`] the message that is still being written, kept as the bytes of its JSON, [`chunk`]
//! the transport of long objects. The numbers of the protocol are in [`facts`].
//!
//! Messages, models and entries have the shapes of the session format, which the agent owns; the
//! frames are generic over them.

pub mod chunk;
pub mod command;
pub mod facts;
pub mod frame;
pub mod response;
pub mod snapshot;
pub mod subagent;

mod escape;
mod partial_object;

pub use escape::escape_into;
pub use partial_object::PartialObject;
