//! psi's RPC in EDN. Text comes as all of it so far, and a turn is over when its session is idle
//! again.

use std::collections::VecDeque;

use stentor_wire::edn::{self, EdnWriter, Keyword, Value};

use super::pending::{PendingReplies, answer};
use super::psi_footer::context_in_footer;
use super::psi_shapes::{call, items, json, number, permission_options, text, usage};
use super::turn::TurnGrammar;
use super::{
    AgentAction, AgentRequest, BadLine, Codec, Effects, HandleReply, HostReply, Responder,
};
use crate::connection::LostCounter;
use crate::error::ChildAgentError;
use crate::event::{
    AgentContextUse, AgentEvent, AgentNoticeLevel, CallOutput, TurnEndReason, TurnOrigin, TurnUsage,
};
use crate::host::{AgentQuestion, HostAnswer, HostPermissionAnswer, Permission, QuestionKind};
use crate::options::{InitialSession, SessionOpened, StartOptions};
use crate::prompt::{AgentPrompt, OfferedModel, SessionInfo};

/// What is subscribed to.
const TOPICS: [&str; 12] = [
    "assistant/delta",
    "assistant/thinking-delta",
    "assistant/message",
    "tool/start",
    "tool/executing",
    "tool/update",
    "tool/result",
    "session/updated",
    "footer/updated",
    "error",
    "ui/dialog-requested",
    "ui/notification",
];

/// What a request waits for.
enum PsiReply {
    Handshake,
    Subscribed,
    Prompt,
    Done,
    /// A message that steers was queued.
    Steered(String),
    /// Nobody waits for it.
    Nothing,
    Session,
    Sessions,
    Models,
}

pub(super) struct Psi {
    client: String,
    resume: Option<String>,
    pending: PendingReplies<PsiReply>,
    turn: TurnGrammar,
    opened: SessionOpened,
    is_open: bool,
    /// What was seen of the answer and the thinking that are being written.
    text: String,
    thinking: String,
    /// The session has begun to work on the prompt: when it is idle then, it is done with it.
    has_streamed: bool,
    /// Messages that steer and wait in its queue, the oldest first.
    steered: VecDeque<String>,
    /// How the turn ends once its session is idle.
    end: Option<(TurnEndReason, Option<TurnUsage>)>,
    /// The dialogs that are open: our number, their id, whether it is a yes or no.
    dialogs: Vec<(u64, String, bool)>,
    last_dialog: u64,
    /// What was last said of the context, and of the name of the session.
    context: Option<AgentContextUse>,
    title: String,
}

impl Psi {
    pub fn new(options: &StartOptions, lost: LostCounter) -> Self {
        Self {
            client: options.client_name.clone(),
            resume: match &options.session {
                InitialSession::New => None,
                InitialSession::Resume(path) => Some(path.clone()),
            },
            pending: PendingReplies::new(lost.clone()),
            turn: TurnGrammar::new(lost),
            opened: SessionOpened::default(),
            is_open: false,
            text: String::new(),
            thinking: String::new(),
            has_streamed: false,
            steered: VecDeque::new(),
            end: None,
            dialogs: Vec::new(),
            last_dialog: 0,
            context: None,
            title: String::new(),
        }
    }

