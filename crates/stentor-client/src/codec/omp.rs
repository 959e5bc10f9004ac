//! The RPC mode of omp and pi, in all their generations.
//!
//! They differ in how the end of a turn is announced: `agent_settled`, `prompt_result`, or nothing
//! but the last `agent_end`. So after an `agent_end` the child is asked for its state, unless one of
//! the others comes first.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::json::{line, list, str, text};
use super::omp_dialogs::OmpDialog;
use super::omp_shapes::{call_of, content, context_of, message, opened, result, usage_of};
use super::pending::{PendingReplies, answer};
use super::turn::TurnGrammar;
use super::{AgentAction, BadLine, Codec, Effects, HandleReply, HostReply, Responder};
use crate::connection::LostCounter;
use crate::error::ChildAgentError;
use crate::event::{AgentEvent, AgentNoticeLevel, TurnEndReason, TurnOrigin};
use crate::host::{HostAnswer, HostPermissionAnswer};
use crate::options::{InitialSession, StartOptions};
use crate::prompt::{AgentPrompt, OfferedModel};

/// How the frame begins with which a run is over.
const AGENT_END: &[u8] = b"{\"type\":\"agent_end\"";

/// How long to wait before a child that still seems busy after an `agent_end` is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// The command with which newer children stop repeating a message in each of its deltas.
const FILTER: &str = "set_event_filter";

/// What a request waits for.
enum OmpReply {
    /// The state with which the handshake ends.
    Hello,
    Filter,
    Prompt,
    /// A queued message; answered when the child has taken it.
    Done,
    Abort,
    /// Whether the turn with this number is over.
    IsOver(u64),
    /// A switch of the session, after which the state is asked for.
    Switched,
    /// The state of the session that was switched to.
    Session,
    Models,
}

pub(super) struct Omp {
    resume: Option<String>,
    pending: PendingReplies<OmpReply>,
    pub(super) turn: TurnGrammar,
    /// How the last answer of the turn ended.
    last_end: TurnEndReason,
    /// The next user message is the prompt itself, which is no news.
    expects_prompt: bool,
    /// Counts the turns.
    serial: u64,
    /// The turn has had an `agent_start`. What announces an end before is about the turn before.
    has_started: bool,
    /// Its state was asked for, which tells whether the turn is over.
    asked_if_over: bool,
    /// The child has said that the turn is over.
    is_settled: bool,
    /// Dialogs that are open: our number, their id, and the permission options if it is one.
    pub(super) dialogs: Vec<OmpDialog>,
    pub(super) last_dialog: u64,
    /// Text, and thinking, of the message that is being written came in pieces.
    has_text: bool,
    has_thinking: bool,
}

/// The frames that come by the thousand, read without what they repeat.
#[derive(Deserialize)]
struct Update<'a> {
    #[serde(borrow, rename = "assistantMessageEvent")]
    event: UpdateEvent<'a>,
}

#[derive(Deserialize)]
struct UpdateEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
    #[serde(rename = "toolCall", default)]
    call: Option<Value>,
}

#[derive(Deserialize)]
struct FrameType<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

impl Omp {
    pub fn new(options: &StartOptions, lost: LostCounter) -> Self {
        Self {
            resume: match &options.session {
                InitialSession::New => None,
                InitialSession::Resume(path) => Some(path.clone()),
            },
            pending: PendingReplies::new(lost.clone()),
            turn: TurnGrammar::new(lost),
            last_end: TurnEndReason::Completed,
            expects_prompt: false,
            serial: 0,
            has_started: false,
            asked_if_over: false,
            is_settled: false,
            dialogs: Vec::new(),
            last_dialog: 0,
            has_text: false,
            has_thinking: false,
        }
    }

    fn send(
        &mut self,
        expected: OmpReply,
        reply: Option<Responder>,
        mut command: Value,
        fx: &mut Effects,
    ) {
        let number = self.pending.wait(expected, reply);
        if let Some(command) = command.as_object_mut() {
            command.insert("id".to_owned(), format!("c{number}").into());
        }
        fx.lines.push(line(&command));
    }

