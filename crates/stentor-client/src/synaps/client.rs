//! The handle of a child.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stentor_wire::synaps::{Attachment, Command, Event, MAX_FRAME_BYTES, PROTOCOL_VERSION};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::connection::{self, EVENTS, Pending};
use super::error::ClientError;
use super::reply::{AvailableModel, SessionState, SessionStats, ToolInfo, TurnEnd};

/// How a child is started.
#[derive(Debug, Clone)]
pub struct StartOptions {
    pub program: PathBuf,
    /// The words before ours, `rpc` usually.
    pub arguments: Vec<String>,
    pub resume: Option<String>,
    pub system: Option<String>,
    pub model: Option<String>,
    /// The folder it works in; ours when absent.
    pub cwd: Option<PathBuf>,
    pub environment: Vec<(String, String)>,
    /// How long it may take to become ready.
    pub ready_within: Duration,
}

/// What a child says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    pub session_id: String,
    pub model: String,
}

/// A child. Clones talk to the same one; it is killed when the last is dropped.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

/// What a child tells besides its answers. It must be read or dropped: while too many wait, so do
/// the answers behind them.
pub struct Events {
    events: mpsc::Receiver<Event>,
}

struct Shared {
    ready: Ready,
    stdin: Mutex<Option<ChildStdin>>,
    process: Mutex<Child>,
    pending: Pending,
    next_id: AtomicU64,
}

impl StartOptions {
    /// `program rpc`, in our folder.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: vec!["rpc".to_owned()],
            resume: None,
            system: None,
            model: None,
            cwd: None,
            environment: Vec::new(),
            ready_within: Duration::from_secs(10),
        }
    }

    fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments);
        let flags = [
            ("--continue", &self.resume),
            ("--system", &self.system),
            ("--model", &self.model),
        ];
        for (flag, value) in flags {
            if let Some(value) = value {
                command.arg(flag).arg(value);
            }
        }
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let variables = self.environment.iter().map(|(name, value)| (name, value));
        command
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

