//! The nodes of a fleet as people are shown them.

pub use stentor_agent::live_sessions::LiveActivity;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetNode {
    pub name: String,
    pub state: NodeState,
    /// Sessions that it has open.
    pub sessions: u32,
    /// Sessions that it may have open.
    pub capacity: u32,
    /// The labels of the places that it has.
    pub places: Vec<String>,
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    Serving,
    /// It takes no sessions.
    Draining,
    /// It was here and has not been heard of.
    Gone,
}

/// Where a session is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAt {
    pub node: String,
    /// What goes on in it there, if that is known.
    pub activity: Option<LiveActivity>,
}
