//! The Agent Client Protocol, version 1, from the client's side.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use stentor_wire::acp::{PROTOCOL_VERSION, method};
use stentor_wire::jsonrpc::{Id, Incoming, RawJson, code, decode, encode};

use super::acp_calls::AcpCalls;
use super::acp_requests::AcpRequest;
use super::acp_shapes::{blocks, selectable};
use super::acp_unreported::UnreportedCalls;
use super::acp_updates::TextChunk;
use super::json::{list, marked, number, str, text};
use super::pending::{PendingReplies, answer};
use super::turn::TurnGrammar;
use super::{AgentAction, BadLine, Codec, Effects, HandleReply, HostReply, Responder};
use crate::capability::Feature;
use crate::connection::LostCounter;
use crate::error::ChildAgentError;
use crate::event::{TurnEndReason, TurnOrigin, TurnUsage};
use crate::host::HostOffers;
use crate::options::{InitialSession, SessionOpened, StartOptions};
use crate::prompt::{AgentPrompt, OfferedModel, SessionInfo};

/// What a request waits for.
pub(super) enum AcpReply {
    Initialize,
    /// The session of the handshake, or of a later request; its id, if it is known already.
    Session(Option<String>),
    Sessions,
    Prompt,
    Steer,
    Done,
}

pub(super) struct Acp {
    client: String,
    cwd: PathBuf,
    resume: Option<String>,
    pub(super) offers: HostOffers,
    pub(super) pending: PendingReplies<AcpReply>,
    pub(super) turn: TurnGrammar,
    pub(super) calls: AcpCalls,
    pub(super) unreported: UnreportedCalls,
    pub(super) session: Option<String>,
    pub(super) opened: SessionOpened,
    pub(super) is_open: bool,
    /// A session is being reopened: what it says meanwhile was said before.
    pub(super) is_opening: bool,
    /// It has said something since it was last seen whether a turn of its own is over.
    pub(super) has_said: bool,
    /// How long it has said nothing in a turn of its own.
    pub(super) silence: Duration,
    /// The settings it has: its own words.
    pub(super) options: Vec<Value>,
    models: Vec<OfferedModel>,
    /// It repeats what was said in a session that is being resumed.
    pub(super) is_repeating: bool,
    /// Its modes are one of its settings, and nothing else.
    modes_are_a_setting: bool,
    /// The message that is being written.
    pub(super) message_id: String,
    /// What it asked and has not been answered.
    pub(super) asked: Vec<AcpRequest>,
    pub(super) last_asked: u64,
}

impl Acp {
    pub fn new(options: &StartOptions, offers: HostOffers, lost: LostCounter) -> Self {
        let cwd = options.cwd.clone().or_else(|| std::env::current_dir().ok());
        Self {
            client: options.client_name.clone(),
            cwd: cwd.unwrap_or_else(|| PathBuf::from("/")),
            resume: match &options.session {
                InitialSession::New => None,
                InitialSession::Resume(id) => Some(id.clone()),
            },
            offers,
            pending: PendingReplies::new(lost.clone()),
            turn: TurnGrammar::new(lost),
            calls: AcpCalls::default(),
            unreported: UnreportedCalls::default(),
            session: None,
            opened: SessionOpened::default(),
            is_open: false,
            is_opening: false,
            has_said: false,
            silence: Duration::ZERO,
            options: Vec::new(),
            models: Vec::new(),
            is_repeating: false,
            modes_are_a_setting: false,
            message_id: String::new(),
            asked: Vec::new(),
            last_asked: 0,
        }
    }

    fn send(
        &mut self,
        expected: AcpReply,
        reply: Option<Responder>,
        method: &str,
        params: &Value,
        fx: &mut Effects,
    ) {
        let number = self.pending.wait(expected, reply);
        let id = Id::from(i64::try_from(number).unwrap_or(i64::MAX));
        // A value can always be written.
        write(fx, |out| encode::request(out, &id, method, params));
    }

    fn new_session(&mut self, reply: Option<Responder>, fx: &mut Effects) {
        let params = json!({ "cwd": self.cwd, "mcpServers": [] });
        self.send(
            AcpReply::Session(None),
            reply,
            method::SESSION_NEW,
            &params,
            fx,
        );
    }

