//! Reaching a server: through the pipes of a program, or over HTTP.

use std::io;
use std::path::Path;
use std::sync::Arc;

use stentor_agent::tool_servers::{SamplingSettings, ToolServer, ToolServerTransport};
use stentor_http::Http;
use stentor_wire::jsonrpc::OwnRequests;
use tokio::task::JoinSet;

use super::callers::{Callers, ServerFolders};
use super::client::{GreetedServer, Notices, ServerMessages};
use super::http::{HttpNotSent, McpEndpoint};
use super::limits::MESSAGE_BYTES;
use super::oauth::McpLogins;
use super::offer::{Offer, Unlisted};
use super::protocol::CANCEL;
use super::requests::{RequestContext, ServerRequests};
use super::sse::{self, SseOpenError};
use super::streamable_http::StreamableHttp;
use crate::json_rpc_child::{
    ChildProcess, ChildSpec, LongLine, MESSAGE_INTERVAL, MessageInbox, Peer, RequestError,
    StderrTail, read_lines, write_lines,
};
use crate::process::Launcher;

/// What servers are reached with: programs are started, addresses asked for. Cheap to clone.
#[derive(Clone, Default)]
pub struct ServerAccess {
    pub launcher: Launcher,
    pub http: Arc<Http>,
    /// The logins to servers behind an address. None: nobody is logged in.
    pub logins: Option<Arc<McpLogins>>,
}

/// A server that answers.
pub(super) struct ServerConnection {
    pub client: GreetedServer,
    pub far_side: FarSide,
}

/// A server's end of the connection, and what carries messages there and back.
pub(super) struct FarSide {
    peer: Arc<Peer>,
    /// What reads and writes. It ends with the connection.
    work: JoinSet<()>,
    process: Option<ChildProcess>,
    http: Option<Arc<StreamableHttp>>,
}

/// Why a server is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub(super) struct ServerFailure {
    /// For a person.
    pub why: String,
    /// True when trying again would end the same way.
    pub is_final: bool,
}

impl ServerFailure {
    pub fn passing(why: impl ToString) -> Self {
        Self {
            why: why.to_string(),
            is_final: false,
        }
    }

    fn lasting(why: impl ToString) -> Self {
        Self {
            why: why.to_string(),
            is_final: true,
        }
    }
}

/// Reaches a server and greets it. What its program writes to stderr goes to `stderr`.
pub(super) async fn open(
    server: &ToolServer,
    folders: &ServerFolders,
    access: &ServerAccess,
    callers: &Arc<Callers>,
    stderr: &StderrTail,
) -> Result<ServerConnection, ServerFailure> {
    let notices = Arc::new(Notices::default());
    let (peer, outgoing) = Peer::new(OwnRequests::counting_up(), CANCEL);
    let asked = RequestContext {
        server: server.clone(),
        callers: Arc::clone(callers),
        folders: folders.clone(),
    };
    let incoming = ServerMessages {
        server: server.clone(),
        notices: Arc::clone(&notices),
        requests: ServerRequests::new(&peer, asked),
    };
    let inbox = MessageInbox::new(Arc::clone(&peer), incoming, MESSAGE_INTERVAL);
    let mut far_side = FarSide {
        peer: Arc::clone(&peer),
        work: JoinSet::new(),
        process: None,
        http: None,
    };
    match &server.transport {
        ToolServerTransport::Stdio {
            command,
            args,
            env,
            cwd: own,
        } => {
            let spec = ChildSpec {
                program: command.clone(),
                args: args.clone(),
                env: env.clone(),
                cwd: own.clone().unwrap_or_else(|| folders.cwd.clone()),
                launcher: access.launcher.sandboxed(server.sandboxed),
            };
            let started = ChildProcess::start(spec, stderr).await;
            let (process, stdin, stdout) = started.map_err(|error| unrunnable(command, &error))?;
            far_side.process = Some(process);
            far_side.work.spawn(write_lines(outgoing, stdin));
            far_side.work.spawn(async move {
                read_lines(stdout, inbox, MESSAGE_BYTES, LongLine::Ends).await;
                peer.close();
            });
        }
        ToolServerTransport::Http { url, headers } => {
            let endpoint = McpEndpoint::new(access, &server.name, url, headers).await;
            let endpoint = endpoint.map_err(ServerFailure::lasting)?;
            let http = StreamableHttp::new(endpoint, inbox);
            far_side.work.spawn(Arc::clone(&http).post_all(outgoing));
            far_side.http = Some(http);
        }
        ToolServerTransport::Sse { url, headers } => {
            let endpoint = McpEndpoint::new(access, &server.name, url, headers).await;
            let endpoint = endpoint.map_err(ServerFailure::lasting)?;
            let opened = sse::open(endpoint, outgoing, inbox, &mut far_side.work).await;
            opened.map_err(|error| match error {
                SseOpenError::NotSent(HttpNotSent::NeedsLogin(_)) => ServerFailure::lasting(error),
                error => ServerFailure::passing(error),
            })?;
        }
    }
    far_side.greeted(&notices, &server.sampling).await
}

impl ServerConnection {
    /// Asks the server what it brings. If it is gone, how it went says more than that it did not
    /// answer.
    pub async fn ask(&mut self, wanted: &ToolServer) -> Result<Offer, Unlisted> {
        match Offer::ask(wanted, &self.client).await {
            Err(Unlisted::Gone { what }) => {
                let why = self.far_side.why_it_ended().await;
                Err(Unlisted::Refused { what, why })
            }
            asked => asked,
        }
    }
}

impl FarSide {
    async fn greeted(
        mut self,
        notices: &Arc<Notices>,
        sampling: &SamplingSettings,
    ) -> Result<ServerConnection, ServerFailure> {
        let client = match GreetedServer::greet(&self.peer, notices, sampling).await {
            Ok(client) => client,
            Err(RequestError::Gone | RequestError::NotSent(_)) => {
                return Err(ServerFailure::passing(self.why_it_ended().await));
            }
            Err(RequestError::Refused(why)) => {
                return Err(ServerFailure::passing(format!(
                    "it refused the greeting: {why}"
                )));
            }
            Err(RequestError::Unreadable(_)) => {
                let why = "it answered the greeting with something else";
                return Err(ServerFailure::passing(why));
            }
            Err(error @ RequestError::NeedsLogin(_)) => return Err(ServerFailure::lasting(error)),
            Err(error) => return Err(ServerFailure::passing(error)),
        };
        if let Some(http) = &self.http {
            http.agreed_on(&client.info.protocol_version);
        }
        client.initialized().map_err(ServerFailure::passing)?;
        if let Some(http) = &self.http {
            self.work.spawn(Arc::clone(http).listen());
        }
        Ok(ServerConnection {
            client,
            far_side: self,
        })
    }

    /// Why the connection is over, for a person.
    pub async fn why_it_ended(&mut self) -> String {
        if let Some(why) = self.peer.given_up() {
            return why;
        }
        if let Some(process) = &mut self.process
            && let Some(ended) = process.ended_soon().await
        {
            return format!("its program ended ({ended})");
        }
        "it closed the connection".to_owned()
    }

    /// Ends the connection, and the server if it is ours to end.
    pub async fn end(mut self) {
        self.peer.close();
        self.work.shutdown().await;
        if let Some(http) = &self.http {
            http.end_session().await;
        }
        if let Some(process) = self.process {
            process.end_gently().await;
        }
    }
}

fn unrunnable(command: &Path, error: &io::Error) -> ServerFailure {
    let why = format!("{} cannot be run: {error}", command.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => ServerFailure::lasting(why),
        _ => ServerFailure::passing(why),
    }
}
