//! **For tests, not part of the program:** what every test needs that runs the built program: a
//! folder of its own, a process that ends with the test, its lines, and servers that it can ask.
//!
//! How a dialect is spoken, and what differs from run to run in it, is in the tests of the dialect.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

pub mod dialects;
mod folder;
pub mod http;
mod lines;
mod link;
pub mod mcp_oauth;
mod nats;
mod process;

pub use folder::{TemporaryFolder, write};
pub use lines::Lines;
pub use link::Link;
pub use nats::{NatsCluster, NatsServer, nats_server};
pub use process::{KillOnDrop, is_dead, isolated_command, when_dead, when_made, when_written};
