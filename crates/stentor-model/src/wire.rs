//! The wires models are spoken to over.

use stentor_agent::model::ModelRequest;

use crate::answer::Decoder;
use crate::call::{CallTarget, HttpCall};
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
    pub fn encode(self, target: CallTarget<'_>, request: &ModelRequest) -> HttpCall {
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

/// What a decoder makes of these events, for the tests of each wire.
#[cfg(test)]
pub(crate) fn decode(
    wire: Wire,
    events: &[&str],
) -> (
    Vec<stentor_agent::model::ModelEvent>,
    Result<(), crate::answer::StreamFault>,
) {
    decode_into(crate::answer::AnswerBuilder::new(), wire, events)
}

/// The same of an answer that is what a search finds.
#[cfg(test)]
pub(crate) fn decode_search(wire: Wire, events: &[&str]) -> Vec<stentor_agent::model::ModelEvent> {
    let answer = crate::answer::AnswerBuilder::listing_sources();
    decode_into(answer, wire, events).0
}

#[cfg(test)]
fn decode_into(
    mut answer: crate::answer::AnswerBuilder,
    wire: Wire,
    events: &[&str],
) -> (
    Vec<stentor_agent::model::ModelEvent>,
    Result<(), crate::answer::StreamFault>,
) {
    let mut decoder = wire.decoder();
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
