//! What a server asks of us: where the session works, a person, the session's model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use serde_json::{Map, Value, json};
use stentor_agent::tasks;
use stentor_agent::tool_servers::{SamplingConsent, ToolServer};
use stentor_wire::jsonrpc::{Id, RawJson, code};
use tokio::task::AbortHandle;

use super::callers::{Callers, NotAsked, ServerFolders};
use super::elicitation;
use super::limits::OPEN_REQUESTS;
use super::protocol::method;
use super::sampling::{self, Declined};
use crate::json_rpc_child::Peer;

/// The code of a request that a person has rejected, as the protocol has it.
const REJECTED: i64 = -1;

/// Answers what a server asks. What takes a person or a model is a task of its own, which ends with
/// the connection.
pub(super) struct ServerRequests {
    peer: Arc<Peer>,
    asked: Arc<RequestContext>,
    /// What is not answered yet. At most [`OPEN_REQUESTS`]; one more is refused.
    open: Arc<Mutex<HashMap<Id, AbortHandle>>>,
}

/// Who is asked.
pub(super) struct RequestContext {
    pub server: ToolServer,
    pub callers: Arc<Callers>,
    /// The folders of the sessions. They do not change: sessions with others have another server.
    pub folders: ServerFolders,
}

/// Why a request of a server gets no result.
#[derive(Debug, thiserror::Error)]
enum RequestRefusal {
    #[error("{0}")]
    NotAsked(#[from] NotAsked),
    #[error("{0}")]
    Declined(#[from] Declined),
    #[error("its parameters cannot be read: {0}")]
    Params(#[from] serde_json::Error),
}

impl RequestRefusal {
    fn code(&self) -> i64 {
        match self {
            Self::Declined(Declined::Person | Declined::Limit(_)) => REJECTED,
            Self::Declined(Declined::Unusable(_)) | Self::Params(_) => code::INVALID_PARAMS,
            Self::NotAsked(_) | Self::Declined(Declined::Model(_)) => code::INTERNAL_ERROR,
        }
    }
}

impl ServerRequests {
    pub fn new(peer: &Arc<Peer>, asked: RequestContext) -> Self {
        Self {
            peer: Arc::clone(peer),
            asked: Arc::new(asked),
            open: Arc::default(),
        }
    }

    /// Takes a request.
    pub fn take(&self, id: Id, method: &str, params: RawJson<'_>) {
        let outbox = &self.peer.outbox;
        let samples = self.asked.server.sampling.consent != SamplingConsent::Deny;
        let answered = match method {
            method::PING => outbox.try_answer(&id, &Map::new()),
            method::ROOTS => outbox.try_answer(&id, &roots(&self.asked.folders)),
            method::ELICIT => return self.ask(id, params, PersonRequestKind::Elicitation),
            method::SAMPLE if samples => return self.ask(id, params, PersonRequestKind::Sampling),
            _ => outbox.refuse(Some(&id), code::METHOD_NOT_FOUND, "no such method"),
        };
        if let Err(error) = answered {
            tracing::debug!(%error, "an MCP server was not answered");
        }
    }

    /// The server does not want to know any more.
    pub fn cancel(&self, id: &Id) {
        if let Some(task) = lock(&self.open).remove(id) {
            task.abort();
        }
    }

    fn ask(&self, id: Id, params: RawJson<'_>, kind: PersonRequestKind) {
        let params = params.parse::<Value>();
        let mut open = lock(&self.open);
        if open.len() >= OPEN_REQUESTS || open.contains_key(&id) {
            let why = "it has too many questions open";
            let refused = self.peer.outbox.refuse(Some(&id), REJECTED, why);
            if let Err(error) = refused {
                tracing::debug!(%error, "an MCP server was not answered");
            }
            return;
        }
        let (peer, asked) = (Arc::clone(&self.peer), Arc::clone(&self.asked));
        let (answered, all) = (id.clone(), Arc::clone(&self.open));
        let task = tasks::spawn(async move {
            let result = match params {
                Ok(params) => asked.answer(kind, params).await,
                Err(error) => Err(error.into()),
            };
            lock(&all).remove(&answered);
            let sent = match result {
                Ok(result) => peer.outbox.answer(&answered, &result).await,
                Err(why) => {
                    let text = asked.server.redacted(&why.to_string());
                    peer.outbox.refuse(Some(&answered), why.code(), &text)
                }
            };
            if let Err(error) = sent {
                tracing::debug!(%error, "an MCP server was not answered");
            }
        });
        // The task takes the lock before it removes itself.
        open.insert(id, task.abort_handle());
    }
}

impl Drop for ServerRequests {
    fn drop(&mut self) {
        for (_, task) in lock(&self.open).drain() {
            task.abort();
        }
    }
}

/// What takes a person.
#[derive(Clone, Copy)]
enum PersonRequestKind {
    Elicitation,
    Sampling,
}

impl RequestContext {
    async fn answer(
        &self,
        kind: PersonRequestKind,
        params: Value,
    ) -> Result<Value, RequestRefusal> {
        let session = self.callers.asked()?;
        let _question = self.callers.question();
        match kind {
            PersonRequestKind::Elicitation => {
                let params = serde_json::from_value(params)?;
                Ok(elicitation::elicit(&self.server.name, params, &session).await)
            }
            PersonRequestKind::Sampling => {
                let params = serde_json::from_value(params)?;
                let sampled = sampling::sample(&self.server, &self.callers, &session, params);
                Ok(sampled.await?)
            }
        }
    }
}

/// The folders of the session, by their addresses, each once.
fn roots(folders: &ServerFolders) -> Value {
    let mut roots: Vec<Value> = Vec::new();
    for folder in std::iter::once(&folders.cwd).chain(&folders.additional) {
        let name = folder.file_name().map(|name| name.to_string_lossy());
        if let Ok(uri) = Url::from_directory_path(folder) {
            let root = json!({ "uri": uri.as_str().trim_end_matches('/'), "name": name });
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
    }
    json!({ "roots": roots })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