    fn send(
        &mut self,
        expected: PsiReply,
        reply: Option<Responder>,
        op: &str,
        params: impl FnOnce(&mut EdnWriter<'_>),
        fx: &mut Effects,
    ) {
        let number = self.pending.wait(expected, reply);
        let mut line = Vec::new();
        EdnWriter::new(&mut line).map(|frame| {
            frame
                .field("id", &format!("c{number}"))
                .field("kind", &Keyword("request"))
                .field("op", op);
            frame.key("params").map(params);
        });
        line.push(b'\n');
        fx.lines.push(line);
    }

    fn prompt(&mut self, prompt: &AgentPrompt, reply: Responder, fx: &mut Effects) {
        if self.turn.is_active() {
            return answer(Some(reply), Err(ChildAgentError::Busy));
        }
        self.end = None;
        self.has_streamed = false;
        self.forget_texts();
        self.turn.begin(TurnOrigin::Prompt, fx);
        let params = |params: &mut EdnWriter<'_>| message(params, prompt);
        self.send(PsiReply::Prompt, None, "prompt", params, fx);
        answer(Some(reply), Ok(HandleReply::Done));
    }

    fn forget_texts(&mut self) {
        self.text.clear();
        self.thinking.clear();
    }

    fn response(&mut self, frame: &Value<'_>, fx: &mut Effects) {
        let Some((expected, reply)) = self.pending.take(number(frame)) else {
            return;
        };
        let nothing = Value::Nil;
        let data = frame.get("data").unwrap_or(&nothing);
        match expected {
            PsiReply::Handshake => {
                let info = data.get("server-info").unwrap_or(&nothing);
                self.opened = SessionOpened {
                    id: text(info, "session-id"),
                    model: text(info, "model-id"),
                    ..SessionOpened::default()
                };
                let params = |params: &mut EdnWriter<'_>| {
                    params.field("topics", &TOPICS[..]);
                };
                self.send(PsiReply::Subscribed, None, "subscribe", params, fx);
            }
            PsiReply::Subscribed => match self.resume.take() {
                Some(path) => self.switch(&path, None, fx),
                None => {
                    self.is_open = true;
                    fx.opened = Some(Ok(self.opened.clone()));
                }
            },
            PsiReply::Prompt | PsiReply::Nothing => {}
            PsiReply::Done => answer(reply, Ok(HandleReply::Done)),
            PsiReply::Steered(message) => {
                self.steered.push_back(message);
                answer(reply, Ok(HandleReply::Done));
            }
            PsiReply::Session => {
                self.opened.id = text(data, "session-id");
                self.opened.resume_id = text(data, "session-file");
                let opened = self.opened.clone();
                if std::mem::replace(&mut self.is_open, true) {
                    answer(reply, Ok(HandleReply::Session(Box::new(opened))));
                } else {
                    fx.opened = Some(Ok(opened));
                }
            }
            PsiReply::Sessions => {
                let sessions = items(data, "sessions").iter().map(|session| SessionInfo {
                    id: text(session, "session-file")
                        .or_else(|| text(session, "session-id"))
                        .unwrap_or_default(),
                    title: text(session, "display-name").or_else(|| text(session, "session-name")),
                    cwd: text(session, "worktree-path"),
                    updated_at: text(session, "updated-at"),
                });
                answer(reply, Ok(HandleReply::Sessions(sessions.collect())));
            }
            PsiReply::Models => {
                let result = data.get("result").unwrap_or(&nothing);
                let models = items(result, "psi.agent-session/model-catalog").iter();
                let models = models.map(|model| {
                    let of = |key| text(model, key).unwrap_or_default();
                    let id = format!("{}/{}", of("provider"), of("id"));
                    OfferedModel {
                        name: text(model, "name").unwrap_or_else(|| id.clone()),
                        id,
                    }
                });
                answer(reply, Ok(HandleReply::Models(models.collect())));
            }
        }
    }

    fn error(&mut self, frame: &Value<'_>, fx: &mut Effects) {
        let said = |key| text(frame, key).unwrap_or_default();
        let why = format!("{}: {}", said("error-code"), said("error-message"));
        let Some((expected, reply)) = self.pending.take(number(frame)) else {
            return;
        };
        match expected {
            PsiReply::Handshake | PsiReply::Subscribed => {
                fx.opened = Some(Err(ChildAgentError::NotReady(why)));
            }
            PsiReply::Session if !self.is_open => {
                fx.opened = Some(Err(ChildAgentError::Refused(why)));
            }
            PsiReply::Prompt => self.turn.end(TurnEndReason::Failed(why), None, fx),
            PsiReply::Nothing => {}
            PsiReply::Done
            | PsiReply::Steered(_)
            | PsiReply::Session
            | PsiReply::Sessions
            | PsiReply::Models => {
                answer(reply, Err(ChildAgentError::Refused(why)));
            }
        }
    }

