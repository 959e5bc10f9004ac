//! JSON-RPC 2.0 envelopes as ACP uses them: one line to one value, one value to one line.
//!
//! Pure: [`decode`] classifies, [`encode`] appends to a buffer, [`OwnRequests`] remembers what we
//! asked. Section numbers in this module are those of the ACP reference.

pub mod code;
mod decode;
pub mod encode;
mod id;
mod pending;
mod raw;

#[cfg(test)]
mod tests;

pub use decode::{Fault, Incoming, MAX_DEPTH, decode};
pub use id::Id;
pub use pending::OwnRequests;
pub use raw::{ErrorObject, RawJson};
