//! synaps rpc: one conversation a process, no questions, results without an error flag.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use stentor_wire::synaps::{
    AssistantEvent, Attachment, Command, Event, MAX_FRAME_BYTES, PROTOCOL_VERSION,
};

use super::pending::{PendingReplies, answer};
use super::turn::TurnGrammar;
use super::{AgentAction, BadLine, Codec, Effects, HandleReply, HostReply, Responder};
use crate::capability::Feature;
use crate::connection::LostCounter;
use crate::dialect::AgentDialect;
use crate::error::ChildAgentError;
use crate::event::{AgentCall, AgentEvent, CallOutput, TurnEndReason, TurnOrigin, TurnUsage};
use crate::options::SessionOpened;
use crate::prompt::{AgentPrompt, OfferedModel};

/// How long the end of a turn may take after its error. A prompt that was refused has no end.
const REFUSAL_GRACE: Duration = Duration::from_millis(250);

/// How the ids of turns begin that the child began by itself (section 17).
const AUTO: &str = "auto:";

/// What a request waits for.
enum SynapsReply {
    Prompt,
    Abort,
    NewSession,
    Models,
    SetModel,
}

impl SynapsReply {
    /// The command its response names. Notices of newer children have a dot in their name and the
    /// id of a command that goes on.
    fn command(&self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Abort => "abort",
            Self::NewSession => "new_session",
            Self::Models => "get_available_models",
            Self::SetModel => "set_model",
        }
    }
}

pub(super) struct Synaps {
    pending: PendingReplies<SynapsReply>,
    turn: TurnGrammar,
    /// A call whose arguments are still coming.
    open_call: Option<AgentCall>,
    /// Files that go with the prompt that is being answered.
    files: Vec<PathBuf>,
    error: Option<String>,
    usage: Option<TurnUsage>,
    opened: SessionOpened,
    is_open: bool,
}

impl Synaps {
    pub fn new(lost: LostCounter) -> Self {
        Self {
            pending: PendingReplies::new(lost.clone()),
            turn: TurnGrammar::new(lost),
            open_call: None,
            files: Vec::new(),
            error: None,
            usage: None,
            opened: SessionOpened::default(),
            is_open: false,
        }
    }

    fn send(
        &mut self,
        expected: SynapsReply,
        reply: Option<Responder>,
        make: impl FnOnce(String) -> Command,
        fx: &mut Effects,
    ) -> Result<(), (Option<Responder>, ChildAgentError)> {
        let id = self.pending.wait(expected, reply);
        // A command of plain text and numbers can always be written.
        let mut line = serde_json::to_vec(&make(format!("c{id}"))).unwrap_or_default();
        if line.len() > MAX_FRAME_BYTES {
            let bytes = line.len();
            let reply = self.pending.take(Some(id)).and_then(|(_, reply)| reply);
            let limit = MAX_FRAME_BYTES;
            return Err((reply, ChildAgentError::TooLong { bytes, limit }));
        }
        line.push(b'\n');
        fx.lines.push(line);
        Ok(())
    }

    fn prompt(&mut self, prompt: AgentPrompt, reply: Responder, fx: &mut Effects) {
        if self.turn.is_active() {
            return answer(Some(reply), Err(ChildAgentError::Busy));
        }
        let attachments = prompt.files.iter().map(|path| Attachment {
            path: path.display().to_string(),
            name: None,
            mime: None,
        });
        let attachments = attachments.collect();
        let message = prompt.text;
        self.files = prompt.files;
        let make = |id| Command::Prompt {
            id,
            message,
            attachments,
        };
        match self.send(SynapsReply::Prompt, None, make, fx) {
            Ok(()) => {
                self.error = None;
                self.usage = None;
                self.turn.begin(TurnOrigin::Prompt, fx);
                answer(Some(reply), Ok(HandleReply::Done));
            }
            Err((_, error)) => {
                self.remove_files();
                answer(Some(reply), Err(error));
            }
        }
    }

    fn remove_files(&mut self) {
        for file in self.files.drain(..) {
            // One that stays is in the folder for temporary files.
            tokio::task::spawn_blocking(move || std::fs::remove_file(file).ok());
        }
    }

