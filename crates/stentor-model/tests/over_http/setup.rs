//! Models and requests for the tests.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{
    InputKind, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, Purpose, ThinkingLevel,
};
use stentor_agent::tool::{ToolEffect, ToolSpec};
use stentor_http::{Http, HttpLimits, HttpSettings};
use stentor_journal::clock::{CountingClock, SharedClock};
use stentor_journal::message::{
    AssistantMessage, ContentBlock, KnownBlock, KnownMessage, Message, RedactedThinking,
    StopReason, TextBlock, ThinkingBlock, ToolCall,
};
use stentor_journal::usage::Usage;
use stentor_model::credential::{Credential, FixedCredential};
use stentor_model::remote::{ModelEndpoint, RemoteModel};
use stentor_model::secret::Secret;
use stentor_model::wire::Wire;

pub const KEY: &str = "test-key-0123456789";
/// The time of every test, Sun, 15 Nov 2026 12:00:00 GMT.
pub const NOW_MS: u64 = 1_794_744_000_000;

/// The four wires and where each has its API below a server's root.
pub const WIRES: [(Wire, &str); 4] = [
    (Wire::AnthropicMessages, ""),
    (Wire::OpenAiChat, "/v1"),
    (Wire::OpenAiResponses, "/v1"),
    (Wire::Gemini, "/v1beta"),
];

pub fn clock() -> SharedClock {
    Arc::new(CountingClock::starting_at(NOW_MS))
}

pub fn info(wire: Wire, base_url: String) -> ModelInfo {
    ModelInfo {
        id: "claude-test-5".into(),
        name: "Test".into(),
        api: wire.api().into(),
        provider: "acme".into(),
        base_url,
        reasoning: true,
        input: vec![InputKind::Text, InputKind::Image, InputKind::Document],
        cost: None,
        context_window: 200_000,
        max_tokens: 8000,
        thinking_levels: Vec::new(),
        modes: Vec::new(),
    }
}

pub fn endpoint(info: ModelInfo, wire: Wire) -> ModelEndpoint {
    ModelEndpoint {
        base_url: Secret::new(info.base_url.as_str()),
        info: Arc::new(info),
        wire,
        credentials: Arc::new(FixedCredential {
            credential: Credential::ApiKey(Secret::new(KEY)),
            hint: "check ACME_API_KEY".into(),
        }),
        headers: Vec::new(),
        ca_file: None,
        server_tools: Arc::new([]),
    }
}

pub fn model_with(endpoint: ModelEndpoint, settings: HttpSettings) -> RemoteModel {
    RemoteModel::new(endpoint, Arc::new(Http::new(settings)), clock())
}

/// One client per test: building it costs more than everything else a test does.
fn shared_http() -> Arc<Http> {
    thread_local! {
        static HTTP: Arc<Http> = Arc::new(Http::default());
    }
    HTTP.with(Arc::clone)
}

pub fn model_at(endpoint: ModelEndpoint) -> RemoteModel {
    RemoteModel::new(endpoint, shared_http(), clock())
}

pub fn model(wire: Wire, base_url: String) -> RemoteModel {
    model_at(endpoint(info(wire, base_url), wire))
}

/// Waits for silence as long as a busy machine may need to pass on what was sent.
pub fn impatient() -> HttpSettings {
    HttpSettings {
        limits: HttpLimits {
            silence_ms: 2_000,
            ..HttpLimits::default()
        },
        ..HttpSettings::default()
    }
}

pub fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str| {
        ToolSpec {
        name: name.into(),
        label: name.into(),
        description: format!("does {name}"),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}).into(),
        effect: ToolEffect::Reads,
    }
    };
    Arc::new([tool("read"), tool("list")])
}

pub fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: tools(),
        thinking: ThinkingLevel::Medium,
        output_schema: None,
        max_output_tokens: None,
        session_id: "session-1".into(),
        session_file: None,
        purpose: Purpose::Turn,
        host: None,
    }
}

pub fn user(text: &str) -> Message {
    Message::user(vec![ContentBlock::text(text)], 1)
}

pub fn tool_result(id: &str, name: &str, content: Value) -> Message {
    serde_json::from_value(json!({
        "role": "toolResult", "toolCallId": id, "toolName": name, "content": content,
        "isError": false, "timestamp": 1,
    }))
    .unwrap()
}

/// All events that are part of an answer, and the error it ended with.
pub async fn ask(
    model: &dyn Model,
    request: ModelRequest,
) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut events = Vec::new();
    let mut stream = model.stream(request);
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::Nothing) => {}
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "something follows the error");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

pub async fn say(model: &dyn Model, text: &str) -> (Vec<ModelEvent>, Option<ModelError>) {
    ask(model, request(vec![user(text)])).await
}

/// All text of an answer.
pub fn text_of(events: &[ModelEvent]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        ModelEvent::Delta(text) => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

/// The message the events make, as the turn loop would put it together.
pub fn message_of(events: &[ModelEvent], info: &ModelInfo) -> Message {
    let mut content: Vec<ContentBlock> = Vec::new();
    let mut open: Option<(LiveBlockKind, String)> = None;
    let mut stop_reason = StopReason::Stop;
    for event in events {
        match event {
            ModelEvent::BlockStarted(kind) => open = Some((kind.clone(), String::new())),
            ModelEvent::Delta(text) => open.as_mut().unwrap().1.push_str(text),
            ModelEvent::BlockEnded { signature } => {
                let (kind, text) = open.take().unwrap();
                content.push(ContentBlock::Known(block(kind, text, signature.clone())));
            }
            ModelEvent::Finished(finish) => stop_reason = finish.stop_reason,
            ModelEvent::Started { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Became(_)
            | ModelEvent::Titled(_)
            | ModelEvent::Intent(_)
            | ModelEvent::Nothing => {}
        }
    }
    Message::Known(KnownMessage::Assistant(AssistantMessage {
        content,
        api: info.api.clone(),
        provider: info.provider.clone(),
        model: info.id.clone(),
        usage: Usage::default(),
        stop_reason,
        error_message: None,
        timestamp: 1,
        response_id: None,
        duration: None,
        ttft: None,
        rest: Default::default(),
    }))
}

fn block(kind: LiveBlockKind, text: String, signature: Option<String>) -> KnownBlock {
    match kind {
        LiveBlockKind::Text => KnownBlock::Text(TextBlock {
            text,
            text_signature: signature,
        }),
        LiveBlockKind::Thinking => KnownBlock::Thinking(ThinkingBlock {
            thinking: text,
            thinking_signature: signature,
            redacted: None,
        }),
        LiveBlockKind::Redacted => KnownBlock::RedactedThinking(RedactedThinking { data: text }),
        LiveBlockKind::ToolCall { id, name } => KnownBlock::ToolCall(ToolCall {
            id,
            name,
            arguments: serde_json::from_str(&text).unwrap(),
            thought_signature: signature,
            intent: None,
        }),
    }
}
