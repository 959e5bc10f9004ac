//! The session's model, asked by a server: with a person's consent, within limits, and counted into
//! what the session consumes.

use std::sync::Arc;

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{
    InputKind, ModelEvent, ModelInfo, ModelRequest, ModelStream, Purpose, ThinkingLevel,
};
use stentor_agent::session::{ModelAccess, WeakSession};
use stentor_agent::tool::ToolHost;
use stentor_agent::tool_servers::{SamplingConsent, ToolServer};
use stentor_journal::conversation::estimate_tokens;
use stentor_journal::message::{AssistantMessage, ContentBlock, KnownMessage, Message, StopReason};
use stentor_journal::usage::Usage;
use stentor_policy::PermissionAnswer;
use tokio::time::timeout;

use super::callers::Callers;
use super::limits::SAMPLING_LIMIT;
use super::protocol::{Block, Role};

/// As much of what a server wants to ask as a person is shown.
const SHOWN_CHARS: usize = 2_000;
/// Messages of one request.
const MESSAGES: usize = 200;
/// The longest answer that is passed on, whatever the model sends.
const ANSWER_BYTES: usize = 1 << 20;
/// About as many bytes of a text are a token.
const BYTES_PER_TOKEN: usize = 4;

/// What a server wants the model to answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SampleParams {
    messages: Vec<SampledMessage>,
    #[serde(default)]
    system_prompt: Option<String>,
    max_tokens: u64,
    /// We have not said that we can do this.
    #[serde(default)]
    tools: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct SampledMessage {
    role: Role,
    content: Blocks,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Blocks {
    One(Block),
    Several(Vec<Block>),
}

/// Why the model was not asked, for the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Declined {
    #[error("the user rejected the request")]
    Person,
    #[error("{0}")]
    Limit(String),
    #[error("{0}")]
    Unusable(&'static str),
    #[error("the model gave no answer: {0}")]
    Model(String),
}

/// Has the model of the session answer a server.
pub(super) async fn sample(
    server: &ToolServer,
    callers: &Callers,
    session: &WeakSession,
    params: SampleParams,
) -> Result<Value, Declined> {
    if params.tools.is_some() {
        return Err(Declined::Unusable("the model is given no tools here"));
    }
    if params.messages.len() > MESSAGES {
        return Err(Declined::Unusable("there are too many messages"));
    }
    let access = access(session).await?;
    let info = Arc::clone(access.model.info());
    let messages = messages(params.messages, &info)?;
    // Asking for consent may take long; the limits count when the model is asked.
    let input = estimated_input(params.system_prompt.as_deref(), &messages);
    left_for_answer(server, callers, session, &access, input)?;
    consent(server, callers, session, &params.system_prompt, &messages).await?;
    let left_tokens = left_for_answer(server, callers, session, &access, input)?;
    callers.sample(session, |sampled| sampled.calls += 1);
    let most = left_tokens.min(info.max_tokens.max(1));
    let request = ModelRequest {
        system: params.system_prompt.unwrap_or_default().into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([]),
        thinking: info.clamp(ThinkingLevel::Off),
        output_schema: None,
        max_output_tokens: Some(params.max_tokens.clamp(1, most)),
        // It is another conversation than the session's.
        session_id: format!("{}-mcp-{}", session.id(), server.name).into(),
        session_file: None,
        purpose: Purpose::Aside,
        host: None,
    };
    let mut meter = Meter {
        host: &*access.host,
        callers,
        session,
        info: &info,
        input,
        answer_bytes: 0,
        usage: None,
    };
    let asked = timeout(
        SAMPLING_LIMIT,
        answer(access.model.stream(request), &mut meter),
    );
    let answered = asked.await.unwrap_or_else(|_| {
        let why = "it took too long".to_owned();
        Err(Declined::Model(why))
    });
    drop(meter);
    let (text, stop_reason) = answered?;
    Ok(json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": info.id,
        "stopReason": match stop_reason {
            StopReason::Length => "maxTokens",
            _ => "endTurn",
        },
    }))
}

async fn access(session: &WeakSession) -> Result<ModelAccess, Declined> {
    let gone = || Declined::Model("the session is over".to_owned());
    let session = session.upgrade().ok_or_else(gone)?;
    let access = session.model_access().await;
    access.map_err(|error| Declined::Model(error.to_string()))
}

