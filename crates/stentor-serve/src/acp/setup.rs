//! Setting sessions up and taking them down: the requests of sections 4, 5 and 10.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_wire::jsonrpc::{Id, RawJson};

use super::AcpLogin;
use super::connection::Connection;
use super::error::{self, Handled, Refusal};
use super::events;
use super::folders::Folders;
use super::listing::{self, ListParams};
use super::open::{OpenSession, Ready, Wanted, blocking};
use super::sessions::Occupied;
use super::settings::{self, Settings};

/// A session by its id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionRef {
    pub session_id: String,
}

/// A request by its id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestRef {
    pub request_id: Id,
}

/// What `session/set_mode` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModeParams {
    session_id: String,
    mode_id: String,
}

/// What `session/set_config_option` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OptionParams {
    session_id: String,
    config_id: String,
    value: Value,
}

/// What `session/set_model` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelParams {
    session_id: String,
    model_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetupParams {
    cwd: PathBuf,
    #[serde(default)]
    mcp_servers: Option<Vec<Value>>,
    #[serde(default)]
    additional_directories: Option<Vec<PathBuf>>,
}

/// Reads the parameters of a request.
pub(super) fn params<T: DeserializeOwned>(raw: RawJson<'_>) -> Handled<T> {
    serde_json::from_str(raw.get())
        .map_err(|error| Refusal::invalid_params(without_values(&error.to_string())))
}

/// An empty object, where nothing is to be said.
pub(super) fn nothing() -> Map<String, Value> {
    Map::new()
}

/// No way to log in goes through this method: those of a terminal are never passed to it.
pub(super) fn authenticate(raw: RawJson<'_>, logins: &[AcpLogin]) -> Handled<Map<String, Value>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        method_id: String,
    }
    let Params { method_id } = params(raw)?;
    Err(match logins.iter().any(|login| login.id == method_id) {
        true => Refusal::invalid_params(
            "This way to log in runs in a terminal: start it there, then connect again.",
        ),
        false => Refusal::invalid_params("There is no such way to log in."),
    })
}

/// What a client wants of a session it opens.
pub(super) fn wanted(raw: RawJson<'_>, folders: &Folders) -> Handled<Wanted> {
    let SetupParams {
        cwd,
        mcp_servers,
        additional_directories,
    } = params(raw)?;
    let additional = additional_directories.unwrap_or_default();
    for path in &additional {
        folders.must_be_absolute("additionalDirectories", path)?;
    }
    folders.must_be_absolute("cwd", &cwd)?;
    if !cwd.is_dir() {
        return Err(Refusal::invalid_params(
            "cwd must be a folder that exists on this machine",
        ));
    }
    Ok(Wanted {
        cwd,
        additional,
        servers: servers(mcp_servers.unwrap_or_default())?,
    })
}

fn servers(wanted: Vec<Value>) -> Handled<Vec<ToolServer>> {
    let mut names = HashSet::new();
    let headers = |headers: Vec<acp::HttpHeader>| {
        let headers = headers.into_iter().map(|one| (one.name, one.value));
        headers.collect()
    };
    let mut server = |server| {
        let (name, transport) = match server {
            acp::McpServer::Stdio(stdio) => {
                let env = stdio.env.into_iter().map(|one| (one.name, one.value));
                let transport = ToolServerTransport::Stdio {
                    command: stdio.command,
                    args: stdio.args,
                    env: env.collect(),
                    cwd: None,
                };
                (stdio.name, transport)
            }
            acp::McpServer::Http(http) => {
                let transport = ToolServerTransport::Http {
                    url: http.url,
                    headers: headers(http.headers),
                };
                (http.name, transport)
            }
            acp::McpServer::Sse(sse) => {
                let transport = ToolServerTransport::Sse {
                    url: sse.url,
                    headers: headers(sse.headers),
                };
                (sse.name, transport)
            }
            _ => {
                return Err(Refusal::invalid_params(
                    "An MCP server has a transport this agent does not know.",
                ));
            }
        };
        match names.insert(name.clone()) {
            true => Ok(ToolServer::new(name, transport)),
            false => Err(Refusal::invalid_params(format!(
                "Two MCP servers are called {name:?}."
            ))),
        }
    };
    let read = |(n, value)| {
        serde_json::from_value(value).map_err(|_| {
            Refusal::invalid_params(format!(
                "mcpServers[{n}] cannot be read: give name, command, args and env, or type, name, \
                 url and headers."
            ))
        })
    };
    let wanted = wanted.into_iter().enumerate().map(read);
    wanted.map(|wanted| wanted.and_then(&mut server)).collect()
}

impl Connection {
    pub async fn new_session(self: Arc<Self>, id: Id, wanted: Wanted) -> Handled<()> {
        let (open, ready) = self.opener().start(wanted).await?;
        let session_id = Arc::clone(open.lane.session.id());
        let settings = &ready.settings;
        let response = acp::NewSessionResponse::new(Arc::clone(&session_id))
            .modes(settings.modes())
            .config_options(settings.options())
            .meta(ready.meta());
        let mut frames = Vec::new();
        events::result(&mut frames, &id, &response);
        self.sessions.insert(session_id, Arc::clone(&open));
        open.announce(ready, frames).await;
        Ok(())
    }

