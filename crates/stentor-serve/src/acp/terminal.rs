//! A terminal of the client (section 11).

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::tasks;
use stentor_agent::tool::{PlaceCommand, PlaceOutput};
use stentor_wire::acp::method;
use tokio_util::sync::CancellationToken;

use super::calls;
use super::limits;
use super::outbound::{ClientRequests, NoClientAnswer};

/// A terminal of the client. Dropping it releases it, whatever happened.
pub(super) struct ClientTerminal<'a> {
    requests: &'a ClientRequests,
    pub id: String,
}

impl<'a> ClientTerminal<'a> {
    /// `None` when the call was cancelled before the client answered.
    pub async fn open(
        requests: &'a ClientRequests,
        command: &PlaceCommand,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, NoClientAnswer> {
        let params = acp::CreateTerminalRequest::new(requests.session_id(), shell())
            .args(vec!["-c".to_owned(), command.command.clone()])
            .cwd(command.cwd.clone())
            .output_byte_limit(command.output_limit_bytes)
            .meta(requests.trace());
        let opener = requests.clone();
        // Also when nobody waits any more, a terminal that opens late must be released.
        let mut opening = tasks::spawn(async move {
            let opened = opener
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
            opened = &mut opening => opened.unwrap_or(Err(NoClientAnswer::Gone)),
            () = cancel.cancelled() => {
                let requests = requests.clone();
                tasks::spawn(async move {
                    if let Ok(Ok(id)) = opening.await {
                        release(&requests, id).await;
                    }
                });
                return Ok(None);
            }
        };
        Ok(Some(Self {
            requests,
            id: opened?,
        }))
    }

    /// Puts the terminal into the call, before anything can release it.
    pub async fn show(&self, call_id: &str) {
        let update = acp::SessionUpdate::ToolCallUpdate(calls::in_terminal(call_id, &self.id));
        if let Err(error) = self.requests.update(update).await {
            tracing::warn!(%error, "a terminal is not shown");
        }
    }

    /// Waits for the command, or stops it, and takes what it put out.
    pub async fn watch(&self, command: &PlaceCommand, cancel: &CancellationToken) -> PlaceOutput {
        let params =
            acp::WaitForTerminalExitRequest::new(self.requests.session_id(), self.id.clone())
                .meta(self.requests.trace());
        let exits = self.requests.ask::<acp::TerminalExitStatus>(
            method::TERMINAL_WAIT_FOR_EXIT,
            &params,
            None,
        );
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
        let params = acp::TerminalOutputRequest::new(self.requests.session_id(), self.id.clone())
            .meta(self.requests.trace());
        let output = self
            .requests
            .ask::<acp::TerminalOutputResponse>(method::TERMINAL_OUTPUT, &params, Some(wait))
            .await;
        let mut result = stopped();
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
        let params = acp::KillTerminalRequest::new(self.requests.session_id(), self.id.clone())
            .meta(self.requests.trace());
        if let Err(error) = self.requests.send(method::TERMINAL_KILL, &params).await {
            tracing::info!(%error, "a command was not killed");
        }
    }
}

impl Drop for ClientTerminal<'_> {
    fn drop(&mut self) {
        let (requests, id) = (self.requests.clone(), std::mem::take(&mut self.id));
        tasks::spawn(async move { release(&requests, id).await });
    }
}

/// Nobody waits for the answer: there is nothing to be done about it.
async fn release(requests: &ClientRequests, id: String) {
    let params = acp::ReleaseTerminalRequest::new(requests.session_id(), id);
    if let Err(error) = requests.send(method::TERMINAL_RELEASE, &params).await {
        tracing::info!(%error, "a terminal was not released");
    }
}

/// A command of which nothing came back.
pub(super) fn stopped() -> PlaceOutput {
    PlaceOutput {
        output: String::new(),
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
