//! The commands (sections 6, 8 and 12).

use serde_json::{Map, Value, json};
use stentor_agent::session::{OwnCommand, SessionError};
use stentor_agent::tasks;
use stentor_journal::message::ContentBlock;
use stentor_wire::synaps::{self, Attachment, BUSY, Command, Event, MAX_FRAME_BYTES, TOO_LONG};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::attachments::{self, AttachmentError};
use super::child::SynapsChild;
use super::opening::{self, name_of};
use super::turn::{SynapsTurn, turn_usage};
use super::{events, history, limits};
use crate::input::InputLine;

/// Whether the child goes on.
pub(super) enum AfterCommand {
    GoOn,
    Shutdown,
}

impl SynapsChild {
    /// Handles one line.
    pub async fn handle(&mut self, line: InputLine) -> AfterCommand {
        match line {
            InputLine::Line(line) if line.trim().is_empty() => {}
            InputLine::Line(line) => match synaps::parse(&line) {
                Ok(Command::Shutdown) => return AfterCommand::Shutdown,
                Ok(command) => self.command(command).await,
                Err(error) => self.error(error.id, &error.message).await,
            },
            InputLine::TooLong => self.error(None, TOO_LONG).await,
            InputLine::InvalidUtf8 => self.error(None, "frame is not valid UTF-8").await,
        }
        AfterCommand::GoOn
    }

    async fn command(&mut self, command: Command) {
        match command {
            Command::Prompt {
                id,
                message,
                attachments,
            } => {
                self.prompt("prompt", id, message, attachments).await;
            }
            Command::FollowUp { id, message } => {
                self.prompt("follow_up", id, message, Vec::new()).await;
            }
            Command::Abort { id } => self.abort(id).await,
            Command::Compact { id } => self.compact(id).await,
            Command::NewSession { id } => self.new_session(id).await,
            Command::GetMessages { id } => match self.session.messages().await {
                Ok(messages) => {
                    let body = messages_body(history::render(&messages));
                    self.respond(id, "get_messages", body).await;
                }
                Err(error) => self.error(Some(id), &error.to_string()).await,
            },
            Command::SetModel { id, model } => self.set_model(id, &model).await,
            Command::GetAvailableModels { id } => {
                let models: Vec<Value> = self
                    .agent
                    .models()
                    .available()
                    .iter()
                    .map(|info| {
                        json!({ "provider": info.provider, "model_id": info.id, "model_name": info.name })
                    })
                    .collect();
                self.respond(
                    id,
                    "get_available_models",
                    json!({ "ok": true, "models": models }),
                )
                .await;
            }
            Command::GetSessionStats { id } => self.stats(id).await,
            Command::GetState { id } => match self.session.state().await {
                Ok(state) => {
                    let model = self.next_model.clone().or(state.model);
                    // What another client has begun runs as well.
                    let has_turn = self.turns.in_flight() || self.session.is_shared();
                    let mut body = json!({
                        "ok": true,
                        "streaming": state.is_running && has_turn,
                        "model": model.map_or_else(String::new, |info| name_of(&info)),
                        "session_id": &*state.id,
                        "message_count": state.message_count,
                    });
                    // A key that parents do not know does them no harm (section 8).
                    if let Some(sandbox) = state.sandbox.to_report() {
                        body["sandbox"] = json!(sandbox);
                    }
                    if let Some(cursor) = self.cursor() {
                        body["cursor"] = cursor;
                    }
                    self.respond(id, "get_state", body).await;
                }
                Err(error) => self.error(Some(id), &error.to_string()).await,
            },
            Command::ToolsList { id } => {
                let tools = match self.session.tools().await {
                    Ok(specs) => tools_list(specs.iter()),
                    Err(error) => return self.error(id, &error.to_string()).await,
                };
                let body = json!({ "ok": true, "tools": tools });
                self.respond(id.unwrap_or_default(), "tools_list", body)
                    .await;
            }
            // Taken by the caller.
            Command::Shutdown => {}
        }
    }

    async fn prompt(
        &mut self,
        command: &'static str,
        id: String,
        message: String,
        files: Vec<Attachment>,
    ) {
        if message.trim().is_empty() && files.is_empty() {
            return self.nothing_to_do(command, id).await;
        }
        if files.is_empty() && self.is_own_command(&message).await {
            return self.run_own(command, id, message).await;
        }
        let started = Instant::now();
        let running = self.session.state().await.is_ok_and(|s| s.is_running);
        if !running && let Err(error) = self.take_over_model().await {
            return self.refused(command, id, &error).await;
        }
        let model = self.model().await;
        let content = match blocks(message, files, model.as_deref()).await {
            Ok(content) => content,
            Err(error) => return self.error(Some(id), &error.to_string()).await,
        };
        let content = match self.session.expand(content).await {
            Ok(content) => content,
            Err(error) => return self.error(Some(id), &error.to_string()).await,
        };
        match self.session.prompt(content).await {
            Ok(accepted) => {
                self.turn_count += 1;
                self.turns.begin(SynapsTurn {
                    id,
                    command,
                    model: self.model_name().await,
                    started,
                    number: self.turn_count,
                    begins_after: self.session.seq(),
                    usage: stentor_journal::usage::Usage::default(),
                    outcome: None,
                });
                // The run begins here, when everybody knows whose it is.
                drop(accepted);
            }
            Err(SessionError::Busy) => self.error(Some(id), BUSY).await,
            Err(error) => self.refused(command, id, &error).await,
        }
    }

