//! Writing frames: exactly the keys of section 3, one line each.

use super::code::ErrorCode;
use super::envelope::Refused;
use super::topic::Topic;
use crate::edn::{EdnWriter, Keyword};

/// Appends the answer to a request. `data` is one written form.
pub fn response(out: &mut Vec<u8>, id: &str, op: &str, data: Option<&[u8]>) {
    EdnWriter::new(out).map(|frame| {
        frame
            .field("id", id)
            .field("kind", &Keyword("response"))
            .field("op", op)
            .field("ok", &true);
        if let Some(data) = data {
            frame.key("data").written(data);
        }
    });
    out.push(b'\n');
}

/// What an error frame carries beside its code and message.
#[derive(Debug, Clone, Copy, Default)]
pub struct ErrorContext<'a> {
    pub id: Option<&'a str>,
    pub op: Option<&'a str>,
    /// One written form.
    pub data: Option<&'a [u8]>,
}

/// Appends an error.
pub fn error(out: &mut Vec<u8>, code: ErrorCode, message: &str, context: ErrorContext<'_>) {
    EdnWriter::new(out).map(|frame| {
        frame
            .field("kind", &Keyword("error"))
            .field("error-code", code.as_str())
            .field("error-message", message)
            .field_if_some("id", context.id)
            .field_if_some("op", context.op);
        if let Some(data) = context.data {
            frame.key("data").written(data);
        }
    });
    out.push(b'\n');
}

/// Appends the error a refused line is answered with.
pub fn refusal(out: &mut Vec<u8>, refused: &Refused) {
    let context = ErrorContext {
        id: refused.id.as_deref(),
        op: refused.op.as_deref(),
        data: None,
    };
    error(out, refused.code, &refused.message, context);
}

/// Where and when an event stands among the others.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// The request that caused it.
    pub id: Option<&'a str>,
    pub seq: u64,
    /// An instant in UTC.
    pub ts: &'a str,
}

/// Appends an event whose payload `data` writes: one form.
pub fn event(
    out: &mut Vec<u8>,
    topic: Topic,
    stamp: Stamp<'_>,
    data: impl FnOnce(&mut EdnWriter<'_>),
) {
    EdnWriter::new(out).map(|frame| {
        frame
            .field("kind", &Keyword("event"))
            .field("event", topic.as_str())
            .key("data");
        data(frame);
        frame
            .field_if_some("id", stamp.id)
            .field("seq", &stamp.seq)
            .field("ts", stamp.ts);
    });
    out.push(b'\n');
}
