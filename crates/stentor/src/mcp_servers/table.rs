//! A server as a file of ours says it: `[mcp_servers.NAME]`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use stentor_agent::tool_servers::{
    OAuthSettings, SamplingConsent, SamplingSettings, ToolChoice, ToolServer, ToolServerTransport,
};
use stentor_text::redaction::{command_without_secrets, public_address};

use super::FoundServer;
use super::error::ServerError;
use super::expand::{Unset, expand};
use crate::config::error::ConfigError;
use crate::config::table::{at_home, base, table_error};
use crate::config::{EnvLookup, RawTable, Scope};

/// The name of the section.
pub(super) const SECTION: &str = "mcp_servers";

/// A server as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerTable {
    pub command: Option<ServerCommand>,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub cwd: Option<String>,
    pub url: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub transport: Option<TransportKind>,
    pub tools: Option<BTreeSet<String>>,
    #[serde(default)]
    pub exclude_tools: BTreeSet<String>,
    pub start_timeout_ms: Option<u64>,
    pub timeout_ms: Option<u64>,
    pub max_timeout_ms: Option<u64>,
    pub restart: Option<u32>,
    pub sandbox: Option<bool>,
    pub enabled: Option<bool>,
    pub sampling: Option<Sampling>,
    pub sampling_calls: Option<u32>,
    pub sampling_tokens: Option<u64>,
    #[serde(default)]
    pub oauth: OAuth,
}

/// Whether a server may ask the session's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sampling {
    Ask,
    Allow,
    Deny,
}

/// How one logs in to a server, where it does not say all of it itself.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OAuth {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    pub redirect: Option<String>,
}

/// A program, alone or with its first arguments.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ServerCommand {
    One(String),
    Several(Vec<String>),
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TransportKind {
    Stdio,
    #[serde(alias = "streamable-http", alias = "streamableHttp")]
    Http,
    Sse,
}

impl TransportKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// What is around a server's table.
pub(super) struct TableContext<'a> {
    pub name: &'a str,
    pub source: String,
    pub file: &'a Path,
    pub scope: Scope,
    /// What its relative paths are relative to.
    pub base: &'a Path,
    pub home: Option<&'a Path>,
    pub env: EnvLookup<'a>,
}

/// Reads a table of ours.
pub(super) fn read(
    raw: &RawTable,
    home: Option<&Path>,
    env: EnvLookup<'_>,
) -> Result<FoundServer, Box<ConfigError>> {
    let bad = |why: ServerError| {
        Box::new(ConfigError::BadServer {
            at: raw.at.clone(),
            name: raw.name.clone(),
            message: why.to_string(),
        })
    };
    check_name(&raw.name).map_err(bad)?;
    let table = raw.table.clone().try_into::<ServerTable>();
    let table = table.map_err(|error| Box::new(table_error(SECTION, raw, error.message())))?;
    if raw.at.scope == Scope::Project && table.sandbox == Some(false) {
        return Err(bad(ServerError::UnsandboxedByProject));
    }
    if raw.at.scope == Scope::Project && table.sampling == Some(Sampling::Allow) {
        return Err(bad(ServerError::SamplingByProject));
    }
    let around = TableContext {
        name: &raw.name,
        source: format!("{}:{}", raw.at.file.display(), raw.at.line),
        file: &raw.at.file,
        scope: raw.at.scope,
        base: base(raw),
        home,
        env,
    };
    found(table, around).map_err(bad)
}

/// Whether a name can be part of the names of tools.
pub fn check_name(name: &str) -> Result<(), ServerError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match (1..=40).contains(&name.len()) && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(ServerError::Name),
    }
}

/// What a table says. The error is about what is written; a variable that is not set is no error of
/// the file.
pub(super) fn found(
    table: ServerTable,
    around: TableContext<'_>,
) -> Result<FoundServer, ServerError> {
    let (kind, shown) = kind_and_look(&table)?;
    let given = match kind {
        TransportKind::Stdio => table.env.keys().cloned().collect(),
        TransportKind::Http | TransportKind::Sse => table.headers.keys().cloned().collect(),
    };
    let is_enabled = table.enabled.unwrap_or(true);
    let server = server(table, kind, &around);
    Ok(FoundServer {
        name: around.name.to_owned(),
        server,
        is_enabled,
        shown,
        transport: kind.as_str(),
        given,
        source: around.source,
        file: around.file.to_owned(),
        scope: around.scope,
    })
}