    /// True for a command of the program itself, unless somebody has written another by that name. The
    /// protocol has no commands, but its prompts may call those of files.
    async fn is_own_command(&self, message: &str) -> bool {
        self.session.own_command(message).await.is_some()
    }

    /// A command of the program is a turn without a model: what it says is the text of the answer.
    async fn run_own(&self, command: &'static str, id: String, message: String) {
        if self.turns.in_flight() {
            return self.error(Some(id), BUSY).await;
        }
        let (session, answers) = (self.session.clone(), self.answers.clone());
        in_order(async move {
            let mut frames = Vec::new();
            let Some(own) = OwnCommand::called(&message) else {
                return;
            };
            match session.run_own(own).await {
                Ok(answer) => {
                    events::text(&mut frames, &answer.text);
                    let usage = turn_usage(&stentor_journal::usage::Usage::default(), None);
                    events::write(&mut frames, &Event::AgentEnd { usage });
                    response(&mut frames, id, command, json!({ "ok": true }));
                }
                Err(error) => {
                    let (id, message) = (Some(id), error.to_string());
                    events::write(&mut frames, &Event::Error { id, message });
                }
            }
            answers.send(session.seq(), frames).await.ok();
        })
        .await;
    }

    /// A prompt that says nothing ends at once, without a model (section 8.1).
    async fn nothing_to_do(&self, command: &'static str, id: String) {
        if self.turns.in_flight() {
            return self.error(Some(id), BUSY).await;
        }
        let mut frames = Vec::new();
        let usage = turn_usage(&stentor_journal::usage::Usage::default(), None);
        events::write(&mut frames, &Event::AgentEnd { usage });
        response(&mut frames, id, command, json!({ "ok": true }));
        self.send(frames).await;
    }

    /// A prompt that cannot reach a model is a turn that failed (section 9.4).
    async fn refused(&self, command: &'static str, id: String, error: &SessionError) {
        let message = error.to_string();
        let mut frames = Vec::new();
        events::write(
            &mut frames,
            &Event::Error {
                id: Some(id.clone()),
                message: message.clone(),
            },
        );
        let usage = turn_usage(&stentor_journal::usage::Usage::default(), None);
        events::write(&mut frames, &Event::AgentEnd { usage });
        response(
            &mut frames,
            id,
            command,
            json!({ "ok": false, "error": message }),
        );
        self.send(frames).await;
    }

    /// Stopping takes a moment; the loop goes on reading meanwhile. But the session must have
    /// heard of it before it hears of the next command, and aborts are answered in their order.
    async fn abort(&mut self, id: String) {
        if let Err(error) = self.agent.may_drive() {
            return self.error(Some(id), &error.to_string()).await;
        }
        let mut frames = Vec::new();
        response(&mut frames, id, "abort", json!({ "ok": true }));
        if !self.session.state().await.is_ok_and(|s| s.is_running) {
            return self.send(frames).await;
        }
        let (session, answers) = (self.session.clone(), self.answers.clone());
        let before = self.last_abort.take();
        self.last_abort = in_order(async move {
            session.abort().await.ok();
            if let Some(before) = before {
                before.await.ok();
            }
            answers.send(session.seq(), frames).await.ok();
        })
        .await;
    }

    async fn compact(&mut self, id: String) {
        let state = match self.session.state().await {
            Ok(state) => state,
            Err(error) => return self.error(Some(id), &error.to_string()).await,
        };
        if state.is_running {
            return self.error(Some(id), BUSY).await;
        }
        if state.message_count == 0 {
            return self
                .respond(id, "compact", json!({ "ok": true, "summary": "" }))
                .await;
        }
        if let Err(error) = self.take_over_model().await {
            return self.error(Some(id), &error.to_string()).await;
        }
        let (session, answers) = (self.session.clone(), self.answers.clone());
        let started = Instant::now();
        in_order(async move {
            let mut frames = Vec::new();
            match session.compact(None).await {
                Ok(result) => {
                    let body = json!({ "ok": true, "summary": result.summary });
                    response(&mut frames, id, "compact", body);
                }
                Err(error) => failed_late(&mut frames, id, "compact", error.to_string(), started),
            }
            answers.send(session.seq(), frames).await.ok();
        })
        .await;
    }

    async fn new_session(&mut self, id: String) {
        let running = self
            .session
            .state()
            .await
            .is_ok_and(|state| state.is_running);
        if running {
            return self.error(Some(id), BUSY).await;
        }
        match self.renew().await {
            Ok(session_id) => {
                let mut body = json!({ "ok": true, "session_id": session_id });
                if let Some(cursor) = self.cursor() {
                    body["cursor"] = cursor;
                }
                self.respond(id, "new_session", body).await;
            }
            Err(error) => self.error(Some(id), &error.to_string()).await,
        }
    }

