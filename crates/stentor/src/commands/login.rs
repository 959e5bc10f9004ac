//! `stentor login` and `stentor logout`.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use stentor_model::login::{LoginError, LoginInput, LoginStep, Logins};
use stentor_model::registry::Registry;
use stentor_serve::input::{Input, InputLines};

use crate::terminal::tty::Modes;

/// The longest thing worth pasting.
const PASTED_BYTES: usize = 64 * 1024;

/// Logs in at a provider, or lists where one can. The error is text for a person.
pub async fn login(
    logins: &Logins,
    registry: &Registry,
    provider: Option<&str>,
    stdin: &mut File,
    out: &mut impl Write,
) -> Result<(), String> {
    let Some(provider) = provider else {
        return list(logins, out);
    };
    let step = logins.begin(provider).await.map_err(|error| match error {
        LoginError::UnknownProvider { .. } if registry.knows_provider(provider) => format!(
            "{provider} has no login, only API keys; `stentor login {provider} --key` stores one"
        ),
        error => error.to_string(),
    })?;
    show_step(&step, out).map_err(|error| error.to_string())?;
    let pasted = stdin
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| error.to_string())?;
    let mut lines = InputLines::read(pasted, PASTED_BYTES);
    if step.uses_callback_server || step.user_code.is_some() {
        tokio::select! {
            done = logins.complete(provider, LoginInput::Wait) => {
                done.map_err(|error| error.to_string())?;
            }
            // A closed input pastes nothing; the browser can still come back.
            Some(text) = pasted_line(&mut lines) => complete_with(logins, provider, text).await?,
        }
    } else {
        let text = pasted_line(&mut lines).await;
        let text = text.ok_or("nothing was pasted, so the login was not completed")?;
        complete_with(logins, provider, text).await?;
    }
    writeln!(out, "Logged in to {provider}.").map_err(|error| error.to_string())
}

/// Stores an API key: typed without being shown, or the first line of what is piped in. The error is text
/// for a person.
pub async fn store_key(
    registry: &Registry,
    provider: &str,
    stdin: &File,
    out: &mut impl Write,
) -> Result<(), String> {
    let key = match stdin.is_terminal() {
        true => {
            write!(out, "Key for {provider} (it is not shown): ")
                .map_err(|error| error.to_string())?;
            out.flush().map_err(|error| error.to_string())?;
            let hidden = Modes::hidden(stdin);
            let _hidden = hidden.map_err(|error| format!("cannot hide what is typed: {error}"))?;
            let key = first_line(stdin);
            writeln!(out).map_err(|error| error.to_string())?;
            key?
        }
        false => first_line(stdin)?,
    };
    if key.is_empty() || key.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("that is no key: it is empty or has spaces in it".to_owned());
    }
    let file = registry.store_key(provider, &key).await;
    let file = file.map_err(|error| error.to_string())?;
    let stored = format!("The key for {provider} is stored in {}.", file.display());
    writeln!(out, "{stored}").map_err(|error| error.to_string())
}

fn first_line(stdin: &File) -> Result<String, String> {
    let mut line = String::new();
    let limited = stdin.take(PASTED_BYTES as u64);
    let read = BufReader::new(limited).read_line(&mut line);
    read.map_err(|error| format!("cannot read the key: {error}"))?;
    Ok(line.trim().to_owned())
}

/// Forgets a login and a stored key. The error is text for a person.
pub async fn logout(
    logins: &Logins,
    registry: &Registry,
    provider: &str,
    out: &mut impl Write,
) -> Result<(), String> {
    let had_key = registry.forget_key(provider).await;
    let had_key = had_key.map_err(|error| error.to_string())?;
    let was = match logins.logout(provider).await {
        Ok(was) => was || had_key,
        Err(_) if had_key => true,
        Err(error) => return Err(error.to_string()),
    };
    let text = if was {
        "Logged out of"
    } else {
        "There was no login for"
    };
    writeln!(out, "{text} {provider}.").map_err(|error| error.to_string())
}

fn list(logins: &Logins, out: &mut impl Write) -> Result<(), String> {
    let status = logins.status().map_err(|error| error.to_string())?;
    let width = status.iter().map(|one| one.id.len()).max().unwrap_or(0);
    for one in status {
        let state = match (&one.account, one.logged_in) {
            (Some(account), true) => format!("logged in as {account}"),
            (None, true) => "logged in".to_owned(),
            (_, false) => "not logged in".to_owned(),
        };
        writeln!(out, "{:<width$}  {}: {state}", one.id, one.name)
            .map_err(|error| error.to_string())?;
    }
    writeln!(
        out,
        "\nFor the key of any provider: stentor login PROVIDER --key"
    )
    .map_err(|error| error.to_string())
}

fn show_step(step: &LoginStep, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "Open this in a browser:\n\n  {}\n", step.url)?;
    if let Some(code) = &step.user_code {
        writeln!(out, "and enter this code: {code}\n")?;
    }
    writeln!(out, "{}", step.instructions)?;
    out.flush()
}

/// The first line that says something; `None` when the input ends without one.
async fn pasted_line(lines: &mut InputLines) -> Option<String> {
    while let Some(line) = lines.next().await {
        if let Input::Line(text) = line
            && !text.trim().is_empty()
        {
            return Some(text.trim().to_owned());
        }
    }
    None
}

async fn complete_with(logins: &Logins, provider: &str, text: String) -> Result<(), String> {
    let input = LoginInput::Pasted(text);
    logins
        .complete(provider, input)
        .await
        .map_err(|error| error.to_string())
}