    fn reopen(&mut self, id: &str, load: bool, reply: Option<Responder>, fx: &mut Effects) {
        let loads = load || !self.opened.announced.contains(&Feature::Resume);
        let method = match loads {
            true => method::SESSION_LOAD,
            false => method::SESSION_RESUME,
        };
        self.is_opening = true;
        // Nobody wants to have repeated what was said, where there is no other way to resume.
        self.is_repeating = loads && !load;
        let params = json!({ "sessionId": id, "cwd": self.cwd, "mcpServers": [] });
        // Updates may come before the answer, and they are of this session.
        self.session = Some(id.to_owned());
        self.send(
            AcpReply::Session(Some(id.to_owned())),
            reply,
            method,
            &params,
            fx,
        );
    }

    fn with_session(&self, mut params: Value) -> Value {
        if let (Some(params), Some(id)) = (params.as_object_mut(), &self.session) {
            params.insert("sessionId".to_owned(), id.clone().into());
        }
        params
    }

    fn prompt(&mut self, prompt: AgentPrompt, reply: Responder, fx: &mut Effects) {
        // It takes a prompt at any time, and nothing but silence would end what it began by itself.
        self.end_own(TurnEndReason::Completed, fx);
        if self.turn.is_active() {
            return answer(Some(reply), Err(ChildAgentError::Busy));
        }
        self.message_id.clear();
        self.turn.begin(TurnOrigin::Prompt, fx);
        let params = self.with_session(json!({ "prompt": blocks(prompt) }));
        self.send(AcpReply::Prompt, None, method::SESSION_PROMPT, &params, fx);
        answer(Some(reply), Ok(HandleReply::Done));
    }

    fn response(&mut self, id: &Id, result: RawJson<'_>, fx: &mut Effects) {
        let number = id.as_i64().and_then(|id| u64::try_from(id).ok());
        let Some((expected, reply)) = self.pending.take(number) else {
            return;
        };
        let result: Value = result.parse().unwrap_or_default();
        match expected {
            AcpReply::Initialize => self.initialized(&result, fx),
            AcpReply::Session(known) => {
                self.is_repeating = false;
                self.is_opening = false;
                let Some(id) = known.or_else(|| text(&result, "sessionId")) else {
                    let what = "session/new";
                    let why = "there is no sessionId".to_owned();
                    return self.session_failed(
                        reply,
                        ChildAgentError::BadAnswer { what, why },
                        fx,
                    );
                };
                self.session_opened(id, &result);
                let opened = self.opened.clone();
                if std::mem::replace(&mut self.is_open, true) {
                    answer(reply, Ok(HandleReply::Session(Box::new(opened))));
                } else {
                    fx.opened = Some(Ok(opened));
                }
            }
            AcpReply::Sessions => {
                let sessions = list(&result, "sessions").iter().map(|session| SessionInfo {
                    id: str(session, "sessionId").to_owned(),
                    title: text(session, "title"),
                    cwd: text(session, "cwd"),
                    updated_at: text(session, "updatedAt"),
                });
                answer(reply, Ok(HandleReply::Sessions(sessions.collect())));
            }
            AcpReply::Prompt => self.prompted(&result, fx),
            AcpReply::Steer => match str(&result, "outcome") {
                "failed" => {
                    let why = "it cannot take the message now".to_owned();
                    answer(reply, Err(ChildAgentError::Refused(why)));
                }
                _ => answer(reply, Ok(HandleReply::Done)),
            },
            AcpReply::Done => {
                if result.get("configOptions").is_some_and(Value::is_array) {
                    self.options = list(&result, "configOptions").to_vec();
                    self.learn_mode();
                }
                answer(reply, Ok(HandleReply::Done));
            }
        }
    }

