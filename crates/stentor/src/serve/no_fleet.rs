//! The fleet in a program that was built without it.

use std::io::Write;

use stentor_serve::frontend::Storing;
use stentor_serve::server::Server;

use crate::args::FleetArgs;

/// This program was built without the fleet.
#[derive(Debug, thiserror::Error)]
#[error(
    "this program was built without the fleet; build it with `cargo build --release -p stentor \
     --features fleet`"
)]
pub struct FleetFailure;

/// A connection to a fleet, of which there is none.
pub enum Membership {}

/// A node of a fleet, of which there is none.
pub enum Node {}

impl Membership {
    /// Says that there is no fleet.
    pub async fn connect(_url: &str, _life: &str) -> Result<Self, FleetFailure> {
        Err(FleetFailure)
    }

    /// Where sessions would be stored.
    pub fn storing(&self) -> Storing {
        match *self {}
    }

    /// Would make the server a node.
    pub async fn join(self, _server: &Server) -> Result<Node, FleetFailure> {
        match self {}
    }
}

impl Node {
    /// Would wait for the loss of its name.
    pub async fn failed(&self) {
        match *self {}
    }

    /// Would have other nodes take its sessions.
    pub async fn begin_hand_over(&self) {
        match *self {}
    }

    /// Would leave the fleet.
    pub async fn leave(&self) {
        match *self {}
    }
}

/// Says that there is no fleet.
pub fn run(_args: &FleetArgs, _as_json: bool, _out: &mut impl Write) -> Result<(), FleetFailure> {
    Err(FleetFailure)
}
