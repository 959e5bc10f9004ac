//! Sessions that outlive machines: several servers ("nodes") share the sessions of a tenant over
//! NATS JetStream.
//!
//! Read in this order: [`settings`] is what a node is told, [`names`] what its subjects and buckets
//! are called, [`fleet`] the connection, [`nodes`] who is there, [`directory`] which sessions there
//! are and who owns each.
//!
//! **Invariants.** The log decides who owns a session: every append says which message must be the
//! last one of the session's subject, so a node that was replaced is refused by the stream itself.
//! Owner and lease in the directory only say who should try. No key of a provider is ever sent.

mod bucket;
mod connection;
pub mod directory;
pub mod durability;
pub mod error;
pub mod fleet;
mod journal;
mod kept_in;
mod log;
pub mod message;
pub mod names;
pub mod node;
pub mod nodes;
pub mod ownership;
mod pictures;
pub mod places;
mod reading;
mod sequence;
pub mod settings;
mod storage;
pub mod store;
pub mod tunnel;
mod working_copy;
mod writer;

pub use directory::{SessionActivity, SessionRecord};
pub use error::FleetError;
pub use fleet::Fleet;
pub use node::{ControlAnswer, ControlRequest, Node};
pub use nodes::{NodeId, NodeRecord};
pub use settings::FleetSettings;
pub use store::{FleetStore, NodeSessions};