    fn prompt(&mut self, prompt: AgentPrompt, reply: Responder, fx: &mut Effects) {
        if self.turn.is_active() {
            return answer(Some(reply), Err(ChildAgentError::Busy));
        }
        self.last_end = TurnEndReason::Completed;
        self.expects_prompt = true;
        self.begin_turn(TurnOrigin::Prompt, fx);
        self.send(OmpReply::Prompt, None, message("prompt", prompt), fx);
        answer(Some(reply), Ok(HandleReply::Done));
    }

    /// `prompt` with a behaviour, not `steer` or `follow_up`: when the turn has just ended it begins
    /// another instead of leaving the message in a queue.
    fn queue(&mut self, prompt: AgentPrompt, behavior: &str, reply: Responder, fx: &mut Effects) {
        let mut command = message("prompt", prompt);
        if let Some(command) = command.as_object_mut() {
            command.insert("streamingBehavior".to_owned(), behavior.into());
        }
        self.send(OmpReply::Done, Some(reply), command, fx);
    }

    fn response(&mut self, frame: &Value, fx: &mut Effects) {
        let number = str(frame, "id")
            .strip_prefix('c')
            .and_then(|id| id.parse().ok());
        let failed = frame.get("success").and_then(Value::as_bool) == Some(false);
        let error = text(frame, "error").unwrap_or_else(|| "it failed".to_owned());
        let data = frame.get("data").unwrap_or(&Value::Null);
        if failed && number.is_none() {
            // Old children answer what they do not know, and some failures, without the id.
            if str(frame, "command") == FILTER {
                self.pending
                    .take_where(|kind| matches!(kind, OmpReply::Filter));
                return;
            }
            let waiting = self
                .pending
                .take_where(|kind| !matches!(kind, OmpReply::Filter));
            if let Some((expected, reply)) = waiting {
                self.failed(&expected, reply, error, fx);
            }
            return;
        }
        let Some((expected, reply)) = self.pending.take(number) else {
            // A prompt may fail after it was accepted: then its turn is over.
            if failed && str(frame, "command") == "prompt" {
                self.turn.end(TurnEndReason::Failed(error), None, fx);
            }
            return;
        };
        if failed {
            return self.failed(&expected, reply, error, fx);
        }
        match expected {
            OmpReply::Hello => match self.resume.take() {
                Some(path) => {
                    let command = json!({ "type": "switch_session", "sessionPath": path });
                    self.send(OmpReply::Switched, None, command, fx);
                }
                None => fx.opened = Some(Ok(opened(data))),
            },
            OmpReply::Filter => {}
            OmpReply::Prompt => {
                // A command that needed no model is over with its answer.
                let is_handled = str(data, "disposition") == "handled"
                    || data.get("agentInvoked").and_then(Value::as_bool) == Some(false);
                if is_handled && !self.has_started {
                    self.end_turn(fx);
                }
            }
            OmpReply::IsOver(serial) if serial != self.serial => {}
            OmpReply::Done | OmpReply::Abort => answer(reply, Ok(HandleReply::Done)),
            OmpReply::IsOver(_) => {
                let says = |key| data.get(key).and_then(Value::as_bool);
                let busy = says("isStreaming") == Some(true)
                    || says("isCompacting") == Some(true)
                    || says("isSettled") == Some(false);
                self.asked_if_over = false;
                if busy && !self.is_settled {
                    fx.wake_in = Some(ASK_AGAIN);
                } else {
                    fx.events.extend(context_of(data).map(AgentEvent::Context));
                    fx.events
                        .extend(text(data, "sessionName").map(AgentEvent::Title));
                    self.end_turn(fx);
                }
            }
            OmpReply::Switched => {
                let state = json!({ "type": "get_state" });
                self.send(OmpReply::Session, reply, state, fx);
            }
            OmpReply::Session => match reply {
                Some(reply) => answer(
                    Some(reply),
                    Ok(HandleReply::Session(Box::new(opened(data)))),
                ),
                None => fx.opened = Some(Ok(opened(data))),
            },
            OmpReply::Models => {
                let models = list(data, "models").iter().map(|model| OfferedModel {
                    id: format!("{}/{}", str(model, "provider"), str(model, "id")),
                    name: str(model, "name").to_owned(),
                });
                answer(reply, Ok(HandleReply::Models(models.collect())));
            }
        }
    }

