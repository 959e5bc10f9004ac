//! What a server that runs is asked: how it is, and to stop.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use stentor_serve::server::ServerStatus;
use stentor_text::visible::visible;
use stentor_wire::attach::{AttachOutcome, AttachRequest, Hello, ServerControl, Welcome};

use super::ServeError;
use crate::relay::{RelayError, connect, silent_or_broken};

/// The longest line that a server describes itself with.
const MAX_STATUS_BYTES: u64 = 16 * 1024 * 1024;

/// Prints what goes on in the server on `socket`.
pub fn status(socket: &Path, as_json: bool, out: &mut impl Write) -> Result<(), ServeError> {
    let (status, _) = ask(socket, ServerControl::Status)?;
    if as_json {
        let line = serde_json::to_string(&status).map_err(io::Error::from)?;
        return Ok(writeln!(out, "{line}")?);
    }
    writeln!(
        out,
        "A server listens on {} (process {}).",
        socket.display(),
        status.pid
    )?;
    if let Some(http) = &status.http {
        writeln!(out, "  {}", visible(&http.address))?;
    }
    for client in &status.clients {
        let observes = if client.observes { ", observing" } else { "" };
        let away = client.away.map(|seconds| format!(", away for {seconds} s"));
        let away = away.unwrap_or_default();
        let (dialect, cwd) = (visible(&client.dialect), visible(&client.cwd));
        writeln!(out, "  {dialect} in {cwd}{observes}{away}")?;
    }
    for session in &status.sessions {
        let clients = match session.clients {
            0 => "no client".to_owned(),
            1 => "1 client".to_owned(),
            many => format!("{many} clients"),
        };
        writeln!(out, "  session {} ({clients})", session.id)?;
    }
    Ok(())
}

/// Stops the server on `socket` and waits for its end.
pub fn stop(socket: &Path) -> Result<(), ServeError> {
    let (_, mut rest) = ask(socket, ServerControl::Stop)?;
    // The stream ends with the process, also where that ends in the middle.
    io::copy(&mut rest, &mut io::sink()).ok();
    Ok(())
}

pub(super) fn ask(
    socket: &Path,
    control: ServerControl,
) -> Result<(ServerStatus, impl Read + use<>), ServeError> {
    let stream = connect(socket)?;
    let hello = Hello::line(AttachRequest::Control(control)).map_err(io::Error::from)?;
    (&stream).write_all(&hello)?;
    let mut answers = BufReader::<UnixStream>::new(stream);
    let mut line = String::new();
    let read = answers.by_ref().take(MAX_STATUS_BYTES).read_line(&mut line);
    read.map_err(silent_or_broken)?;
    answers.get_ref().set_read_timeout(None)?;
    match serde_json::from_str(&line) {
        Ok(status) => Ok((status, answers)),
        Err(_) => Err(not_a_status(&line).into()),
    }
}

/// What a line says that describes no server.
fn not_a_status(line: &str) -> RelayError {
    match serde_json::from_str::<Welcome>(line) {
        Ok(Welcome {
            outcome: AttachOutcome::Refused(refused),
            ..
        }) => RelayError::Refused(refused.message),
        _ => RelayError::Foreign(line.trim().to_owned()),
    }
}
