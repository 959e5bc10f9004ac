//! `--http`: the server over TCP.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use stentor_agent::tasks;
use stentor_serve::http::{self, ClientPlace, HttpOptions, Origins};
use stentor_serve::server::{HttpStatus, Server};
use tokio::task::JoinHandle;

use super::ServeError;
use super::token_file::{self, TokenFile};
use crate::args::ServeArgs;
use crate::log::PatientStderr;
use crate::relay;

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
        let origins = Origins::named(args.origin.iter().map(String::as_str))?;
        if !address.ip().is_loopback() && args.token_file.is_none() {
            return Err(ServeError::BeyondLoopback(address));
        }
        let beside = || token_file::beside(socket);
        let token_path = args.token_file.clone().unwrap_or_else(beside);
        let token_path = std::path::absolute(token_path)?;
        let tokens = TokenFile::read_or_make(&token_path)?;
        let failed = |why| ServeError::Http { address, why };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Some(Self {
            listener,
            address,
            tokens,
            token_path,
            origins,
        }))
    }

    /// Accepts clients until the server stops; it ends when they are gone.
    pub fn begin(self, server: &Server) -> Result<JoinHandle<()>, ServeError> {
        let address = format!("http://{}", self.address);
        if self.tokens.is_new {
            // Nobody may read it.
            let _ = writeln!(
                PatientStderr,
                "The page: {address}/#token={}",
                self.tokens.tokens.drive.reveal()
            );
        }
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
            place: ClientPlace {
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

/// The folder in which the server was started.
pub(super) fn working_folder() -> io::Result<String> {
    let folder = std::env::current_dir()?.into_os_string();
    let not_text = |_| io::Error::other("the working folder is not UTF-8");
    folder.into_string().map_err(not_text)
}
