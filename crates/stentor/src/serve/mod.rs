//! `stentor serve`: many clients at once over a Unix socket, in any dialect.

mod control;
#[cfg(feature = "fleet")]
pub mod fleet;
#[cfg(not(feature = "fleet"))]
#[path = "no_fleet.rs"]
pub mod fleet;
mod http;
pub mod page;
mod setup;
mod token_file;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use stentor_serve::server::{Server, ServerOptions, unix_socket};
use stentor_serve::signals::EndSignals;
use stentor_serve::stdio::Pipes;
use tokio::net::UnixListener;

use crate::args::{ServeAction, ServeArgs};
use crate::environment::Variables;
use crate::frontend::{RuntimeError, serve_frontend};
use crate::launcher::HELPER_WORD;
use crate::relay::RelayError;
use crate::socket::{self, ServerSocket, SocketError};

use http::{HttpListener, LaterHttp};
use setup::ClientSetup;
use token_file::TokenFileError;

/// How long the connections may take to end when the server stops.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// The exit status of a node whose name another process has taken.
const LOST_NAME: u8 = 1;

/// Why there is no server, or none that answers.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    NotReached(#[from] RelayError),
    #[error("the socket that was passed cannot be used: {0}")]
    Passed(io::Error),
    #[error("{0}")]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Token(#[from] TokenFileError),
    #[error(transparent)]
    Origin(#[from] stentor_serve::http::NoOrigin),
    #[error(
        "{0} can be reached from other machines: that needs a token that is known there, so name \
         its file with --token-file. What is sent is not encrypted: put TLS in front, as a proxy \
         does, and listen on loopback"
    )]
    BeyondLoopback(std::net::SocketAddr),
    #[error("cannot listen on {address}: {why}")]
    Http {
        address: std::net::SocketAddr,
        why: io::Error,
    },
    #[error(
        "the server on {} does not serve HTTP: {why}; stop it with `stentor serve stop`, or start one \
         with `stentor serve --http PORT`", socket.display()
    )]
    NoHttp { socket: PathBuf, why: String },
    #[error(transparent)]
    Fleet(#[from] fleet::FleetFailure),
    #[error("cannot serve: {0}")]
    Io(#[from] io::Error),
}

/// Serves, or asks a server that runs. Returns the exit status.
pub fn run(args: &ServeArgs, as_json: bool, pipes: Pipes) -> Result<u8, ServeError> {
    let usual = || socket::usual(&Variables::OfProcess);
    let socket = args.socket.clone().unwrap_or_else(usual);
    match args.action {
        None => serve(args, &socket, File::from(pipes.stdout)),
        Some(ServeAction::Status) => {
            control::status(&socket, as_json, &mut File::from(pipes.stdout))?;
            Ok(0)
        }
        Some(ServeAction::Stop) => {
            control::stop(&socket)?;
            Ok(0)
        }
    }
}

fn serve(args: &ServeArgs, path: &std::path::Path, out: File) -> Result<u8, ServeError> {
    let socket = match ServerSocket::passed().map_err(ServeError::Passed)? {
        Some(passed) => passed,
        None => ServerSocket::bind(path)?,
    };
    socket.listener.set_nonblocking(true)?;
    let address = socket.address();
    let http = HttpListener::wanted(args, address.as_deref().unwrap_or(path))?;
    let http = (http, address.unwrap_or_else(|| path.to_owned()));
    serve_frontend(serve_clients(args, socket, http, out))?
}

async fn serve_clients(
    args: &ServeArgs,
    socket: ServerSocket,
    (http, token_beside): (Option<HttpListener>, PathBuf),
    out: File,
) -> Result<u8, ServeError> {
    let mut signals = EndSignals::listen()?;
    let clock = crate::setup::system_clock();
    let epoch = format!("{:x}-{:x}", clock.now_ms(), clock.random());
    let mut options = ServerOptions::new(epoch, HELPER_WORD);
    options.unload_after = args
        .unload_after
        .map_or(options.unload_after, Duration::from_secs);
    options.resume_within = args
        .resume_within
        .map_or(options.resume_within, Duration::from_secs);
    options.max_connections = usize::try_from(args.max_connections).unwrap_or(usize::MAX);
    let fleet = match &args.fleet {
        Some(url) => Some(fleet::Membership::connect(url, &options.epoch).await?),
        None => None,
    };
    let storing = fleet.as_ref().map(fleet::Membership::storing);
    let setup = ClientSetup {
        storing: storing.clone(),
    };
    let server = Server::storing_in(Arc::new(setup), options, storing);
    let node = match fleet {
        Some(fleet) => Some(fleet.join(&server).await?),
        None => None,
    };
    let listener = UnixListener::from_std(socket.listener.try_clone()?)?;
    let serving = http.map(|http| http.show_and_begin(&server)).transpose()?;
    let later_http = LaterHttp::default();
    later_http.offer(&server, args, &token_beside);
    announce(&server, &socket, out)?;
    let idle = args.exit_when_idle.map(Duration::from_secs);
    let code = tokio::select! {
        () = unix_socket::accept(&server, &listener) => 0,
        () = idle_for(&server, idle) => 0,
        signal = signals.next() => signal.exit_code(),
        () = lost_its_name(node.as_ref()) => LOST_NAME,
    };
    // From here on nobody finds it, and who is connected is told.
    drop((listener, socket));
    let ending = async {
        if let Some(node) = &node {
            node.begin_hand_over().await;
        }
        server.wind_down().await;
        if let Some(node) = &node {
            node.leave().await;
        }
        if let Some(serving) = serving {
            serving.await.ok();
        }
        later_http.ended().await;
    };
    if !signals.wind_down(STOP_WAIT, ending).await {
        tracing::warn!("not all connections ended in time");
    }
    Ok(code)
}

/// Waits until the node may not go on, because another process has its name.
async fn lost_its_name(node: Option<&fleet::Node>) {
    match node {
        Some(node) => node.failed().await,
        None => std::future::pending().await,
    }
}

/// Says on one line that it is ready, and where.
fn announce(server: &Server, socket: &ServerSocket, mut out: File) -> io::Result<()> {
    let mut ready = json!({
        "type": "ready",
        "socket": socket.address(),
        "pid": std::process::id(),
        "epoch": server.epoch(),
    });
    if let Some(http) = server.http() {
        ready["http"] = json!(http.address);
        ready["token_file"] = json!(http.token_file);
    }
    match writeln!(out, "{ready}") {
        // Nobody wants to know.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Waits until nobody has been connected for so long.
async fn idle_for(server: &Server, time: Option<Duration>) {
    let Some(time) = time else {
        return std::future::pending().await;
    };
    loop {
        server.idle().await;
        let so_far = server.admitted();
        tokio::time::sleep(time).await;
        if server.is_idle() && server.admitted() == so_far {
            return;
        }
    }
}
