//! A request to a provider, and what its wires have in common when they word it.

use serde::Serialize;
use serde_json::Value;
use stentor_agent::model::{ModelInfo, ModelRequest, Purpose};

use crate::credential::Credential;

/// A request as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    pub url: String,
    /// Names in lower case. May hold credentials: never shown.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// To whom a request goes.
#[derive(Debug, Clone, Copy)]
pub struct CallTarget<'a> {
    pub info: &'a ModelInfo,
    pub credential: &'a Credential,
    /// Where the API is, without a slash at the end.
    pub base_url: &'a str,
    /// Tools that the provider runs itself, in the words of its API.
    pub server_tools: &'a [Value],
}

impl<'a> CallTarget<'a> {
    /// The tools of the provider that can be used for `request`, in a turn of the conversation only.
    pub(crate) fn server_tools_for(&self, request: &ModelRequest) -> &'a [Value] {
        match request.purpose {
            Purpose::Turn => self.server_tools,
            Purpose::Compaction | Purpose::WebSearch | Purpose::Aside => &[],
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

/// The JSON text of a request, written without a tree of it in between: a conversation is long, and
/// goes out whole with every request. Text, numbers and maps with text as keys always have one.
pub(crate) fn to_bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}