/// Counts a request, when it goes: also one that takes too long, breaks off or is withdrawn was paid for.
struct Meter<'a> {
    host: &'a dyn ToolHost,
    callers: &'a Callers,
    session: &'a WeakSession,
    info: &'a ModelInfo,
    /// Tokens of the request, estimated.
    input: u64,
    /// The bytes of an answer that has no end yet.
    answer_bytes: usize,
    /// What the provider says was consumed, as soon as it does.
    usage: Option<Usage>,
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        let mut usage = self.usage.unwrap_or_else(|| Usage {
            input: self.input,
            ..Usage::default()
        });
        let answered = (self.answer_bytes / BYTES_PER_TOKEN) as u64;
        usage.output = usage.output.max(answered);
        let usage = usage.priced(self.info.cost.as_ref());
        self.host.consumed(&self.info.full_name(), usage);
        self.callers.sample(self.session, |sampled| {
            sampled.tokens = sampled.tokens.saturating_add(usage.total_tokens);
        });
    }
}

/// About how many tokens the model would read.
fn estimated_input(system: Option<&str>, messages: &[Message]) -> u64 {
    let system = (system.unwrap_or_default().len() / BYTES_PER_TOKEN) as u64;
    messages
        .iter()
        .map(estimate_tokens)
        .fold(system, u64::saturating_add)
}

/// How many tokens the answer to a request of `input` tokens may have.
fn left_for_answer(
    server: &ToolServer,
    callers: &Callers,
    session: &WeakSession,
    access: &ModelAccess,
    input: u64,
) -> Result<u64, Declined> {
    let left = left(server, callers, session, access)?;
    match left.checked_sub(input) {
        Some(for_answer @ 1..) => Ok(for_answer),
        Some(0) | None => Err(Declined::Limit(format!(
            "the request has about {input} tokens, and this server may use {left} more tokens of \
             the model in this session, input and output together"
        ))),
    }
}

/// How many tokens the server may still have.
fn left(
    server: &ToolServer,
    callers: &Callers,
    session: &WeakSession,
    access: &ModelAccess,
) -> Result<u64, Declined> {
    let limits = &server.sampling;
    let so_far = callers.sampled(session);
    if so_far.calls >= limits.calls {
        let calls = limits.calls;
        return Err(Declined::Limit(format!(
            "this server may ask the model {calls} times in a session, and has"
        )));
    }
    let of_session = access.host.budget_left();
    let own = limits.tokens.saturating_sub(so_far.tokens);
    let left = of_session.tokens.map_or(own, |tokens| tokens.min(own));
    let is_paid = of_session.cost.is_some_and(|dollars| dollars <= 0.0);
    let is_over = is_paid || of_session.turns == Some(0);
    match left {
        _ if is_over => Err(Declined::Limit(
            "the budget of the session is used up".into(),
        )),
        0 => Err(Declined::Limit(format!(
            "this server may use {} tokens of the model in a session, and has",
            limits.tokens
        ))),
        left => Ok(left),
    }
}

/// Asks a person, unless the answer is known.
async fn consent(
    server: &ToolServer,
    callers: &Callers,
    session: &WeakSession,
    system: &Option<String>,
    messages: &[Message],
) -> Result<(), Declined> {
    match server.sampling.consent {
        SamplingConsent::Allow => return Ok(()),
        SamplingConsent::Deny => return Err(Declined::Person),
        SamplingConsent::Ask if callers.sampled(session).is_allowed => return Ok(()),
        SamplingConsent::Ask => {}
    }
    let option = |value: &str, label: &str, permission| DialogOption {
        value: value.to_owned(),
        label: label.to_owned(),
        description: None,
        permission: Some(permission),
    };
    let name = &server.name;
    let shown = shown(system.as_deref(), messages);
    let dialog = Dialog {
        title: format!("The MCP server {name:?} wants to ask the model:\n{shown}"),
        kind: DialogKind::Select {
            options: vec![
                option("once", "Allow once", PermissionAnswer::AllowOnce),
                option(
                    "session",
                    "Allow in this session, within its limits",
                    PermissionAnswer::AllowAlways,
                ),
                option("deny", "Deny", PermissionAnswer::RejectOnce),
            ],
        },
        form: None,
        timeout_ms: None,
    };
    match session.ask_dialog(dialog).await {
        DialogAnswer::Value(chosen) if chosen == "once" => Ok(()),
        DialogAnswer::Value(chosen) if chosen == "session" => {
            callers.sample(session, |sampled| sampled.is_allowed = true);
            Ok(())
        }
        _ => Err(Declined::Person),
    }
}

