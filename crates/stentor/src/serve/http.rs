//! `--http`: the server over TCP.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::tasks;
use stentor_serve::http::{self, DefaultClientPlace, HttpOptions, Origins};
use stentor_serve::server::{HttpStatus, Server};
use stentor_wire::attach::AttachRefusal;
use tokio::task::JoinHandle;

use super::ServeError;
use super::token_file::{self, TokenFile};
use crate::args::ServeArgs;
use crate::log::PatientStderr;
use crate::relay;

/// Exit status of who asked for what cannot be opened.
const FAILED: u8 = 1;

/// A socket that HTTP clients can connect to.
pub struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
    tokens: TokenFile,
    token_path: PathBuf,
    origins: Origins,
}

impl HttpListener {
    /// The one that was asked for, if it may be.
    pub fn wanted(args: &ServeArgs, socket: &Path) -> Result<Option<Self>, ServeError> {
        let Some(address) = args.http.map(|http| http.0) else {
            return Ok(None);
        };
        if !address.ip().is_loopback() && args.token_file.is_none() {
            return Err(ServeError::BeyondLoopback(address));
        }
        Self::at(address, args, socket).map(Some)
    }

    /// One on a free port that only this machine reaches.
    fn on_loopback(args: &ServeArgs, socket: &Path) -> Result<Self, ServeError> {
        Self::at((Ipv4Addr::LOCALHOST, 0).into(), args, socket)
    }

    fn at(address: SocketAddr, args: &ServeArgs, socket: &Path) -> Result<Self, ServeError> {
        let origins = Origins::named(args.origin.iter().map(String::as_str))?;
        let beside = || token_file::beside(socket);
        let token_path = args.token_file.clone().unwrap_or_else(beside);
        let token_path = std::path::absolute(token_path)?;
        let tokens = TokenFile::read_or_make(&token_path)?;
        let failed = |why| ServeError::Http { address, why };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            tokens,
            token_path,
            origins,
        })
    }

    /// Shows a new token to who started the server, then the same as [`Self::begin`].
    pub fn show_and_begin(self, server: &Server) -> Result<JoinHandle<()>, ServeError> {
        if self.tokens.is_new {
            // Nobody may read it.
            let _ = writeln!(
                PatientStderr,
                "The page: http://{}/#token={}",
                self.address,
                self.tokens.tokens.drive.reveal()
            );
        }
        self.begin(server)
    }

    /// Accepts clients until the server stops; it ends when they are gone.
    fn begin(self, server: &Server) -> Result<JoinHandle<()>, ServeError> {
        let address = format!("http://{}", self.address);
        if !self.address.ip().is_loopback() {
            let _ = writeln!(
                PatientStderr,
                "What is sent to {address} is not encrypted: put TLS in front of it."
            );
        }
        server.set_http(HttpStatus {
            address,
            token_file: self.token_path,
        });
        let options = HttpOptions {
            tokens: self.tokens.tokens,
            origins: self.origins,
            place: DefaultClientPlace {
                cwd: working_folder()?,
                env: relay::variables(),
            },
        };
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let server = server.clone();
        let accepting = async move { http::accept(&server, &listener, options).await };
        Ok(tasks::spawn(accepting))
    }
}

/// HTTP that is opened when a client of the Unix socket wants it, as `stentor page` does: on loopback, and
/// with a token as otherwise. Clones are the same.
#[derive(Clone, Default)]
pub struct LaterHttp(Arc<Mutex<Option<JoinHandle<()>>>>);

impl LaterHttp {
    /// Has a server open it.
    pub fn offer(&self, server: &Server, args: &ServeArgs, socket: &Path) {
        let (later, args, socket) = (self.clone(), args.clone(), socket.to_owned());
        server.set_http_opener(Box::new(move |server| {
            let mut serving = later.lock();
            if server.http().is_some() {
                // Another one was quicker.
                return Ok(());
            }
            let begun = HttpListener::on_loopback(&args, &socket)
                .and_then(|listener| listener.begin(server));
            *serving = Some(begun.map_err(|why| AttachRefusal {
                message: why.to_string(),
                status: FAILED,
            })?);
            Ok(())
        }));
    }

    /// Waits until its clients are gone, when the server stops.
    pub async fn ended(&self) {
        let serving = self.lock().take();
        if let Some(serving) = serving {
            serving.await.ok();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folder in which the server was started.
pub(super) fn working_folder() -> io::Result<String> {
    let folder = std::env::current_dir()?.into_os_string();
    let not_text = |_| io::Error::other("the working folder is not UTF-8");
    folder.into_string().map_err(not_text)
}