    fn switch(&mut self, path: &str, reply: Option<Responder>, fx: &mut Effects) {
        let params = |params: &mut EdnWriter<'_>| {
            params.field("session-path", path);
        };
        self.send(PsiReply::Session, reply, "switch_session", params, fx);
    }

    fn event(&mut self, topic: &str, data: &Value<'_>, fx: &mut Effects) {
        let session = data.get("session-id").and_then(Value::as_str);
        // Of a session that another client of the same process has in focus.
        if session.is_some() && self.opened.id.is_some() && session != self.opened.id.as_deref() {
            return;
        }
        match topic {
            "assistant/delta" => {
                let all = data.get("text").and_then(Value::as_str).unwrap_or_default();
                if let Some(more) = newer(&mut self.text, all, fx) {
                    fx.events.push_back(AgentEvent::Text(more));
                }
            }
            "assistant/thinking-delta" => {
                let all = data.get("text").and_then(Value::as_str).unwrap_or_default();
                if let Some(more) = newer(&mut self.thinking, all, fx) {
                    fx.events.push_back(AgentEvent::Thinking(more));
                }
            }
            "assistant/message" => self.message(data, fx),
            "tool/executing" => {
                let id = text(data, "tool-id").unwrap_or_default();
                self.forget_texts();
                self.turn.called(call(data, &id), fx);
                self.turn.started(&id, fx);
            }
            "tool/update" | "tool/result" => self.tool(topic == "tool/result", data, fx),
            "session/updated" => self.updated(data, fx),
            "footer/updated" => {
                let parts = items(data, "usage-parts").iter().filter_map(Value::as_str);
                let context = parts.filter_map(context_in_footer).next_back();
                if context != self.context {
                    self.context = context;
                    fx.events.extend(context.map(AgentEvent::Context));
                }
            }
            "error" => {
                let why = text(data, "error-message").unwrap_or_default();
                if self.turn.is_active() {
                    self.end = Some((TurnEndReason::Failed(why), None));
                } else {
                    let level = AgentNoticeLevel::Error;
                    fx.events.push_back(AgentEvent::Notice { level, text: why });
                }
            }
            "ui/dialog-requested" => self.dialog(data, fx),
            "ui/notification" => {
                let level = match text(data, "level").as_deref() {
                    Some("warning") => AgentNoticeLevel::Warning,
                    Some("error") => AgentNoticeLevel::Error,
                    _ => AgentNoticeLevel::Info,
                };
                let text = text(data, "message").unwrap_or_default();
                fx.events.push_back(AgentEvent::Notice { level, text });
            }
            _ => {}
        }
    }

    fn tool(&mut self, is_over: bool, data: &Value<'_>, fx: &mut Effects) {
        let id = text(data, "tool-id").unwrap_or_default();
        self.turn.called(call(data, &id), fx);
        let details = data.get("details").filter(|details| !details.is_nil());
        let pictures = items(data, "content")
            .iter()
            .filter_map(|block| Some((text(block, "mime-type")?, text(block, "data")?)));
        let output = CallOutput {
            text: text(data, "result-text").unwrap_or_default(),
            pictures: pictures.collect(),
            details: details.map(json),
            ..CallOutput::default()
        };
        if is_over {
            let failed = data.get("is-error").is_some_and(Value::is_truthy);
            self.turn.ended(&id, output, failed, fx);
        } else {
            self.turn.progress(&id, output, fx);
        }
    }

    fn message(&mut self, data: &Value<'_>, fx: &mut Effects) {
        if text(data, "role").as_deref() == Some("user") {
            let said = text(data, "text").unwrap_or_default();
            return fx.events.push_back(AgentEvent::UserMessage(said));
        }
        // What was not streamed is here.
        if let Some(all) = text(data, "text")
            && self.text.is_empty()
            && !all.is_empty()
            && self.turn.is_active()
        {
            fx.events.push_back(AgentEvent::Text(all));
        }
        self.forget_texts();
        let said = text(data, "error-message");
        let reason = match text(data, "stop-reason").as_deref() {
            Some("aborted") => TurnEndReason::Aborted,
            Some("length") => TurnEndReason::Limit,
            Some("error") => TurnEndReason::Failed(said.unwrap_or_else(|| "it failed".to_owned())),
            _ => TurnEndReason::Completed,
        };
        if self.turn.is_active() {
            fx.events.push_back(AgentEvent::AnswerEnded);
            self.end = Some((reason, data.get("usage").map(usage)));
        }
    }

    fn updated(&mut self, data: &Value<'_>, fx: &mut Effects) {
        let of = |key| data.get(key).and_then(Value::as_str);
        if let (Some(provider), Some(id)) = (of("model-provider"), of("model-id")) {
            // As it is chosen; the handshake has only half of it.
            self.opened.model = Some(format!("{provider}/{id}"));
        }
        self.opened.resume_id = text(data, "session-file");
        if let Some(name) = text(data, "session-name").filter(|name| *name != self.title) {
            self.title.clone_from(&name);
            fx.events.push_back(AgentEvent::Title(name));
        }
        let waiting = data.get("pending-message-count").and_then(Value::as_i64);
        let waiting = waiting.and_then(|count| usize::try_from(count).ok());
        while waiting.is_some_and(|count| self.steered.len() > count)
            && let Some(message) = self.steered.pop_front()
        {
            // Nothing else tells that its model has the message.
            fx.events.push_back(AgentEvent::UserMessage(message));
        }
        let streams = data.get("is-streaming").is_some_and(Value::is_truthy);
        let is_idle = !streams && text(data, "phase").as_deref() == Some("idle");
        if streams && self.is_open && !self.turn.is_active() {
            self.end = None;
            self.turn.begin(TurnOrigin::Own, fx);
        }
        self.has_streamed |= streams;
        // Not every turn has an answer.
        if is_idle && (self.end.is_some() || std::mem::take(&mut self.has_streamed)) {
            let end = self.end.take();
            let (reason, usage) = end.unwrap_or((TurnEndReason::Completed, None));
            self.forget_texts();
            self.turn.end(reason, usage, fx);
        }
    }

    fn dialog(&mut self, data: &Value<'_>, fx: &mut Effects) {
        let title = text(data, "title").unwrap_or_default();
        let message = text(data, "message");
        let options = items(data, "options").iter().filter_map(|option| {
            let value = text(option, "value")?;
            Some((value.clone(), text(option, "label").unwrap_or(value)))
        });
        let options: Vec<(String, String)> = options.collect();
        let kind = text(data, "kind").unwrap_or_default();
        let ask = match (kind.as_str(), permission_options(&options)) {
            ("select", Some(options)) => {
                let call = self.turn.newest();
                AgentRequest::Permission(Permission {
                    call: call.map(|call| self.turn.open_call(&call.id)),
                    tool: call.map(|call| call.name.clone()),
                    kind: None,
                    input: call.map(|call| call.input.clone()).unwrap_or_default(),
                    title: message.unwrap_or(title),
                    options,
                })
            }
            (kind, _) => {
                let kind = match kind {
                    "select" => QuestionKind::Select(options),
                    "confirm" => QuestionKind::Confirm,
                    _ => QuestionKind::Text(String::new()),
                };
                AgentRequest::Question(AgentQuestion {
                    title,
                    message,
                    kind,
                })
            }
        };
        // One dialog is open at a time: another one means the last is gone.
        self.dialogs
            .drain(..)
            .for_each(|(number, ..)| fx.withdrawn.push(number));
        self.last_dialog += 1;
        let id = text(data, "dialog-id").unwrap_or_default();
        self.dialogs.push((self.last_dialog, id, kind == "confirm"));
        fx.asks.push((self.last_dialog, ask));
    }
}