/// What the model would be asked, for the person who decides.
fn shown(system: Option<&str>, messages: &[Message]) -> String {
    let mut text = String::new();
    if let Some(system) = system.filter(|system| !system.is_empty()) {
        text.push_str(&format!("[system] {system}\n"));
    }
    for message in messages {
        let (who, said) = match (message.as_user(), message.as_assistant()) {
            (Some(user), _) => ("user", user.content.text()),
            (None, Some(answer)) => {
                let texts = answer.content.iter().filter_map(ContentBlock::as_text);
                ("assistant", texts.collect())
            }
            (None, None) => continue,
        };
        text.push_str(&format!("[{who}] {said}\n"));
    }
    let whole = text.chars().count();
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if whole > SHOWN_CHARS {
        shown.push_str(&format!("… ({} more characters)", whole - SHOWN_CHARS));
    }
    shown
}

/// The messages as a model takes them.
fn messages(given: Vec<SampledMessage>, info: &ModelInfo) -> Result<Vec<Message>, Declined> {
    let mut messages = Vec::new();
    for SampledMessage { role, content } in given {
        let blocks = match content {
            Blocks::One(block) => vec![block],
            Blocks::Several(blocks) => blocks,
        };
        let blocks: Result<Vec<ContentBlock>, Declined> = blocks
            .into_iter()
            .map(|block| content_block(block, info))
            .collect();
        messages.push(match role {
            Role::User => Message::user(blocks?, 0),
            Role::Assistant => assistant(blocks?, info),
        });
    }
    match messages.is_empty() {
        true => Err(Declined::Unusable("there are no messages")),
        false => Ok(messages),
    }
}

fn content_block(block: Block, info: &ModelInfo) -> Result<ContentBlock, Declined> {
    match block {
        Block::Text { text } => Ok(ContentBlock::text(text)),
        Block::Image { data, mime_type } if info.accepts(InputKind::Image) => Ok(
            ContentBlock::image(data, mime_type.unwrap_or_else(|| "image/png".to_owned())),
        ),
        Block::Image { .. } => Err(Declined::Unusable("the model takes no pictures")),
        Block::Audio { .. } | Block::Resource { .. } | Block::ResourceLink { .. } => Err(
            Declined::Unusable("the model is given text and pictures only"),
        ),
        Block::Unknown => Err(Declined::Unusable("its content is of an unknown form")),
    }
}

fn assistant(content: Vec<ContentBlock>, info: &ModelInfo) -> Message {
    Message::Known(KnownMessage::Assistant(AssistantMessage {
        content,
        api: info.api.clone(),
        provider: info.provider.clone(),
        model: info.id.clone(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: 0,
        response_id: None,
        duration: None,
        ttft: None,
        rest: serde_json::Map::new(),
    }))
}

/// Reads an answer to its end. What was consumed is known also where it failed.
async fn answer(
    mut stream: ModelStream,
    meter: &mut Meter<'_>,
) -> Result<(String, StopReason), Declined> {
    let mut text = String::new();
    let mut in_text = false;
    let mut has_begun = false;
    while let Some(event) = stream.next().await {
        let event = event.map_err(|error| {
            // What a provider refuses costs nothing.
            if !has_begun {
                meter.usage.get_or_insert_default();
            }
            Declined::Model(error.message)
        })?;
        has_begun = true;
        match event {
            ModelEvent::BlockStarted(kind) => in_text = kind == LiveBlockKind::Text,
            ModelEvent::Delta(delta) => {
                meter.answer_bytes += delta.len();
                if in_text {
                    text.push_str(&delta);
                }
                if text.len() > ANSWER_BYTES {
                    let why = format!("it is longer than {} KiB", ANSWER_BYTES >> 10);
                    return Err(Declined::Model(why));
                }
            }
            ModelEvent::Usage(so_far) => meter.usage = Some(so_far),
            ModelEvent::Finished(finish) => {
                meter.usage = Some(finish.usage);
                meter.answer_bytes = 0;
                return Ok((text, finish.stop_reason));
            }
            ModelEvent::Started { .. }
            | ModelEvent::BlockEnded { .. }
            | ModelEvent::Intent(_)
            | ModelEvent::Became(_)
            | ModelEvent::Titled(_)
            | ModelEvent::Nothing => {}
        }
    }
    Err(Declined::Model("it broke off before its end".to_owned()))
}
