//! What clients are told of subagents (section 19).

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// The payload of `subagent_lifecycle`: one began or ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentLifecycle<'a> {
    pub id: &'a str,
    pub agent: &'a str,
    pub agent_source: &'a str,
    pub description: &'a str,
    /// `started`, `completed`, `failed` or `aborted`.
    pub status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<&'a Path>,
    pub parent_tool_call_id: &'a str,
    pub index: usize,
}

/// The payload of `subagent_progress`: what one is doing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProgress<'a> {
    pub index: usize,
    pub agent: &'a str,
    pub agent_source: &'a str,
    pub task: &'a str,
    pub parent_tool_call_id: &'a str,
    pub progress: &'a AgentProgress,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<&'a Path>,
}

/// What a subagent did so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProgress {
    pub index: usize,
    pub id: String,
    pub agent: String,
    pub agent_source: &'static str,
    pub status: &'static str,
    pub task: String,
    /// What it is doing, in a few words.
    pub last_intent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool_args: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool_start_ms: Option<u64>,
    pub recent_tools: Vec<RecentTool>,
    pub recent_output: Vec<String>,
    pub tool_count: u64,
    pub requests: u64,
    pub tokens: u64,
    /// US dollars; a number, written without a fraction where it has none.
    pub cost: Value,
    pub duration_ms: u64,
}

/// A call that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentTool {
    pub tool: String,
    pub args: String,
    pub end_ms: u64,
}

/// A subagent at work as `get_subagents` lists it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSnapshot<'a> {
    pub id: &'a str,
    pub index: usize,
    pub agent: &'a str,
    pub agent_source: &'a str,
    pub description: &'a str,
    pub status: &'a str,
    pub task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_file: Option<&'a Path>,
    pub last_update: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<&'a AgentProgress>,
    pub parent_tool_call_id: &'a str,
}
