//! `stentor login` and `stentor logout`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use stentor_model::login::{self, LoginInput, LoginStep, Logins};
use stentor_model::registry::{Registry, StoreKeyError};
use stentor_serve::input::{InputLine, InputLines};

use crate::terminal::tty::Modes;

/// The longest thing worth pasting.
pub(super) const PASTED_BYTES: usize = 64 * 1024;

/// Why nobody was logged in or out.
#[derive(Debug, thiserror::Error)]
pub enum LoginCommandError {
    #[error(transparent)]
    Provider(#[from] login::LoginError),
    #[error(transparent)]
    StoreKey(#[from] StoreKeyError),
    #[error("{0} has no login, only API keys; `stentor login {0} --key` stores one")]
    OnlyKeys(String),
    #[error("nothing was pasted, so the login was not completed")]
    NothingPasted,
    #[error("cannot hide what is typed: {0}")]
    NotHidden(io::Error),
    #[error("cannot read the key: {0}")]
    KeyNotRead(io::Error),
    #[error("that is not a key: it is empty or contains spaces")]
    NoKey,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Logs in at a provider, or lists where one can.
pub async fn login(
    logins: &Logins,
    registry: &Registry,
    provider: Option<&str>,
    stdin: &mut File,
    out: &mut impl Write,
) -> Result<(), LoginCommandError> {
    let Some(provider) = provider else {
        return list(logins, out);
    };
    let step = logins.begin(provider).await.map_err(|error| match error {
        login::LoginError::UnknownProvider { .. } if registry.knows_provider(provider) => {
            LoginCommandError::OnlyKeys(provider.to_owned())
        }
        error => error.into(),
    })?;
    show_step(&step, out)?;
    let pasted = stdin.as_fd().try_clone_to_owned()?;
    let mut lines = InputLines::read(pasted, PASTED_BYTES);
    if step.uses_callback_server || step.user_code.is_some() {
        tokio::select! {
            done = logins.complete(provider, LoginInput::Wait) => {
                done?;
            }
            // A closed input pastes nothing; the browser can still come back.
            Some(text) = pasted_line(&mut lines) => complete_with(logins, provider, text).await?,
        }
    } else {
        let text = pasted_line(&mut lines).await;
        let text = text.ok_or(LoginCommandError::NothingPasted)?;
        complete_with(logins, provider, text).await?;
    }
    Ok(writeln!(out, "Logged in to {provider}.")?)
}

/// Stores an API key: typed without being shown, or the first line of what is piped in.
pub async fn store_key(
    registry: &Registry,
    provider: &str,
    stdin: &File,
    out: &mut impl Write,
) -> Result<(), LoginCommandError> {
    let key = match stdin.is_terminal() {
        true => {
            // Before anybody is asked to type.
            let _hidden = Modes::hidden(stdin).map_err(LoginCommandError::NotHidden)?;
            write!(out, "Key for {provider} (it is not shown): ")?;
            out.flush()?;
            let key = first_line(stdin);
            writeln!(out)?;
            key?
        }
        false => first_line(stdin)?,
    };
    if key.is_empty() || key.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(LoginCommandError::NoKey);
    }
    let file = registry.store_key(provider, &key).await?;
    let stored = format!("The key for {provider} is stored in {}.", file.display());
    Ok(writeln!(out, "{stored}")?)
}

fn first_line(stdin: &File) -> Result<String, LoginCommandError> {
    let mut line = String::new();
    let limited = stdin.take(PASTED_BYTES as u64);
    let read = BufReader::new(limited).read_line(&mut line);
    read.map_err(LoginCommandError::KeyNotRead)?;
    Ok(line.trim().to_owned())
}

/// Forgets a login and a stored key.
pub async fn logout(
    logins: &Logins,
    registry: &Registry,
    provider: &str,
    out: &mut impl Write,
) -> Result<(), LoginCommandError> {
    let had_key = registry.forget_key(provider).await?;
    let was = match logins.logout(provider).await {
        Ok(was) => was || had_key,
        Err(_) if had_key => true,
        Err(error) => return Err(error.into()),
    };
    let text = if was {
        "Logged out of"
    } else {
        "There was no login for"
    };
    Ok(writeln!(out, "{text} {provider}.")?)
}

fn list(logins: &Logins, out: &mut impl Write) -> Result<(), LoginCommandError> {
    let status = logins.status()?;
    let width = status.iter().map(|one| one.id.len()).max().unwrap_or(0);
    for one in status {
        let state = match (&one.account, one.logged_in) {
            (Some(account), true) => format!("logged in as {account}"),
            (None, true) => "logged in".to_owned(),
            (_, false) => "not logged in".to_owned(),
        };
        writeln!(out, "{:<width$}  {}: {state}", one.id, one.name)?;
    }
    writeln!(
        out,
        "\nFor the key of any provider: stentor login PROVIDER --key"
    )?;
    Ok(())
}

fn show_step(step: &LoginStep, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Open this in a browser:\n\n  {}\n", step.url)?;
    if let Some(code) = &step.user_code {
        writeln!(out, "and enter this code: {code}\n")?;
    }
    writeln!(out, "{}", step.instructions)?;
    out.flush()
}

/// The first line that says something; `None` when the input ends without one.
pub(super) async fn pasted_line(lines: &mut InputLines) -> Option<String> {
    while let Some(line) = lines.next().await {
        if let InputLine::Line(text) = line
            && !text.trim().is_empty()
        {
            return Some(text.trim().to_owned());
        }
    }
    None
}

async fn complete_with(
    logins: &Logins,
    provider: &str,
    text: String,
) -> Result<(), LoginCommandError> {
    let input = LoginInput::Pasted(text);
    Ok(logins.complete(provider, input).await?)
}