    async fn set_model(&mut self, id: String, name: &str) {
        // It is noted here until the session is at rest.
        if let Err(error) = self.agent.may_drive() {
            return self.error(Some(id), &error.to_string()).await;
        }
        let Some(info) = opening::model(&self.agent, name) else {
            let text = format!("unknown model `{name}`: see get_available_models");
            return self.error(Some(id), &text).await;
        };
        let body = json!({ "ok": true, "model": name_of(&info) });
        self.next_model = Some(info);
        if !self.session.state().await.is_ok_and(|s| s.is_running) {
            match self.take_over_model().await {
                // One without a key is chosen all the same, as on the command line: whoever
                // prompts it is told what it lacks.
                Ok(()) | Err(SessionError::Model(_)) => {}
                Err(error) => return self.error(Some(id), &error.to_string()).await,
            }
        }
        self.respond(id, "set_model", body).await;
    }

    async fn stats(&self, id: String) {
        let (stats, model) = (self.session.stats().await, self.model_name().await);
        match stats {
            Ok(stats) => {
                let usage = stats.total_usage;
                let body = json!({
                    "ok": true,
                    "input_tokens": usage.input,
                    "output_tokens": usage.output,
                    "cache_read_input_tokens": usage.cache_read,
                    "cache_creation_input_tokens": usage.cache_write,
                    "cost": usage.cost.total,
                    "message_count": stats.total_messages,
                    "model": model,
                    "session_id": &*stats.id,
                });
                self.respond(id, "get_session_stats", body).await;
            }
            Err(error) => self.error(Some(id), &error.to_string()).await,
        }
    }

    async fn respond(&self, id: String, command: &str, body: Value) {
        let mut frames = Vec::new();
        response(&mut frames, id, command, body);
        self.send(frames).await;
    }

    async fn error(&self, id: Option<String>, message: &str) {
        let mut frames = Vec::new();
        events::write(
            &mut frames,
            &Event::Error {
                id,
                message: message.to_owned(),
            },
        );
        self.send(frames).await;
    }

    /// Writes after everything that has happened. A closed pipe is noticed by the loop.
    async fn send(&self, frames: Vec<u8>) {
        self.answers.send(self.session.seq(), frames).await.ok();
    }
}

/// The tools as parents and the probe on the command line see them (section 8.1).
pub fn tools_list<'a>(
    specs: impl Iterator<Item = &'a stentor_agent::tool::ToolSpec>,
) -> Vec<Value> {
    specs
        .map(|spec| {
            json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.parameters,
                "inputSchema": spec.parameters,
            })
        })
        .collect()
}

/// Does `work` beside the loop, but its first step, which is to tell the session, at once.
/// Returns it if that was not all.
async fn in_order(work: impl Future<Output = ()> + Send + 'static) -> Option<JoinHandle<()>> {
    let mut work = Box::pin(work);
    let is_pending = futures_util::poll!(&mut work).is_pending();
    is_pending.then(|| tasks::spawn(work))
}

/// The messages that fit a frame, the newest of them, and how many were left out.
fn messages_body(messages: Vec<Value>) -> Value {
    let total = messages.len();
    let mut body = Map::new();
    body.insert("ok".to_owned(), true.into());
    body.insert("messages".to_owned(), messages.into());
    // The number of those left out must fit, too.
    let mut body = synaps::fit(body, MAX_FRAME_BYTES - 1024);
    let kept = body.get("messages").and_then(Value::as_array);
    let omitted = total - kept.map_or(0, Vec::len);
    if omitted > 0 {
        body.insert("omitted_messages".to_owned(), omitted.into());
    }
    Value::Object(body)
}

/// A failure of a command that takes long. A parent forgets a command after a minute, and an
/// error about a forgotten one ends it (section 16.3): then only a response says it.
fn failed_late(frames: &mut Vec<u8>, id: String, command: &str, message: String, started: Instant) {
    if started.elapsed() < limits::ERROR_FRAME_AGE {
        let id = Some(id);
        events::write(frames, &Event::Error { id, message });
    } else {
        let body = json!({ "ok": false, "error": message });
        response(frames, id, command, body);
    }
}

fn response(frames: &mut Vec<u8>, id: String, command: &str, body: Value) {
    let body = match body {
        Value::Object(body) => synaps::fit(body, MAX_FRAME_BYTES),
        _ => Map::new(),
    };
    events::write(
        frames,
        &Event::Response {
            id,
            command: command.to_owned(),
            body,
        },
    );
}

async fn blocks(
    message: String,
    files: Vec<Attachment>,
    model: Option<&stentor_agent::model::ModelInfo>,
) -> Result<Vec<ContentBlock>, AttachmentError> {
    if files.is_empty() {
        return Ok(vec![ContentBlock::text(message)]);
    }
    let inputs = model.map(|info| info.input.clone()).unwrap_or_default();
    tasks::spawn_blocking(move || attachments::read(message, &files, &inputs))
        .await
        .unwrap_or(Err(AttachmentError::Crashed))
}
