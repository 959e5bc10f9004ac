//! Tools that work with the client's own files and terminals (section 11).
//!
//! What the client does not offer is done on this machine, as without a client.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use serde_json::value::RawValue;
use stentor_agent::tasks;
use stentor_agent::tool::{Place, PlaceCommand, PlaceFuture, PlaceOutput};
use stentor_wire::acp::method;
use tokio_util::sync::CancellationToken;

use super::calls;
use super::changes::FileBefore;
use super::client::AcpClient;
use super::limits;
use super::outbound::{ClientRequests, NoClientAnswer};
use super::terminal::{self, ClientTerminal};

/// The files and terminals of one session's client.
pub(super) struct ClientIo {
    client: AcpClient,
    /// Known once the session has been started.
    requests: OnceLock<ClientRequests>,
    /// Absent for a subagent: its calls are not announced in the session.
    notes: Option<CallNotes>,
}

/// What is known here about calls, for who shows them. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct CallNotes {
    notes: Arc<Mutex<NotesByCall>>,
}

#[derive(Default)]
struct NotesByCall {
    /// The client's terminals, by call.
    terminals: HashMap<String, String>,
    /// What its file held before a call wrote it, by call: calls of one file may overtake what is
    /// shown of those before.
    before: HashMap<String, FileBefore>,
}

impl CallNotes {
    /// The terminal a call ran in. Asked once, when the call has ended.
    pub fn take_terminal(&self, call_id: &str) -> Option<String> {
        self.lock().terminals.remove(call_id)
    }

    /// The terminal a call runs in.
    pub fn has_terminal(&self, call_id: &str) -> bool {
        self.lock().terminals.contains_key(call_id)
    }

    /// What the file held before a call wrote it. Asked once, when the call has ended.
    pub fn take_before(&self, call_id: &str) -> FileBefore {
        self.lock().before.remove(call_id).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, NotesByCall> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientIo {
    pub fn new(client: AcpClient) -> Arc<Self> {
        Arc::new(Self {
            client,
            requests: OnceLock::new(),
            notes: Some(CallNotes::default()),
        })
    }

    pub fn notes(&self) -> CallNotes {
        self.notes.clone().unwrap_or_default()
    }

    /// The session is there: from here on its client can be asked.
    pub fn connect(&self, requests: ClientRequests) {
        // It is connected once, by who made it.
        self.requests.set(requests).ok();
    }

    fn requests(&self, offered: bool) -> Option<&ClientRequests> {
        self.requests.get().filter(|_| offered)
    }

    async fn keep_before(&self, call_id: &str, path: &Path) {
        let Some(notes) = &self.notes else {
            return;
        };
        let path = path.to_owned();
        let before = tasks::spawn_blocking(move || FileBefore::of(&path)).await;
        let before = before.unwrap_or_default();
        notes.lock().before.insert(call_id.to_owned(), before);
    }
}

impl Place for ClientIo {
    fn for_subagent(&self) -> Option<Arc<dyn Place>> {
        Some(Arc::new(Self {
            client: self.client,
            requests: self.requests.clone(),
            notes: None,
        }))
    }

    fn call_begins<'a>(&'a self, call_id: &'a str) -> PlaceFuture<'a, ()> {
        Box::pin(async move {
            let Some(requests) = self.requests(self.notes.is_some()) else {
                return Ok(());
            };
            let update = acp::SessionUpdate::ToolCallUpdate(calls::in_progress(call_id));
            match requests.update(update).await {
                // The session goes on without the client.
                Ok(()) | Err(NoClientAnswer::Gone) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// A client that cannot give the file (most refuse what lies outside the project) leaves it to
    /// the disk; whether it may be read at all was decided before.
    fn read_text<'a>(&'a self, path: &'a Path) -> PlaceFuture<'a, Option<String>> {
        Box::pin(async move {
            let Some(requests) = self.requests(self.client.reads_files) else {
                return Ok(None);
            };
            let params =
                acp::ReadTextFileRequest::new(requests.session_id(), path).meta(requests.trace());
            let asked = requests
                .ask::<acp::ReadTextFileResponse>(
                    method::READ_TEXT_FILE,
                    &params,
                    Some(limits::FILE_WAIT),
                )
                .await;
            match asked {
                Ok(file) => Ok(Some(file.content)),
                Err(error) => {
                    tracing::info!(%error, path = %path.display(), "the disk is read instead");
                    Ok(None)
                }
            }
        })
    }

    /// What the client refuses to write is not written behind its back.
    fn write_text<'a>(
        &'a self,
        call_id: &'a str,
        path: &'a Path,
        text: &'a str,
    ) -> PlaceFuture<'a, bool> {
        Box::pin(async move {
            self.keep_before(call_id, path).await;
            let Some(requests) = self.requests(self.client.writes_files) else {
                return Ok(false);
            };
            let params = acp::WriteTextFileRequest::new(requests.session_id(), path, text)
                .meta(requests.trace());
            let asked = requests
                .ask::<Box<RawValue>>(method::WRITE_TEXT_FILE, &params, Some(limits::FILE_WAIT))
                .await;
            match asked {
                Ok(_) => Ok(true),
                // The session goes on without the client, on this machine.
                Err(NoClientAnswer::Gone) => Ok(false),
                Err(error) => Err(format!("{} was not written: {error}", path.display()).into()),
            }
        })
    }

    fn run_command<'a>(
        &'a self,
        command: &'a PlaceCommand,
        cancel: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>> {
        Box::pin(async move {
            let Some(requests) = self.requests(self.client.has_terminals) else {
                return Ok(None);
            };
            let terminal = match ClientTerminal::open(requests, command, cancel).await {
                Ok(Some(terminal)) => terminal,
                Ok(None) => return Ok(Some(terminal::stopped())),
                // The session goes on without the client, on this machine.
                Err(NoClientAnswer::Gone) => return Ok(None),
                Err(error) => return Err(format!("The client opened no terminal: {error}").into()),
            };
            if let Some(notes) = &self.notes {
                let (call_id, terminal_id) = (command.call_id.clone(), terminal.id.clone());
                notes.lock().terminals.insert(call_id, terminal_id);
                terminal.show(&command.call_id).await;
            }
            Ok(Some(terminal.watch(command, cancel).await))
        })
    }
}