    fn assistant(&mut self, event: AssistantEvent, fx: &mut Effects) {
        if !self.turn.is_active() && self.is_open {
            // Newer children begin turns by themselves (section 17).
            self.error = None;
            self.usage = None;
            self.turn.begin(TurnOrigin::Own, fx);
        }
        match event {
            AssistantEvent::TextDelta { delta } => fx.events.push_back(AgentEvent::Text(delta)),
            AssistantEvent::ThinkingDelta { delta } => {
                fx.events.push_back(AgentEvent::Thinking(delta));
            }
            AssistantEvent::ToolCallStart { tool_id, tool_name } => {
                self.announce(fx);
                self.open_call = Some(AgentCall {
                    id: tool_id,
                    name: tool_name,
                    input: Value::Object(Map::new()),
                    ..AgentCall::default()
                });
            }
            AssistantEvent::ToolCallInputDelta { .. } => {}
            AssistantEvent::ToolCallInput { tool_id, input } => {
                if let Some(call) = &mut self.open_call
                    && call.id == tool_id
                {
                    call.input = input;
                }
                self.announce(fx);
            }
            AssistantEvent::ToolCallResult { tool_id, result } => {
                self.announce(fx);
                self.turn
                    .ended(&tool_id, CallOutput::text(result), false, fx);
            }
        }
    }

    fn announce(&mut self, fx: &mut Effects) {
        if let Some(call) = self.open_call.take() {
            self.turn.called(call, fx);
        }
    }

    fn response(&mut self, id: &str, command: &str, body: Map<String, Value>, fx: &mut Effects) {
        let number = number(id);
        let fits = |expected: &SynapsReply| {
            expected.command() == command
                || (matches!(expected, SynapsReply::Prompt) && command == "follow_up")
        };
        if command == "auto_turn" && self.turn.is_own() {
            return self.prompted(&Value::Object(body), fx);
        }
        if command.contains('.') || command == "auto_turn" {
            return;
        }
        let Some((expected, reply)) = self.pending.take(number) else {
            return;
        };
        if !fits(&expected) {
            return answer(
                reply,
                Err(bad(expected.command(), "it answers another command")),
            );
        }
        let body = Value::Object(body);
        match expected {
            SynapsReply::Prompt => self.prompted(&body, fx),
            SynapsReply::Abort => answer(reply, Ok(HandleReply::Done)),
            SynapsReply::SetModel => {
                self.opened.model = super::json::text(&body, "model");
                answer(reply, Ok(HandleReply::Done));
            }
            SynapsReply::NewSession => match super::json::text(&body, "session_id") {
                Some(id) => {
                    self.opened.id = Some(id.clone());
                    self.opened.resume_id = Some(id);
                    answer(
                        reply,
                        Ok(HandleReply::Session(Box::new(self.opened.clone()))),
                    );
                }
                None => answer(reply, Err(bad("new_session", "there is no `session_id`"))),
            },
            SynapsReply::Models => {
                let models = super::json::list(&body, "models").iter().map(|model| {
                    let id = super::json::str(model, "model_id");
                    let provider = super::json::str(model, "provider");
                    OfferedModel {
                        id: format!("{provider}/{id}"),
                        name: super::json::str(model, "model_name").to_owned(),
                    }
                });
                answer(reply, Ok(HandleReply::Models(models.collect())));
            }
        }
    }

    fn prompted(&mut self, body: &Value, fx: &mut Effects) {
        self.remove_files();
        let failed = body.get("ok").and_then(Value::as_bool) == Some(false);
        let cancelled = body.get("cancelled").and_then(Value::as_bool) == Some(true);
        let reason = if cancelled {
            TurnEndReason::Aborted
        } else if failed {
            let said = super::json::text(body, "error").or_else(|| self.error.take());
            TurnEndReason::Failed(said.unwrap_or_else(|| "the turn failed".to_owned()))
        } else {
            TurnEndReason::Completed
        };
        let usage = self.usage.take();
        self.announce(fx);
        self.turn.end(reason, usage, fx);
    }

    /// An error frame with an id. A failed turn goes on to its `agent_end` and its response, unless
    /// it was refused before it began: then nothing follows.
    fn error(&mut self, id: &str, message: String, fx: &mut Effects) {
        if id.starts_with(AUTO) {
            self.error = Some(message);
            fx.wake_in = Some(REFUSAL_GRACE);
            return;
        }
        let number = number(id);
        let is_prompt = |expected: &SynapsReply| matches!(expected, SynapsReply::Prompt);
        if self.pending.waits(number, is_prompt) {
            self.error = Some(message);
            fx.wake_in = Some(REFUSAL_GRACE);
            return;
        }
        if let Some((_, reply)) = self.pending.take(number) {
            answer(reply, Err(ChildAgentError::Refused(message)));
        }
    }
}

impl Codec for Synaps {
    fn open(&mut self, _: &mut Effects) {
        // The child speaks first.
    }

