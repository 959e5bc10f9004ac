//! The dialects: one protocol each, between the wire and the agent.
//!
//! What all of them share is here: [`connection`] is one client, whatever carries its bytes,
//! [`stdio`] takes the process's pipes for itself, [`input`] turns what a client writes into lines,
//! [`output`] owns what is written to it, [`merge`] puts events and the answers to commands into
//! the order in which they must appear, [`pump`] brings those of one session onto the wire, and
//! `loaded` says which sessions are unloaded when there are many. [`proxy`] serves clients whose
//! session is on another node of a fleet.

pub mod acp;
pub mod connection;
pub mod default_model;
pub mod frontend;
pub mod http;
pub mod input;
mod loaded;
pub mod login;
pub mod mcp;
pub mod merge;
mod model_reload;
mod notice_log;
pub mod omp;
pub mod output;
pub mod page;
pub mod picture;
pub mod proxy;
pub mod psi;
pub mod pump;
pub mod server;
pub mod signals;
pub mod stdio;
pub mod synaps;
