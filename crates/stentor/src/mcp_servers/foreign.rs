//! The servers in a project's `.mcp.json`, which several agents read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use stentor_agent::project_files::{NotRead, Project, Reader};

use super::Found;
use super::error::{FileError, ServerError};
use super::table::{Around, Kind, ServerCommand, Table, check_name, found};
use crate::config::{Lookup, Scope};

/// The name of the file.
pub(super) const FILE: &str = ".mcp.json";
/// A larger file is a mistake, or an attempt on our memory.
const LARGEST_BYTES: u64 = 1024 * 1024;

/// What the file of a project says.
#[derive(Default)]
pub(super) struct Content {
    pub servers: Vec<Found>,
    pub problems: Vec<Problem>,
}

/// A server that makes no sense. The others of its file are not to blame.
pub(super) struct Problem {
    pub name: String,
    pub why: ServerError,
}

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Value>,
}

/// A server as others write it. What means nothing here is no mistake.
#[derive(Deserialize)]
struct Server {
    #[serde(rename = "type")]
    kind: Option<Kind>,
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
    env: Lookup<'_>,
) -> Result<Content, FileError> {
    let root = project.root();
    let path = root.join(FILE);
    let text = match Reader::Project(project).read(&path, LARGEST_BYTES) {
        Ok(text) => text,
        Err(NotRead::Missing) => return Ok(Content::default()),
        Err(why) => return Err(why.into()),
    };
    let written: Written = serde_json::from_slice(&text)?;
    let mut content = Content::default();
    for (name, value) in written.servers {
        let around = Around {
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
            Err(why) => content.problems.push(Problem { name, why }),
        }
    }
    Ok(content)
}

fn one(value: Value, around: Around<'_>) -> Result<Found, ServerError> {
    check_name(around.name)?;
    let server = Server::deserialize(value)?;
    let table = Table {
        command: server.command.map(ServerCommand::One),
        args: server.args,
        env: server.env,
        cwd: server.cwd,
        url: server.url,
        headers: server.headers,
        transport: server.kind,
        enabled: Some(!server.disabled),
        ..Table::default()
    };
    found(table, around)
}
