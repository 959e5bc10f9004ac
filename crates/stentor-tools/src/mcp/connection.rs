//! Reaching a server: through the pipes of a program, or over HTTP.

use std::io;
use std::path::Path;

use rmcp::ServiceExt;
use rmcp::service::{ClientInitializeError, QuitReason, RoleClient, RunningService};
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};

use super::listener::Listener;
use super::offer::{Offer, Unlisted, transport_told};
use super::sse;
use super::stdio::{self, LastWords, Program, ProgramSpec};
use super::streamable;
use super::wire::Ending;
use crate::process::Launcher;

/// A server that answers.
pub(super) struct Connection {
    pub service: RunningService<RoleClient, Listener>,
    pub far_side: FarSide,
}

/// What is known of a server's end of the connection.
pub(super) struct FarSide {
    ending: Ending,
    process: Option<Program>,
}

/// Why a server is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// For a person.
    pub why: String,
    /// True when trying again would end the same way.
    pub is_final: bool,
}

impl Failure {
    pub fn passing(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            is_final: false,
        }
    }

    fn lasting(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            is_final: true,
        }
    }
}

/// Reaches a server and greets it. What its program says on stderr goes to `last_words`.
pub(super) async fn open(
    server: &ToolServer,
    cwd: &Path,
    launcher: &Launcher,
    listener: Listener,
    last_words: &LastWords,
) -> Result<Connection, Failure> {
    let ending = Ending::default();
    match &server.transport {
        ToolServerTransport::Stdio {
            command,
            args,
            env,
            cwd: own,
        } => {
            let spec = ProgramSpec {
                program: command.clone(),
                args: args.clone(),
                env: env.clone(),
                cwd: own.clone().unwrap_or_else(|| cwd.to_owned()),
                launcher: launcher.sandboxed(server.sandboxed),
            };
            let started = stdio::start(spec, last_words, ending.clone()).await;
            let (mut program, wire) = started.map_err(|error| unrunnable(command, &error))?;
            match listener.serve(wire).await {
                Ok(service) => Ok(Connection {
                    service,
                    far_side: FarSide {
                        ending,
                        process: Some(program),
                    },
                }),
                Err(error) => {
                    let why = match ending.told() {
                        Some(why) => why.to_owned(),
                        None => {
                            let ended = program.how_it_ended().await;
                            ended.unwrap_or_else(|| greeting_failed(&error))
                        }
                    };
                    Err(Failure::passing(why))
                }
            }
        }
        ToolServerTransport::Http { url, headers } => {
            let transport = streamable::transport(url, headers).map_err(Failure::lasting)?;
            greeted(listener.serve(transport).await, ending)
        }
        ToolServerTransport::Sse { url, headers } => {
            let opened = sse::open(url, headers, ending.clone()).await;
            let wire = opened.map_err(Failure::passing)?;
            greeted(listener.serve(wire).await, ending)
        }
    }
}

impl Connection {
    /// Asks the server what it brings. If it is gone, how it went says more than that it did not
    /// answer. The error is text for a person.
    pub async fn ask(&mut self, wanted: &ToolServer) -> Result<Offer, String> {
        match Offer::ask(wanted, self.service.peer()).await {
            Ok(offer) => Ok(offer),
            Err(Unlisted::Gone { what }) => {
                let why = self.far_side.told_end(&QuitReason::Closed).await;
                Err(Unlisted::Refused { what, why }.to_string())
            }
            Err(unlisted) => Err(unlisted.to_string()),
        }
    }
}

impl FarSide {
    /// Why the connection is over, given how the library saw it end.
    pub async fn told_end(&mut self, reason: &QuitReason) -> String {
        if let Some(why) = self.ending.told() {
            return why.to_owned();
        }
        if let Some(process) = &mut self.process
            && let Some(how) = process.how_it_ended().await
        {
            return how;
        }
        match reason {
            QuitReason::Closed => "it closed the connection".to_owned(),
            _ => "the connection broke".to_owned(),
        }
    }

    /// Ends the server, if it is ours to end. The connection must be closed already.
    pub async fn end(self) {
        if let Some(process) = self.process {
            process.end().await;
        }
    }
}

fn greeted(
    service: Result<RunningService<RoleClient, Listener>, ClientInitializeError>,
    ending: Ending,
) -> Result<Connection, Failure> {
    match service {
        Ok(service) => Ok(Connection {
            service,
            far_side: FarSide {
                ending,
                process: None,
            },
        }),
        Err(error) => {
            let why = ending.told().map(str::to_owned);
            Err(Failure::passing(
                why.unwrap_or_else(|| greeting_failed(&error)),
            ))
        }
    }
}

/// The library's words quote whole messages; who reads this wants to know what to do.
fn greeting_failed(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "it wants to know who asks: give it a header such as Authorization".to_owned();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the greeting: {}", error.message)
        }
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "it answered the greeting with something else".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => transport_told(error),
        other => other.to_string(),
    }
}

fn unrunnable(command: &Path, error: &io::Error) -> Failure {
    let why = format!("{} cannot be run: {error}", command.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Failure::lasting(why),
        _ => Failure::passing(why),
    }
}
