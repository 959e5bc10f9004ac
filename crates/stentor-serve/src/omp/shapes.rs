//! The shapes of section 7, made of what the agent says about itself.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use stentor_agent::event;
use stentor_agent::model::{ModelInfo, ThinkingLevel};
use stentor_agent::sandbox::SandboxState;
use stentor_agent::session::{BashResult, ContextUse, SessionState, SessionStats};
use stentor_agent::tool::{Plan, PlanPhase, PlanStatus, PlanTask, Tool};
use stentor_journal::message::Message;
use stentor_wire::omp::command::{TodoItem, TodoPhase, TodoStatus};
use stentor_wire::omp::frame::{CompactionDetails, CompactionResult};

/// A model (7.2): what the agent knows of it, and the efforts omp's clients want to see.
#[derive(Serialize)]
pub(super) struct WireModel<'a> {
    #[serde(flatten)]
    info: &'a ModelInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
}

/// Newer clients read `efforts`, older ones the ends of the range.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    mode: &'static str,
    efforts: Vec<&'static str>,
    min_level: &'static str,
    max_level: &'static str,
}

impl<'a> WireModel<'a> {
    pub fn of(info: &'a ModelInfo) -> Self {
        let levels = info.levels();
        let efforts: Vec<&str> = levels
            .into_iter()
            .filter(|level| *level != ThinkingLevel::Off)
            .map(ThinkingLevel::as_str)
            .collect();
        let ends = efforts.first().copied().zip(efforts.last().copied());
        let thinking = ends.map(|(min_level, max_level)| Thinking {
            mode: match info.api.as_str() {
                "anthropic-messages" => "budget",
                _ => "effort",
            },
            efforts,
            min_level,
            max_level,
        });
        Self { info, thinking }
    }
}

/// `RpcSessionState` (7.6), with the additions of section 19.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireState<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<WireModel<'a>>,
    thinking_level: &'static str,
    is_streaming: bool,
    is_compacting: bool,
    steering_mode: &'static str,
    follow_up_mode: &'static str,
    interrupt_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<String>,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<&'a str>,
    auto_compaction_enabled: bool,
    auto_retry_enabled: bool,
    message_count: usize,
    queued_message_count: usize,
    pending_message_count: usize,
    queued_messages: QueuedMessages<'a>,
    has_pending_async_work: bool,
    is_settled: bool,
    fast_mode_enabled: bool,
    fast_mode_active: bool,
    /// Null: nothing was counted, or too short a time.
    tokens_per_second: Option<f64>,
    todo_phases: Vec<TodoPhase>,
    /// Absent where nobody counted: omp's Python client reads numbers here, no null.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_usage: Option<WireContext>,
    system_prompt: [&'a str; 1],
    dump_tools: Vec<DumpedTool<'a>>,
    /// What commands are held back from; absent when nothing does or should.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'a SandboxState>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueuedMessages<'a> {
    steering: &'a [String],
    follow_up: &'a [String],
}

#[derive(Serialize)]
struct DumpedTool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// How full the context is; null where nobody counted, which only the statistics say (7.9).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireContext {
    tokens: Option<u64>,
    context_window: u64,
    percent: Option<f64>,
}

impl WireContext {
    fn if_counted(context: ContextUse) -> Option<Self> {
        let usage = Self::from(context);
        (usage.tokens.is_some() && usage.percent.is_some()).then_some(usage)
    }
}

impl From<ContextUse> for WireContext {
    fn from(context: ContextUse) -> Self {
        let share = |tokens: u64| tokens as f64 * 100.0 / context.window as f64;
        Self {
            tokens: context.tokens,
            context_window: context.window,
            percent: context.tokens.filter(|_| context.window > 0).map(share),
        }
    }
}

impl<'a> WireState<'a> {
    pub fn of(
        state: &'a SessionState,
        has_jobs: bool,
        system_prompt: &'a str,
        tools: &'a [Arc<dyn Tool>],
    ) -> Self {
        let waiting = state.queues.steering.len() + state.queues.follow_up.len();
        Self {
            model: state.model.as_deref().map(WireModel::of),
            thinking_level: state.thinking.as_str(),
            is_streaming: state.is_running,
            is_compacting: state.is_compacting,
            steering_mode: state.steering_mode.as_str(),
            follow_up_mode: state.follow_up_mode.as_str(),
            interrupt_mode: state.interrupt_mode.as_str(),
            session_file: state
                .file
                .as_ref()
                .map(|file| file.to_string_lossy().into_owned()),
            session_id: &state.id,
            session_name: state.name.as_deref(),
            auto_compaction_enabled: state.auto_compaction,
            auto_retry_enabled: state.auto_retry,
            message_count: state.message_count,
            queued_message_count: waiting,
            pending_message_count: waiting,
            queued_messages: QueuedMessages {
                steering: &state.queues.steering,
                follow_up: &state.queues.follow_up,
            },
            has_pending_async_work: has_jobs,
            is_settled: !state.is_running,
            fast_mode_enabled: false,
            fast_mode_active: false,
            tokens_per_second: state.tokens_per_second,
            todo_phases: todo_phases(&state.plan),
            context_usage: WireContext::if_counted(state.context),
            system_prompt: [system_prompt],
            dump_tools: tools
                .iter()
                .map(|tool| tool.spec())
                .map(|spec| DumpedTool {
                    name: &spec.name,
                    description: &spec.description,
                    parameters: &spec.parameters,
                })
                .collect(),
            sandbox: state.sandbox.to_report(),
        }
    }
}

