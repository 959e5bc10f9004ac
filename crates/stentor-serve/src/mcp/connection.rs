//! What the client writes, line by line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use stentor_agent::agent::Agent;
use stentor_agent::tasks;
use stentor_wire::jsonrpc::{Id, Incoming, RawJson, code, decode};
use tokio_util::sync::CancellationToken;

use super::McpOptions;
use super::call::{CallParams, McpCall};
use super::client::McpClient;
use super::limits::MAX_CALLS;
use super::sessions::McpSessions;
use super::tools;
use crate::input::InputLine;
use crate::output::Output;

/// The revisions of the protocol that are spoken, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// For the model of the client.
const INSTRUCTIONS: &str = "Stentor is a coding agent that works in a folder of this machine with its \
own tools. Use `prompt` to give it a task; the answer has the session_id to go on with. For a long \
task set `wait` to false and look at `status` and `read_session`; `steer` adds a message to a task \
that runs, and `abort` stops it.";

/// One client.
pub(super) struct McpConnection {
    client: Arc<McpClient>,
    sessions: Arc<McpSessions>,
    /// What ends each call that is not answered yet.
    calls: Arc<Mutex<HashMap<Id, CancellationToken>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitializeParams {
    protocol_version: String,
    capabilities: ClientCapabilities,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClientCapabilities {
    elicitation: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams {
    request_id: Id,
}

impl McpConnection {
    pub fn new(agent: Agent, options: McpOptions, output: Output) -> Self {
        let client = Arc::new(McpClient::new(output));
        Self {
            sessions: Arc::new(McpSessions::new(agent, options.cwd, Arc::clone(&client))),
            client,
            calls: Arc::default(),
        }
    }

    /// Takes a line.
    pub async fn line(&mut self, line: InputLine) {
        let text = match line {
            InputLine::Line(text) => text,
            InputLine::TooLong => {
                let why = "the line is too long";
                return self.client.refuse(None, code::PARSE_ERROR, why).await;
            }
            InputLine::InvalidUtf8 => {
                let why = "the line is not UTF-8";
                return self.client.refuse(None, code::PARSE_ERROR, why).await;
            }
        };
        if text.trim().is_empty() {
            return;
        }
        match decode(&text) {
            Incoming::Request { id, method, params } => self.request(id, &method, params).await,
            Incoming::Notification { method, params } => self.notification(&method, params),
            Incoming::Response { id, result } => {
                self.client.answered(&id, result.parse().ok());
            }
            Incoming::ResponseError { id, .. } => self.client.answered(&id, None),
            Incoming::Ignore { .. } => {}
            Incoming::Error(fault) => {
                let id = fault.id.as_ref();
                self.client.refuse(id, fault.code, fault.message).await;
            }
        }
    }

    /// Stops everything and saves it.
    pub async fn end(&mut self) {
        for (_, call) in lock(&self.calls).drain() {
            call.cancel();
        }
        self.sessions.close_all().await;
    }

    async fn request(&mut self, id: Id, method: &str, params: RawJson<'_>) {
        match method {
            "initialize" => {
                let params: InitializeParams = params.parse().unwrap_or_default();
                let result = self.initialize(&params);
                self.client.answer(&id, &result).await;
            }
            "ping" => self.client.answer(&id, &json!({})).await,
            "tools/list" => {
                let listed = json!({ "tools": tools::listed() });
                self.client.answer(&id, &listed).await;
            }
            "tools/call" => match params.parse::<CallParams>() {
                Ok(params) => self.call(id, params).await,
                Err(error) => {
                    let why = error.to_string();
                    self.client
                        .refuse(Some(&id), code::INVALID_PARAMS, &why)
                        .await;
                }
            },
            method => {
                let why = format!("there is no method {method:?}");
                self.client
                    .refuse(Some(&id), code::METHOD_NOT_FOUND, &why)
                    .await;
            }
        }
    }

    fn notification(&mut self, method: &str, params: RawJson<'_>) {
        if method != "notifications/cancelled" {
            return;
        }
        if let Ok(cancelled) = params.parse::<CancelledParams>()
            && let Some(call) = lock(&self.calls).remove(&cancelled.request_id)
        {
            call.cancel();
        }
    }

    fn initialize(&self, params: &InitializeParams) -> Value {
        let elicitation = params.capabilities.elicitation.as_ref();
        // One that names its ways must name this one; those before there were several name none.
        let can_elicit = elicitation
            .and_then(Value::as_object)
            .is_some_and(|ways| ways.contains_key("form") || !ways.contains_key("url"));
        self.client.set_can_elicit(can_elicit);
        let asked = params.protocol_version.as_str();
        let agreed = VERSIONS.iter().find(|version| **version == asked);
        json!({
            "protocolVersion": agreed.unwrap_or(&VERSIONS[0]),
            "capabilities": { "tools": { "listChanged": false } },
            "serverInfo": {
                "name": "stentor",
                "title": "Stentor",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "instructions": INSTRUCTIONS,
        })
    }

    /// Starts a call. It is answered when it is done, unless the client cancels it before.
    async fn call(&mut self, id: Id, params: CallParams) {
        let cancel = CancellationToken::new();
        let refused = {
            let mut calls = lock(&self.calls);
            let is_full = calls.len() >= MAX_CALLS;
            let is_twice = calls.contains_key(&id);
            if !is_full && !is_twice {
                calls.insert(id.clone(), cancel.clone());
            }
            match (is_twice, is_full) {
                (true, _) => Some("another request with this id is not answered yet"),
                (false, true) => Some("too many calls at once"),
                (false, false) => None,
            }
        };
        if let Some(why) = refused {
            return self
                .client
                .refuse(Some(&id), code::INVALID_REQUEST, why)
                .await;
        }
        let (client, calls) = (Arc::clone(&self.client), Arc::clone(&self.calls));
        let call = McpCall {
            sessions: Arc::clone(&self.sessions),
            cancel: cancel.clone(),
        };
        tasks::spawn(async move {
            let answer = call.run(params).await;
            // One that was cancelled is not in there any more, and gets no answer.
            let is_wanted = lock(&calls).remove(&id).is_some();
            match answer {
                _ if !is_wanted || cancel.is_cancelled() => {}
                Ok(result) => client.answer(&id, &result).await,
                Err(unknown) => {
                    let why = unknown.to_string();
                    client.refuse(Some(&id), code::INVALID_PARAMS, &why).await;
                }
            }
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
