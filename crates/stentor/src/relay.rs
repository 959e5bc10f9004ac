//! A relay: a frontend's stdin and stdout on one side, a server on the other (`--attach`).
//!
//! It is taken before anything else is looked at, and carries bytes without reading them. When the
//! connection to the server breaks, it makes another and goes on where it was ([`link`]).

mod last_words;
mod link;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use stentor_serve::stdio::{self, Pipes};
use stentor_wire::attach::{
    AttachOutcome, AttachRequest, ClientHello, Hello, MAX_HELLO_BYTES, Release, Welcome,
};

use crate::config::AttachMode;
use crate::dialect::{Invocation, split_attach};
use crate::environment::Variables;
use crate::log::PatientStderr;
use crate::socket;

use last_words::last_words;
use link::{LinkError, RelayLink};

/// Exit status when nobody serves.
const FAILED: u8 = 1;

/// Bytes that are copied at once: as many as a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

/// Variables longer than this are not told to the server.
const MAX_VARIABLE_BYTES: usize = 32 << 10;

/// A server that was started for a frontend ends when nobody has been connected for so long.
const IDLE_S: &str = "3600";

/// How long a server may take for its first line, in which it loads the configuration of a folder.
const FIRST_LINE_WITHIN: Duration = Duration::from_secs(20);

/// Why a relay has no server.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error("no server listens on {}: {why}; start one with `stentor serve`", socket.display())]
    NoServer { socket: PathBuf, why: io::Error },
    #[error("the server could not be started: {0}")]
    NotStarted(io::Error),
    #[error("the server ended when it was started: {0}")]
    EndedAtStart(String),
    #[error("the connection to the server broke: {0}")]
    Broken(io::Error),
    #[error("the server has ended; what it acknowledged is stored, and the session can be resumed")]
    ServerEnded,
    #[error(
        "the server could not be reached again within {tried_s} s: {why}; what it acknowledged is \
         stored, and the session can be resumed"
    )]
    Unreachable { tried_s: u64, why: io::Error },
    #[error("the server cannot resume this connection: {0}")]
    Forgotten(String),
    #[error("the server on the socket does not answer; end its process and start it again")]
    Silent,
    #[error("what listens on the socket is not a Stentor server: {0}")]
    Foreign(String),
    #[error("the server refuses: {0}")]
    Refused(String),
    #[error("{0} is not UTF-8, which the server requires")]
    NotText(&'static str),
}

/// Is a relay if the words ask for it.
pub fn run_if_asked(words: &[OsString]) -> Option<ExitCode> {
    let (invocation, socket) = split_attach(words)?;
    let attached = stdio::take()
        .map_err(RelayError::Broken)
        .and_then(|pipes| attach(socket.as_deref(), &invocation, pipes));
    Some(match attached {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            // Whoever would read it may be gone.
            let _ = writeln!(PatientStderr, "stentor: {why}");
            ExitCode::from(FAILED)
        }
    })
}

/// Relays to the server on `socket`, or on the usual one.
pub fn attach(
    socket: Option<&Path>,
    invocation: &Invocation,
    pipes: Pipes,
) -> Result<u8, RelayError> {
    let usual = || socket::usual(&Variables::OfProcess);
    let socket = socket.map_or_else(usual, Path::to_owned);
    let stream = connect(&socket)?;
    run(stream, invocation, pipes)
}

/// The server that the configuration wants frontends to be served by, if there is to be one.
pub fn connect_as_configured(mode: AttachMode) -> Result<Option<UnixStream>, RelayError> {
    if mode == AttachMode::Never {
        return Ok(None);
    }
    let socket = socket::usual(&Variables::OfProcess);
    match (connect(&socket), mode) {
        (Ok(stream), _) => Ok(Some(stream)),
        (Err(_), AttachMode::Start) => {
            // Another one may have been quicker.
            let started = start(&socket, &[]);
            match (started, connect(&socket)) {
                (Err(why), Err(_)) => Err(why),
                (_, connected) => connected.map(Some),
            }
        }
        (Err(_), AttachMode::IfRunning | AttachMode::Never) => Ok(None),
    }
}

/// Carries bytes between a frontend and its server until one of them goes away. Returns the exit
/// status.
pub fn run(stream: UnixStream, invocation: &Invocation, pipes: Pipes) -> Result<u8, RelayError> {
    let hello = hello(invocation)?;
    let (served, from_server) = match greet(stream, &hello) {
        Ok((AttachOutcome::Served(served), from_server)) => (served, from_server),
        Ok((AttachOutcome::Refused(refused), _)) => {
            let _ = writeln!(PatientStderr, "{}", refused.message.trim_end());
            return Ok(refused.status);
        }
        Ok((AttachOutcome::Resumed(_) | AttachOutcome::Released { .. }, _)) => {
            return Err(RelayError::Foreign("resumed".to_owned()));
        }
        Err(why) => {
            let line = last_words(invocation.dialect, &why.to_string());
            // Whoever would read it may be gone.
            File::from(pipes.stdout).write_all(&line).ok();
            return Err(why);
        }
    };
    let mut link = RelayLink::new(served, from_server, pipes)?;
    match link.carry() {
        Ok((status, message)) => {
            if !message.is_empty() {
                let _ = writeln!(PatientStderr, "stentor: {}", message.trim_end());
            }
            Ok(status)
        }
        // Nobody reads any more.
        Err(LinkError::NoReader) => Ok(0),
        Err(LinkError::Lost(why)) => {
            link.say(&last_words(invocation.dialect, &why.to_string()));
            Err(why)
        }
    }
}