impl Codec for Psi {
    fn open(&mut self, fx: &mut Effects) {
        let client = self.client.clone();
        let params = |params: &mut EdnWriter<'_>| {
            params.key("client-info").map(|info| {
                info.field("name", &client)
                    .field("version", env!("CARGO_PKG_VERSION"))
                    .field("protocol-version", "1.0");
            });
        };
        self.send(PsiReply::Handshake, None, "handshake", params, fx);
    }

    fn line(&mut self, line: &str, fx: &mut Effects) -> Result<(), BadLine> {
        let frame = edn::read_one(line).map_err(|error| BadLine(error.to_string()))?;
        match frame.get("kind").and_then(Value::as_keyword) {
            Some("event") => {
                let topic = frame
                    .get("event")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                if let Some(data) = frame.get("data") {
                    self.event(topic, data, fx);
                }
                Ok(())
            }
            Some("response") => {
                self.response(&frame, fx);
                Ok(())
            }
            Some("error") => {
                self.error(&frame, fx);
                Ok(())
            }
            _ => Err(BadLine("it is neither a response nor an event".to_owned())),
        }
    }

    fn request(&mut self, what: AgentAction, reply: Responder, fx: &mut Effects) {
        match what {
            AgentAction::Prompt(prompt) => self.prompt(&prompt, reply, fx),
            AgentAction::Steer(prompt) | AgentAction::FollowUp(prompt)
                if !self.turn.is_active() =>
            {
                // While nothing runs the backend would leave it in a queue.
                self.prompt(&prompt, reply, fx);
            }
            AgentAction::Steer(prompt) => {
                let params = |params: &mut EdnWriter<'_>| message(params, &prompt);
                let expected = PsiReply::Steered(prompt.text.clone());
                self.send(expected, Some(reply), "steer", params, fx);
            }
            AgentAction::FollowUp(prompt) => {
                let params = |params: &mut EdnWriter<'_>| message(params, &prompt);
                self.send(PsiReply::Done, Some(reply), "follow_up", params, fx);
            }
            AgentAction::Abort => {
                self.send(PsiReply::Nothing, None, "abort", |_| {}, fx);
                answer(Some(reply), Ok(HandleReply::Done));
            }
            AgentAction::Session => {
                let opened = Box::new(self.opened.clone());
                answer(Some(reply), Ok(HandleReply::Session(opened)));
            }
            AgentAction::NewSession => {
                self.send(PsiReply::Session, Some(reply), "new_session", |_| {}, fx);
            }
            AgentAction::Resume(path) => self.switch(&path, Some(reply), fx),
            AgentAction::Sessions => {
                self.send(PsiReply::Sessions, Some(reply), "list_sessions", |_| {}, fx);
            }
            AgentAction::Models => {
                let params = |params: &mut EdnWriter<'_>| {
                    params.field("query", "[:psi.agent-session/model-catalog]");
                };
                self.send(PsiReply::Models, Some(reply), "query_eql", params, fx);
            }
            AgentAction::SetModel(model) => {
                let (provider, id) = model.split_once('/').unwrap_or(("", &model));
                let params = |params: &mut EdnWriter<'_>| {
                    params.field("provider", provider).field("model-id", id);
                };
                self.send(PsiReply::Done, Some(reply), "set_model", params, fx);
            }
            AgentAction::SetThinking(level) => {
                let params = |params: &mut EdnWriter<'_>| {
                    params.field("level", &level);
                };
                self.send(
                    PsiReply::Done,
                    Some(reply),
                    "set_thinking_level",
                    params,
                    fx,
                );
            }
            AgentAction::Load(_) | AgentAction::SetMode(_) | AgentAction::Stop => {
                // The table refuses these before they come here.
                answer(
                    Some(reply),
                    Err(ChildAgentError::Refused("there is no op".to_owned())),
                );
            }
        }
    }

    fn answered(&mut self, ask: u64, answer: HostReply, fx: &mut Effects) {
        let Some(place) = self.dialogs.iter().position(|(number, ..)| *number == ask) else {
            return;
        };
        let (_, id, is_confirm) = self.dialogs.remove(place);
        let result: Option<Value<'static>> = match answer {
            HostReply::Permission(HostPermissionAnswer::Selected(value))
            | HostReply::Question(HostAnswer::Value(value))
                if !is_confirm =>
            {
                Some(value.into())
            }
            HostReply::Question(HostAnswer::Confirmed(yes)) if is_confirm => Some(Value::Bool(yes)),
            _ => None,
        };
        let op = match result {
            Some(_) => "resolve_dialog",
            None => "cancel_dialog",
        };
        let params = |params: &mut EdnWriter<'_>| {
            params.field("dialog-id", &id);
            if let Some(result) = &result {
                params.field("result", result);
            }
        };
        self.send(PsiReply::Nothing, None, op, params, fx);
    }

    fn turn(&mut self) -> &mut TurnGrammar {
        &mut self.turn
    }
}

/// What is new in a text that is sent as a whole each time. A text that does not begin with what
/// was seen is another answer.
fn newer(seen: &mut String, all: &str, fx: &mut Effects) -> Option<String> {
    let more = match all.strip_prefix(seen.as_str()) {
        Some(more) => more,
        None => {
            seen.clear();
            fx.events.push_back(AgentEvent::AnswerEnded);
            all
        }
    };
    seen.push_str(more);
    (!more.is_empty()).then(|| more.to_owned())
}

fn message(params: &mut EdnWriter<'_>, prompt: &AgentPrompt) {
    params.field("message", &prompt.text);
    if prompt.pictures.is_empty() {
        return;
    }
    params.key("images").vector(|images| {
        for picture in &prompt.pictures {
            images.map(|image| {
                image
                    .field("type", &Keyword("image"))
                    .field("mime-type", &picture.mime_type)
                    .field("data", &picture.data);
            });
        }
    });
}
