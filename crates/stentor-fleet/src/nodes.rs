//! Who is there: each node keeps a record that expires unless it is renewed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One life of a node: a server that is started again is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeId {
    pub name: String,
    /// Names this life of the server.
    pub life: String,
}

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    #[serde(flatten)]
    pub id: NodeId,
    /// The labels of the places that it has.
    pub places: Vec<String>,
    /// Where the named ones are on its disk, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folders: BTreeMap<String, String>,
    /// What those are that it checks out, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recipes: BTreeMap<String, Recipe>,
    /// Sessions that it owns at most.
    pub capacity: u32,
    /// Sessions that it owns.
    pub sessions: u32,
    /// It takes no sessions and hands over those that it has.
    #[serde(default)]
    pub draining: bool,
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub started_ms: u64,
}

/// What a place is checked out of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// A hash of the repository: its address may have a password in it.
    pub repository: String,
    pub commit: String,
}

impl NodeRecord {
    /// How many more sessions it would take.
    pub fn free(&self) -> u32 {
        match self.draining {
            true => 0,
            false => self.capacity.saturating_sub(self.sessions),
        }
    }

    /// True when it has a place.
    pub fn has(&self, place: &str) -> bool {
        self.places.iter().any(|own| own == place)
    }
}
