//! The wires models are spoken to over.

use stentor_agent::model::{ModelInfo, ModelRequest};

use crate::answer::Decoder;
use crate::credential::Credential;
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// An API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    AnthropicMessages,
    OpenAiChat,
    OpenAiResponses,
    /// The Responses API as a ChatGPT subscription offers it.
    CodexResponses,
    Gemini,
}

/// A request as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub url: String,
    /// Names in lower case. May hold credentials: never shown.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// To whom a request goes.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub info: &'a ModelInfo,
    pub credential: &'a Credential,
    /// Where the API is, without a slash at the end.
    pub base_url: &'a str,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 5] = [
        Self::AnthropicMessages,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::CodexResponses,
        Self::Gemini,
    ];

    /// The wire of this name, if it is one.
    pub fn from_api(api: &str) -> Option<Self> {
        match api {
            // Mistral's own name for what it also answers as chat completions.
            "mistral-conversations" => Some(Self::OpenAiChat),
            api => Self::ALL.into_iter().find(|wire| wire.api() == api),
        }
    }

    /// Its name in configurations and messages.
    pub fn api(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiChat => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::CodexResponses => "openai-codex-responses",
            Self::Gemini => "google-generative-ai",
        }
    }

    /// The request as this wire words it.
    pub fn encode(self, target: Target<'_>, request: &ModelRequest) -> Call {
        match self {
            Self::AnthropicMessages => anthropic::request::encode(target, request),
            Self::OpenAiChat => openai_chat::request::encode(target, request),
            Self::OpenAiResponses => openai_responses::request::encode(target, request),
            Self::CodexResponses => openai_responses::request::encode_for_codex(target, request),
            Self::Gemini => gemini::request::encode(target, request),
        }
    }

    /// A reader of one answer.
    pub fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::AnthropicMessages => Box::new(anthropic::stream::MessagesDecoder::default()),
            Self::OpenAiChat => Box::new(openai_chat::stream::ChatDecoder::default()),
            Self::OpenAiResponses | Self::CodexResponses => {
                Box::new(openai_responses::stream::ResponsesDecoder::default())
            }
            Self::Gemini => Box::new(gemini::stream::GeminiDecoder::default()),
        }
    }
}

/// How many tokens the answer may have.
pub(crate) fn output_limit(info: &ModelInfo, request: &ModelRequest) -> u64 {
    let own = if info.max_tokens == 0 {
        8192
    } else {
        info.max_tokens
    };
    request
        .max_output_tokens
        .map_or(own, |limit| limit.clamp(1, own))
}

/// The headers that carry an OpenAI-style credential.
pub(crate) fn bearer_headers(credential: &Credential) -> Vec<(&'static str, String)> {
    match credential.secret() {
        Some(secret) if !secret.is_empty() => {
            vec![("authorization", format!("Bearer {}", secret.expose()))]
        }
        _ => Vec::new(),
    }
}

/// The JSON text of a request. A tree of plain values always has one.
pub(crate) fn to_bytes(body: &serde_json::Value) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

/// What a decoder makes of these events, for the tests of each wire.
#[cfg(test)]
pub(crate) fn decode(
    wire: Wire,
    events: &[&str],
) -> (
    Vec<stentor_agent::model::ModelEvent>,
    Result<(), crate::answer::StreamFault>,
) {
    let mut decoder = wire.decoder();
    let mut answer = crate::answer::Answer::new();
    let mut result = Ok(());
    for data in events {
        result = result.and_then(|()| decoder.event("", data, &mut answer));
    }
    if !answer.is_finished() {
        result = result.and_then(|()| decoder.closed(&mut answer));
    }
    (std::iter::from_fn(|| answer.pop()).collect(), result)
}

/// How an answer of these events ended.
#[cfg(test)]
pub(crate) fn finish_of(wire: Wire, events: &[&str]) -> stentor_agent::model::Finish {
    let (events, result) = decode(wire, events);
    assert_eq!(result, Ok(()));
    match events.last() {
        Some(stentor_agent::model::ModelEvent::Finished(finish)) => finish.clone(),
        other => panic!("no end: {other:?}"),
    }
}
