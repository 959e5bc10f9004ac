//! One call of the client, from its arguments to its result.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::agent::AgentError;
use stentor_agent::session::SessionError;
use stentor_journal::store::StoreError;
use stentor_journal::usage::Usage;
use tokio_util::sync::CancellationToken;

use super::limits::{MAX_LISTED, MAX_READ};
use super::open_session::{McpSession, TaskResult};
use super::reading;
use super::sessions::McpSessions;
use super::tools::{McpToolCall, NoCall, PromptArguments, SteerArguments};

/// What a client sends to call a tool.
#[derive(Debug, Deserialize)]
pub(super) struct CallParams {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    #[serde(rename = "_meta", default)]
    meta: Option<Meta>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    /// A text or a number, by which the client knows what progress is about.
    #[serde(default)]
    progress_token: Option<Value>,
}

/// A call that is being done.
pub(super) struct McpCall {
    pub sessions: Arc<McpSessions>,
    /// Fires when the client does not want the answer any more.
    pub cancel: CancellationToken,
}

/// Why a call failed, for the model of the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("the session {0} is at work: steer it, or wait until it is done")]
    Busy(String),
    #[error("session {0} is idle; send a prompt instead")]
    Idle(String),
    #[error("a session that exists has its own folder; leave out cwd")]
    FolderOfExisting,
    #[error("cwd must be an absolute path of a folder that exists")]
    NoFolder,
    #[error("this server only works in {} and its subfolders", .0.display())]
    Elsewhere(PathBuf),
    #[error("the prompt is empty")]
    Empty,
    #[error("{0} sessions are working, which is the maximum; wait until one is done")]
    TooMany(usize),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the session cannot be opened: {0}")]
    NotOpened(tokio::task::JoinError),
}

impl McpCall {
    /// Does it. The error is about the call itself; what fails in it is a result that says so.
    pub async fn run(&self, params: CallParams) -> Result<Value, NoCall> {
        let token = params.meta.and_then(|meta| meta.progress_token);
        let arguments = params.arguments.unwrap_or_default();
        let call = McpToolCall::read(params.name, arguments.into())?;
        let done = match call {
            McpToolCall::Prompt(arguments) => self.prompt(arguments, token).await,
            McpToolCall::Steer(arguments) => self.steer(arguments).await,
            McpToolCall::Abort(arguments) => self.abort(&arguments.session_id).await,
            McpToolCall::Status(arguments) => self.status(&arguments.session_id).await,
            McpToolCall::Sessions(arguments) => {
                let limit = arguments.limit.clamp(1, MAX_LISTED);
                self.sessions.list(limit, arguments.subfolders).await
            }
            McpToolCall::ReadSession(arguments) => {
                let last = arguments.last.clamp(1, MAX_READ);
                self.read(&arguments.session_id, last).await
            }
        };
        Ok(match done {
            Ok(done) => result(done),
            Err(error) => json!({
                "content": [{ "type": "text", "text": error.to_string() }],
                "isError": true,
            }),
        })
    }

    async fn prompt(
        &self,
        arguments: PromptArguments,
        token: Option<Value>,
    ) -> Result<Value, CallError> {
        if arguments.prompt.trim().is_empty() {
            return Err(CallError::Empty);
        }
        let open = match (&arguments.session_id, arguments.cwd) {
            (Some(_), Some(_)) => return Err(CallError::FolderOfExisting),
            (Some(id), None) => self.sessions.existing(id).await?,
            (None, cwd) => self.sessions.new_in(cwd).await?,
        };
        // Nobody may hear of the progress of a call that is answered.
        let token = token.filter(|_| arguments.wait);
        let before = open.prompt(arguments.prompt, token).await?;
        if !arguments.wait {
            return Ok(json!({ "session_id": open.id(), "status": "running" }));
        }
        let finished = tokio::select! {
            finished = open.finished_after(before) => finished,
            () = self.cancel.cancelled() => {
                // Who asked for it does not want it any more.
                open.abort().await?;
                open.finished_after(before).await
            }
        };
        Ok(finished_json(&open, &finished))
    }

    async fn steer(&self, arguments: SteerArguments) -> Result<Value, CallError> {
        let id = arguments.session_id;
        let open = self.sessions.existing(&id).await?;
        if !open.is_running() {
            return Err(CallError::Idle(id));
        }
        open.steer(arguments.message).await?;
        Ok(json!({ "session_id": open.id(), "status": "running" }))
    }

    async fn abort(&self, id: &str) -> Result<Value, CallError> {
        let open = self.sessions.existing(id).await?;
        let was_running = open.is_running();
        open.abort().await?;
        let status = match was_running {
            true => "aborted",
            false => "idle",
        };
        Ok(json!({ "session_id": open.id(), "status": status }))
    }

    async fn status(&self, id: &str) -> Result<Value, CallError> {
        let open = self.sessions.existing(id).await?;
        let (state, stats) = (open.session.state().await?, open.session.stats().await?);
        let last = open.last();
        Ok(json!({
            "session_id": open.id(),
            "status": match open.is_running() {
                true => "running",
                false => "idle",
            },
            "doing": open.doing(),
            "name": state.name,
            "cwd": state.cwd,
            "model": state.model.map(|model| model.full_name()),
            "messages": state.message_count,
            "usage": usage_json(&stats.total_usage),
            "last": last.map(|last| finished_json(&open, &last)),
        }))
    }

    async fn read(&self, id: &str, last: usize) -> Result<Value, CallError> {
        let view = self.sessions.view(id).await?;
        Ok(reading::messages(id, &view, last))
    }
}

/// A result for clients that read data, and the same as text for those that do not.
fn result(mut done: Value) -> Value {
    let is_error = done.get("error").is_some_and(|error| !error.is_null());
    let mut content = Vec::new();
    if let Some(text) = done.get("text").and_then(Value::as_str) {
        content.push(json!({ "type": "text", "text": text }));
        let mut rest = done.clone();
        rest.as_object_mut().map(|rest| rest.shift_remove("text"));
        content.push(json!({ "type": "text", "text": rest.to_string() }));
    } else {
        content.push(json!({ "type": "text", "text": done.to_string() }));
    }
    json!({ "content": content, "structuredContent": done.take(), "isError": is_error })
}

fn finished_json(open: &McpSession, finished: &TaskResult) -> Value {
    json!({
        "session_id": open.id(),
        "status": finished.status,
        "text": finished.text,
        "error": finished.error,
        "usage": usage_json(&finished.usage),
    })
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.tokens_in(),
        "output_tokens": usage.output,
        "total_tokens": usage.total_tokens,
        "cost_usd": (!usage.cost.is_unknown).then_some(usage.cost.total),
    })
}
