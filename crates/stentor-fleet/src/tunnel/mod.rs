//! Clients of one node in sessions of another: a tunnel carries a client's bytes to the node that has
//! its session, and those of its dialect back.
//!
//! A tunnel is a subject in each direction. What is sent is numbered ([`message`]) and held until the
//! other side has handed it on ([`outgoing`]), so that what is lost on the way is noticed
//! ([`incoming`]) and sent again: NATS may be gone for a while, and neither the client nor its dialect
//! can tell. A side sends no more than the other has room for, and says now and then that it is there
//! and how far it is ([`carrier`]). A tunnel breaks only when its other side is gone: that life of its
//! node has ended, or the node says that it does not know the tunnel ([`asking`], [`table`]). Then the
//! client is served anew where its session is. [`opening`] is how one begins, [`peers`] what the
//! server sees of all this.

mod asking;
mod carrier;
mod ends;
mod incoming;
mod limits;
mod message;
mod opening;
mod outgoing;
mod peers;
mod table;

pub use opening::listen;
pub use peers::FleetPeers;
pub use table::TunnelTable;
