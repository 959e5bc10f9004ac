//! Clients of one node in sessions of another: a tunnel carries a client's bytes to the node that has
//! its session, and those of its dialect back.
//!
//! A tunnel is a subject in each direction. What is sent is numbered, so that a lost message is
//! noticed ([`message`]); a side sends no more than the other has room for, and says now and then that
//! it is there ([`carrier`]). A tunnel that has lost something, or whose other side is gone, breaks:
//! nothing is repeated, and the client is served anew where its session is then. [`opening`] is how
//! one begins, [`peers`] what the server sees of all this.

mod carrier;
mod ends;
mod limits;
mod message;
mod opening;
mod peers;

pub use opening::listen;
pub use peers::FleetPeers;