    fn line(&mut self, line: &str, fx: &mut Effects) -> Result<(), BadLine> {
        let event = match serde_json::from_str::<Event>(line) {
            Ok(event) => event,
            // Frames of newer children are no mistake; what is no frame at all is.
            Err(error) => {
                let frame = serde_json::from_str::<Value>(line).ok();
                return match frame.is_some_and(|frame| frame["type"].is_string()) {
                    true => Ok(()),
                    false => Err(BadLine(error.to_string())),
                };
            }
        };
        match event {
            Event::Ready {
                session_id,
                model,
                protocol_version,
            } => {
                if self.is_open {
                    return Ok(());
                }
                self.is_open = true;
                fx.opened = Some(match protocol_version {
                    PROTOCOL_VERSION => {
                        self.opened = SessionOpened {
                            id: Some(session_id.clone()),
                            resume_id: Some(session_id),
                            model: Some(model),
                            ..SessionOpened::default()
                        };
                        Ok(self.opened.clone())
                    }
                    other => Err(ChildAgentError::NotReady(format!(
                        "it speaks version {other} of the protocol"
                    ))),
                });
            }
            Event::MessageUpdate { event } => self.assistant(event, fx),
            Event::AgentEnd { usage } => {
                self.usage = Some(TurnUsage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cache_read_tokens: usage.cache_read_input_tokens,
                    cache_write_tokens: usage.cache_creation_input_tokens,
                    cost_usd: None,
                });
            }
            Event::Response { id, command, body } => self.response(&id, &command, body, fx),
            // The response that follows has the reason, too; one that was refused has none.
            Event::Error {
                id: Some(id),
                message,
            } => self.error(&id, message, fx),
            Event::Error { id: None, message } => fx.events.push_back(AgentEvent::Lost {
                why: format!("it could not read a command: {message}"),
            }),
            Event::SubagentStart { .. }
            | Event::SubagentUpdate { .. }
            | Event::SubagentDone { .. } => {}
        }
        Ok(())
    }

    fn request(&mut self, what: AgentAction, reply: Responder, fx: &mut Effects) {
        let sent = match what {
            AgentAction::Prompt(prompt) => return self.prompt(prompt, reply, fx),
            AgentAction::Abort => {
                let sent = self.send(SynapsReply::Abort, None, |id| Command::Abort { id }, fx);
                answer(Some(reply), Ok(HandleReply::Done));
                sent
            }
            AgentAction::Session => {
                let opened = Box::new(self.opened.clone());
                return answer(Some(reply), Ok(HandleReply::Session(opened)));
            }
            AgentAction::NewSession => {
                let make = |id| Command::NewSession { id };
                self.send(SynapsReply::NewSession, Some(reply), make, fx)
            }
            AgentAction::Models => {
                let make = |id| Command::GetAvailableModels { id };
                self.send(SynapsReply::Models, Some(reply), make, fx)
            }
            AgentAction::SetModel(model) => {
                let make = |id| Command::SetModel { id, model };
                self.send(SynapsReply::SetModel, Some(reply), make, fx)
            }
            AgentAction::Resume(_) => {
                return answer(
                    Some(reply),
                    Err(unsupported(
                        Feature::Resume,
                        "a session is resumed when the program is started",
                    )),
                );
            }
            AgentAction::Steer(_)
            | AgentAction::FollowUp(_)
            | AgentAction::Load(_)
            | AgentAction::Sessions
            | AgentAction::SetMode(_)
            | AgentAction::SetThinking(_)
            | AgentAction::Stop => {
                // The table refuses these before they come here.
                return answer(
                    Some(reply),
                    Err(unsupported(
                        Feature::Steer,
                        "the protocol has no command for it",
                    )),
                );
            }
        };
        if let Err((reply, error)) = sent {
            answer(reply, Err(error));
        }
    }

    fn answered(&mut self, _: u64, _: HostReply, _: &mut Effects) {
        // The protocol has no questions.
    }

    fn wake(&mut self, fx: &mut Effects) {
        let Some(message) = self.error.take().filter(|_| self.usage.is_none()) else {
            return;
        };
        self.pending
            .take_where(|expected| matches!(expected, SynapsReply::Prompt));
        self.remove_files();
        self.turn.end(TurnEndReason::Failed(message), None, fx);
    }

    fn turn(&mut self) -> &mut TurnGrammar {
        &mut self.turn
    }

    fn farewell(&self) -> Option<Vec<u8>> {
        Some(b"{\"type\":\"shutdown\"}\n".to_vec())
    }
}

fn number(id: &str) -> Option<u64> {
    id.strip_prefix('c')?.parse().ok()
}

fn bad(what: &'static str, why: &str) -> ChildAgentError {
    ChildAgentError::BadAnswer {
        what,
        why: why.to_owned(),
    }
}

fn unsupported(feature: Feature, reason: &'static str) -> ChildAgentError {
    ChildAgentError::Unsupported {
        feature,
        dialect: AgentDialect::Synaps,
        reason,
    }
}