    fn failed(
        &mut self,
        expected: &OmpReply,
        reply: Option<Responder>,
        error: String,
        fx: &mut Effects,
    ) {
        match expected {
            OmpReply::Prompt => self.turn.end(TurnEndReason::Failed(error), None, fx),
            OmpReply::Hello => fx.opened = Some(Err(ChildAgentError::NotReady(error))),
            OmpReply::Switched | OmpReply::Session if reply.is_none() => {
                fx.opened = Some(Err(ChildAgentError::Refused(error)));
            }
            OmpReply::IsOver(serial) if *serial == self.serial => {
                self.asked_if_over = false;
                self.end_turn(fx);
            }
            OmpReply::IsOver(_) => {}
            OmpReply::Filter => {}
            OmpReply::Done
            | OmpReply::Abort
            | OmpReply::Switched
            | OmpReply::Session
            | OmpReply::Models => answer(reply, Err(ChildAgentError::Refused(error))),
        }
    }

    fn begin_turn(&mut self, origin: TurnOrigin, fx: &mut Effects) {
        if !self.turn.is_active() {
            self.serial += 1;
            self.has_started = false;
            self.asked_if_over = false;
            self.is_settled = false;
            self.turn.begin(origin, fx);
        }
    }

    fn ask_if_over(&mut self, fx: &mut Effects) {
        let state = json!({ "type": "get_state" });
        self.asked_if_over = true;
        self.send(OmpReply::IsOver(self.serial), None, state, fx);
    }

    fn end_turn(&mut self, fx: &mut Effects) {
        let reason = std::mem::replace(&mut self.last_end, TurnEndReason::Completed);
        self.turn.end(reason, None, fx);
    }

    fn update(&mut self, event: UpdateEvent<'_>, fx: &mut Effects) {
        let delta = || event.delta.map(Cow::into_owned).unwrap_or_default();
        match &*event.kind {
            "text_delta" => {
                self.has_text = true;
                fx.events.push_back(AgentEvent::Text(delta()));
            }
            "thinking_delta" => {
                self.has_thinking = true;
                fx.events.push_back(AgentEvent::Thinking(delta()));
            }
            "toolcall_end" => {
                if let Some(call) = event.call {
                    self.turn
                        .called(call_of(&call, "id", "name", "arguments"), fx);
                }
            }
            _ => {}
        }
    }

    fn message_ended(&mut self, message: &Value, fx: &mut Effects) {
        match str(message, "role") {
            "assistant" => {
                // A child that streams nothing has everything here.
                let has_text = std::mem::take(&mut self.has_text);
                let has_thinking = std::mem::take(&mut self.has_thinking);
                for block in list(message, "content") {
                    match str(block, "type") {
                        "text" if !has_text => {
                            fx.events.extend(said(block, "text").map(AgentEvent::Text))
                        }
                        "thinking" if !has_thinking => fx
                            .events
                            .extend(said(block, "thinking").map(AgentEvent::Thinking)),
                        "toolCall" => self
                            .turn
                            .called(call_of(block, "id", "name", "arguments"), fx),
                        _ => {}
                    }
                }
                if let Some(usage) = message.get("usage") {
                    self.turn.consumed(usage_of(usage), fx);
                }
                let said = text(message, "errorMessage");
                self.last_end = match str(message, "stopReason") {
                    "length" => TurnEndReason::Limit,
                    "aborted" => TurnEndReason::Aborted,
                    "error" => {
                        TurnEndReason::Failed(said.unwrap_or_else(|| "it failed".to_owned()))
                    }
                    _ => TurnEndReason::Completed,
                };
                fx.events.push_back(AgentEvent::AnswerEnded);
            }
            "user" => {
                if std::mem::take(&mut self.expects_prompt) {
                    return;
                }
                let said = content(message.get("content").unwrap_or(&Value::Null)).text;
                fx.events.push_back(AgentEvent::UserMessage(said));
            }
            // What an extension or a job of the child says, as far as people are to see it.
            "custom" if message.get("display").and_then(Value::as_bool) != Some(false) => {
                let said = content(message.get("content").unwrap_or(&Value::Null)).text;
                if self.turn.is_active() && !said.is_empty() {
                    fx.events.push_back(AgentEvent::Text(said));
                    fx.events.push_back(AgentEvent::AnswerEnded);
                }
            }
            _ => {}
        }
    }

