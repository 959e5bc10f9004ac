//! The servers in a project's `.mcp.json`, which several agents read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use stentor_agent::project_files::{FileOwner, NotRead, Project};

use super::FoundServer;
use super::error::{ServerError, ServerFileError};
use super::table::{ServerCommand, ServerTable, TableContext, TransportKind, check_name, found};
use crate::config::{EnvLookup, Scope};

/// The name of the file.
pub(super) const FILE: &str = ".mcp.json";
/// A larger file is a mistake, or an attempt on our memory.
const LARGEST_BYTES: u64 = 1024 * 1024;

/// What the file of a project says.
#[derive(Default)]
pub(super) struct ForeignServers {
    pub servers: Vec<FoundServer>,
    pub problems: Vec<ServerProblem>,
}

/// A server that makes no sense. The others of its file are not to blame.
pub(super) struct ServerProblem {
    pub name: String,
    pub why: ServerError,
}

#[derive(Deserialize)]
struct ForeignFile {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Value>,
}

/// A server as others write it. What means nothing here is no mistake.
#[derive(Deserialize)]
struct ForeignServer {
    #[serde(rename = "type")]
    kind: Option<TransportKind>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// The servers in the file of a project. No file has none; the error is about the whole file.
pub(super) fn read(
    project: &Project,
    home: Option<&Path>,
    env: EnvLookup<'_>,
) -> Result<ForeignServers, ServerFileError> {
    let root = project.root();
    let path = root.join(FILE);
    let text = match FileOwner::Project(project).read(&path, LARGEST_BYTES) {
        Ok(text) => text,
        Err(NotRead::Missing) => return Ok(ForeignServers::default()),
        Err(why) => return Err(why.into()),
    };
    let written: ForeignFile = serde_json::from_slice(&text)?;
    let mut content = ForeignServers::default();
    for (name, value) in written.servers {
        let around = TableContext {
            name: &name,
            source: path.display().to_string(),
            file: &path,
            scope: Scope::Project,
            base: root,
            home,
            env,
        };
        match one(value, around) {
            Ok(found) => content.servers.push(found),
            Err(why) => content.problems.push(ServerProblem { name, why }),
        }
    }
    Ok(content)
}

fn one(value: Value, around: TableContext<'_>) -> Result<FoundServer, ServerError> {
    check_name(around.name)?;
    let server = ForeignServer::deserialize(value)?;
    let table = ServerTable {
        command: server.command.map(ServerCommand::One),
        args: server.args,
        env: server.env,
        cwd: server.cwd,
        url: server.url,
        headers: server.headers,
        transport: server.kind,
        enabled: Some(!server.disabled),
        ..ServerTable::default()
    };
    found(table, around)
}
