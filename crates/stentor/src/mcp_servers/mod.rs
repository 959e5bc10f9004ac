//! Which MCP servers there are: those of the user's file, of the project's `.mcp.json` and of the
//! project's file. Of several with one name the last counts, at the place of the first.
//!
//! `table` is what a file of ours says of one, `foreign` what other agents' files say, `expand`
//! fills in variables, and `edit` changes a file of ours.

pub mod edit;
mod expand;
mod foreign;
mod table;

#[cfg(test)]
mod tests;

use std::time::Duration;

use stentor_agent::tool_servers::{SessionServers, ToolServer};
use stentor_tools::mcp::McpServers;
use stentor_tools::sandbox::CommandSandbox;

use crate::config::{Config, ConfigErrors, Lookup, Scope};

pub use table::check_name;

/// A server that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub name: String,
    /// What it would be started with, or why it cannot be.
    pub server: Result<ToolServer, String>,
    pub is_enabled: bool,
    /// Its command or address as it is written, without what may be secret.
    pub shown: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// Names of variables and headers it is given; their values may be secret.
    pub given: Vec<String>,
    /// Where it is configured, for people.
    pub source: String,
    pub scope: Scope,
}

/// The servers under a configuration, and what was left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllFound {
    pub servers: Vec<Found>,
    /// For a person.
    pub warnings: Vec<String>,
}

/// Finds the servers. Mistakes in our own files are errors with their place; mistakes in files of
/// other agents are warnings.
pub fn find(config: &Config, env: Lookup<'_>) -> Result<AllFound, ConfigErrors> {
    let mut all = AllFound::default();
    let mut errors = Vec::new();
    let mut tables = |all: &mut AllFound, scope: Scope| {
        for raw in config
            .mcp_servers
            .iter()
            .filter(|raw| raw.at.scope == scope)
        {
            match table::read(raw, config.places.home.as_deref(), env) {
                Ok(found) => all.add(found),
                Err(error) => errors.push(*error),
            }
        }
    };
    tables(&mut all, Scope::User);
    if let Some(root) = &config.files.root {
        let read = foreign::read(root, config.places.home.as_deref(), env);
        match (read, config.files.root_trusted) {
            (Err(why), _) => all.warnings.push(why),
            (Ok(found), true) => found.into_iter().for_each(|found| all.add(found)),
            (Ok(found), false) if found.is_empty() => {}
            (Ok(found), false) => {
                let names: Vec<String> = found.into_iter().map(|found| found.name).collect();
                all.warnings.push(format!(
                    "{}: left out: the MCP servers in it ({}) would run programs; list the folder \
                     under `trusted_projects` in your own file to trust it",
                    root.join(foreign::FILE).display(),
                    names.join(", ")
                ));
            }
        }
    }
    tables(&mut all, Scope::Project);
    match errors.is_empty() {
        true => Ok(all),
        false => Err(ConfigErrors(errors)),
    }
}

/// The servers that sessions under a configuration have. A client may add to them.
pub fn of_sessions(
    config: &Config,
    env: Lookup<'_>,
    running: &McpServers,
    sandbox: Option<CommandSandbox>,
) -> Result<SessionServers, String> {
    let mut servers = SessionServers {
        starter: running.starter(sandbox),
        wanted: Vec::new(),
        patience: Duration::from_millis(config.settings.mcp_wait_ms.value),
        problems: Vec::new(),
    };
    if !config.settings.use_mcp_servers.value {
        return Ok(servers);
    }
    let all = find(config, env).map_err(|errors| errors.to_string())?;
    servers.problems = all.warnings;
    for found in all.servers.into_iter().filter(|found| found.is_enabled) {
        match found.server {
            Ok(server) => servers.add(server),
            Err(why) => servers.problems.push(format!(
                "The MCP server {:?} cannot be used: {why} ({})",
                found.name, found.source
            )),
        }
    }
    Ok(servers)
}

impl AllFound {
    fn add(&mut self, new: Found) {
        let mut servers = self.servers.iter_mut();
        match servers.find(|have| have.name == new.name) {
            Some(have) => *have = new,
            None => self.servers.push(new),
        }
    }
}