impl Events {
    /// The next one; `None` when the child has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Client {
    /// Starts a child. One that does not become ready is killed.
    pub async fn start(options: &StartOptions) -> Result<(Self, Events), ClientError> {
        let mut process = options.command().spawn().map_err(ClientError::Spawn)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        ) else {
            return Err(ClientError::NotReady("it has no pipes".to_owned()));
        };
        let pending = Pending::default();
        let (sender, mut events) = mpsc::channel(EVENTS);
        tokio::spawn(connection::read(stdout, pending.clone(), sender));
        tokio::spawn(connection::drain(stderr));
        let first = timeout(options.ready_within, events.recv()).await;
        let ready = match first {
            Ok(Some(Event::Ready {
                session_id,
                model,
                protocol_version,
            })) => {
                if protocol_version != PROTOCOL_VERSION {
                    return Err(ClientError::Version(protocol_version));
                }
                Ready { session_id, model }
            }
            Ok(Some(other)) => {
                return Err(ClientError::NotReady(format!(
                    "its first frame was {other:?}"
                )));
            }
            Ok(None) => return Err(ClientError::NotReady("it ended".to_owned())),
            Err(_) => return Err(ClientError::NotReady("it took too long".to_owned())),
        };
        let shared = Shared {
            ready,
            stdin: Mutex::new(Some(stdin)),
            process: Mutex::new(process),
            pending,
            next_id: AtomicU64::new(1),
        };
        let shared = Arc::new(shared);
        Ok((Self { shared }, Events { events }))
    }

    /// What it said first.
    pub fn ready(&self) -> &Ready {
        &self.shared.ready
    }

    /// Has a prompt answered. Returns when the turn is over, however long it takes; a turn that
    /// fails is an error, with the child's reason.
    pub async fn prompt(
        &self,
        message: &str,
        attachments: Vec<Attachment>,
    ) -> Result<TurnEnd, ClientError> {
        let message = message.to_owned();
        self.typed("prompt", |id| Command::Prompt {
            id,
            message,
            attachments,
        })
        .await
    }

    /// Has another message answered.
    pub async fn follow_up(&self, message: &str) -> Result<TurnEnd, ClientError> {
        let message = message.to_owned();
        self.typed("follow_up", |id| Command::FollowUp { id, message })
            .await
    }

    /// Stops the turn. Returns when it is over.
    pub async fn abort(&self) -> Result<(), ClientError> {
        self.ask("abort", |id| Command::Abort { id })
            .await
            .map(drop)
    }

    /// Replaces the conversation by a summary, and returns that.
    pub async fn compact(&self) -> Result<String, ClientError> {
        let body = self.ask("compact", |id| Command::Compact { id }).await?;
        part("compact", body, "summary")
    }

    /// Begins a new conversation, and returns its id.
    pub async fn new_session(&self) -> Result<String, ClientError> {
        let body = self
            .ask("new_session", |id| Command::NewSession { id })
            .await?;
        part("new_session", body, "session_id")
    }

    /// The conversation in the provider's format.
    pub async fn messages(&self) -> Result<Vec<Value>, ClientError> {
        let body = self
            .ask("get_messages", |id| Command::GetMessages { id })
            .await?;
        part("get_messages", body, "messages")
    }

    /// Chooses a model. Returns the name of the one that is active then.
    pub async fn set_model(&self, model: &str) -> Result<String, ClientError> {
        let model = model.to_owned();
        let body = self
            .ask("set_model", |id| Command::SetModel { id, model })
            .await?;
        part("set_model", body, "model")
    }

    /// The models that can be chosen.
    pub async fn available_models(&self) -> Result<Vec<AvailableModel>, ClientError> {
        let name = "get_available_models";
        let body = self
            .ask(name, |id| Command::GetAvailableModels { id })
            .await?;
        part(name, body, "models")
    }

    /// What was consumed.
    pub async fn stats(&self) -> Result<SessionStats, ClientError> {
        self.typed("get_session_stats", |id| Command::GetSessionStats { id })
            .await
    }

    /// The state of the child.
    pub async fn state(&self) -> Result<SessionState, ClientError> {
        self.typed("get_state", |id| Command::GetState { id }).await
    }

    /// The tools of the child.
    pub async fn tools(&self) -> Result<Vec<ToolInfo>, ClientError> {
        let list = |id| Command::ToolsList { id: Some(id) };
        let body = self.ask("tools_list", list).await?;
        part("tools_list", body, "tools")
    }

    /// Ends the child: asks it to, and kills it if it has not gone after `patience`.
    pub async fn stop(&self, patience: Duration) -> Result<ExitStatus, ClientError> {
        // A child that is gone already cannot be asked, and need not.
        self.write(&Command::Shutdown).await.ok();
        self.shared.stdin.lock().await.take();
        let mut process = self.shared.process.lock().await;
        if let Ok(ended) = timeout(patience, process.wait()).await {
            return ended.map_err(|_| ClientError::Gone);
        }
        process.kill().await.map_err(|_| ClientError::Gone)?;
        process.wait().await.map_err(|_| ClientError::Gone)
    }

    async fn typed<T: DeserializeOwned>(
        &self,
        name: &'static str,
        make: impl FnOnce(String) -> Command,
    ) -> Result<T, ClientError> {
        let body = self.ask(name, make).await?;
        read(name, Value::Object(body))
    }

    async fn ask(
        &self,
        name: &'static str,
        make: impl FnOnce(String) -> Command,
    ) -> Result<Map<String, Value>, ClientError> {
        let number = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let id = format!("c{number}");
        let answer = self.shared.pending.wait(id.clone(), name);
        self.write(&make(id)).await?;
        answer.await.map_err(|_| ClientError::Gone)?
    }

    async fn write(&self, command: &Command) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(command).map_err(|error| ClientError::BadAnswer {
            command: "a command",
            why: error.to_string(),
        })?;
        if line.len() > MAX_FRAME_BYTES {
            return Err(ClientError::TooLong {
                bytes: line.len(),
                limit: MAX_FRAME_BYTES,
            });
        }
        line.push(b'\n');
        let mut stdin = self.shared.stdin.lock().await;
        let stdin = stdin.as_mut().ok_or(ClientError::Gone)?;
        stdin
            .write_all(&line)
            .await
            .map_err(|_| ClientError::Gone)?;
        stdin.flush().await.map_err(|_| ClientError::Gone)
    }
}

fn part<T: DeserializeOwned>(
    command: &'static str,
    mut body: Map<String, Value>,
    key: &str,
) -> Result<T, ClientError> {
    let value = body.remove(key).ok_or_else(|| ClientError::BadAnswer {
        command,
        why: format!("there is no `{key}`"),
    })?;
    read(command, value)
}

fn read<T: DeserializeOwned>(command: &'static str, value: Value) -> Result<T, ClientError> {
    serde_json::from_value(value).map_err(|error| ClientError::BadAnswer {
        command,
        why: error.to_string(),
    })
}
