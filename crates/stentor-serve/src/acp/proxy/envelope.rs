//! The envelope of a line, as far as the proxy looks at it. What is inside stays as it is written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use stentor_wire::jsonrpc::code;

use crate::proxy::OWN_ID;

/// A line of JSON-RPC.
#[derive(Deserialize)]
pub(super) struct LineEnvelope<'a> {
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// What is looked at in parameters and results.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LineNames<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

/// What is looked at in errors.
#[derive(Deserialize, Default)]
#[serde(default)]
struct LineError<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
}

impl<'a> LineEnvelope<'a> {
    /// Reads a line; `None` when it is none.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// The session that parameters or a result name.
pub(super) fn session_in(raw: Option<&RawValue>) -> Option<String> {
    let names: LineNames<'_> = serde_json::from_str(raw?.get()).ok()?;
    names.session_id.map(Cow::into_owned)
}

/// The request that parameters name.
pub(super) fn request_in(raw: Option<&RawValue>) -> Option<String> {
    let names: LineNames<'_> = serde_json::from_str(raw?.get()).ok()?;
    names.request_id.map(|id| id.get().to_owned())
}

/// What an error says.
pub(super) fn message_in(error: &RawValue) -> String {
    let read: Option<LineError<'_>> = serde_json::from_str(error.get()).ok();
    read.unwrap_or_default().message.into_owned()
}

/// True for the id of one of the proxy's own requests.
pub(super) fn is_own(id: &str) -> bool {
    id.strip_prefix('"')
        .is_some_and(|id| id.starts_with(OWN_ID))
}

/// A request. `id` is JSON.
pub(super) fn request(id: &str, method: &str, params: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
        .into_bytes()
}

/// An answer with another id: that of the request as its node knows it.
pub(super) fn answer(id: &str, envelope: &LineEnvelope<'_>) -> Vec<u8> {
    let (key, value) = match (envelope.result, envelope.error) {
        (_, Some(error)) => ("error", error.get()),
        (Some(result), None) => ("result", result.get()),
        // A result of null is read as none.
        (None, None) => ("result", "null"),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{key}\":{value}}}\n").into_bytes()
}

/// Appends the refusal of a request.
pub(super) fn refuse(to_client: &mut Vec<u8>, id: &str, why: &str) {
    let error = serde_json::json!({ "code": code::INTERNAL_ERROR, "message": why });
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n");
    to_client.extend_from_slice(line.as_bytes());
}

/// Appends that a request to the client is withdrawn.
pub(super) fn withdraw(to_client: &mut Vec<u8>, id: u64) {
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{{\"requestId\":{id}}}}}\n"
    );
    to_client.extend_from_slice(line.as_bytes());
}