/// Says who connects; what the server answers, and where the rest comes from.
fn greet(
    stream: UnixStream,
    hello: &[u8],
) -> Result<(AttachOutcome, BufReader<UnixStream>), RelayError> {
    // One that does not take all of it may have answered why, or has ended; both is read.
    (&stream).write_all(hello).ok();
    let mut from_server = BufReader::with_capacity(CHUNK_BYTES, stream);
    let outcome = welcome(&mut from_server)?;
    Ok((outcome, from_server))
}

/// Connects to a server of the same user.
pub fn connect(socket: &Path) -> Result<UnixStream, RelayError> {
    connect_to_own(socket).map_err(|why| RelayError::NoServer {
        socket: socket.to_owned(),
        why,
    })
}

/// Anybody may have made a socket in a shared folder, and a server is sent the whole environment.
fn connect_to_own(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    let ours = rustix::process::geteuid();
    let owner = peer(&stream, socket)?;
    if owner != ours.as_raw() && owner != 0 {
        let why = "its process belongs to another user";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    stream.set_read_timeout(Some(FIRST_LINE_WITHIN))?;
    Ok(stream)
}

/// The user whose process listens.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream, _socket: &Path) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid.as_raw())
}

/// The user who made the socket, where the system does not say who listens.
#[cfg(not(target_os = "linux"))]
fn peer(_stream: &UnixStream, socket: &Path) -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(socket.metadata()?.uid())
}

fn hello(invocation: &Invocation) -> Result<Vec<u8>, RelayError> {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    let args = invocation.args.iter().map(text).collect::<Option<Vec<_>>>();
    let cwd = std::env::current_dir().map_err(RelayError::Broken)?;
    let client = ClientHello {
        dialect: invocation.dialect.name().to_owned(),
        args: args.ok_or(RelayError::NotText("an argument"))?,
        cwd: cwd
            .into_os_string()
            .into_string()
            .map_err(|_| RelayError::NotText("the working folder"))?,
        env: variables(),
        observe: false,
        link: true,
        visits: false,
        begins: false,
    };
    Hello::line(AttachRequest::Serve(client)).map_err(|error| RelayError::Broken(error.into()))
}

/// The environment of this process, as a client has it that was started in it.
pub fn variables() -> BTreeMap<String, String> {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        (name.len() + value.len() <= MAX_VARIABLE_BYTES).then_some((name, value))
    });
    variables.collect()
}

/// What an error of the first line means.
pub fn silent_or_broken(error: io::Error) -> RelayError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RelayError::Silent,
        // It was killed before it had read everything.
        io::ErrorKind::ConnectionReset => RelayError::ServerEnded,
        _ => RelayError::Broken(error),
    }
}

/// The first line of the server.
fn welcome(from_server: &mut BufReader<UnixStream>) -> Result<AttachOutcome, RelayError> {
    let mut line = Vec::new();
    let mut limited = from_server.by_ref().take(MAX_HELLO_BYTES as u64);
    let read = limited.read_until(b'\n', &mut line);
    read.map_err(silent_or_broken)?;
    let stream = from_server.get_ref();
    stream.set_read_timeout(None).map_err(RelayError::Broken)?;
    if line.is_empty() {
        return Err(RelayError::ServerEnded);
    }
    let foreign = || RelayError::Foreign(String::from_utf8_lossy(&line).trim().to_owned());
    let welcome: Welcome = serde_json::from_slice(&line).map_err(|_| foreign())?;
    Ok(welcome.outcome)
}

/// Asks the server on the usual socket, if there is one, to let go of a session that nobody uses.
/// False when there is none, or it keeps it.
pub fn release(file: &Path) -> bool {
    let released = || {
        let stream = connect(&socket::usual(&Variables::OfProcess))?;
        let file = file.canonicalize().map_err(RelayError::Broken)?;
        let hello = Hello::line(AttachRequest::Release(Release { file }));
        let hello = hello.map_err(|error| RelayError::Broken(error.into()))?;
        (&stream).write_all(&hello).map_err(RelayError::Broken)?;
        welcome(&mut BufReader::new(stream))
    };
    matches!(released(), Ok(AttachOutcome::Released { was_live: true }))
}

/// Starts a server that outlives this process, with some more flags, and waits until it is ready.
pub fn start(socket: &Path, flags: &[&str]) -> Result<(), RelayError> {
    /// More than anybody wants to read.
    const MOST_BYTES: u64 = 4096;
    let mut server = spawn_server(socket, flags).map_err(RelayError::NotStarted)?;
    let mut ready = String::new();
    if let Some(out) = server.stdout.take() {
        let read = BufReader::new(out).read_line(&mut ready);
        read.map_err(RelayError::NotStarted)?;
    }
    if !ready.is_empty() {
        return Ok(());
    }
    let mut why = Vec::new();
    if let Some(errors) = server.stderr.take() {
        errors.take(MOST_BYTES).read_to_end(&mut why).ok();
    }
    let why = String::from_utf8_lossy(&why);
    let why = why.trim().trim_start_matches("stentor: ");
    Err(RelayError::EndedAtStart(why.to_owned()))
}

/// What it writes to stderr is only read until it is ready: from then on it goes nowhere.
fn spawn_server(socket: &Path, flags: &[&str]) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg("serve")
        .arg("--socket")
        .arg(socket)
        .args(["--exit-when-idle", IDLE_S])
        .args(flags)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // What ends the frontend's group does not end it.
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_says_nothing_is_told_from_one_that_went_away() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let mut from_server = BufReader::new(ours);
        let silent = welcome(&mut from_server).unwrap_err();
        assert!(matches!(silent, RelayError::Silent), "{silent}");
        drop(theirs);
        let gone = welcome(&mut from_server).unwrap_err();
        assert!(matches!(gone, RelayError::ServerEnded), "{gone}");
    }
}
