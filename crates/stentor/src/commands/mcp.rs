//! `stentor mcp`: which MCP servers there are, whether they work, and changing them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use serde_json::{Value, json};
use stentor_text::spelling::nearest;
use stentor_tools::mcp::oauth::McpLogins;
use stentor_tools::mcp::{ProbedServer, ServerAccess, ServerContents, probe};
use toml::Table;

use crate::args::{McpAdd, McpScope, McpTransport};
use crate::config::Scope;
use crate::config::error::did_you_mean;
use crate::mcp_servers::{AllFound, FoundServer, ServerError, check, edit};

/// A server that was tried out.
pub struct TestedServer {
    name: String,
    probed: ProbedServer,
}

impl TestedServer {
    /// True when it can be used.
    pub fn works(&self) -> bool {
        self.probed.result.is_ok()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Option<&str> {
        match &self.probed.result {
            Ok(brought) => brought.problems.first().map(String::as_str),
            Err(why) => Some(why),
        }
    }
}

/// Lists the servers, where they are configured, and to which one is logged in.
pub fn list(
    found: &[FoundServer],
    logins: &McpLogins,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let is_logged_in = |found: &FoundServer| {
        let server = found.server.as_ref();
        server.is_ok_and(|server| logins.is_logged_in(server))
    };
    if json {
        let listed = found
            .iter()
            .map(|found| listed_json(found, is_logged_in(found)));
        let listed: Vec<Value> = listed.collect();
        serde_json::to_writer_pretty(&mut *out, &json!({ "mcpServers": listed }))?;
        return writeln!(out);
    }
    if found.is_empty() {
        return writeln!(
            out,
            "There are no MCP servers. Add one: stentor mcp add NAME -- COMMAND ARGS…, or stentor mcp add NAME --url URL"
        );
    }
    let names = found.iter().map(|found| found.name.chars().count());
    let width = names.max().unwrap_or(0);
    for found in found {
        let FoundServer { name, shown, .. } = found;
        let state = match &found.server {
            _ if !found.is_enabled => ", disabled".to_owned(),
            Ok(_) if is_logged_in(found) => ", logged in".to_owned(),
            Ok(_) => String::new(),
            Err(why) => format!(", {why}"),
        };
        let (transport, source) = (found.transport, &found.source);
        writeln!(
            out,
            "{name:<width$}  {transport:<5}  {shown}  ({source}{state})"
        )?;
    }
    Ok(())
}

/// Why a server was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error("--env takes NAME=VALUE")]
    Env,
    #[error("--header takes NAME: VALUE")]
    Header,
    #[error("{0} is given twice")]
    Twice(String),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Edit(#[from] edit::ServerEditError),
}

/// Why a name means no server.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    #[error(
        "the MCP server `{name}` in {} is not used, because the project is not trusted: `stentor \
         trust` allows it",
        file.display()
    )]
    Untrusted { name: String, file: PathBuf },
    #[error("there is no MCP server `{name}`{}", did_you_mean(near))]
    Unknown { name: String, near: Option<String> },
}

/// Adds a server to a file.
pub fn add(file: &Path, wanted: &McpAdd) -> Result<(), AddError> {
    let mut server = Table::new();
    if let Some((program, args)) = wanted.command.split_first() {
        server.insert("command".to_owned(), program.as_str().into());
        if !args.is_empty() {
            server.insert("args".to_owned(), args.to_vec().into());
        }
        let env = pairs(&wanted.env, '=', || AddError::Env)?;
        if !env.is_empty() {
            server.insert("env".to_owned(), env.into());
        }
    } else if let Some(url) = &wanted.url {
        server.insert("url".to_owned(), url.as_str().into());
        if wanted.transport == Some(McpTransport::Sse) {
            server.insert("transport".to_owned(), "sse".into());
        }
        let headers = pairs(&wanted.header, ':', || AddError::Header)?;
        if !headers.is_empty() {
            server.insert("headers".to_owned(), headers.into());
        }
    }
    check(&wanted.name, &server)?;
    Ok(edit::add(file, wanted.scope.into(), &wanted.name, &server)?)
}

/// Says that a server was added, and what is left to do.
pub fn added(
    file: &Path,
    wanted: &McpAdd,
    is_trusted: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let name = &wanted.name;
    writeln!(out, "Added the MCP server {name} to {}.", file.display())?;
    if wanted.scope == McpScope::Project && !is_trusted {
        writeln!(
            out,
            "This project is not trusted, so the server is not used: `stentor trust` allows it."
        )?;
    }
    writeln!(out, "Test it: stentor mcp test {name}")
}

