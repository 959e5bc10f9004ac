//! Telling failures apart by status, code and words.

use stentor_agent::model::ModelErrorKind as Kind;

use crate::answer::ProviderFault;

/// What can be done about a failure, from its status and its words.
pub(super) fn kind_of(status: Option<u16>, fault: &ProviderFault) -> Kind {
    let code = fault.code.to_ascii_lowercase();
    let message = fault.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let coded = |words: &[&str]| words.iter().any(|word| code.contains(word));
    if coded(&["context_length", "context_window"]) || says(OVERFLOW_WORDS) {
        return Kind::ContextOverflow;
    }
    // Google words a limit per minute like a used-up quota, but says when to come back.
    if says(&["please retry in", "try again in"]) && matches!(status, None | Some(429)) {
        return Kind::RateLimited;
    }
    if coded(&[
        "insufficient_quota",
        "billing",
        "credit",
        "usage_limit_reached",
    ]) || says(QUOTA_WORDS)
    {
        return Kind::Quota;
    }
    if coded(&["overloaded"]) || status == Some(529) || says(&["overloaded"]) {
        return Kind::Overloaded;
    }
    if coded(&["rate_limit", "resource_exhausted", "too_many"]) {
        return Kind::RateLimited;
    }
    if coded(&["model_not_found", "unknown_model"]) || says(UNKNOWN_MODEL_WORDS) {
        return Kind::UnknownModel;
    }
    if coded(&[
        "authentication",
        "invalid_api_key",
        "unauthenticated",
        "permission",
    ]) || says(&["api key not valid", "invalid api key", "incorrect api key"])
    {
        return Kind::Auth;
    }
    match status {
        Some(401 | 403) => Kind::Auth,
        Some(402) => Kind::Quota,
        Some(404) => Kind::UnknownModel,
        Some(408) => Kind::Server,
        Some(413) => Kind::ContextOverflow,
        Some(429) => Kind::RateLimited,
        Some(503) => Kind::Overloaded,
        Some(400..=499) => Kind::InvalidRequest,
        Some(500..=599) => Kind::Server,
        _ if coded(&["server", "internal", "unavailable", "timeout", "api_error"]) => Kind::Server,
        _ if coded(&["invalid_request", "invalid_argument"]) => Kind::InvalidRequest,
        _ => Kind::Other,
    }
}

/// How providers say that a conversation is too long.
const OVERFLOW_WORDS: &[&str] = &[
    "prompt is too long",
    "exceed context limit",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "maximum context length",
    "context length exceeded",
    "maximum prompt length",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "too large for model with",
    "input is too long",
    "request_too_large",
    "exceed the model's maximum context",
    "prompt token count of",
    "exceed context window",
    "input token count",
];

const QUOTA_WORDS: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "out of credits",
    "billing hard limit",
    "monthly usage limit",
    "usage limit has been reached",
    "no credits",
];

const UNKNOWN_MODEL_WORDS: &[&str] = &[
    "model not found",
    "model_not_found",
    "unknown model",
    "invalid model",
    "not a valid model",
    "does not exist or you do not have access",
];
