//! A relay: a frontend's stdin and stdout on one side, a server on the other (`--attach`).
//!
//! It is taken before anything else is looked at, and copies bytes without reading them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use stentor_serve::stdio::{self, Pipes};
use stentor_wire::attach::{ClientHello, Hello, MAX_HELLO_BYTES, Outcome, Welcome, Wish};

use crate::config::AttachMode;
use crate::dialect::{Invocation, split_attach};
use crate::environment::Variables;
use crate::log::PatientStderr;
use crate::socket;

/// Exit status when nobody serves.
const FAILED: u8 = 1;

/// Bytes that are copied at once: as many as a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

/// Variables longer than this are not told to the server.
const MAX_VARIABLE_BYTES: usize = 32 << 10;

/// A server that was started for a frontend ends when nobody has been connected for so long.
const IDLE_S: &str = "3600";

/// Why a relay has no server.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error("no server listens on {}: {why}; start one with `stentor serve`", socket.display())]
    NoServer { socket: PathBuf, why: io::Error },
    #[error("the server could not be started: {0}")]
    NotStarted(io::Error),
    #[error("the connection to the server broke: {0}")]
    Broken(io::Error),
    #[error("the server on the socket does not answer as stentor does: {0}")]
    Foreign(String),
    #[error("{0} is not UTF-8, which the server needs it to be")]
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
            start(&socket, &[]).map_err(RelayError::NotStarted)?;
            connect(&socket).map(Some)
        }
        (Err(_), AttachMode::IfRunning | AttachMode::Never) => Ok(None),
    }
}

/// Copies between a frontend and its server until one of them goes away. Returns the exit status.
pub fn run(stream: UnixStream, invocation: &Invocation, pipes: Pipes) -> Result<u8, RelayError> {
    let hello = hello(invocation)?;
    (&stream).write_all(&hello).map_err(RelayError::Broken)?;
    let to_server = stream.try_clone().map_err(RelayError::Broken)?;
    let mut stdin = File::from(pipes.stdin);
    std::thread::spawn(move || {
        // A server that is gone is noticed where it is read from.
        copy(&mut stdin, &mut &to_server).ok();
        to_server.shutdown(Shutdown::Write).ok();
    });
    let mut stdout = File::from(pipes.stdout);
    let mut from_server = BufReader::new(stream);
    match welcome(&mut from_server)? {
        Outcome::Refused(refused) => {
            let _ = writeln!(PatientStderr, "{}", refused.message.trim_end());
            return Ok(refused.status);
        }
        Outcome::Served(_) => {}
    }
    let copied = stdout
        .write_all(from_server.buffer())
        .and_then(|()| copy(&mut from_server.into_inner(), &mut stdout));
    match copied {
        Ok(()) => Ok(0),
        // Nobody reads any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(RelayError::Broken(error)),
    }
}

/// Copies until there is nothing more. Not by `io::copy`, which has the kernel splice: that holds the
/// pipe while it waits for more, and whoever reads from the pipe waits with it.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(buffer.get(..read).unwrap_or_default())?;
    }
}

/// Connects to a server.
pub fn connect(socket: &Path) -> Result<UnixStream, RelayError> {
    UnixStream::connect(socket).map_err(|why| RelayError::NoServer {
        socket: socket.to_owned(),
        why,
    })
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
    };
    Hello::line(Wish::Serve(client)).map_err(|error| RelayError::Broken(error.into()))
}

/// The environment of this process, as a client has it that was started in it.
pub fn variables() -> BTreeMap<String, String> {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        (name.len() + value.len() <= MAX_VARIABLE_BYTES).then_some((name, value))
    });
    variables.collect()
}

fn welcome(from_server: &mut BufReader<UnixStream>) -> Result<Outcome, RelayError> {
    let mut line = Vec::new();
    let mut limited = from_server.by_ref().take(MAX_HELLO_BYTES as u64);
    let read = limited.read_until(b'\n', &mut line);
    read.map_err(RelayError::Broken)?;
    let foreign = || RelayError::Foreign(String::from_utf8_lossy(&line).trim().to_owned());
    let welcome: Welcome = serde_json::from_slice(&line).map_err(|_| foreign())?;
    Ok(welcome.outcome)
}

/// Starts a server that outlives this process, with some more flags, and waits until it is ready.
pub fn start(socket: &Path, flags: &[&str]) -> io::Result<()> {
    let mut server = Command::new(std::env::current_exe()?)
        .arg("serve")
        .arg("--socket")
        .arg(socket)
        .args(["--exit-when-idle", IDLE_S])
        .args(flags)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // What ends the frontend's group does not end it.
        .process_group(0)
        .spawn()?;
    if let Some(ready) = server.stdout.take() {
        // Without a line it has ended: another one may have been quicker.
        BufReader::new(ready).read_line(&mut String::new())?;
    }
    Ok(())
}
