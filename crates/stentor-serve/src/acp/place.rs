//! The client's own files and terminals as the place where tools work (section 11).
//!
//! What the client does not offer is done on this machine, as without a client.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use serde_json::value::RawValue;
use stentor_agent::tool::{Place, PlaceCommand, PlaceFuture, PlaceOutput};
use stentor_wire::acp::method;
use tokio_util::sync::CancellationToken;

use super::calls;
use super::changes::Before;
use super::client::Client;
use super::events;
use super::limits;
use super::outbound::{Lane, NoAnswer};

/// The place of one session.
pub(super) struct ClientPlace {
    client: Client,
    /// Known once the session has been started.
    lane: OnceLock<Lane>,
    notes: Notes,
}

/// What the place knows about calls and the encoder wants to show.
#[derive(Clone, Default)]
pub(super) struct Notes {
    notes: Arc<Mutex<NotesState>>,
}

#[derive(Default)]
struct NotesState {
    /// The client's terminals, by call.
    terminals: HashMap<String, String>,
    /// What files held before they were written.
    before: HashMap<PathBuf, Before>,
}

impl Notes {
    /// The terminal a call ran in. Asked once, when the call has ended.
    pub fn take_terminal(&self, call_id: &str) -> Option<String> {
        self.lock().terminals.remove(call_id)
    }

    /// The terminal a call runs in.
    pub fn has_terminal(&self, call_id: &str) -> bool {
        self.lock().terminals.contains_key(call_id)
    }

