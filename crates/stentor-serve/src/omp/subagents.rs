//! The subagents at work and those that were, as clients are told of them (section 19).

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use stentor_agent::event::{Subagent, SubagentEnd, SubagentSource, SubagentWork};
use stentor_wire::omp::subagent::{
    AgentProgress, RecentTool, SubagentLifecycle, SubagentProgress, SubagentSnapshot,
};

/// Subagents that ended whose conversation can still be asked for.
const REMEMBERED: usize = 256;

/// The subagents of the conversation.
#[derive(Debug, Default)]
pub(super) struct OmpSubagents {
    state: Mutex<SubagentsState>,
}

#[derive(Debug, Default)]
struct SubagentsState {
    running: BTreeMap<u64, FollowedSubagent>,
    /// Id and file of those that ended, the oldest first.
    ended: VecDeque<(String, PathBuf)>,
}

#[derive(Debug)]
struct FollowedSubagent {
    agent: Arc<Subagent>,
    id: String,
    progress: Option<Arc<AgentProgress>>,
    last_update: u64,
}

/// A subagent's id on the wire.
pub(super) fn wire_id(agent: &Subagent) -> String {
    format!("{}-{}", agent.name, agent.id)
}

impl OmpSubagents {
    /// One began.
    pub fn started(&self, agent: &Arc<Subagent>, time_ms: u64) {
        let running = FollowedSubagent {
            agent: Arc::clone(agent),
            id: wire_id(agent),
            progress: None,
            last_update: time_ms,
        };
        self.lock().running.insert(agent.id, running);
    }

    /// One told what it is doing. Returns it as clients read it.
    pub fn progressed(
        &self,
        agent: &Subagent,
        status: &str,
        work: &SubagentWork,
        time_ms: u64,
    ) -> Arc<AgentProgress> {
        let progress = Arc::new(agent_progress(agent, status, work));
        if let Some(known) = self.lock().running.get_mut(&agent.id) {
            known.progress = Some(Arc::clone(&progress));
            known.last_update = time_ms;
        }
        progress
    }

    /// One ended.
    pub fn ended(&self, agent: &Subagent) {
        let mut state = self.lock();
        state.running.remove(&agent.id);
        if let Some(file) = &agent.session_file {
            state.ended.push_back((wire_id(agent), file.clone()));
            if state.ended.len() > REMEMBERED {
                state.ended.pop_front();
            }
        }
    }

    /// Those at work, as clients read them.
    pub fn list(&self) -> Vec<Value> {
        let state = self.lock();
        state.running.values().map(snapshot).collect()
    }

    /// The number of the subagent with that id, if it is at work.
    pub fn number(&self, wire_id: &str) -> Option<u64> {
        let state = self.lock();
        let mut running = state.running.iter();
        running
            .find(|(_, known)| known.id == wire_id)
            .map(|(number, _)| *number)
    }

    /// The file of the subagent with that id, at work or not.
    pub fn file(&self, wire_id: &str) -> Option<PathBuf> {
        let state = self.lock();
        let running = state.running.values().find(|known| known.id == wire_id);
        if let Some(known) = running {
            return known.agent.session_file.clone();
        }
        let mut ended = state.ended.iter().rev();
        ended
            .find(|(id, _)| id == wire_id)
            .map(|(_, file)| file.clone())
    }

    /// True for the file of a subagent of this conversation.
    pub fn has_file(&self, path: &Path) -> bool {
        let state = self.lock();
        let mut running = state.running.values();
        running.any(|known| known.agent.session_file.as_deref() == Some(path))
            || state.ended.iter().any(|(_, file)| file == path)
    }

    /// The session they worked for is gone.
    pub fn clear(&self) {
        *self.lock() = SubagentsState::default();
    }

    fn lock(&self) -> MutexGuard<'_, SubagentsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The payload of `subagent_lifecycle` for one that began.
pub(super) fn beginning<'a>(agent: &'a Subagent, id: &'a str) -> SubagentLifecycle<'a> {
    lifecycle(agent, id, "started")
}

/// The payload of `subagent_lifecycle` for one that ended.
pub(super) fn ending<'a>(
    agent: &'a Subagent,
    id: &'a str,
    end: &SubagentEnd,
) -> SubagentLifecycle<'a> {
    let status = match (end.failed, end.cancelled) {
        (false, _) => "completed",
        (true, false) => "failed",
        (true, true) => "aborted",
    };
    lifecycle(agent, id, status)
}

/// The payload of `subagent_progress`.
pub(super) fn progress<'a>(
    agent: &'a Subagent,
    progress: &'a AgentProgress,
) -> SubagentProgress<'a> {
    SubagentProgress {
        index: agent.index,
        agent: &agent.name,
        agent_source: source_word(agent.source),
        task: &agent.task,
        parent_tool_call_id: &agent.call_id,
        progress,
        session_file: agent.session_file.as_deref(),
    }
}

fn lifecycle<'a>(agent: &'a Subagent, id: &'a str, status: &'a str) -> SubagentLifecycle<'a> {
    SubagentLifecycle {
        id,
        agent: &agent.name,
        agent_source: source_word(agent.source),
        description: &agent.task,
        status,
        session_file: agent.session_file.as_deref(),
        parent_tool_call_id: &agent.call_id,
        index: agent.index,
    }
}

fn agent_progress(agent: &Subagent, status: &str, work: &SubagentWork) -> AgentProgress {
    let current = work.current.as_ref();
    AgentProgress {
        index: agent.index,
        id: wire_id(agent),
        agent: agent.name.clone(),
        agent_source: source_word(agent.source),
        status: RUNNING,
        task: agent.task.clone(),
        last_intent: status.to_owned(),
        current_tool: current.map(|call| call.tool.clone()),
        current_tool_args: current.map(|call| call.about.clone()),
        current_tool_start_ms: current.map(|call| call.time_ms),
        recent_tools: work
            .recent
            .iter()
            .map(|call| RecentTool {
                tool: call.tool.clone(),
                args: call.about.clone(),
                end_ms: call.time_ms,
            })
            .collect(),
        recent_output: work.output.clone(),
        tool_count: work.calls,
        requests: work.requests,
        tokens: work.usage.total_tokens,
        cost: json!(work.usage.cost)["total"].take(),
        duration_ms: work.duration_ms,
    }
}

const RUNNING: &str = "running";

fn snapshot(known: &FollowedSubagent) -> Value {
    let agent = &known.agent;
    json!(SubagentSnapshot {
        id: &known.id,
        index: agent.index,
        agent: &agent.name,
        agent_source: source_word(agent.source),
        description: &agent.task,
        status: RUNNING,
        task: &agent.task,
        session_file: agent.session_file.as_deref(),
        last_update: known.last_update,
        progress: known.progress.as_deref(),
        parent_tool_call_id: &agent.call_id,
    })
}

fn source_word(source: SubagentSource) -> &'static str {
    match source {
        SubagentSource::Builtin => "bundled",
        SubagentSource::User => "user",
        SubagentSource::Project => "project",
    }
}