/// The servers of these names, or all that are enabled.
pub fn choose(found: AllFound, names: &[String]) -> Result<Vec<FoundServer>, ChooseError> {
    let AllFound {
        servers: found,
        untrusted,
        ..
    } = found;
    if names.is_empty() {
        return Ok(found.into_iter().filter(|found| found.is_enabled).collect());
    }
    let known: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
    for name in names {
        if known.contains(&name.as_str()) {
            continue;
        }
        if let Some(left_out) = untrusted.iter().find(|server| server.name == *name) {
            return Err(ChooseError::Untrusted {
                name: name.clone(),
                file: left_out.file.clone(),
            });
        }
        return Err(ChooseError::Unknown {
            name: name.clone(),
            near: nearest(name, known.iter().copied()).map(str::to_owned),
        });
    }
    let wanted = |found: &FoundServer| names.contains(&found.name);
    Ok(found.into_iter().filter(wanted).collect())
}

/// Starts the servers, all at once, and asks what they bring.
pub async fn test(found: Vec<FoundServer>, access: &ServerAccess, cwd: &Path) -> Vec<TestedServer> {
    let tests = found.into_iter().map(|found| async move {
        TestedServer {
            name: found.name,
            probed: match found.server {
                Ok(server) => probe(&server, cwd, access).await,
                Err(why) => ProbedServer {
                    result: Err(why.to_string()),
                    stderr: None,
                },
            },
        }
    });
    join_all(tests).await
}

/// Prints what came of it.
pub fn report(tested: &[TestedServer], json: bool, out: &mut impl Write) -> io::Result<()> {
    if json {
        let reports: Vec<Value> = tested.iter().map(report_json).collect();
        serde_json::to_writer_pretty(&mut *out, &json!({ "mcpServers": reports }))?;
        return writeln!(out);
    }
    if tested.is_empty() {
        return writeln!(out, "There are no MCP servers to test.");
    }
    for TestedServer { name, probed } in tested {
        match &probed.result {
            Err(why) => writeln!(out, "{name}  fails: {why}")?,
            Ok(brought) => print_brought(name, brought, out)?,
        }
        if let Some(stderr) = &probed.stderr {
            writeln!(out, "  stderr:")?;
            for line in stderr.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    Ok(())
}

fn print_brought(name: &str, brought: &ServerContents, out: &mut impl Write) -> io::Result<()> {
    let itself = match (&brought.server, &brought.protocol) {
        (Some(server), Some(protocol)) => format!(" ({server}, MCP {protocol})"),
        (None, Some(protocol)) => format!(" (MCP {protocol})"),
        (Some(server), None) => format!(" ({server})"),
        (None, None) => String::new(),
    };
    let ms = brought.took.as_millis();
    writeln!(out, "{name}  works, ready after {ms} ms{itself}")?;
    let tools = brought.tools.iter().map(|tool| tool.name.clone());
    let prompts = brought.prompts.iter().map(|info| match &info.hint {
        Some(hint) => format!("/{} {hint}", info.name),
        None => format!("/{}", info.name),
    });
    for (what, names) in [
        ("tools", tools.collect::<Vec<_>>()),
        ("prompts", prompts.collect()),
        ("resources", brought.resources.clone()),
    ] {
        if !names.is_empty() {
            writeln!(out, "  {what}: {}", names.join(", "))?;
        }
    }
    for problem in &brought.problems {
        writeln!(out, "  problem: {problem}")?;
    }
    Ok(())
}

fn listed_json(found: &FoundServer, is_logged_in: bool) -> Value {
    json!({
        "name": found.name,
        "transport": found.transport,
        "target": found.shown,
        "given": found.given,
        "enabled": found.is_enabled,
        "loggedIn": is_logged_in,
        "scope": match found.scope {
            Scope::User => "user",
            Scope::Project => "project",
        },
        "source": found.source,
        "problem": found.server.as_ref().err().map(ToString::to_string),
    })
}

fn report_json(tested: &TestedServer) -> Value {
    let stderr = &tested.probed.stderr;
    match &tested.probed.result {
        Err(why) => {
            json!({ "name": tested.name, "works": false, "error": why, "stderr": stderr })
        }
        Ok(brought) => json!({
            "name": tested.name,
            "works": true,
            "readyAfterMs": u64::try_from(brought.took.as_millis()).unwrap_or(u64::MAX),
            "server": brought.server,
            "protocol": brought.protocol,
            "tools": brought.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "prompts": brought.prompts.iter().map(|info| &info.name).collect::<Vec<_>>(),
            "resources": brought.resources,
            "problems": brought.problems,
            "stderr": stderr,
        }),
    }
}

fn pairs(given: &[String], between: char, usage: fn() -> AddError) -> Result<Table, AddError> {
    let mut pairs = Table::new();
    for one in given {
        // What was given may be a secret and is not repeated.
        let (name, value) = one.split_once(between).ok_or_else(usage)?;
        let name = name.trim();
        if name.is_empty() {
            return Err(usage());
        }
        let value = match between {
            ':' => value.trim(),
            _ => value,
        };
        // Headers are the same whatever the case of their names; of variables it matters.
        let is_same = |have: &String| match between {
            ':' => have.eq_ignore_ascii_case(name),
            _ => have == name,
        };
        if pairs.keys().any(is_same) {
            return Err(AddError::Twice(name.to_owned()));
        }
        pairs.insert(name.to_owned(), value.into());
    }
    Ok(pairs)
}