    /// `session/load` and `session/resume`. A session that is open here and on disk is closed first:
    /// the client may want another folder and other servers now. What is refused closes nothing.
    pub async fn reopen(
        self: Arc<Self>,
        id: Id,
        session_id: String,
        wanted: Wanted,
        mut occupied: Occupied,
        tells_again: bool,
    ) -> Handled<()> {
        let opener = self.opener();
        let before = occupied.before().await;
        let (open, ready) = match (opener.find(&session_id, &wanted).await, before) {
            (Ok(Some(stored)), before) => {
                if let Some(before) = before {
                    before.close().await;
                }
                opener.resume(stored, wanted, occupied.order()).await?
            }
            // Nothing is kept from which it could be opened again: it goes on as it is.
            (Ok(None), Some(open)) => {
                let ready = open.ready_again().await;
                match ready {
                    Ok(ready) => (open, ready),
                    Err(refusal) => {
                        occupied.opened(open);
                        return Err(refusal);
                    }
                }
            }
            (Ok(None), None) => return Err(Refusal::unknown_session(&session_id)),
            (Err(refusal), before) => {
                if let Some(open) = before {
                    occupied.opened(open);
                }
                return Err(refusal);
            }
        };
        let told = tell(&open, ready, &id, tells_again).await;
        occupied.opened(open);
        told
    }

    pub async fn list(self: Arc<Self>, wanted: ListParams) -> Handled<acp::ListSessionsResponse> {
        let open = self.sessions.ids();
        let agent = self.agent.clone();
        let folders = self.options.folders.clone();
        blocking(move || listing::page(&agent, &wanted, &open, &folders)).await?
    }

    pub async fn close(self: Arc<Self>, id: Id, mut occupied: Occupied) -> Handled<()> {
        if let Some(open) = occupied.before().await {
            open.close().await;
        }
        drop(occupied);
        self.answer(&id, Ok(nothing())).await;
        Ok(())
    }

    /// A session that is not there is as good as deleted (section 5.6).
    pub async fn delete(
        self: Arc<Self>,
        session_id: &str,
        mut occupied: Occupied,
    ) -> Handled<Map<String, Value>> {
        if let Some(open) = occupied.before().await {
            open.close().await;
        }
        let (agent, wanted) = (self.agent.clone(), session_id.to_owned());
        blocking(move || agent.delete(&wanted))
            .await?
            .map_err(|error| error::about_stored(session_id, error))?;
        Ok(nothing())
    }

    pub async fn set_mode(self: Arc<Self>, id: Id, wanted: ModeParams) -> Handled<()> {
        let open = self.sessions.open(&wanted.session_id).await?;
        settings::set_mode(&open.lane.session, &wanted.mode_id).await?;
        // Answered when it has happened: the state is read behind the change.
        open.lane.session.state().await?;
        self.say(&open, &id, &nothing()).await
    }

    pub async fn set_model(self: Arc<Self>, id: Id, wanted: ModelParams) -> Handled<()> {
        let open = self.sessions.open(&wanted.session_id).await?;
        settings::set_model(&open.lane.session, &wanted.model_id).await?;
        self.say(&open, &id, &nothing()).await
    }

    pub async fn set_option(self: Arc<Self>, id: Id, wanted: OptionParams) -> Handled<()> {
        let open = self.sessions.open(&wanted.session_id).await?;
        let Value::String(value) = &wanted.value else {
            return Err(Refusal::invalid_params(
                "value must be one of the values that the option lists, which are strings",
            ));
        };
        settings::set_option(&open.lane.session, &wanted.config_id, value).await?;
        let state = open.lane.session.state().await?;
        let settings = Settings::of(self.agent.models(), &state);
        let response = acp::SetSessionConfigOptionResponse::new(settings.options());
        self.say(&open, &id, &response).await
    }

    /// Answers behind what the request caused in the session.
    async fn say(
        &self,
        open: &OpenSession,
        id: &Id,
        result: &impl serde::Serialize,
    ) -> Handled<()> {
        let mut frames = Vec::new();
        events::result(&mut frames, id, result);
        let answers = &open.lane.answers;
        answers.send(open.lane.session.seq(), frames).await.ok();
        Ok(())
    }
}

async fn tell(open: &OpenSession, ready: Ready, id: &Id, tells_again: bool) -> Handled<()> {
    let settings = &ready.settings;
    let mut frames = Vec::new();
    if tells_again {
        let response = acp::LoadSessionResponse::new()
            .modes(settings.modes())
            .config_options(settings.options())
            .meta(ready.meta());
        events::result(&mut frames, id, &response);
        return open.tell_again(ready, frames).await;
    }
    let response = acp::ResumeSessionResponse::new()
        .modes(settings.modes())
        .config_options(settings.options())
        .meta(ready.meta());
    events::result(&mut frames, id, &response);
    open.announce(ready, frames).await;
    Ok(())
}

/// An error of the parser without the values it quotes, which may be long or secret, and without
/// where it is in a line that nobody has before them.
fn without_values(error: &str) -> String {
    let (error, _) = error.rsplit_once(" at line ").unwrap_or((error, ""));
    let mut parts = error.split('"');
    let mut text = parts.next().unwrap_or_default().to_owned();
    // Every second part stood between quotes.
    while parts.next().is_some() {
        text.push_str("\"…\"");
        text.push_str(parts.next().unwrap_or_default());
    }
    text
}
