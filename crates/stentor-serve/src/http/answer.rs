//! Answers: their bodies, and the headers all of them have.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

pub(super) type HttpBody = UnsyncBoxBody<Bytes, Infallible>;
pub(super) type HttpAnswer = Response<HttpBody>;

/// An answer instead of what was asked for. Boxed: it is large, and rare.
pub(super) type HttpRefusal = Box<HttpAnswer>;

/// What a page may do that is answered here: run our script, look as our style says, show pictures
/// that are in it, and talk to us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// An answer with a text.
pub(super) fn text(status: StatusCode, text: impl Into<String>) -> HttpAnswer {
    let mut text = text.into();
    text.push('\n');
    with_body(status, "text/plain; charset=utf-8", text)
}

/// An answer with JSON.
pub(super) fn json(status: StatusCode, json: impl Into<Bytes>) -> HttpAnswer {
    with_body(status, "application/json", json)
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> HttpAnswer {
    let mut answer = Response::new(body(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// An answer of some type.
pub(super) fn with_body(
    status: StatusCode,
    content_type: &'static str,
    content: impl Into<Bytes>,
) -> HttpAnswer {
    let mut answer = Response::new(body(content.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// Adds what every answer says to browsers: not to keep, guess, frame or share it.
pub(super) fn guarded(mut answer: HttpAnswer) -> HttpAnswer {
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    answer
}

fn body(content: Bytes) -> HttpBody {
    Full::new(content).boxed_unsync()
}
