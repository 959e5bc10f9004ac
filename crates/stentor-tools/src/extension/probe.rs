//! Trying an extension out, outside any session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stentor_agent::box_error::BoxError;
use stentor_agent::event::CommandInfo;
use stentor_agent::tool::ToolSpec;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::handle::Extension;
use super::port::SessionPort;
use super::runner::AttachedProcess;
use super::spec::ExtensionSpec;

/// What an extension that was tried out registered.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbedExtension {
    pub took: Duration,
    pub tools: Vec<ToolSpec>,
    pub commands: Vec<CommandInfo>,
    pub hooks: Vec<&'static str>,
    pub events: Vec<String>,
    /// What of it cannot be used, and why.
    pub problems: Vec<String>,
}

/// Why an extension cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    NotStarted(BoxError),
    /// What went wrong, with the end of what the program wrote to stderr.
    #[error("{0}")]
    NotRegistered(String),
}

/// Starts an extension, has it register, and ends it.
pub async fn probe(spec: ExtensionSpec, cwd: &Path) -> Result<ProbedExtension, ProbeError> {
    let began = Instant::now();
    let extension = Arc::new(Extension::new(
        Arc::new(spec),
        Arc::new(SessionPort::to_nobody(Arc::from(cwd))),
        |_| Value::Null,
        CancellationToken::new(),
        Arc::new(Notify::new()),
    ));
    let mut attached = AttachedProcess::start(&extension)
        .await
        .map_err(|error| ProbeError::NotStarted(error.into()))?;
    match attached.initialize(&extension, false).await {
        Ok(registered) => {
            let took = began.elapsed();
            attached.end_gently(&extension).await;
            Ok(ProbedExtension {
                took,
                tools: registered.tools,
                commands: registered.commands,
                hooks: registered.hooks.iter().map(|hook| hook.as_str()).collect(),
                events: registered.events,
                problems: registered.problems,
            })
        }
        Err(error) => {
            let ended = attached.end_with_stderr(&extension, error.to_string());
            Err(ProbeError::NotRegistered(ended.await))
        }
    }
}