    fn frame(&mut self, kind: &str, frame: &Value, fx: &mut Effects) {
        match kind {
            "response" => self.response(frame, fx),
            "agent_start" => {
                if self.turn.is_active() && self.is_settled {
                    // The turn before is over; only its state has not come yet.
                    self.end_turn(fx);
                }
                self.begin_turn(TurnOrigin::Own, fx);
                self.has_started = true;
            }
            "message_end" => {
                self.message_ended(frame.get("message").unwrap_or(&Value::Null), fx);
            }
            "tool_execution_start" => {
                self.turn
                    .called(call_of(frame, "toolCallId", "toolName", "args"), fx);
                self.turn.started(str(frame, "toolCallId"), fx);
            }
            "tool_execution_update" => {
                let output = result(frame.get("partialResult").unwrap_or(&Value::Null));
                self.turn.progress(str(frame, "toolCallId"), output, fx);
            }
            "tool_execution_end" => {
                let output = result(frame.get("result").unwrap_or(&Value::Null));
                let failed = frame.get("isError").and_then(Value::as_bool) == Some(true);
                self.turn
                    .ended(str(frame, "toolCallId"), output, failed, fx);
            }
            "agent_end" => {
                let goes_on = frame.get("willRetry").and_then(Value::as_bool) == Some(true);
                if self.turn.is_active() && !goes_on {
                    self.ask_if_over(fx);
                }
            }
            "prompt_result" | "session_settled" | "agent_settled" if self.has_started => {
                // Its state is on the way, with how full its context is.
                self.is_settled = true;
                if !self.asked_if_over {
                    self.end_turn(fx);
                }
            }
            "extension_ui_request" => self.dialog(frame, fx),
            "notice" => {
                let text = str(frame, "message").to_owned();
                let level = AgentNoticeLevel::Info;
                fx.events.push_back(AgentEvent::Notice { level, text });
            }
            "auto_retry_start" => {
                let said = str(frame, "errorMessage");
                let text = format!("the agent asks its model again: {said}");
                let level = AgentNoticeLevel::Warning;
                fx.events.push_back(AgentEvent::Notice { level, text });
            }
            // The words of pi and of omp.
            "session_info_changed" => fx.events.extend(text(frame, "name").map(AgentEvent::Title)),
            "session_info_update" => fx
                .events
                .extend(text(frame, "title").map(AgentEvent::Title)),
            _ => {}
        }
    }
}

impl Codec for Omp {
    fn open(&mut self, fx: &mut Effects) {
        // Who knows the filter sends deltas without repeating the message in each.
        let filter = json!({ "type": FILTER, "events": null, "messageUpdates": "delta" });
        self.send(OmpReply::Filter, None, filter, fx);
        self.send(OmpReply::Hello, None, json!({ "type": "get_state" }), fx);
    }

    fn line(&mut self, line: &str, fx: &mut Effects) -> Result<(), BadLine> {
        let unreadable = |error: serde_json::Error| BadLine(error.to_string());
        if line.starts_with(r#"{"type":"message_update""#) {
            let update: Update<'_> = serde_json::from_str(line).map_err(unreadable)?;
            self.update(update.event, fx);
            return Ok(());
        }
        let kind: FrameType<'_> = serde_json::from_str(line).map_err(unreadable)?;
        match &*kind.kind {
            // Long, and known already.
            "message_start" | "turn_end" | "turn_start" => Ok(()),
            kind => {
                let frame: Value = serde_json::from_str(line).map_err(unreadable)?;
                if kind == "message_update"
                    && let Ok(update) = serde_json::from_str::<Update<'_>>(line)
                {
                    self.update(update.event, fx);
                }
                self.frame(kind, &frame, fx);
                Ok(())
            }
        }
    }

