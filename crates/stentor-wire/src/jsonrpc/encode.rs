//! Envelopes out (section 1.6).
//!
//! Each function appends one frame to `out`, without a newline at the end and without one inside.
//! When serialising fails, `out` is as it was.

use serde::Serialize;

use super::Id;

/// The answer to a request. ACP wants an object; send `{}` rather than `null`.
pub fn result(
    out: &mut Vec<u8>,
    id: &Id,
    result: &(impl Serialize + ?Sized),
) -> Result<(), serde_json::Error> {
    frame(out, |out| {
        out.extend_from_slice(b",\"id\":");
        serde_json::to_writer(&mut *out, id)?;
        out.extend_from_slice(b",\"result\":");
        serde_json::to_writer(out, result)
    })
}

/// The refusal of a request, or, with no id, of a line that cannot be attributed to one.
pub fn error(
    out: &mut Vec<u8>,
    id: Option<&Id>,
    code: i64,
    message: &str,
    data: Option<&serde_json::Value>,
) -> Result<(), serde_json::Error> {
    #[derive(Serialize)]
    struct ErrorBody<'a> {
        code: i64,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a serde_json::Value>,
    }
    frame(out, |out| {
        out.extend_from_slice(b",\"id\":");
        serde_json::to_writer(&mut *out, &id)?;
        out.extend_from_slice(b",\"error\":");
        serde_json::to_writer(
            out,
            &ErrorBody {
                code,
                message,
                data,
            },
        )
    })
}

/// A message that gets no answer.
pub fn notification(
    out: &mut Vec<u8>,
    method: &str,
    params: &(impl Serialize + ?Sized),
) -> Result<(), serde_json::Error> {
    frame(out, |out| method_and_params(out, method, params))
}

/// A request of ours, agent to client.
pub fn request(
    out: &mut Vec<u8>,
    id: &Id,
    method: &str,
    params: &(impl Serialize + ?Sized),
) -> Result<(), serde_json::Error> {
    frame(out, |out| {
        out.extend_from_slice(b",\"id\":");
        serde_json::to_writer(&mut *out, id)?;
        method_and_params(out, method, params)
    })
}

fn method_and_params(
    out: &mut Vec<u8>,
    method: &str,
    params: &(impl Serialize + ?Sized),
) -> Result<(), serde_json::Error> {
    out.extend_from_slice(b",\"method\":");
    serde_json::to_writer(&mut *out, method)?;
    out.extend_from_slice(b",\"params\":");
    serde_json::to_writer(out, params)
}

/// Wraps the members in an envelope, takes everything back on failure, and keeps the frame on one
/// line.
fn frame(
    out: &mut Vec<u8>,
    members: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    let start = out.len();
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Err(error) = members(out) {
        out.truncate(start);
        return Err(error);
    }
    out.push(b'}');
    // serde_json writes compactly and escapes line breaks in strings; only a raw value that
    // somebody else laid out can bring one in, and there it is whitespace.
    let mut rest = out.get_mut(start..).unwrap_or_default();
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        if let Some(byte) = rest.get_mut(at) {
            *byte = b' ';
        }
        rest = rest.get_mut(at + 1..).unwrap_or_default();
    }
    Ok(())
}
