//! The subagents at work, as clients are told of them (sections 19).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use stentor_agent::event::{Subagent, SubagentEnd};

/// The subagents at work.
#[derive(Debug, Default)]
pub(super) struct Subagents {
    running: Mutex<BTreeMap<u64, Running>>,
}

#[derive(Debug)]
struct Running {
    index: usize,
    snapshot: Value,
}

/// A subagent's id on the wire.
pub(super) fn wire_id(agent: &Subagent) -> String {
    format!("{}-{}", agent.name, agent.id)
}

impl Subagents {
    /// One began. Returns the payload of its `subagent_lifecycle`.
    pub fn started(&self, agent: &Subagent, time_ms: u64) -> Value {
        let mut running = self.lock();
        let index = running.len();
        let snapshot = json!({
            "id": wire_id(agent),
            "index": index,
            "agent": agent.name,
            "agentSource": "bundled",
            "description": agent.task,
            "status": "running",
            "task": agent.task,
            "parentToolCallId": agent.call_id,
            "lastUpdate": time_ms,
        });
        running.insert(agent.id, Running { index, snapshot });
        lifecycle(agent, index, "started")
    }

    /// One told what it is doing. Returns the payload of its `subagent_progress`.
    pub fn progressed(&self, agent: &Subagent, status: &str, time_ms: u64) -> Value {
        let mut running = self.lock();
        let index = running.get(&agent.id).map_or(0, |known| known.index);
        let progress = json!({
            "index": index,
            "id": wire_id(agent),
            "agent": agent.name,
            "agentSource": "bundled",
            "status": "running",
            "task": agent.task,
            "recentTools": [],
            "recentOutput": [status],
            "toolCount": 0,
            "requests": 0,
            "tokens": 0,
            "cost": 0,
            "durationMs": 0,
        });
        if let Some(known) = running.get_mut(&agent.id) {
            known.snapshot["progress"] = progress.clone();
            known.snapshot["lastUpdate"] = json!(time_ms);
        }
        json!({
            "index": index,
            "agent": agent.name,
            "agentSource": "bundled",
            "task": agent.task,
            "parentToolCallId": agent.call_id,
            "progress": progress,
        })
    }

    /// One ended. Returns the payload of its `subagent_lifecycle`.
    pub fn ended(&self, agent: &Subagent, end: &SubagentEnd) -> Value {
        let index = self.lock().remove(&agent.id).map_or(0, |known| known.index);
        let status = if end.failed { "failed" } else { "completed" };
        lifecycle(agent, index, status)
    }

    /// Those at work.
    pub fn list(&self) -> Vec<Value> {
        let running = self.lock();
        running
            .values()
            .map(|known| known.snapshot.clone())
            .collect()
    }

    /// The number of the subagent with that id, if it is at work.
    pub fn number(&self, wire_id: &str) -> Option<u64> {
        let running = self.lock();
        let found = running
            .iter()
            .find(|(_, known)| known.snapshot["id"] == wire_id);
        found.map(|(number, _)| *number)
    }

    /// The session they worked for is gone.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lifecycle(agent: &Subagent, index: usize, status: &str) -> Value {
    json!({
        "id": wire_id(agent),
        "agent": agent.name,
        "agentSource": "bundled",
        "description": agent.task,
        "status": status,
        "parentToolCallId": agent.call_id,
        "index": index,
    })
}