    fn skipped(&mut self, start: &[u8], fx: &mut Effects) {
        // It repeats all messages of the run, but only that it came counts.
        if start.starts_with(AGENT_END) && self.turn.is_active() {
            self.ask_if_over(fx);
        }
    }

    fn request(&mut self, what: AgentAction, reply: Responder, fx: &mut Effects) {
        match what {
            AgentAction::Prompt(prompt) => self.prompt(prompt, reply, fx),
            AgentAction::Steer(prompt) => self.queue(prompt, "steer", reply, fx),
            AgentAction::FollowUp(prompt) => self.queue(prompt, "followUp", reply, fx),
            AgentAction::Abort => {
                self.send(OmpReply::Abort, None, json!({ "type": "abort" }), fx);
                answer(Some(reply), Ok(HandleReply::Done));
            }
            AgentAction::Session => {
                self.send(
                    OmpReply::Session,
                    Some(reply),
                    json!({ "type": "get_state" }),
                    fx,
                );
            }
            AgentAction::NewSession => {
                let command = json!({ "type": "new_session" });
                self.send(OmpReply::Switched, Some(reply), command, fx);
            }
            AgentAction::Resume(path) => {
                let command = json!({ "type": "switch_session", "sessionPath": path });
                self.send(OmpReply::Switched, Some(reply), command, fx);
            }
            AgentAction::Models => {
                let command = json!({ "type": "get_available_models" });
                self.send(OmpReply::Models, Some(reply), command, fx);
            }
            AgentAction::SetModel(model) => {
                let (provider, id) = model.split_once('/').unwrap_or(("", &model));
                let command = json!({ "type": "set_model", "provider": provider, "modelId": id });
                self.send(OmpReply::Done, Some(reply), command, fx);
            }
            AgentAction::SetThinking(level) => {
                let command = json!({ "type": "set_thinking_level", "level": level });
                self.send(OmpReply::Done, Some(reply), command, fx);
            }
            AgentAction::Load(_)
            | AgentAction::Sessions
            | AgentAction::SetMode(_)
            | AgentAction::Stop => {
                // The table refuses these before they come here.
                answer(
                    Some(reply),
                    Err(ChildAgentError::Refused("there is no command".to_owned())),
                );
            }
        }
    }

    fn answered(&mut self, ask: u64, answer: HostReply, fx: &mut Effects) {
        let Some(place) = self.dialogs.iter().position(|dialog| dialog.number == ask) else {
            return;
        };
        let dialog = self.dialogs.remove(place);
        let mut frame = json!({ "type": "extension_ui_response", "id": dialog.id });
        let (key, value) = match answer {
            HostReply::Permission(HostPermissionAnswer::Selected(value))
            | HostReply::Question(HostAnswer::Value(value))
                if !dialog.is_confirm =>
            {
                ("value", Value::from(value))
            }
            HostReply::Question(HostAnswer::Confirmed(yes)) if dialog.is_confirm => {
                ("confirmed", Value::from(yes))
            }
            _ => ("cancelled", Value::from(true)),
        };
        if let Some(frame) = frame.as_object_mut() {
            frame.insert(key.to_owned(), value);
        }
        fx.lines.push(line(&frame));
    }

    fn wake(&mut self, fx: &mut Effects) {
        if self.turn.is_active() {
            self.ask_if_over(fx);
        }
    }

    fn turn(&mut self) -> &mut TurnGrammar {
        &mut self.turn
    }
}

/// The text of a block, if it has any.
fn said(block: &Value, key: &str) -> Option<String> {
    text(block, key).filter(|said| !said.is_empty())
}