    /// What a file held before it was written. Asked once, when the call has ended.
    pub fn take_before(&self, path: &Path) -> Before {
        self.lock().before.remove(path).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, NotesState> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientPlace {
    pub fn new(client: Client) -> Arc<Self> {
        Arc::new(Self {
            client,
            lane: OnceLock::new(),
            notes: Notes::default(),
        })
    }

    pub fn notes(&self) -> Notes {
        self.notes.clone()
    }

    /// The session is there: from here on its client can be asked.
    pub fn connect(&self, lane: Lane) {
        // It is connected once, by who made it.
        self.lane.set(lane).ok();
    }

    fn lane(&self, offered: bool) -> Option<&Lane> {
        self.lane.get().filter(|_| offered)
    }

    async fn keep_before(&self, path: &Path) {
        let wanted = path.to_owned();
        let before = tokio::task::spawn_blocking(move || Before::of(&wanted)).await;
        let before = before.unwrap_or_default();
        self.notes.lock().before.insert(path.to_owned(), before);
    }
}

impl Place for ClientPlace {
    fn call_begins<'a>(&'a self, call_id: &'a str) -> PlaceFuture<'a, ()> {
        Box::pin(async move {
            let Some(lane) = self.lane.get() else {
                return Ok(());
            };
            let update = acp::SessionUpdate::ToolCallUpdate(calls::in_progress(call_id));
            let mut frames = Vec::new();
            events::update(&mut frames, lane.session.id(), update);
            lane.write(frames).await.map_err(|error| error.to_string())
        })
    }

    /// A client that cannot give the file (most refuse what lies outside the project) leaves it to
    /// the disk; whether it may be read at all was decided before.
    fn read_text<'a>(&'a self, path: &'a Path) -> PlaceFuture<'a, Option<String>> {
        Box::pin(async move {
            let Some(lane) = self.lane(self.client.reads_files) else {
                return Ok(None);
            };
            let params = acp::ReadTextFileRequest::new(session_id(lane), path).meta(lane.trace());
            let asked = lane
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
    fn write_text<'a>(&'a self, path: &'a Path, text: &'a str) -> PlaceFuture<'a, bool> {
        Box::pin(async move {
            self.keep_before(path).await;
            let Some(lane) = self.lane(self.client.writes_files) else {
                return Ok(false);
            };
            let params =
                acp::WriteTextFileRequest::new(session_id(lane), path, text).meta(lane.trace());
            lane.ask::<Box<RawValue>>(method::WRITE_TEXT_FILE, &params, Some(limits::FILE_WAIT))
                .await
                .map_err(|error| format!("{} was not written: {error}", path.display()))?;
            Ok(true)
        })
    }

    fn run_command<'a>(
        &'a self,
        command: &'a PlaceCommand,
        cancel: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>> {
        Box::pin(async move {
            let Some(lane) = self.lane(self.client.has_terminals) else {
                return Ok(None);
            };
            let no_terminal = |error: NoAnswer| format!("The client opened no terminal: {error}");
            let Some(terminal) = Terminal::open(lane, command, cancel)
                .await
                .map_err(no_terminal)?
            else {
                return Ok(Some(stopped(String::new())));
            };
            self.notes
                .lock()
                .terminals
                .insert(command.call_id.clone(), terminal.id.clone());
            terminal.show(&command.call_id).await;
            Ok(Some(terminal.watch(command, cancel).await))
        })
    }
}

/// A terminal of the client. Dropping it releases it, whatever happened.
struct Terminal<'a> {
    lane: &'a Lane,
    id: String,
}

impl<'a> Terminal<'a> {
    /// `None` when the call was cancelled before the client answered.
    async fn open(
        lane: &'a Lane,
        command: &PlaceCommand,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, NoAnswer> {
        let params = acp::CreateTerminalRequest::new(session_id(lane), shell())
            .args(vec!["-c".to_owned(), command.command.clone()])
            .cwd(command.cwd.clone())
            .output_byte_limit(command.output_limit_bytes)
            .meta(lane.trace());
        let lane_of_task = lane.clone();
        // Also when nobody waits any more, a terminal that opens late must be released.
        let mut opening = tokio::spawn(async move {
            let opened = lane_of_task
                .ask::<acp::CreateTerminalResponse>(
                    method::TERMINAL_CREATE,
                    &params,
                    Some(limits::TERMINAL_WAIT),
                )
                .await;
            opened.map(|opened| opened.terminal_id.to_string())
        });
        let opened = tokio::select! {
            biased;
            opened = &mut opening => opened.unwrap_or(Err(NoAnswer::Gone)),
            () = cancel.cancelled() => {
                let lane = lane.clone();
                tokio::spawn(async move {
                    if let Ok(Ok(id)) = opening.await {
                        release(&lane, id).await;
                    }
                });
                return Ok(None);
            }
        };
        Ok(Some(Self { lane, id: opened? }))
    }

    /// Puts the terminal into the call, before anything can release it.
    async fn show(&self, call_id: &str) {
        let mut frames = Vec::new();
        let update = acp::SessionUpdate::ToolCallUpdate(calls::in_terminal(call_id, &self.id));
        events::update(&mut frames, self.lane.session.id(), update);
        if let Err(error) = self.lane.write(frames).await {
            tracing::warn!(%error, "a terminal is not shown");
        }
    }

    /// Waits for the command, or stops it, and takes what it put out.
    async fn watch(&self, command: &PlaceCommand, cancel: &CancellationToken) -> PlaceOutput {
        let params = acp::WaitForTerminalExitRequest::new(session_id(self.lane), self.id.clone())
            .meta(self.lane.trace());
        let exits =
            self.ask::<acp::TerminalExitStatus>(method::TERMINAL_WAIT_FOR_EXIT, &params, None);
        let limit = async {
            match command.timeout_ms {
                Some(ms) => tokio::time::sleep(std::time::Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
        };
        let (exit, timed_out) = tokio::select! {
            exit = exits => (exit.ok(), false),
            () = limit => (None, true),
            () = cancel.cancelled() => (None, false),
        };
        if exit.is_none() {
            self.kill().await;
        }
        let wait = match exit.is_some() || timed_out {
            true => limits::TERMINAL_WAIT,
            false => limits::LAST_OUTPUT_WAIT,
        };
        let params = acp::TerminalOutputRequest::new(session_id(self.lane), self.id.clone())
            .meta(self.lane.trace());
        let output = self
            .ask::<acp::TerminalOutputResponse>(method::TERMINAL_OUTPUT, &params, Some(wait))
            .await;
        let mut result = stopped(String::new());
        if let Ok(output) = output {
            result.output = output.output;
            result.truncated = output.truncated;
        }
        result.timed_out = timed_out;
        result.exit_code = exit.and_then(|exit| exit.exit_code.map(u32::cast_signed));
        result
    }

    /// Nobody waits for the answer: the command ends, or the release ends it.
    async fn kill(&self) {
        let params = acp::KillTerminalRequest::new(session_id(self.lane), self.id.clone())
            .meta(self.lane.trace());
        if let Err(error) = self.lane.tell(method::TERMINAL_KILL, &params).await {
            tracing::info!(%error, "a command was not killed");
        }
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        limit: Option<std::time::Duration>,
    ) -> Result<T, NoAnswer> {
        self.lane.ask(method, params, limit).await
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let (lane, id) = (self.lane.clone(), std::mem::take(&mut self.id));
        tokio::spawn(async move { release(&lane, id).await });
    }
}

/// Nobody waits for the answer: there is nothing to be done about it.
async fn release(lane: &Lane, id: String) {
    let params = acp::ReleaseTerminalRequest::new(session_id(lane), id);
    if let Err(error) = lane.tell(method::TERMINAL_RELEASE, &params).await {
        tracing::info!(%error, "a terminal was not released");
    }
}

fn stopped(output: String) -> PlaceOutput {
    PlaceOutput {
        output,
        truncated: false,
        exit_code: None,
        timed_out: false,
    }
}

fn shell() -> &'static str {
    const BASH: &str = "/bin/bash";
    match Path::new(BASH).exists() {
        true => BASH,
        false => "/bin/sh",
    }
}

fn session_id(lane: &Lane) -> acp::SessionId {
    acp::SessionId::new(Arc::clone(lane.session.id()))
}