    fn initialized(&mut self, result: &Value, fx: &mut Effects) {
        if number(result, "protocolVersion") != u64::from(PROTOCOL_VERSION) {
            let version = result.get("protocolVersion").cloned().unwrap_or_default();
            let why = format!("it speaks version {version} of the protocol");
            fx.opened = Some(Err(ChildAgentError::NotReady(why)));
            return;
        }
        let capabilities = result.get("agentCapabilities").unwrap_or(&Value::Null);
        let has = |path: &[&str]| marked(capabilities, path);
        let announced = [
            (Feature::Pictures, has(&["promptCapabilities", "image"])),
            (Feature::Load, has(&["loadSession"])),
            (Feature::Resume, has(&["sessionCapabilities", "resume"])),
            (Feature::ListSessions, has(&["sessionCapabilities", "list"])),
            (
                Feature::Steer,
                result
                    .pointer("/_meta/steering/supported")
                    .and_then(Value::as_bool)
                    == Some(true),
            ),
        ];
        let announced = announced
            .into_iter()
            .filter_map(|(feature, has)| has.then_some(feature));
        self.opened.announced = announced.collect();
        let info = result.get("agentInfo").unwrap_or(&Value::Null);
        self.opened.agent =
            text(info, "name").map(|name| format!("{name} {}", str(info, "version")));
        match self.resume.take() {
            Some(id) if has(&["loadSession"]) || has(&["sessionCapabilities", "resume"]) => {
                self.reopen(&id, false, None, fx);
            }
            Some(_) => {
                fx.opened = Some(Err(ChildAgentError::Unsupported {
                    feature: Feature::Resume,
                    dialect: crate::dialect::AgentDialect::Acp,
                    reason: "it does not announce this",
                }));
            }
            None => self.new_session(None, fx),
        }
    }

    fn session_opened(&mut self, id: String, result: &Value) {
        let can_reopen = [Feature::Resume, Feature::Load];
        let can_reopen = can_reopen
            .iter()
            .any(|way| self.opened.announced.contains(way));
        self.opened.id = Some(id.clone());
        self.opened.resume_id = can_reopen.then(|| id.clone());
        self.session = Some(id);
        self.options = list(result, "configOptions").to_vec();
        self.modes_are_a_setting = false;
        let modes = result.get("modes").unwrap_or(&Value::Null);
        let names = list(modes, "availableModes")
            .iter()
            .map(|mode| (str(mode, "id").to_owned(), str(mode, "name").to_owned()));
        self.opened.modes = names.collect();
        self.opened.mode = text(modes, "currentModeId");
        if let Some(option) = self.option("mode").filter(|_| self.opened.modes.is_empty()) {
            let modes = selectable(option).into_iter();
            let mode = text(option, "currentValue");
            self.opened.modes = modes.map(|mode| (mode.id, mode.name)).collect();
            self.opened.mode = mode;
            self.modes_are_a_setting = true;
        }
        // Not in the protocol any more, but still written by some.
        let models = result.get("models").unwrap_or(&Value::Null);
        let named = list(models, "availableModels")
            .iter()
            .map(|model| OfferedModel {
                id: str(model, "modelId").to_owned(),
                name: str(model, "name").to_owned(),
            });
        self.models = named.collect();
        self.opened.model = text(models, "currentModelId");
        if let Some(option) = self.option("model") {
            self.opened.model = text(option, "currentValue");
        }
        let found = [
            (Feature::Modes, !self.opened.modes.is_empty()),
            (
                Feature::Models,
                self.option("model").is_some() || !self.models.is_empty(),
            ),
            (
                Feature::ThinkingLevel,
                self.option("thought_level").is_some(),
            ),
        ];
        for (feature, has) in found {
            self.opened.announced.retain(|known| *known != feature);
            if has {
                self.opened.announced.push(feature);
            }
        }
    }

    pub(super) fn session_failed(
        &mut self,
        reply: Option<Responder>,
        error: ChildAgentError,
        fx: &mut Effects,
    ) {
        match self.is_open {
            true => answer(reply, Err(error)),
            false => fx.opened = Some(Err(error)),
        }
    }

    /// The setting of a category.
    pub(super) fn option(&self, category: &str) -> Option<&Value> {
        self.options
            .iter()
            .find(|option| str(option, "category") == category)
    }

    /// The mode it is in, where modes are one of its settings.
    pub(super) fn learn_mode(&mut self) {
        let option = self.option("mode").filter(|_| self.modes_are_a_setting);
        if let Some(mode) = option.and_then(|option| text(option, "currentValue")) {
            self.opened.mode = Some(mode);
        }
    }