/// `SessionStats` (7.9).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireStats<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<String>,
    session_id: &'a str,
    user_messages: usize,
    assistant_messages: usize,
    tool_calls: usize,
    tool_results: usize,
    total_messages: usize,
    tokens: TokenCounts,
    #[serde(serialize_with = "stentor_journal::usage::plain_number")]
    cost: f64,
    context_usage: WireContext,
    premium_requests: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenCounts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    total: u64,
}

impl<'a> WireStats<'a> {
    pub fn of(stats: &'a SessionStats) -> Self {
        let usage = &stats.context_usage;
        Self {
            session_file: stats
                .file
                .as_ref()
                .map(|file| file.to_string_lossy().into_owned()),
            session_id: &stats.id,
            user_messages: stats.user_messages,
            assistant_messages: stats.assistant_messages,
            tool_calls: stats.tool_calls,
            tool_results: stats.tool_results,
            total_messages: stats.total_messages,
            tokens: TokenCounts {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                total: usage.all_tokens(),
            },
            cost: usage.cost.total,
            context_usage: stats.context.into(),
            premium_requests: 0,
        }
    }
}

/// `BashResult` (7.7), the keys of both families.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBash<'a> {
    output: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    total_lines: u64,
    total_bytes: u64,
    output_lines: u64,
    output_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output_path: Option<String>,
}

impl<'a> WireBash<'a> {
    pub fn of(bash: &'a BashResult) -> Self {
        let result = &bash.result;
        // omp counts the empty line behind the last line end too.
        let empty_line = u64::from(result.output.ends_with('\n'));
        Self {
            output: &result.output,
            exit_code: result.exit_code,
            cancelled: result.cancelled,
            truncated: result.truncated,
            total_lines: result.total_lines + empty_line,
            total_bytes: result.total_bytes,
            output_lines: result.output_lines + empty_line,
            output_bytes: result.output_bytes,
            full_output_path: result
                .full_output_path
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

/// `CompactionResult` (7.8).
pub(super) fn compaction_result(result: &event::CompactionResult) -> CompactionResult<'_> {
    CompactionResult {
        summary: &result.summary,
        short_summary: first_line(&result.summary),
        first_kept_entry_id: &result.first_kept_entry_id,
        tokens_before: result.tokens_before,
        estimated_tokens_after: result.tokens_after,
        details: CompactionDetails {
            read_files: &result.read_files,
            modified_files: &result.modified_files,
        },
    }
}

/// The first line that is no heading.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    let says_something = |line: &&str| !line.is_empty() && !line.starts_with('#');
    lines.find(says_something).unwrap_or_default()
}

/// `{messages}`.
#[derive(Serialize)]
pub(super) struct MessageList<'a> {
    pub messages: &'a [Arc<Message>],
}

/// The plan as lists of things to do.
pub(super) fn todo_phases(plan: &Plan) -> Vec<TodoPhase> {
    let phases = plan.phases.iter().map(|phase| TodoPhase {
        name: phase.name.clone(),
        tasks: phase
            .tasks
            .iter()
            .map(|task| TodoItem {
                content: task.content.clone(),
                status: match task.status {
                    PlanStatus::Pending => TodoStatus::Pending,
                    PlanStatus::InProgress => TodoStatus::InProgress,
                    PlanStatus::Completed => TodoStatus::Completed,
                    PlanStatus::Abandoned => TodoStatus::Abandoned,
                    PlanStatus::Blocked => TodoStatus::Blocked,
                },
            })
            .collect(),
    });
    phases.collect()
}

/// Lists of things to do as a plan.
pub(super) fn plan_of(phases: &[TodoPhase]) -> Plan {
    let phases = phases.iter().map(|phase| PlanPhase {
        name: phase.name.clone(),
        tasks: phase
            .tasks
            .iter()
            .map(|task| PlanTask {
                content: task.content.clone(),
                status: match task.status {
                    TodoStatus::Pending => PlanStatus::Pending,
                    TodoStatus::InProgress => PlanStatus::InProgress,
                    TodoStatus::Completed => PlanStatus::Completed,
                    TodoStatus::Abandoned => PlanStatus::Abandoned,
                    TodoStatus::Blocked => PlanStatus::Blocked,
                },
            })
            .collect(),
    });
    Plan {
        phases: phases.collect(),
    }
}
