//! `stentor mcp login` and `stentor mcp logout`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use stentor_agent::tool_servers::ToolServer;
use stentor_serve::input::InputLines;
use stentor_tools::mcp::oauth::{McpLogins, OAuthError};

use super::login::{PASTED_BYTES, pasted_line};
use crate::browser;

/// Why nobody was logged in to a server, or out.
#[derive(Debug, thiserror::Error)]
pub enum McpLoginError {
    #[error("cannot log in to {server}: {why}")]
    Login { server: String, why: OAuthError },
    #[error("cannot log out of {server}: {why}")]
    Logout { server: String, why: OAuthError },
    #[error("nothing was pasted, so the login to {0} was not completed")]
    NothingPasted(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Logs in to a server. The address is printed, and opened by way of `page` where that is given.
pub async fn login(
    logins: &Arc<McpLogins>,
    server: &ToolServer,
    page: Option<&Path>,
    stdin: &mut File,
    out: &mut impl Write,
) -> Result<(), McpLoginError> {
    let name = &server.name;
    let failed = |why| McpLoginError::Login {
        server: name.clone(),
        why,
    };
    let begun = logins.begin(server).await.map_err(failed)?;
    writeln!(out, "Open this in a browser:\n\n  {}\n", begun.url)?;
    let issuer = &begun.issuer;
    writeln!(
        out,
        "The login is at {issuer}. {}",
        instructions(begun.can_wait())
    )?;
    out.flush()?;
    let opened = page.map(|page| browser::open(&begun.url, page));
    if let Some(Err(error)) = opened {
        tracing::debug!(%error, "no browser was opened");
    }
    let pasted = stdin.as_fd().try_clone_to_owned()?;
    let mut lines = InputLines::read(pasted, PASTED_BYTES);
    let completed = match begun.can_wait() {
        true => tokio::select! {
            done = begun.wait() => done,
            // A closed input pastes nothing; the browser can still come back.
            Some(text) = pasted_line(&mut lines) => begun.paste(&text).await,
        },
        false => {
            let text = pasted_line(&mut lines).await;
            let text = text.ok_or_else(|| McpLoginError::NothingPasted(name.clone()))?;
            begun.paste(&text).await
        }
    };
    if let Some(page) = page {
        // It is only there if it was opened.
        let _ = std::fs::remove_file(page);
    }
    completed.map_err(failed)?;
    Ok(writeln!(out, "Logged in to {name}.")?)
}

fn instructions(can_wait: bool) -> &'static str {
    match can_wait {
        true => {
            "If the browser runs on another machine, paste the address it is redirected to, or \
             `code#state`."
        }
        false => "Then paste the address the browser is redirected to, or `code#state`.",
    }
}

/// Forgets the login to a server.
pub async fn logout(
    logins: &McpLogins,
    server: &ToolServer,
    out: &mut impl Write,
) -> Result<(), McpLoginError> {
    let name = &server.name;
    let was = logins.logout(server).await;
    let was = was.map_err(|why| McpLoginError::Logout {
        server: name.clone(),
        why,
    })?;
    let text = match was {
        true => "Logged out of",
        false => "There was no login to",
    };
    Ok(writeln!(out, "{text} {name}.")?)
}