    fn choose(&mut self, category: &str, value: &str, reply: Responder, fx: &mut Effects) {
        let Some(config) = self
            .option(category)
            .map(|option| str(option, "id").to_owned())
        else {
            let why = format!("it has no setting for {category}");
            return answer(Some(reply), Err(ChildAgentError::Refused(why)));
        };
        let params = self.with_session(json!({ "configId": config, "value": value }));
        self.send(
            AcpReply::Done,
            Some(reply),
            method::SESSION_SET_CONFIG_OPTION,
            &params,
            fx,
        );
    }

    fn prompted(&mut self, result: &Value, fx: &mut Effects) {
        let reason = match str(result, "stopReason") {
            "cancelled" => TurnEndReason::Aborted,
            "max_tokens" | "max_turn_requests" => TurnEndReason::Limit,
            "refusal" => TurnEndReason::Refused,
            _ => TurnEndReason::Completed,
        };
        let cost = result
            .pointer("/_meta/stentor/usage/costUsd")
            .and_then(Value::as_f64);
        let usage = result
            .get("usage")
            .filter(|usage| usage.is_object())
            .map(|usage| TurnUsage {
                input_tokens: number(usage, "inputTokens"),
                output_tokens: number(usage, "outputTokens"),
                cache_read_tokens: number(usage, "cachedReadTokens"),
                cache_write_tokens: number(usage, "cachedWriteTokens"),
                cost_usd: cost,
            });
        self.end_turn(reason, usage, fx);
    }

    pub(super) fn end_turn(
        &mut self,
        reason: TurnEndReason,
        usage: Option<TurnUsage>,
        fx: &mut Effects,
    ) {
        self.calls.announce(&mut self.turn, fx);
        self.calls = AcpCalls::default();
        self.unreported.leave_terminals(&mut self.turn, fx);
        self.turn.end(reason, usage, fx);
    }
}

