//! The client of one server: what it is asked, and what it sends of its own accord.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stentor_agent::tool_servers::{SamplingSettings, ToolServer};
use stentor_text::visible::visible;
use stentor_wire::jsonrpc::{Id, RawJson};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::limits::{LOG_CHARS, PING_LIMIT};
use super::protocol::{
    CANCEL, CallProgress, CancelledParams, InitializeResult, List, LogParams, ProgressParams,
    greeting, method,
};
use super::requests::ServerRequests;
use crate::json_rpc_child::{Handler, Peer, RequestError};

/// By which a server says that it does not want an answer any more.
const CANCELLED: &str = CANCEL.method;

/// A server that has been greeted.
#[derive(Clone)]
pub(super) struct GreetedServer {
    pub peer: Arc<Peer>,
    pub info: Arc<InitializeResult>,
    pub notices: Arc<Notices>,
}

/// What a server notifies us of.
#[derive(Default)]
pub(super) struct Notices {
    /// Notified when one of the server's lists is another now.
    pub lists_changed: Notify,
    last_token: AtomicU64,
    calls: Mutex<CallReporters>,
}

/// Where the reports about calls go, by the tokens of these calls.
type CallReporters = HashMap<u64, watch::Sender<Option<CallProgress>>>;

/// The reports about one call, as long as it is held.
pub(super) struct CallReports {
    pub token: u64,
    notices: Arc<Notices>,
    newest: watch::Receiver<Option<CallProgress>>,
}

impl GreetedServer {
    /// Introduces us to a server and learns what it is.
    pub async fn greet(
        peer: &Arc<Peer>,
        notices: &Arc<Notices>,
        sampling: &SamplingSettings,
    ) -> Result<Self, RequestError> {
        let info = request(peer, method::INITIALIZE, &greeting(sampling)).await?;
        Ok(Self {
            peer: Arc::clone(peer),
            info: Arc::new(info),
            notices: Arc::clone(notices),
        })
    }

    /// Tells the server that what it is may be used now.
    pub fn initialized(&self) -> Result<(), RequestError> {
        let params = Map::new();
        Ok(self.peer.outbox.notify(method::INITIALIZED, &params)?)
    }

    /// Asks the server and waits for the answer, however long it takes.
    pub async fn request<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, RequestError> {
        request(&self.peer, method, params).await
    }

    /// One page of a list, and where the next one begins.
    pub async fn page(
        &self,
        list: &List,
        cursor: Option<String>,
    ) -> Result<(Vec<Value>, Option<String>), RequestError> {
        let mut params = Map::new();
        params.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
        let mut page: Map<String, Value> = self.request(list.method, &params).await?;
        let Some(Value::Array(items)) = page.remove(list.member) else {
            let why = format!("it has no list `{}`", list.member);
            return Err(RequestError::Unreadable(why));
        };
        let next = match page.remove("nextCursor") {
            Some(Value::String(next)) if !next.is_empty() => Some(next),
            _ => None,
        };
        Ok((items, next))
    }

    /// Whether the server answers at all. That it does not know the question is an answer, too.
    pub async fn is_alive(&self) -> bool {
        let params = Map::new();
        let ping = self.peer.request(method::PING, &params);
        let answered = timeout(PING_LIMIT, ping).await;
        matches!(answered, Ok(Ok(_) | Err(RequestError::Refused(_))))
    }
}

async fn request<R: DeserializeOwned>(
    peer: &Peer,
    method: &str,
    params: &impl Serialize,
) -> Result<R, RequestError> {
    let text = peer.request(method, params).await?;
    serde_json::from_str(&text).map_err(|error| RequestError::Unreadable(error.to_string()))
}

impl Notices {
    /// The reports about a call that is about to be sent.
    pub fn reports(self: &Arc<Self>) -> CallReports {
        let token = self.last_token.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, newest) = watch::channel(None);
        self.lock().insert(token, sender);
        CallReports {
            token,
            notices: Arc::clone(self),
            newest,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CallReporters> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallReports {
    /// The next report. Reports that come faster than they are asked for replace each other.
    pub async fn next(&mut self) -> Option<CallProgress> {
        self.newest.changed().await.ok()?;
        self.newest.borrow_and_update().clone()
    }
}

impl Drop for CallReports {
    fn drop(&mut self) {
        self.notices.lock().remove(&self.token);
    }
}

/// Takes what a server sends besides its answers.
pub(super) struct ServerMessages {
    pub server: ToolServer,
    pub notices: Arc<Notices>,
    pub requests: ServerRequests,
}

impl ServerMessages {
    /// Writes what a server says into our log, which people see who want more than warnings.
    fn log(&self, LogParams { level, data }: &LogParams) {
        let text = match data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        let text: String = text.chars().take(LOG_CHARS).collect();
        let text = self.server.redacted(&text);
        let (server, text) = (self.server.name.as_str(), visible(&text));
        match level.as_str() {
            "debug" | "info" | "notice" => tracing::debug!(server, %text, "an MCP server logs"),
            _ => tracing::info!(server, %text, "an MCP server logs"),
        }
    }
}

impl Handler for ServerMessages {
    fn request(&mut self, id: Id, method: &str, params: RawJson<'_>) {
        self.requests.take(id, method, params);
    }

    fn notification(&mut self, method: &str, params: RawJson<'_>) {
        match method {
            method::TOOLS_CHANGED | method::PROMPTS_CHANGED => {
                self.notices.lists_changed.notify_one();
            }
            CANCELLED => {
                if let Ok(cancelled) = params.parse::<CancelledParams>() {
                    self.requests.cancel(&cancelled.request_id);
                }
            }
            method::LOG => {
                if let Ok(params) = params.parse::<LogParams>() {
                    self.log(&params);
                }
            }
            method::PROGRESS => {
                let Ok(params) = params.parse::<ProgressParams>() else {
                    return;
                };
                let token = params.progress_token.as_u64().unwrap_or_default();
                if let Some(call) = self.notices.lock().get(&token) {
                    call.send_replace(Some(params.progress));
                }
            }
            _ => {}
        }
    }

    fn only_garbage(&self) -> String {
        "it writes lines that are not MCP messages".to_owned()
    }
}