/// How the server is reached, and what people are shown of that.
pub(super) fn kind_and_look(table: &ServerTable) -> Result<(TransportKind, String), ServerError> {
    match (&table.command, &table.url, table.transport) {
        (Some(_), Some(_), _) => Err(ServerError::CommandAndUrl),
        (None, None, _) => Err(ServerError::NeitherCommandNorUrl),
        (Some(_), None, Some(TransportKind::Http | TransportKind::Sse)) => {
            Err(ServerError::TransportOfCommand)
        }
        (None, Some(_), Some(TransportKind::Stdio)) => Err(ServerError::TransportOfUrl),
        (Some(command), None, _) => {
            if !table.headers.is_empty() {
                return Err(ServerError::HeadersOfCommand);
            }
            if table.oauth != OAuth::default() {
                return Err(ServerError::OAuthOfCommand);
            }
            let words = command.words();
            if words
                .first()
                .is_none_or(|program| program.trim().is_empty())
            {
                return Err(ServerError::EmptyCommand);
            }
            let words = words
                .into_iter()
                .chain(table.args.iter().map(String::as_str));
            Ok((
                TransportKind::Stdio,
                command_without_secrets(words).join(" "),
            ))
        }
        (None, Some(url), kind) => {
            if !(table.env.is_empty() && table.args.is_empty() && table.cwd.is_none()) {
                return Err(ServerError::ProcessOfUrl);
            }
            Ok((kind.unwrap_or(TransportKind::Http), public_address(url)))
        }
    }
}

impl ServerCommand {
    fn words(&self) -> Vec<&str> {
        match self {
            Self::One(word) => vec![word],
            Self::Several(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

fn server(
    table: ServerTable,
    kind: TransportKind,
    around: &TableContext<'_>,
) -> Result<ToolServer, Unset> {
    let fill = |text: &str| expand(text, around.env);
    let pairs = |pairs: &BTreeMap<String, String>| -> Result<Vec<(String, String)>, Unset> {
        let filled = pairs
            .iter()
            .map(|(name, value)| Ok((name.clone(), fill(value)?)));
        filled.collect()
    };
    let transport = match (kind, &table.command) {
        (TransportKind::Stdio, Some(command)) => {
            let words = command.words().into_iter();
            let words = words.chain(table.args.iter().map(String::as_str));
            let filled: Result<Vec<String>, Unset> = words
                .map(|word| Ok(at_home(fill(word)?, around.home)))
                .collect();
            let mut filled = filled?.into_iter();
            let program = filled.next().unwrap_or_default();
            ToolServerTransport::Stdio {
                command: match program.contains('/') {
                    true => around.base.join(&program),
                    false => PathBuf::from(program),
                },
                args: filled.collect(),
                env: pairs(&table.env)?,
                cwd: match &table.cwd {
                    Some(cwd) => Some(around.base.join(at_home(fill(cwd)?, around.home))),
                    None => None,
                },
            }
        }
        (kind, _) => {
            let url = fill(table.url.as_deref().unwrap_or_default())?;
            let headers = pairs(&table.headers)?;
            match kind {
                TransportKind::Sse => ToolServerTransport::Sse { url, headers },
                TransportKind::Http | TransportKind::Stdio => {
                    ToolServerTransport::Http { url, headers }
                }
            }
        }
    };
    let mut server = ToolServer::new(around.name, transport);
    server.tools = ToolChoice {
        only: table.tools,
        except: table.exclude_tools,
    };
    server.start_limit = limit(table.start_timeout_ms, server.start_limit);
    server.call_limit = limit(table.timeout_ms, server.call_limit);
    server.total_limit = limit(table.max_timeout_ms, server.total_limit);
    server.restarts = table.restart.unwrap_or(server.restarts);
    server.sandboxed = table.sandbox.unwrap_or(true);
    let usual = SamplingSettings::default();
    server.sampling = SamplingSettings {
        consent: match table.sampling {
            None | Some(Sampling::Ask) => SamplingConsent::Ask,
            Some(Sampling::Allow) => SamplingConsent::Allow,
            Some(Sampling::Deny) => SamplingConsent::Deny,
        },
        calls: table.sampling_calls.unwrap_or(usual.calls),
        tokens: table.sampling_tokens.unwrap_or(usual.tokens),
    };
    let filled = |text: &Option<String>| text.as_deref().map(fill).transpose();
    server.oauth = OAuthSettings {
        client_id: filled(&table.oauth.client_id)?,
        client_secret: filled(&table.oauth.client_secret)?,
        redirect: filled(&table.oauth.redirect)?,
        scopes: table.oauth.scopes,
    };
    Ok(server)
}

fn limit(ms: Option<u64>, otherwise: Duration) -> Duration {
    // No time at all would be a server that is never used.
    ms.map_or(otherwise, |ms| Duration::from_millis(ms.max(1)))
}