impl Codec for Acp {
    fn open(&mut self, fx: &mut Effects) {
        let mut capabilities = json!({
            "fs": {
                "readTextFile": self.offers.read_files,
                "writeTextFile": self.offers.write_files,
            },
            "terminal": self.offers.terminals,
            "session": { "notices": {} },
        });
        if let (true, Some(all)) = (self.offers.questions, capabilities.as_object_mut()) {
            all.insert("elicitation".to_owned(), json!({ "form": {} }));
        }
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": capabilities,
            "clientInfo": { "name": self.client, "version": env!("CARGO_PKG_VERSION") },
        });
        self.send(AcpReply::Initialize, None, method::INITIALIZE, &params, fx);
    }

    fn line(&mut self, line: &str, fx: &mut Effects) -> Result<(), BadLine> {
        match decode(line) {
            Incoming::Notification { method, .. }
                if method == method::SESSION_UPDATE && self.is_repeating => {}
            Incoming::Notification { method, params } if method == method::SESSION_UPDATE => {
                if let Ok(chunk) = params.parse::<TextChunk<'_>>()
                    && self.chunk(chunk, fx)
                {
                    return Ok(());
                }
                let params: Value = params.parse().map_err(|error| BadLine(error.to_string()))?;
                self.update(&params, fx);
            }
            Incoming::Notification { method, params } if method == method::CANCEL_REQUEST => {
                let params: Value = params.parse().unwrap_or_default();
                let target = params.get("requestId").cloned().unwrap_or_default();
                let target = serde_json::from_value::<Id>(target).ok();
                if let Some(place) = self
                    .asked
                    .iter()
                    .position(|asked| Some(&asked.id) == target.as_ref())
                {
                    let AcpRequest {
                        number,
                        id,
                        concerns,
                        ..
                    } = self.asked.remove(place);
                    if let Some(concerns) = concerns {
                        let turn = &mut self.turn;
                        let answer = HostReply::Withdrawn;
                        self.unreported.answered(concerns, &answer, turn, fx);
                    }
                    fx.withdrawn.push(number);
                    let code = code::REQUEST_CANCELLED;
                    write(fx, |out| {
                        encode::error(out, Some(&id), code, "Request cancelled", None)
                    });
                }
            }
            Incoming::Notification { .. } | Incoming::Ignore { .. } => {}
            Incoming::Request { id, method, params } => {
                let params: Value = params.parse().map_err(|error| BadLine(error.to_string()))?;
                self.ask(id, &method, &params, fx);
            }
            Incoming::Response { id, result } => self.response(&id, result, fx),
            Incoming::ResponseError { id, error } => self.refused(&id, error, fx),
            Incoming::Error(fault) => return Err(BadLine(fault.reason.to_owned())),
        }
        Ok(())
    }

    fn request(&mut self, what: AgentAction, reply: Responder, fx: &mut Effects) {
        match what {
            AgentAction::Prompt(prompt) => self.prompt(prompt, reply, fx),
            AgentAction::Steer(prompt) => {
                let params = self.with_session(json!({ "prompt": blocks(prompt) }));
                self.send(
                    AcpReply::Steer,
                    Some(reply),
                    method::SESSION_STEERING,
                    &params,
                    fx,
                );
            }
            AgentAction::Abort => {
                let params = self.with_session(json!({}));
                write(fx, |out| {
                    encode::notification(out, method::SESSION_CANCEL, &params)
                });
                // There is no answer that would end it.
                self.end_own(TurnEndReason::Aborted, fx);
                answer(Some(reply), Ok(HandleReply::Done));
            }
            AgentAction::Session => {
                let opened = Box::new(self.opened.clone());
                answer(Some(reply), Ok(HandleReply::Session(opened)));
            }
            AgentAction::NewSession => self.new_session(Some(reply), fx),
            AgentAction::Resume(id) => self.reopen(&id, false, Some(reply), fx),
            AgentAction::Load(id) => self.reopen(&id, true, Some(reply), fx),
            AgentAction::Sessions => {
                let params = json!({ "cwd": self.cwd });
                self.send(
                    AcpReply::Sessions,
                    Some(reply),
                    method::SESSION_LIST,
                    &params,
                    fx,
                );
            }
            AgentAction::Models => {
                let models = match self.option("model") {
                    Some(option) => selectable(option),
                    None => self.models.clone(),
                };
                answer(Some(reply), Ok(HandleReply::Models(models)));
            }
            AgentAction::SetModel(model) if self.option("model").is_none() => {
                let params = self.with_session(json!({ "modelId": model }));
                self.send(
                    AcpReply::Done,
                    Some(reply),
                    method::SESSION_SET_MODEL,
                    &params,
                    fx,
                );
            }
            AgentAction::SetModel(model) => self.choose("model", &model, reply, fx),
            AgentAction::SetMode(mode) if self.modes_are_a_setting => {
                self.choose("mode", &mode, reply, fx);
            }
            AgentAction::SetThinking(level) => self.choose("thought_level", &level, reply, fx),
            AgentAction::SetMode(mode) => {
                let params = self.with_session(json!({ "modeId": mode }));
                self.send(
                    AcpReply::Done,
                    Some(reply),
                    method::SESSION_SET_MODE,
                    &params,
                    fx,
                );
            }
            AgentAction::FollowUp(_) | AgentAction::Stop => {
                // The table refuses these before they come here.
                answer(
                    Some(reply),
                    Err(ChildAgentError::Refused("there is no method".to_owned())),
                );
            }
        }
    }

    fn answered(&mut self, ask: u64, answer: HostReply, fx: &mut Effects) {
        self.answer_request(ask, answer, fx);
    }

    fn skipped(&mut self, start: &[u8], fx: &mut Effects) {
        self.skipped_line(start, fx);
    }

    fn wake(&mut self, fx: &mut Effects) {
        self.look_whether_over(fx);
    }

    fn turn(&mut self) -> &mut TurnGrammar {
        &mut self.turn
    }
}

pub(super) fn write(
    fx: &mut Effects,
    frame: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
) {
    let mut line = Vec::new();
    match frame(&mut line) {
        Ok(()) => {
            line.push(b'\n');
            fx.lines.push(line);
        }
        // Values of JSON can always be written.
        Err(error) => tracing::warn!(%error, "a frame could not be written"),
    }
}
