//! What `stentor mcp` does.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_tools::mcp::ServerAccess;

use super::{FAILED, ProgramFailure, ProgramTask, block_on};
use crate::args::{McpAction, McpScope};
use crate::commands;
use crate::commands::mcp_login;
use crate::config::ConfigErrors;
use crate::mcp_servers::{self, edit::ServerEditError};
use crate::print::streams::{StdoutWriter, stderr};
use crate::setup;
use crate::untrusted::brought;

impl ProgramTask<'_> {
    /// Does something with the MCP servers.
    pub(super) fn mcp(
        &self,
        action: Option<&McpAction>,
        stdin: &mut File,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let json = self.args.ask.json;
        match action {
            // That one needs stdin and stdout for itself, and has been done.
            Some(McpAction::Serve) => Ok(0),
            None | Some(McpAction::List) => {
                let found = self.mcp_servers()?;
                self.warn(&found);
                let logins = self.models.mcp_logins();
                ProgramFailure::printing(commands::mcp::list(&found.servers, &logins, json, out))
            }
            Some(McpAction::Add(wanted)) => {
                let file = self.file_of(wanted.scope)?;
                commands::mcp::add(&file, wanted).map_err(ProgramFailure::usage)?;
                let trusted = self.config.files.root_trusted;
                ProgramFailure::printing(commands::mcp::added(&file, wanted, trusted, out))
            }
            Some(McpAction::Remove { name, scope }) => {
                let file = self.file_of(*scope)?;
                let removed = mcp_servers::edit::remove(&file, name).map_err(|error| {
                    let elsewhere = matches!(error, ServerEditError::Missing { .. })
                        .then(|| self.mcp_servers().ok())
                        .flatten()
                        .and_then(|found| found.how_to_remove(name, &file));
                    let hint = elsewhere.map_or(String::new(), |how| format!("; {how}"));
                    ProgramFailure::usage(format!("{error}{hint}"))
                });
                removed?;
                let removed = format!("Removed the MCP server {name} from {}.", file.display());
                ProgramFailure::printing(writeln!(out, "{removed}"))
            }
            Some(McpAction::Test { names }) => self.test_servers(names, json, out),
            Some(McpAction::Login { server, no_browser }) => {
                let server = self.server_named(server)?;
                let page = self.config.places.config_dir.as_ref();
                let page = page.filter(|_| !no_browser && stdin.is_terminal());
                let page = page.map(|folder| folder.join("mcp-login.html"));
                let logins = self.models.mcp_logins();
                let login = mcp_login::login(&logins, &server, page.as_deref(), stdin, out);
                block_on(login)?.map_err(ProgramFailure::other).map(|()| 0)
            }
            Some(McpAction::Logout { server }) => {
                let server = self.server_named(server)?;
                let logins = self.models.mcp_logins();
                let logout = mcp_login::logout(&logins, &server, out);
                block_on(logout)?.map_err(ProgramFailure::other).map(|()| 0)
            }
        }
    }

    fn test_servers(
        &self,
        names: &[String],
        json: bool,
        out: &mut StdoutWriter<'_>,
    ) -> Result<u8, ProgramFailure> {
        let found = self.mcp_servers()?;
        self.warn(&found);
        let chosen = commands::mcp::choose(found, names).map_err(ProgramFailure::usage)?;
        let launcher = setup::session_launcher(&self.config, &self.cwd);
        let access = ServerAccess {
            launcher: launcher.map_err(ProgramFailure::other)?,
            http: Arc::clone(self.models.registry().http()),
            logins: Some(self.models.mcp_logins()),
        };
        let tested = block_on(commands::mcp::test(chosen, &access, &self.cwd))?;
        let all_work = tested.iter().all(commands::mcp::TestedServer::works);
        ProgramFailure::printing(commands::mcp::report(&tested, json, out))?;
        Ok(if all_work { 0 } else { FAILED })
    }

    /// The server of a name, or one behind an address that a client of ours has named.
    fn server_named(&self, name: &str) -> Result<ToolServer, ProgramFailure> {
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("https://") || lower.starts_with("http://") {
            let transport = ToolServerTransport::Http {
                url: name.to_owned(),
                headers: Vec::new(),
            };
            return Ok(ToolServer::new(name, transport));
        }
        let found = self.mcp_servers()?;
        let chosen = commands::mcp::choose(found, &[name.to_owned()]);
        let chosen = chosen.map_err(ProgramFailure::usage)?.into_iter().next();
        let missing = || ProgramFailure::usage(format!("there is no MCP server `{name}`"));
        chosen
            .ok_or_else(missing)?
            .server
            .map_err(ProgramFailure::usage)
    }

    fn mcp_servers(&self) -> Result<mcp_servers::AllFound, ConfigErrors> {
        mcp_servers::find(&self.config, &|name| self.config.variable(name))
    }

    fn warn(&self, found: &mcp_servers::AllFound) {
        let wanted = brought::waiting(&self.config, &|name| self.config.variable(name));
        let root = self.config.project.root();
        let notice = (!wanted.is_empty()).then(|| brought::notice(root, &wanted));
        let warnings = self.config.warnings.iter().map(ToString::to_string);
        let warnings = warnings.chain(notice);
        for warning in warnings.chain(found.warnings.iter().cloned()) {
            let _ = writeln!(stderr(), "warning: {warning}");
        }
    }

    /// The file that a change of the configuration goes to.
    fn file_of(&self, scope: McpScope) -> Result<PathBuf, ProgramFailure> {
        self.config
            .file_to_change(scope.into())
            .map_err(ProgramFailure::other)
    }
}
