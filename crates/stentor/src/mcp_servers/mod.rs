//! Which MCP servers there are: those of the user's file, of the project's `.mcp.json` and of the
//! project's file. Of several with one name the last counts, at the place of the first.
//!
//! `table` is what a file of ours says of one, `foreign` what other agents' files say, `expand`
//! fills in variables, `check` looks at one that is to be added, and `edit` changes a file of ours.

mod check;
pub mod edit;
mod error;
mod expand;
mod foreign;
mod table;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use stentor_agent::session::SessionServers;
use stentor_agent::tool_servers::ToolServer;
use stentor_tools::mcp::McpServers;
use stentor_tools::process::Launcher;

use crate::config::{Config, ConfigErrors, EnvLookup, Scope};

pub use check::check;
pub use error::ServerError;
pub use expand::Unset;

/// A server that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundServer {
    pub name: String,
    /// What it would be started with, or why it cannot be.
    pub server: Result<ToolServer, Unset>,
    pub is_enabled: bool,
    /// Its command or address as it is written, without what may be secret.
    pub shown: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// Names of variables and headers it is given; their values may be secret.
    pub given: Vec<String>,
    /// Where it is configured, for people.
    pub source: String,
    pub file: PathBuf,
    pub scope: Scope,
}

/// The servers under a configuration, and what was left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllFound {
    pub servers: Vec<FoundServer>,
    /// Servers of a project that is not trusted.
    pub untrusted: Vec<UntrustedServer>,
    /// For a person.
    pub warnings: Vec<String>,
}

/// A server that is left out, since its project is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedServer {
    pub name: String,
    pub file: PathBuf,
}

/// Finds the servers. Mistakes in our own files are errors with their place; mistakes in files of
/// other agents are warnings.
pub fn find(config: &Config, env: EnvLookup<'_>) -> Result<AllFound, ConfigErrors> {
    let untrusted = config
        .untrusted_mcp_servers
        .iter()
        .map(|raw| UntrustedServer {
            name: raw.name.clone(),
            file: raw.at.file.to_path_buf(),
        });
    let mut all = AllFound {
        untrusted: untrusted.collect(),
        ..AllFound::default()
    };
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
        let read = foreign::read(&config.project, config.places.home.as_deref(), env);
        match read {
            Err(why) => {
                let file = root.join(foreign::FILE);
                let warning = format!("{}: left out: {why}", file.display());
                all.warnings.push(warning);
            }
            Ok(content) => all.add_foreign(content, root, config.files.root_trusted),
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
    env: EnvLookup<'_>,
    running: &McpServers,
    launcher: Launcher,
) -> Result<SessionServers, ConfigErrors> {
    let mut servers = SessionServers {
        starter: running.starter(launcher),
        wanted: Vec::new(),
        additional_folders: Vec::new(),
        patience: Duration::from_millis(config.settings.mcp_wait_ms.value),
        problems: Vec::new(),
    };
    if !config.settings.use_mcp_servers.value {
        return Ok(servers);
    }
    let all = find(config, env)?;
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
    /// How a server that is not in `file` is removed from where it is. `None` if it is nowhere.
    pub fn how_to_remove(&self, name: &str, file: &Path) -> Option<String> {
        let known = self.servers.iter().find(|found| found.name == name);
        let untrusted = self.untrusted.iter().find(|server| server.name == name);
        let place = match (known, untrusted) {
            (Some(found), _) => &found.file,
            (None, Some(server)) => &server.file,
            (None, None) => return None,
        };
        let is_foreign = place.file_name().is_some_and(|name| name == foreign::FILE);
        let place_shown = place.display();
        match known.map(|found| found.scope) {
            _ if place == file => None,
            _ if is_foreign => Some(format!("it is in {place_shown}: edit that file")),
            Some(Scope::User) => Some(format!(
                "it is in {place_shown}: use --scope user to remove \
                                               it"
            )),
            Some(Scope::Project) | None => Some(format!(
                "it is in {place_shown}: use --scope project to remove it"
            )),
        }
    }

    /// Takes what is in a project's file of other agents, as far as it is to be trusted.
    fn add_foreign(&mut self, content: foreign::ForeignServers, root: &Path, is_trusted: bool) {
        let foreign::ForeignServers { servers, problems } = content;
        let file = root.join(foreign::FILE);
        let shown = file.display();
        let names = servers.iter().map(|found| &found.name);
        let names = names.chain(problems.iter().map(|problem| &problem.name));
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        for foreign::ServerProblem { name, why } in problems {
            let warning = format!("{shown}: left out: the server {name:?}: {why}");
            self.warnings.push(warning);
        }
        if is_trusted {
            servers.into_iter().for_each(|found| self.add(found));
        } else if !names.is_empty() {
            let left_out = names.into_iter().map(|name| UntrustedServer {
                name,
                file: file.clone(),
            });
            self.untrusted.extend(left_out);
        }
    }

    fn add(&mut self, new: FoundServer) {
        let mut servers = self.servers.iter_mut();
        match servers.find(|have| have.name == new.name) {
            Some(have) => *have = new,
            None => self.servers.push(new),
        }
    }
}
