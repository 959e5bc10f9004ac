//! The dialects: one protocol each, between the wire and the agent.
//!
//! What all of them share is here: [`stdio`] takes the process's pipes for itself, [`input`] turns
//! stdin into lines, [`output`] owns stdout, [`merge`] puts events and the answers to commands into
//! the order in which they must appear, [`pump`] brings those of one session onto the wire, and
//! `loaded` says which sessions are unloaded when there are many.

pub mod acp;
pub mod default_model;
pub mod input;
mod loaded;
pub mod login;
pub mod merge;
pub mod omp;
pub mod output;
pub mod picture;
pub mod psi;
pub mod pump;
pub mod signals;
pub mod stdio;
pub mod synaps;
