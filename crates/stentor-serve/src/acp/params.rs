//! The parameters of requests.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stentor_agent::system_prompt::Instructions;
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_wire::jsonrpc::{Id, RawJson};

use super::AcpLogin;
use super::cursor;
use super::error::{AcpResult, Refusal};
use super::folders::BaseFolders;

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

/// What `session/set_mode` asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModeParams {
    pub mode_id: String,
}

/// What `session/set_config_option` asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OptionParams {
    pub config_id: String,
    pub value: Value,
}

/// What `session/set_title` asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TitleParams {
    pub session_id: String,
    pub title: String,
}

/// What `session/set_model` asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelParams {
    pub model_id: String,
}

/// What `session/prompt` and steering bring.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptParams {
    pub prompt: Vec<acp::ContentBlock>,
    #[serde(rename = "_meta", default)]
    pub meta: Option<Map<String, Value>>,
}

/// What a client wants of a session it opens.
pub(super) struct RequestedSession {
    pub cwd: PathBuf,
    pub additional: Vec<PathBuf>,
    pub servers: Vec<ToolServer>,
    pub instructions: Option<Instructions>,
    /// Every update of a session that is shared says where it is.
    pub numbers_updates: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetupParams {
    cwd: PathBuf,
    #[serde(default)]
    mcp_servers: Option<Vec<Value>>,
    #[serde(default)]
    additional_directories: Option<Vec<PathBuf>>,
    #[serde(default)]
    system_prompt: Option<acp::SystemPrompt>,
}

/// Reads the parameters of a request.
pub(super) fn params<T: DeserializeOwned>(raw: RawJson<'_>) -> AcpResult<T> {
    serde_json::from_str(raw.get())
        .map_err(|error| Refusal::invalid_params(without_values(&error.to_string())))
}

/// An empty result.
pub(super) fn nothing() -> Map<String, Value> {
    Map::new()
}

/// No way to log in goes through this method: those of a terminal are never passed to it.
pub(super) fn authenticate(raw: RawJson<'_>, logins: &[AcpLogin]) -> AcpResult<Map<String, Value>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AuthenticateParams {
        method_id: String,
    }
    let AuthenticateParams { method_id } = params(raw)?;
    Err(match logins.iter().any(|login| login.id == method_id) {
        true => Refusal::invalid_params(
            "This way to log in runs in a terminal: start it there, then connect again.",
        ),
        false => Refusal::invalid_params("There is no such way to log in."),
    })
}

/// Reads what a client wants of a session it opens. A folder that is not there yet may be one that
/// `can_make`.
pub(super) fn wanted(
    raw: RawJson<'_>,
    folders: &BaseFolders,
    can_make: impl FnOnce(&Path) -> bool,
) -> AcpResult<RequestedSession> {
    let SetupParams {
        cwd,
        mcp_servers,
        additional_directories,
        system_prompt,
    } = params(raw)?;
    let additional = additional_directories.unwrap_or_default();
    for path in &additional {
        folders.must_be_absolute("additionalDirectories", path)?;
    }
    folders.must_be_absolute("cwd", &cwd)?;
    if !cwd.is_dir() && !can_make(&cwd) {
        return Err(no_folder());
    }
    Ok(RequestedSession {
        cwd,
        additional,
        servers: servers(mcp_servers.unwrap_or_default())?,
        instructions: system_prompt.map(instructions).transpose()?,
        numbers_updates: cursor::wanted(raw)?.numbers_updates,
    })
}

/// The folder of a session is not there.
pub(super) fn no_folder() -> Refusal {
    Refusal::invalid_params("cwd must be a folder that exists on this machine")
}

fn instructions(system_prompt: acp::SystemPrompt) -> AcpResult<Instructions> {
    let mut text = String::new();
    for block in &system_prompt.content {
        let acp::ContentBlock::Text(block) = block else {
            return Err(Refusal::invalid_params(
                "systemPrompt.content must consist of text blocks",
            ));
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&block.text);
    }
    if text.trim().is_empty() {
        return Err(Refusal::invalid_params(
            "systemPrompt.content must not be empty",
        ));
    }
    match system_prompt.mode {
        acp::SystemPromptMode::Append => Ok(Instructions::Append(text.into())),
        acp::SystemPromptMode::Override => Ok(Instructions::Override(text.into())),
        _ => Err(Refusal::invalid_params(
            "systemPrompt.mode must be append or override",
        )),
    }
}

fn servers(wanted: Vec<Value>) -> AcpResult<Vec<ToolServer>> {
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
